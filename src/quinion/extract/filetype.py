"""What kind of file this is, by its name and by its first bytes, and whether they agree."""

from enum import StrEnum
from pathlib import Path

from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile


class FileKind(StrEnum):
    """What reads the file."""

    PDF = "pdf"
    IMAGE = "image"


KINDS = {
    ".pdf": FileKind.PDF,
    ".png": FileKind.IMAGE,
    ".jpg": FileKind.IMAGE,
    ".jpeg": FileKind.IMAGE,
    ".tiff": FileKind.IMAGE,
    ".tif": FileKind.IMAGE,
    ".bmp": FileKind.IMAGE,
}
# Programs put junk before the header, and readers look for it this far.
_HEAD = 1024
_IMAGE_STARTS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"BM": "a BMP image",
}


def recognize(path: Path, extension: str = "") -> FileKind:
    """The kind of a file that can be opened and is what its name, or the extension, says.

    Raises:
        FileMissing: there is no such file.
        UnsupportedFile: the extension is none that we read.
        ExtractionFailed: empty, unreadable, or a PDF under an image's name or the other way.
    """
    kind = KINDS.get((extension or path.suffix).lower())
    if kind is None:
        raise UnsupportedFile(
            f"{path.name}: files that end in {path.suffix or 'nothing'} are not read. "
            f"Supported: {', '.join(KINDS)}."
        )
    head = _read_head(path)
    if not head:
        raise ExtractionFailed(f"{path.name} is empty. Copy or download it again.")
    is_pdf = b"%PDF" in head
    if kind is FileKind.PDF and not is_pdf:
        raise ExtractionFailed(
            f"{path.name} is not a PDF but {_describe(head)}. {_rename_advice(head)}"
        )
    if kind is FileKind.IMAGE and head.startswith(b"%PDF"):
        raise ExtractionFailed(f"{path.name} is not an image but a PDF. Rename it to .pdf.")
    return kind


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError as cause:
        raise FileMissing(f"There is no file {path}.") from cause
    except OSError as cause:
        raise ExtractionFailed(f"{path} cannot be read: {cause.strerror}.") from cause


def _describe(head: bytes) -> str:
    found = (name for start, name in _IMAGE_STARTS.items() if head.startswith(start))
    return next(found, "something else: it has no %PDF header")


def _rename_advice(head: bytes) -> str:
    if any(head.startswith(start) for start in _IMAGE_STARTS):
        return "Rename it to what it is."
    return "Get a fresh copy, or save it as PDF again."
