"""A thin wrapper on the program `tesseract`.

One run gives text and confidences: the text is put together from the table of words, and is
what Tesseract's own text output says, letter for letter (compared on 28 scanned pages). So
there is no second run, no temporary file, and nothing but a pipe in each direction.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from quinion.errors import ExtractionFailed, ToolMissing
from quinion.extract.raster import Raster

PROGRAM = "tesseract"
# From this confidence on (0 to 100) a word is more likely read than imagined.
SURE = 60.0
_WORD_LEVEL = "5"
_COLUMNS = 12


@dataclass(frozen=True, slots=True)
class Word:
    """A word with the line that it stands on and Tesseract's confidence, 0 to 100."""

    text: str
    confidence: float
    line: tuple[int, int, int]
    box: tuple[int, int, int, int]


@dataclass(frozen=True)
class Reading:
    """What Tesseract saw on one picture."""

    words: tuple[Word, ...]

    @cached_property
    def text(self) -> str:
        """Lines as printed, with an empty line between paragraphs."""
        return _join(self.words)

    @cached_property
    def sure_text(self) -> str:
        """The same without the words that Tesseract doubts."""
        return _join([word for word in self.words if word.confidence >= SURE])

    @property
    def confidence(self) -> float | None:
        """The mean over all words; None where there is no word."""
        if not self.words:
            return None
        return sum(word.confidence for word in self.words) / len(self.words)


class TimedOut(ExtractionFailed):
    """Tesseract did not finish with one picture in its time."""


def read(raster: Raster, timeout_s: float) -> Reading:
    """Read the words on a picture.

    Raises:
        ToolMissing: Tesseract is not installed.
        TimedOut: it was not done in time.
        ExtractionFailed: it failed.
    """
    return Reading(tuple(_parse(_run(raster, ["tsv"], timeout_s))))


def find_rotation(raster: Raster, timeout_s: float) -> int | None:
    """By how many degrees clockwise the picture must be turned; None when it cannot tell."""
    try:
        report = _run(raster, ["--psm", "0"], timeout_s)
    except TimedOut:
        raise
    except ExtractionFailed:  # "Too few characters": not an error, but not an answer either
        return None
    for line in report.splitlines():
        if line.startswith("Rotate:"):
            return int(line.removeprefix("Rotate:"))
    return None


def _run(raster: Raster, arguments: Sequence[str], timeout_s: float) -> str:
    resolution = ["--dpi", str(raster.dpi)] if raster.dpi else []
    try:
        done = subprocess.run(
            [PROGRAM, "stdin", "stdout", *resolution, *arguments],
            input=raster.to_pgm(),
            capture_output=True,
            timeout=timeout_s,
            check=True,
            # Pages are spread over processes already; Tesseract's own threads get in each
            # other's way and make it several times slower.
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except FileNotFoundError as cause:
        raise ToolMissing(
            "OCR needs the program tesseract: install it (Debian, Ubuntu: "
            "apt-get install tesseract-ocr) or set ENABLE_OCR=false."
        ) from cause
    except subprocess.TimeoutExpired as cause:
        raise TimedOut(
            f"OCR of one page took more than {timeout_s:.0f} s. Scan it again at a lower "
            "resolution, or split the document."
        ) from cause
    except subprocess.CalledProcessError as cause:
        said = cause.stderr.decode(errors="replace").strip().splitlines()
        raise ExtractionFailed(
            f"OCR failed: tesseract ended with status {cause.returncode}"
            f" ({said[-1] if said else 'it gave no reason'})."
        ) from cause
    return done.stdout.decode(errors="replace")


def _parse(table: str) -> Iterator[Word]:
    # Split by hand: the table has no quoting, so that a word may be a lone quotation mark.
    for row in table.split("\n")[1:]:
        cells = row.split("\t")
        if len(cells) != _COLUMNS or cells[0] != _WORD_LEVEL or not cells[11].strip():
            continue
        left, top, width, height = map(int, cells[6:10])
        yield Word(
            text=cells[11],
            confidence=float(cells[10]),
            line=(int(cells[2]), int(cells[3]), int(cells[4])),
            box=(left, top, left + width, top + height),
        )


def _join(words: Sequence[Word]) -> str:
    parts: list[str] = []
    before: Word | None = None
    for word in words:
        if before is not None:
            parts.append(_separator(before.line, word.line))
        parts.append(word.text)
        before = word
    return "".join(parts)


def _separator(before: tuple[int, int, int], after: tuple[int, int, int]) -> str:
    if before == after:
        return " "
    return "\n" if before[:2] == after[:2] else "\n\n"
