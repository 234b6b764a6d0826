"""Thin wrapper around Tesseract: the program, or the library if it is installed.

One run returns text and confidences. The text is assembled from the table of words (`words`), and
equals Tesseract's own text output (compared on 28 scanned pages). So there is no second run and no
temporary file, only a pipe in each direction.
"""

import atexit
import os
import subprocess
from collections.abc import Iterator

from quinion.errors import ExtractionFailed, ToolMissing
from quinion.extract.ocr.languages import DEFAULT
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.tesserocr_process import TesserocrProcess
from quinion.extract.ocr.words import OcrResult, Word

PROGRAM = "tesseract"
# The number of columns of Tesseract's TSV table, and the level of rows that hold a word.
_COLUMNS = 12
_WORD_LEVEL = "5"

_languages = DEFAULT
_library = TesserocrProcess(PROGRAM)


@atexit.register
def close() -> None:
    """Kill the library's process; the next page starts another."""
    _library.close()


def use_languages(languages: str) -> None:
    """Set the languages of all later runs of this process, for example `eng+deu`."""
    global _languages, _library
    if languages != _languages:
        _library.close()
        _languages, _library = languages, TesserocrProcess(PROGRAM, languages)


def read(raster: Raster, timeout_s: float, *, upside_down: bool = False) -> OcrResult:
    """Read the words of a raster, as it is or rotated by 180 degrees.

    Raises:
        ToolMissing: Tesseract is not installed.
        TimeoutError: Tesseract did not finish within the timeout.
        ExtractionFailed: Tesseract failed.
    """
    table = _library.recognize(raster, timeout_s, upside_down=upside_down)
    if table is None:
        table = _run(raster, timeout_s, upside_down)
    return OcrResult(tuple(_parse(table)))


def _run(raster: Raster, timeout_s: float, upside_down: bool) -> str:
    resolution = ["--dpi", str(raster.dpi)] if raster.dpi else []
    try:
        done = subprocess.run(
            [PROGRAM, "stdin", "stdout", "-l", _languages, *resolution, "tsv"],
            input=raster.to_pgm(upside_down=upside_down),
            capture_output=True,
            timeout=timeout_s,
            check=True,
            # Pages run in parallel in several processes already. Tesseract's own threads would
            # make it several times slower.
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
        )
    except FileNotFoundError as cause:
        raise ToolMissing(
            "OCR needs the program tesseract. Install it (Debian and Ubuntu: "
            "apt-get install tesseract-ocr; macOS: brew install tesseract), or set "
            "ENABLE_OCR=false."
        ) from cause
    except subprocess.TimeoutExpired as cause:
        raise TimeoutError(f"tesseract took more than {timeout_s:.0f} s") from cause
    except subprocess.CalledProcessError as cause:
        stderr = " ".join(cause.stderr.decode(errors="replace").split())
        raise ExtractionFailed(
            f"OCR failed: tesseract ended with status {cause.returncode} ({stderr[:300]}). "
            "Check the installation with: tesseract --list-langs"
        ) from cause
    return done.stdout.decode(errors="replace")


def _parse(table: str) -> Iterator[Word]:
    # Not with `csv`: the table has no quoting, and a word may be a single quotation mark.
    for row in table.split("\n"):
        cells = row.split("\t")
        if len(cells) != _COLUMNS or cells[0] != _WORD_LEVEL or not cells[11].strip():
            continue
        block, paragraph, line = map(int, cells[2:5])
        left, top, width, height = map(int, cells[6:10])
        yield Word(
            text=cells[11],
            confidence=float(cells[10]),
            line=(block, paragraph, line),
            box=(left, top, left + width, top + height),
        )
