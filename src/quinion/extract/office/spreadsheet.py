"""Excel workbooks as text, sheet by sheet; the sheet and its rows are cited.

Values are read as they were last calculated; formulas and formats are not.
"""

from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path

from python_calamine import CalamineError, CalamineWorkbook

from quinion.errors import ExtractionFailed
from quinion.extract.office.archive import check_archive
from quinion.extract.office.table import RowWriter
from quinion.model.text_part import Lines, TextPart

Cell = int | float | str | bool | date | time | datetime | timedelta


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a workbook for `extract.formats`: one part for each sheet with values.

    Raises:
        ExtractionFailed: damaged, protected or too large.
    """
    check_archive(path)
    try:
        with CalamineWorkbook.from_path(str(path)) as workbook:
            for name in workbook.sheet_names:
                rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
                if text := _write(rows):
                    yield TextPart(text, place={"sheet": name}, lines=Lines.ROWS)
    except (CalamineError, OSError) as cause:
        raise ExtractionFailed(
            f"{path.name} is damaged or protected ({cause}). Open it and save it again as an "
            "unprotected workbook, then retry."
        ) from cause


def _write(rows: Sequence[Sequence[Cell]]) -> str:
    """Write the rows as lines, so that line numbers are row numbers."""
    writer = RowWriter()
    text = "\n".join(writer.write([_show(cell) for cell in row]) for row in rows)
    return text if text.strip() else ""


def _show(cell: Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    return str(cell)
