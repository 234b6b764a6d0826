"""Spool file for image data: images go from the API to disk, not into memory.

The API sends all images of a document inside one JSON answer. `ImageStripper` reads the answer
in pieces as they arrive. It decodes the Base64 text of each image into a spool, a file without a
name, and replaces it by a short reference. The client library only parses the rest: Markdown and
numbers.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO

from mistral_ocr_mcp.errors import Failure, refuse

COPY_BYTES = 1 << 20
MAX_HEADER = 200
"""Maximum length of a data header; it ends at the first comma, which Base64 does not contain."""
MAX_TEXT_BYTES = 64 << 20
"""Maximum size of an answer without images; without a limit it could use all memory."""

# A quotation mark inside a JSON string is escaped, so this matches only keys.
_KEY = re.compile(rb'(?<!\\)"image_base64"\s*:\s*"')
_MAX_KEY = 64
MAX_ESCAPE = 6
_HEADER = re.compile(r"data:(image/[\w.+-]+)?[^,]*,", re.IGNORECASE)


@dataclass(frozen=True)
class Picture:
    """An image in the spool: its position, size and MIME type.

    `problem` is the reason why it cannot be saved, if any.
    """

    start: int
    size: int
    mime: str | None
    problem: str | None = None


class Spool:
    """Sequence of decoded images in one file, which `open_file` opens for the first image.

    `place` is the folder of the file, for messages. All methods raise `Failure` if the file cannot
    be written: it is buffered, so a full disk may show at any of them.
    """

    def __init__(self, open_file: Callable[[], BinaryIO], place: object) -> None:
        self._open_file = open_file
        self._place = place
        self._file: BinaryIO | None = None
        self._pictures: list[Picture] = []

    def end(self) -> int:
        """The position where the next image starts."""
        with self._open() as file:
            return file.seek(0, 2)

    def append(self, piece: bytes) -> None:
        """Write a piece of an image."""
        with self._open() as file:
            file.write(piece)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        if self._file is None:
            self._file = self._open_file()
        try:
            yield self._file
        except OSError as cause:
            raise refuse("write a temporary file in", self._place, cause) from cause

    def add(self, picture: Picture) -> str:
        """Register a written image and return its reference."""
        self._pictures.append(picture)
        return str(len(self._pictures) - 1)

    def find(self, reference: str) -> Picture:
        """The image for a reference.

        Raises:
            LookupError: the reference is unknown.
        """
        if not (reference.isascii() and reference.isdigit()):
            raise LookupError(reference[:MAX_HEADER])
        return self._pictures[int(reference[:MAX_HEADER])]

    def read(self, picture: Picture) -> Iterator[bytes]:
        """The bytes of an image, in pieces."""
        position, left = picture.start, picture.size
        while left:
            with self._open() as file:
                file.seek(position)
                piece = file.read(min(left, COPY_BYTES))
            if not piece:
                break
            position, left = position + len(piece), left - len(piece)
            yield piece

    def close(self) -> None:
        """Close the file, which deletes it."""
        if self._file is not None:
            with suppress(OSError):  # what is not written yet is not needed any more
                self._file.close()


class Decoder:
    """Decodes the Base64 text of one image, in pieces, into the spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._start: int | None = None
        self._mime: str | None = None
        self._size = 0
        self._rest = ""
        self._problem: str | None = None

    def feed(self, text: str) -> None:
        """Process the next piece."""
        self._rest += "".join(text.split())
        if self._start is None and ("," in self._rest or len(self._rest) >= MAX_HEADER):
            self._take_header()
        if self._start is not None:
            complete = len(self._rest) // 4 * 4
            self._decode(self._rest[:complete])
            self._rest = self._rest[complete:]

    def finish(self) -> Picture:
        """Finish decoding and return the image."""
        if self._start is None:
            self._take_header()
        # Some encoders omit the padding.
        self._decode(self._rest + "=" * (-len(self._rest) % 4))
        assert self._start is not None
        if self._problem is None and self._size == 0:
            self._problem = "it has no data"
        return Picture(self._start, self._size, self._mime, self._problem)

    def _take_header(self) -> None:
        header = _HEADER.match(self._rest)
        if header is not None:
            self._mime = header[1].lower() if header[1] else None
            self._rest = self._rest[header.end() :]
        self._start = self._spool.end()

    def _decode(self, text: str) -> None:
        if self._problem is not None or not text:
            return
        try:
            piece = base64.b64decode(text, validate=True)
        except ValueError:
            self._problem = "its data is not Base64"
            return
        self._spool.append(piece)
        self._size += len(piece)


class ImageStripper:
    """Removes the image data from a JSON answer that arrives in pieces."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._stripped = bytearray()
        self._buffer = b""
        self._decoder: Decoder | None = None

    def feed(self, piece: bytes) -> None:
        """Process the next piece.

        Raises:
            Failure: the answer has too much text, or the spool cannot be written.
        """
        self._buffer += piece
        while self._leave_image() if self._decoder else self._enter_image():
            pass
        if len(self._stripped) > MAX_TEXT_BYTES:
            raise Failure("The API's answer is too long: more than 64 MB without its images.")

    def finish(self) -> bytes:
        """The answer without image data; a truncated answer stays truncated."""
        return bytes(self._stripped + self._buffer)

    def _enter_image(self) -> bool:
        """Copy text up to the next image; returns whether an image begins."""
        key = _KEY.search(self._buffer)
        if key is None:
            # The end may be the beginning of a key; keep it for the next piece.
            safe = max(0, len(self._buffer) - _MAX_KEY)
            self._stripped += self._buffer[:safe]
            self._buffer = self._buffer[safe:]
            return False
        self._stripped += self._buffer[: key.end()]
        self._buffer = self._buffer[key.end() :]
        self._decoder = Decoder(self._spool)
        return True

    def _leave_image(self) -> bool:
        """Decode image data up to its end; returns whether the end was reached."""
        assert self._decoder is not None
        end = _end_of_string(self._buffer)
        if end is None:
            complete = len(self._buffer) - _unfinished(self._buffer)
            self._decoder.feed(_unescape(self._buffer[:complete]))
            self._buffer = self._buffer[complete:]
            return False
        self._decoder.feed(_unescape(self._buffer[:end]))
        reference = self._spool.add(self._decoder.finish())
        self._stripped += reference.encode() + b'"'
        self._buffer = self._buffer[end + 1 :]
        self._decoder = None
        return True


def _end_of_string(text: bytes) -> int | None:
    """The position of the quotation mark that ends a JSON string."""
    position = text.find(b'"')
    while position >= 0 and _backslashes_before(text, position) % 2:
        position = text.find(b'"', position + 1)
    return None if position < 0 else position


def _backslashes_before(text: bytes, position: int) -> int:
    start = position
    while start and text[start - 1 : start] == b"\\":
        start -= 1
    return position - start


def _unfinished(text: bytes) -> int:
    """The length of a possibly incomplete escape sequence at the end."""
    position = text.rfind(b"\\", max(0, len(text) - MAX_ESCAPE))
    if position < 0 or _backslashes_before(text, position) % 2:
        return 0
    length = len(text) - position
    needed = MAX_ESCAPE if text[position + 1 : position + 2] == b"u" else 2
    return length if length < needed else 0


def _unescape(text: bytes) -> str:
    if b"\\" not in text:
        return text.decode("ascii", errors="replace")
    try:
        return str(json.loads(b'"' + text + b'"', strict=False))
    except ValueError:
        return "\ufffd"
