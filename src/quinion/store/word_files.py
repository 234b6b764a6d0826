"""Word files: the words of a document's pages with their boxes, one file per document.

The files are named by the hash of the document's content. They can be computed again, so a file
that is missing or damaged is no error.
"""

import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_MAGIC = b"QWORDS1\n"
_COUNT = struct.Struct("<I")
_ENTRY = struct.Struct("<III")
MAX_PAGES = 100_000


class WordFiles:
    """Word files in one folder. All methods block; writers of one file must not overlap."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        """The path of the file of this document, which may not exist."""
        return self._folder / sha256

    def has(self, sha256: str) -> bool:
        """Whether any words of this document are kept."""
        return self.path(sha256).exists()

    def read(self, sha256: str, page: int) -> bytes | None:
        """Return the encoded words of a page (1-based); None if they are not kept."""
        with suppress(OSError, struct.error), self.path(sha256).open("rb") as file:
            if file.read(len(_MAGIC)) != _MAGIC:
                return None
            [count] = _COUNT.unpack(file.read(_COUNT.size))
            index = file.read(min(count, MAX_PAGES) * _ENTRY.size)
            for number, offset, length in _ENTRY.iter_unpack(index):
                if number == page:
                    file.seek(offset)
                    return file.read(length)
        return None

    def read_all(self, sha256: str) -> dict[int, bytes]:
        """Return the encoded words of all pages that are kept."""
        with suppress(OSError, struct.error):
            data = self.path(sha256).read_bytes()
            if data.startswith(_MAGIC):
                [count] = _COUNT.unpack_from(data, len(_MAGIC))
                start = len(_MAGIC) + _COUNT.size
                index = data[start : start + count * _ENTRY.size]
                return {
                    page: data[offset : offset + length]
                    for page, offset, length in _ENTRY.iter_unpack(index)
                }
        return {}

    def write(self, sha256: str, pages: Mapping[int, bytes]) -> None:
        """Write the words of these pages; words of other pages are kept.

        Raises:
            OSError: the file cannot be written.
        """
        kept = {**self.read_all(sha256), **pages}
        offset = len(_MAGIC) + _COUNT.size + len(kept) * _ENTRY.size
        index = []
        for page, data in kept.items():
            index.append(_ENTRY.pack(page, offset, len(data)))
            offset += len(data)
        self.save(sha256, b"".join([_MAGIC, _COUNT.pack(len(kept)), *index, *kept.values()]))

    def save(self, sha256: str, content: bytes) -> None:
        """Write a whole file.

        Raises:
            OSError: it cannot be written.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        scratch = self._folder / f"copying-{sha256}"
        scratch.write_bytes(content)
        scratch.replace(self.path(sha256))

    def drop(self, sha256: str) -> None:
        """Delete the file of this document, if it exists."""
        with suppress(OSError):
            self.path(sha256).unlink(missing_ok=True)
