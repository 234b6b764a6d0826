"""A formula as a picture, set anew from its LaTeX, without TeX.

The LaTeX comes from a model, which may have misread the page or been misled by it. It is
therefore limited in length, in size and in processor time, and refused where ziamath would show
something else than the formula: it prints the name of a command that it does not know, and a
box for a character that its font has not. Whoever asks has the original's picture to show
instead.
"""
# PyMuPDF says that it has types, and leaves most of its functions without.
# mypy: allow-untyped-calls

import re
import signal
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from quinion.errors import ExtraMissing, InvalidInput

try:
    from ziamath.config import config
    from ziamath.zmath import Math
except ImportError as error:
    raise ExtraMissing(
        f"A formula cannot be set from its LaTeX: {error}. Run: pip install 'quinion[formulas]'"
    ) from error

from quinion.elements.mupdf import pymupdf

MAX_CHARACTERS = 2_000
MAX_CPU_S = 3.0
"""Formulas of books take up to one; each level of nesting takes twice as long as the last."""
MAX_POINTS = 4_000
"""Of a side, in letters of 24 points. A wider one could not be read at the size of a picture."""
MAX_PIXELS = 2_000
SCALE = 2.5

_LETTER_POINTS = 24
_MARGIN_POINTS = 8
_MIN_POINTS = 2.0
_INVISIBLE = ("Z", "C")

# The SVG that PyMuPDF reads has no <symbol>.
config.svg2 = False


def render_formula(latex: str) -> bytes:
    """The formula as a PNG. To be called in a process's main thread, which alone gets signals.

    Raises:
        InvalidInput: the LaTeX cannot be set as it is meant.
    """
    if len(latex) > MAX_CHARACTERS:
        raise InvalidInput(f"A formula may have {MAX_CHARACTERS} characters; it has {len(latex)}.")
    _check_brackets(latex)
    try:
        with _limited_time():
            math = Math.fromlatex(latex, size=_LETTER_POINTS, margin=_MARGIN_POINTS)
            _check_words(math)
            _check_size(math)
            svg = math.svg()
    except InvalidInput:
        raise
    except Exception as error:  # ziamath and its parser raise whatever they stumble over
        raise InvalidInput(f"The LaTeX cannot be set ({type(error).__name__}).") from error
    return _paint(svg)


def _check_brackets(latex: str) -> None:
    depth = 0
    for mark in re.findall(r"\\.|[{}$]", latex, re.DOTALL):
        depth += {"{": 1, "}": -1}.get(mark, 0)
        if depth < 0 or mark == "$":
            break
    else:
        if depth == 0:
            return
    raise InvalidInput("The LaTeX has a brace without its other half, or a dollar sign.")


def _check_words(math: Math) -> None:
    for words in math.element.itertext():
        if "\\" in words and words != "\\":
            raise InvalidInput(f"The LaTeX has something that is not known here: {words[:40]!r}.")
        for character in words:
            shown = not unicodedata.category(character).startswith(_INVISIBLE)
            if shown and math.font.glyphindex(character) == 0:
                raise InvalidInput(f"There is no {character!r} in the font for formulas.")


def _check_size(math: Math) -> None:
    width, height = math.getsize()
    if min(width, height) < _MIN_POINTS:
        raise InvalidInput("The LaTeX has nothing in it to be seen.")
    if max(width, height) > MAX_POINTS:
        raise InvalidInput("The formula is too large to be read as a picture.")


def _paint(svg: str) -> bytes:
    with pymupdf.open(stream=svg.encode(), filetype="svg") as document:
        page = document[0]
        scale = min(SCALE, MAX_PIXELS / max(page.rect.width, page.rect.height))
        pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
        picture: bytes = pixels.tobytes("png")
        return picture


@contextmanager
def _limited_time() -> Iterator[None]:
    """Processor time, so that a busy machine makes no difference."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise InvalidInput(f"The LaTeX takes more than {MAX_CPU_S:g} seconds to be set.")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
