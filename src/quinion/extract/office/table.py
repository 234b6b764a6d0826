"""CSV files, and rows of cells as text: each value after the name of its column.

So a chunk that begins in the middle of a table can be found and read without its first row.
"""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

from quinion.errors import ExtractionFailed
from quinion.extract.textfile import read_text
from quinion.model.text_part import TextPart

SEPARATOR = " | "
_SAMPLE = 1 << 14
_DELIMITERS = ",;\t|"
MAX_CELL_CHARACTERS = 1 << 20


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a CSV file for `extract.formats`; each row keeps the number of its line.

    Raises:
        FileMissing, ExtractionFailed: see `textfile.read_text`.
    """
    text = read_text(path, extension)
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:_SAMPLE], _DELIMITERS)
    except csv.Error:
        dialect = csv.excel
    csv.field_size_limit(MAX_CELL_CHARACTERS)
    reader = csv.reader(StringIO(text), dialect)
    lines: list[str] = []
    writer = RowWriter()
    try:
        for row in reader:
            # A row of several lines is cited by its last.
            lines += [""] * (reader.line_num - len(lines) - 1)
            lines.append(writer.write(row))
    except csv.Error as cause:
        raise ExtractionFailed(
            f"{path.name}, line {reader.line_num}: {cause}. Correct the line, or save it as text."
        ) from cause
    yield TextPart("\n".join(lines))


class RowWriter:
    """Writes rows as lines of text; the first row with several cells names the columns."""

    def __init__(self) -> None:
        self._names: Sequence[str] = ()

    def write(self, cells: Sequence[str]) -> str:
        """Return the row as one line; empty if it has no values."""
        values = [" ".join(cell.split()) for cell in cells]
        if not self._names and sum(map(bool, values)) > 1:
            self._names = values
            return SEPARATOR.join(filter(None, values))
        return SEPARATOR.join(
            f"{self._name(column)}{value}" for column, value in enumerate(values) if value
        )

    def _name(self, column: int) -> str:
        name = self._names[column] if column < len(self._names) else ""
        return f"{name}: " if name else ""
