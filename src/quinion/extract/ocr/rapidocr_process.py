"""PP-OCRv6 in a persistent process, if the package `rapidocr` is installed.

It reads hard print better than Tesseract, for several times the processor time. The models are in
the package; nothing is downloaded. The process has the memory limit of the worker that starts it,
so lines are detected in bands of the page, and recognized one by one at the raster's resolution.
A page that needs more memory, or on which the library fails, has no lines.

The protocol is that of `library_process`.
"""

import atexit
import math
import sys
import traceback
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from quinion.extract.ocr.library_process import LibraryProcess
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.words import Word
from quinion.framing import Frame, encode, receive, take_stdout
from quinion.runtime_tuning import release_memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Quad = NDArray[np.float32]

# Pixels of a page for detection: A4 at 190 dpi. Larger pages are scaled down for it, and pages with
# a shorter side than this are scaled up.
DETECTION_PIXELS = 3_500_000
DETECTION_SIDE = 736
# Height of a band by its width, so that a band has 0.7 million pixels; the address space that
# detection takes grows with them.
BAND_PIXELS = 700_000
# Bands share this many rows. A line that is not higher is complete in one of them.
SHARED_ROWS = 96
# The library reads a line at a height of 48 pixels. Lines longer than this, relative to their
# height, are rules and borders, and would take memory in proportion.
MAX_ASPECT = 120
# Lines of a lower confidence, the mean over their characters, are not text.
MIN_LINE_CONFIDENCE = 60.0
# Below it a line that runs up or down is also read from its other side.
_CERTAIN = 90.0
# The library leaves out spaces in tight print. A gap between characters is a space from this share
# of the line's height on, if it is wider by `_WIDER` than those between the characters of words.
_SPACE = 0.5
_WIDER = 0.3
# Shades of paper and ink differ by more than this.
_CONTRAST = 30
_PARAMETERS = {
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Global.log_level": "critical",
    "Global.return_word_box": True,
    "Global.text_score": 0.0,
    "Global.use_preprocess_img": False,
    # Bands are not scaled up, which would take memory.
    "Det.limit_side_len": 32,
}


@dataclass(frozen=True, slots=True)
class Band:
    """Rows of a page in which lines are detected; lines whose middle is in its core count."""

    top: int
    bottom: int
    core_top: float
    core_bottom: float


