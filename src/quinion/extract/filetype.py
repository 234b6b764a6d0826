"""Detect the type of a file from its extension and its first bytes, and check that they agree."""

from enum import StrEnum
from pathlib import Path

from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile


class FileKind(StrEnum):
    """The reader that a file needs."""

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
# Some programs write junk before the header; PDF readers search this many bytes for it.
_HEAD = 1024
_IMAGE_STARTS = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"II*\0": "a TIFF image",
    b"MM\0*": "a TIFF image",
    b"BM": "a BMP image",
}


def recognize(path: Path, extension: str = "") -> FileKind:
    """Detect the kind of a file, and check its content against its extension.

    Raises:
        FileMissing: the file does not exist.
        UnsupportedFile: the extension is not supported.
        ExtractionFailed: empty, unreadable, a PDF with an image's extension, or the reverse.
    """
    kind = KINDS.get((extension or path.suffix).lower())
    if kind is None:
        raise UnsupportedFile(
            f"{path.name}: unsupported file type {path.suffix or '(no extension)'}. "
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
        raise FileMissing(f"File not found: {path}.") from cause
    except OSError as cause:
        raise ExtractionFailed(f"{path} cannot be read: {cause.strerror}.") from cause


def _describe(head: bytes) -> str:
    found = (name for start, name in _IMAGE_STARTS.items() if head.startswith(start))
    return next(found, "something else: it has no %PDF header")


def _rename_advice(head: bytes) -> str:
    if any(head.startswith(start) for start in _IMAGE_STARTS):
        return "Rename it to match its content."
    return "Get a fresh copy, or save it as PDF again."
