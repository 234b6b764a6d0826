"""Render a formula from its LaTeX as a picture, without TeX.

The LaTeX comes from a vision model, which may have misread the page or followed instructions on it.
So length, size and processor time are limited. LaTeX that ziamath would render wrongly is refused:
ziamath prints the name of an unknown command, and a box for a character that its font lacks. The
caller can show the picture of the original instead.
"""
# PyMuPDF is marked as typed, but most of its functions have no annotations.
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
        f"Formulas cannot be rendered: {error}. Run: pip install 'ziamath>=0.13,<0.14'"
    ) from error

from quinion.elements.mupdf_layout import pymupdf

MAX_CHARACTERS = 2_000
MAX_CPU_S = 3.0
"""Formulas of books take up to one second; each level of nesting doubles the time."""
MAX_POINTS = 4_000
"""Maximum side at a font size of 24 points. A wider formula is unreadable at a picture's size."""
MAX_PIXELS = 2_000
SCALE = 2.5

_LETTER_POINTS = 24
_MARGIN_POINTS = 8
_MIN_POINTS = 2.0
_INVISIBLE = ("Z", "C")

# PyMuPDF does not support <symbol> in SVG.
config.svg2 = False


def render_formula(latex: str) -> bytes:
    """Render the formula as a PNG. Call it in the main thread, because only that gets signals.

    Raises:
        InvalidInput: the LaTeX cannot be rendered correctly.
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
    except Exception as error:  # ziamath and its parser raise exceptions of many types
        raise InvalidInput(f"The LaTeX cannot be rendered ({type(error).__name__}).") from error
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
    raise InvalidInput("The LaTeX has an unbalanced brace or a dollar sign.")


def _check_words(math: Math) -> None:
    for words in math.element.itertext():
        if "\\" in words and words != "\\":
            raise InvalidInput(f"The LaTeX has an unknown command: {words[:40]!r}.")
        for character in words:
            shown = not unicodedata.category(character).startswith(_INVISIBLE)
            if shown and math.font.glyphindex(character) == 0:
                raise InvalidInput(f"The font for formulas has no {character!r}.")


def _check_size(math: Math) -> None:
    width, height = math.getsize()
    if min(width, height) < _MIN_POINTS:
        raise InvalidInput("The LaTeX renders as an empty picture.")
    if max(width, height) > MAX_POINTS:
        raise InvalidInput("The formula is too large for a readable picture.")


def _paint(svg: str) -> bytes:
    with pymupdf.open(stream=svg.encode(), filetype="svg") as document:
        page = document[0]
        scale = min(SCALE, MAX_PIXELS / max(page.rect.width, page.rect.height))
        pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=False)
        picture: bytes = pixels.tobytes("png")
        return picture


@contextmanager
def _limited_time() -> Iterator[None]:
    """Limit processor time, not wall time, so that a busy machine makes no difference."""

    def stop(_number: int, _frame: FrameType | None) -> NoReturn:
        raise InvalidInput(f"The LaTeX takes more than {MAX_CPU_S:g} seconds to render.")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, MAX_CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
