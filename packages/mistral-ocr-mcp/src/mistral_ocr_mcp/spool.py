"""Image data on its way from the API to files, past memory.

The API sends all images of a document inside of one JSON answer. `Slimmer` reads that answer
in pieces as they arrive: the Base64 text of each image is decoded into a spool, a file without
a name, and a reference of a few bytes takes its place. What is left is Markdown and numbers,
and is all that the client library has to parse.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from mistral_ocr_mcp.errors import Failure

COPY_BYTES = 1 << 20
LONGEST_HEADER = 200
"""Base64 text has no comma, so a data header ends at the first one, if there is a header."""
LONGEST_REST = 64 << 20
"""More Markdown than any document has; without a limit an answer could take all memory."""

# A quotation mark inside of a JSON string has a backslash before it, so this is a key.
_KEY = re.compile(rb'(?<!\\)"image_base64"\s*:\s*"')
_LONGEST_KEY = 64
LONGEST_ESCAPE = 6
_HEADER = re.compile(r"data:(image/[\w.+-]+)?[^,]*,", re.IGNORECASE)


@dataclass(frozen=True)
class Picture:
    """An image in the spool: where it is, and what its data header says it is.

    `flaw` says why there is nothing to save.
    """

    start: int
    size: int
    mime: str | None
    flaw: str | None = None


class Spool:
    """Decoded images, one after the other. `open_file` is called when the first one comes."""

    def __init__(self, open_file: Callable[[], BinaryIO]) -> None:
        self._open_file = open_file
        self._file: BinaryIO | None = None
        self._pictures: list[Picture] = []

    @property
    def file(self) -> BinaryIO:
        if self._file is None:
            self._file = self._open_file()
        return self._file

    def add(self, picture: Picture) -> str:
        """Keep an image that was written, and return the reference to it."""
        self._pictures.append(picture)
        return str(len(self._pictures) - 1)

    def find(self, reference: str) -> Picture:
        """The image that a reference stands for.

        Raises:
            LookupError: there is none.
        """
        if not (reference.isascii() and reference.isdigit()):
            raise LookupError(reference[:LONGEST_HEADER])
        return self._pictures[int(reference[:LONGEST_HEADER])]

    def read(self, picture: Picture) -> Iterator[bytes]:
        """The bytes of an image, in pieces."""
        self.file.seek(picture.start)
        left = picture.size
        while left and (piece := self.file.read(min(left, COPY_BYTES))):
            left -= len(piece)
            yield piece

    def close(self) -> None:
        """Let go of the file, which is the end of it."""
        if self._file is not None:
            self._file.close()


class Decoder:
    """One image: Base64 text in pieces, bytes into the spool."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._start: int | None = None
        self._mime: str | None = None
        self._size = 0
        self._rest = ""
        self._flaw: str | None = None

    def feed(self, text: str) -> None:
        """Take the next piece."""
        self._rest += "".join(text.split())
        if self._start is None and ("," in self._rest or len(self._rest) >= LONGEST_HEADER):
            self._take_header()
        if self._start is not None:
            whole = len(self._rest) // 4 * 4
            self._decode(self._rest[:whole])
            self._rest = self._rest[whole:]

    def finish(self) -> Picture:
        """The image, when all its text was fed."""
        if self._start is None:
            self._take_header()
        # Some leave out what only pads the end.
        self._decode(self._rest + "=" * (-len(self._rest) % 4))
        assert self._start is not None
        if self._flaw is None and self._size == 0:
            self._flaw = "it has no data"
        return Picture(self._start, self._size, self._mime, self._flaw)

    def _take_header(self) -> None:
        header = _HEADER.match(self._rest)
        if header is not None:
            self._mime = header[1].lower() if header[1] else None
            self._rest = self._rest[header.end() :]
        self._start = self._spool.file.seek(0, 2)

    def _decode(self, text: str) -> None:
        if self._flaw is not None or not text:
            return
        try:
            piece = base64.b64decode(text, validate=True)
        except ValueError:
            self._flaw = "its data is not Base64"
            return
        self._spool.file.write(piece)
        self._size += len(piece)


class Slimmer:
    """The answer in pieces, to the answer without image data."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._slim = bytearray()
        self._buffer = b""
        self._decoder: Decoder | None = None

    def feed(self, piece: bytes) -> None:
        """Take the next piece.

        Raises:
            Failure: there is more text than a document has, or the spool cannot be written.
        """
        self._buffer += piece
        while self._leave_image() if self._decoder else self._enter_image():
            pass
        if len(self._slim) > LONGEST_REST:
            raise Failure("The API's answer is too long: more than 64 MB without its images.")

    def finish(self) -> bytes:
        """The answer, when all of it was fed; one that was cut off stays cut off."""
        return bytes(self._slim + self._buffer)

    def _enter_image(self) -> bool:
        """Pass text on up to the next image; whether one begins."""
        key = _KEY.search(self._buffer)
        if key is None:
            # The end may be the beginning of a key, with what stands before it.
            safe = max(0, len(self._buffer) - _LONGEST_KEY)
            self._slim += self._buffer[:safe]
            self._buffer = self._buffer[safe:]
            return False
        self._slim += self._buffer[: key.end()]
        self._buffer = self._buffer[key.end() :]
        self._decoder = Decoder(self._spool)
        return True

    def _leave_image(self) -> bool:
        """Take image data up to its end; whether that has come."""
        assert self._decoder is not None
        end = _end_of_string(self._buffer)
        if end is None:
            whole = len(self._buffer) - _unfinished(self._buffer)
            self._decoder.feed(_unescape(self._buffer[:whole]))
            self._buffer = self._buffer[whole:]
            return False
        self._decoder.feed(_unescape(self._buffer[:end]))
        reference = self._spool.add(self._decoder.finish())
        self._slim += reference.encode() + b'"'
        self._buffer = self._buffer[end + 1 :]
        self._decoder = None
        return True


def _end_of_string(text: bytes) -> int | None:
    """Where the quotation mark stands that ends a JSON string."""
    place = text.find(b'"')
    while place >= 0 and _backslashes_before(text, place) % 2:
        place = text.find(b'"', place + 1)
    return None if place < 0 else place


def _backslashes_before(text: bytes, place: int) -> int:
    start = place
    while start and text[start - 1 : start] == b"\\":
        start -= 1
    return place - start


def _unfinished(text: bytes) -> int:
    """The length of an escape sequence at the end that may go on."""
    place = text.rfind(b"\\", max(0, len(text) - LONGEST_ESCAPE))
    if place < 0 or _backslashes_before(text, place) % 2:
        return 0
    length = len(text) - place
    needed = LONGEST_ESCAPE if text[place + 1 : place + 2] == b"u" else 2
    return length if length < needed else 0


def _unescape(text: bytes) -> str:
    if b"\\" not in text:
        return text.decode("ascii", errors="replace")
    try:
        return str(json.loads(b'"' + text + b'"', strict=False))
    except ValueError:
        return "\ufffd"