def bands(width: int, height: int) -> Iterator[Band]:
    """Divide a page into bands that overlap."""
    rows = max(4 * SHARED_ROWS, BAND_PIXELS // width)
    count = max(1, math.ceil((height - SHARED_ROWS) / (rows - SHARED_ROWS)))
    step = (height - SHARED_ROWS) / count
    for index in range(count):
        top = round(index * step)
        bottom = height if index == count - 1 else round((index + 1) * step) + SHARED_ROWS
        yield Band(
            top,
            bottom,
            top + SHARED_ROWS / 2 if index else -math.inf,
            math.inf if index == count - 1 else bottom - SHARED_ROWS / 2,
        )


class Reader:
    """The models of detection and recognition."""

    def __init__(self) -> None:
        # Imported here, so that the parent process does not load them.
        import cv2  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415
        from rapidocr import RapidOCR  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415

        cv2.setNumThreads(1)
        self._cv2 = cv2
        self._engine: Any = RapidOCR(params=_PARAMETERS)

    def detect(self, page: "Pixels") -> list["Quad"]:
        """Find the lines of text: four corners each, from the top left clockwise."""
        height, width = page.shape
        scale = min(
            max(1.0, DETECTION_SIDE / min(width, height)),
            math.sqrt(DETECTION_PIXELS / (width * height)),
        )
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        way = self._cv2.INTER_AREA if scale < 1 else self._cv2.INTER_CUBIC
        small = self._cv2.resize(page, size, interpolation=way)
        found = []
        for band in bands(*size):
            rows = self._cv2.cvtColor(small[band.top : band.bottom], self._cv2.COLOR_GRAY2BGR)
            lines = self._engine(rows, use_det=True, use_cls=False, use_rec=False)
            for quad in () if lines.boxes is None else lines.boxes:
                middle = quad[:, 1].mean() + band.top
                if band.core_top <= middle < band.core_bottom:
                    quad[:, 1] += band.top
                    found.append(quad / scale)
        return found

    def recognize(self, page: "Pixels", quad: "Quad") -> list[Frame]:
        """Read the words of a line: text, confidence (0 to 100) and box of each."""
        from rapidocr.utils.process_img import (  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415
            get_rotate_crop_image,
        )

        line: Pixels = get_rotate_crop_image(page, quad.astype("float32"))
        if max(line.shape) > MAX_ASPECT * min(line.shape):
            return []
        confidence, words = self._read(line, quad)
        if _is_vertical(quad) and confidence < _CERTAIN:
            other = self._read(line[::-1, ::-1], quad[[2, 3, 0, 1]])
            confidence, words = max((confidence, words), other, key=lambda read: read[0])
        return words if confidence >= MIN_LINE_CONFIDENCE else []

    def _read(self, line: "Pixels", quad: "Quad") -> tuple[float, list[Frame]]:
        color = self._cv2.cvtColor(line, self._cv2.COLOR_GRAY2BGR)
        read: Any = self._engine(color, use_det=False, use_cls=False, use_rec=True)
        if not read.txts or not read.txts[0].strip():
            return 0.0, []
        [text], [confidence], [info] = read.txts, read.scores, read.word_results
        columns = iter([column for word in info.word_cols for column in word])
        characters = []
        is_after_space = False
        for character, sureness in zip(text, info.confs, strict=True):
            if character.isspace():
                is_after_space = True
            else:
                characters.append(_Character(character, sureness, next(columns), is_after_space))
                is_after_space = False
        words = _split_words(characters, line, info.line_txt_len)
        return 100 * confidence, [_word(word, info.line_txt_len, quad) for word in words]


@dataclass(frozen=True, slots=True)
class _Character:
    """A character with the column of the line in which it was recognized."""

    text: str
    confidence: float
    column: int
    is_after_space: bool


def _split_words(
    characters: Sequence[_Character], line: "Pixels", columns: float
) -> Iterator[list[_Character]]:
    """Split a line at its spaces, and at gaps that are as wide as spaces."""
    gaps = list(_gaps(characters, line, columns))
    inside = [
        gap for gap, after in zip(gaps, characters[1:], strict=True) if not after.is_after_space
    ]
    space = max(_SPACE, median(inside) + _WIDER) if inside else _SPACE
    word = [characters[0]]
    for gap, character in zip(gaps, characters[1:], strict=True):
        if character.is_after_space or gap >= space:
            yield word
            word = []
        word.append(character)
    yield word


def _gaps(characters: Sequence[_Character], line: "Pixels", columns: float) -> Iterator[float]:
    """Measure the widest gap without ink between neighbouring characters, by the line's height."""
    import numpy as np  # noqa: PLC0415

    height, width = line.shape
    dark, light = np.percentile(line, (2, 90))
    middle = line[height // 6 : height - height // 6]
    # A faint line has no ink to measure by.
    ink = (middle < (dark + light) / 2).any(axis=0)
    is_faint = light - dark < _CONTRAST
    for before, after in pairwise(characters):
        start, end = (int((one.column + 0.5) * width / columns) for one in (before, after))
        marks = np.flatnonzero(ink[start : end + 1])
        edges = np.concatenate(([-1], marks, [min(end + 1, width) - start]))
        yield 0.0 if is_faint else float(np.diff(edges).max() - 1) / height


def _word(word: Sequence[_Character], columns: float, quad: "Quad") -> Frame:
    text = "".join(one.text for one in word)
    # A column is the middle of a character. A character is as wide as those of the word on average.
    first, last = word[0].column, word[-1].column
    half = (last - first) / (len(word) - 1) / 2 if len(word) > 1 else 1.0
    left = max(0.0, (first + 0.5 - half) / columns)
    right = min(1.0, (last + 0.5 + half) / columns)
    return {
        "text": _to_ascii_forms(text),
        # A word is as certain as its least certain character.
        "confidence": 100 * min(one.confidence for one in word),
        "box": _cut(quad, left, right),
    }


def _to_ascii_forms(text: str) -> str:
    """Replace full-width forms of ASCII beside other ASCII: the library knows Chinese print."""
    if not any(character.isascii() for character in text):
        return text
    return "".join(
        unicodedata.normalize("NFKC", one) if "\uff01" <= one <= "\uff5e" else one for one in text
    )


def _is_vertical(quad: "Quad") -> bool:
    top_left, top_right, _, bottom_left = quad
    return bool(abs(top_left[1] - bottom_left[1]) >= 1.5 * abs(top_right[0] - top_left[0]))


def _cut(quad: "Quad", left: float, right: float) -> list[int]:
    """The box around a part of a line, from `left` to `right` as shares of its length."""
    top_left, top_right, bottom_right, bottom_left = quad
    if _is_vertical(quad):
        # The line was recognized after a quarter turn counterclockwise: it runs down the page.
        top_left, top_right, bottom_right, bottom_left = (
            top_right,
            bottom_right,
            bottom_left,
            top_left,
        )
    corners = [
        start + (end - start) * share
        for start, end in ((top_left, top_right), (bottom_left, bottom_right))
        for share in (left, right)
    ]
    across, down = zip(*corners, strict=True)
    return [round(min(across)), round(min(down)), round(max(across)), round(max(down))]


class RapidocrProcess:
    """The library's process."""

    def __init__(self) -> None:
        self._process = LibraryProcess("rapidocr", __name__, list)

    def read(
        self, raster: Raster, timeout_s: float, *, upside_down: bool = False
    ) -> list[list[Word]] | None:
        """Return the words of each line, in no particular order; None if the library fails.

        Raises:
            TimeoutError: the library did not finish within the timeout.
        """
        reply = self._process.request(raster, timeout_s, upside_down=upside_down)
        if reply is None:
            return None
        return [
            [
                Word(word["text"], word["confidence"], (0, 0, number), tuple(word["box"]))
                for word in words
            ]
            for number, words in enumerate(reply["lines"])
        ]

    def close(self) -> None:
        """Kill the process; the next request starts another."""
        self._process.close()


def is_installed() -> bool:
    """Whether the package `rapidocr` is installed."""
    return find_spec("rapidocr") is not None


_process = RapidocrProcess()


@atexit.register
def close() -> None:
    """Kill the library's process; the next page starts another."""
    _process.close()


def read(raster: Raster, timeout_s: float, *, upside_down: bool = False) -> list[list[Word]] | None:
    """Read the lines of a raster; None if the package is not installed or fails.

    Raises:
        TimeoutError: the library did not finish within the timeout.
    """
    if not is_installed():
        return None
    return _process.read(raster, timeout_s, upside_down=upside_down)


def main() -> None:
    """Serve requests until stdin is closed."""
    import numpy as np  # noqa: PLC0415

    replies = take_stdout()
    reader = Reader()
    while (request := receive(sys.stdin.buffer)) is not None:
        width, height = request["width"], request["height"]
        pixels = sys.stdin.buffer.read(width * height)
        page = np.frombuffer(pixels, np.uint8).reshape(height, width)
        replies.write(encode({"lines": _read_lines(reader, page)}))
        replies.flush()
        release_memory()


def _read_lines(reader: Reader, page: "Pixels") -> list[list[Frame]]:
    try:
        lines = [reader.recognize(page, quad) for quad in reader.detect(page)]
    except Exception:  # the library's errors have no common type; one bad page costs its own text
        traceback.print_exc()
        return []
    return [words for words in lines if words]


if __name__ == "__main__":
    main()
