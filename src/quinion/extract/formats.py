"""Registry of file formats: extensions, content check, reader.

Another format is a module with a reader and a line in `FORMATS`. A reader has one of two functions:

- `open_pages(path, max_pixels)` opens a file with pages (`PageFile`);
- `read_parts(path, extension)` yields the text of a file without pages (`model.text_part`).

Only worker processes import readers, because their libraries parse untrusted files.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from quinion.errors import ExtractionFailed, FileMissing, UnsupportedFile
from quinion.model.text_part import TextPart

if TYPE_CHECKING:
    from quinion.extract.ocr.raster import Raster

# Some programs write junk before the header; PDF readers search this many bytes for it.
_HEAD = 1024


@dataclass(frozen=True, slots=True)
class Measured:
    """A page before OCR: the share that pictures cover, its text layer, and the words in it.

    `hidden` is the number of invisible characters, and `words` are the words with their boxes
    (`model.page`), empty if there are none.
    """

    image_ratio: float
    text: str = ""
    hidden: int = 0
    words: bytes = b""


class PageFile(Protocol):
    """An open file with pages; `index` is 0-based."""

    page_count: int

    def measure(self, index: int) -> Measured:
        """Measure the page, without decoding pixels."""
        ...

    def text(self, index: int) -> str:
        """Return the text layer."""
        ...

    def rasterize(self, index: int, dpi: int, max_pixels: int) -> "Raster":
        """Render the page in grey."""
        ...


@dataclass(frozen=True)
class FileFormat:
    """A file format and its reader.

    `name` is what DocVec reports as `file_format`, and `title` stands in errors about the content.
    `signatures` describe contents by their first bytes. A file with the signature of another format
    is refused; `is_strict` also refuses a file without one of its own. Text has no signatures.
    Formats of code and tables are not `is_prose`: they have few words of a language.
    """

    name: str
    extensions: tuple[str, ...]
    reader: str
    title: str = ""
    has_pages: bool = False
    signatures: Mapping[bytes, str] = field(default_factory=dict, hash=False)
    is_strict: bool = False
    is_prose: bool = True

    def open_pages(self, path: Path, max_pixels: int) -> AbstractContextManager[PageFile]:
        """Open a file with pages.

        Raises:
            ExtractionFailed: damaged, encrypted or too large.
        """
        opened: AbstractContextManager[PageFile] = self._reader().open_pages(path, max_pixels)
        return opened

    def read_parts(self, path: Path, extension: str) -> Iterator[TextPart]:
        """Read the text of a file without pages.

        Raises:
            FileMissing: the file does not exist.
            ExtractionFailed: the file cannot be read, or is of another format.
        """
        if self.signatures:
            check_content(path, self)
        parts: Iterator[TextPart] = self._reader().read_parts(path, extension)
        return parts

    def _reader(self) -> Any:
        return import_module(self.reader)


PDF = FileFormat(
    "pdf",
    (".pdf",),
    "quinion.extract.pdf.reader",
    "a PDF",
    has_pages=True,
    signatures={b"%PDF": "a PDF"},
    is_strict=True,
)
IMAGE = FileFormat(
    "image",
    (".png", ".jpg", ".jpeg", ".tiff", ".tif", ".bmp"),
    "quinion.extract.image",
    "an image",
    has_pages=True,
    signatures={
        b"\x89PNG": "a PNG image",
        b"\xff\xd8\xff": "a JPEG image",
        b"II*\0": "a TIFF image",
        b"MM\0*": "a TIFF image",
        b"BM": "a BMP image",
    },
)
MARKDOWN = FileFormat("markdown", (".md",), "quinion.extract.textfile")
TEXT = FileFormat("text", (".txt",), "quinion.extract.textfile")
CODE = FileFormat("code", (".py",), "quinion.extract.textfile", is_prose=False)
_OFFICE = "quinion.extract.office"
_ZIP = b"PK"
WORD = FileFormat(
    "docx",
    (".docx",),
    f"{_OFFICE}.reflowable",
    "a Word document",
    signatures={_ZIP: "a Word document"},
    is_strict=True,
)
EPUB = FileFormat(
    "epub",
    (".epub",),
    f"{_OFFICE}.reflowable",
    "an EPUB book",
    signatures={_ZIP: "an EPUB book"},
    is_strict=True,
)
SLIDES = FileFormat(
    "pptx",
    (".pptx",),
    f"{_OFFICE}.slides",
    "a PowerPoint presentation",
    signatures={_ZIP: "a PowerPoint presentation"},
    is_strict=True,
)
WORKBOOK = FileFormat(
    "xlsx",
    (".xlsx",),
    f"{_OFFICE}.spreadsheet",
    "an Excel workbook",
    signatures={_ZIP: "an Excel workbook"},
    is_strict=True,
    is_prose=False,
)
WEB = FileFormat("html", (".html", ".htm"), f"{_OFFICE}.reflowable")
TABLE = FileFormat("csv", (".csv",), f"{_OFFICE}.table", is_prose=False)
MAIL = FileFormat("eml", (".eml",), f"{_OFFICE}.mail")

FORMATS = (PDF, IMAGE, MARKDOWN, TEXT, CODE, WORD, SLIDES, WEB, EPUB, WORKBOOK, TABLE, MAIL)


def by_extension(formats: Iterable[FileFormat]) -> dict[str, FileFormat]:
    """Return the formats by extension."""
    return {extension: one for one in formats for extension in one.extensions}


OFFICE = by_extension([WORD, SLIDES, WEB, EPUB, WORKBOOK, TABLE, MAIL])
"""Formats that the document library converts to PDF, by extension."""
INDEXED = by_extension(one for one in FORMATS if one is not IMAGE)
"""Formats that are indexed from folders, by extension: all with text of their own."""


def recognize(path: Path, extension: str = "") -> FileFormat:
    """Find the format of a file with pages, and check its content.

    Raises:
        FileMissing: the file does not exist.
        UnsupportedFile: the extension is not supported.
        ExtractionFailed: empty, unreadable, or of another format than its extension.
    """
    paged = by_extension(one for one in FORMATS if one.has_pages)
    format = paged.get((extension or path.suffix).lower())
    if format is None:
        raise UnsupportedFile(
            f"{path.name}: unsupported file type {path.suffix or '(no extension)'}. "
            f"Supported: {', '.join(paged)}."
        )
    check_content(path, format)
    return format


def check_content(path: Path, format: FileFormat) -> None:
    """Check the first bytes of a file against its format.

    Raises:
        FileMissing: the file does not exist.
        ExtractionFailed: empty, unreadable, or of another format.
    """
    head = _read_head(path)
    if not head:
        raise ExtractionFailed(f"{path.name} is empty. Copy or download it again.")
    if format.is_strict and any(signature in head for signature in format.signatures):
        return
    found = _find_signature(head)
    if found is None and format.is_strict:
        [header, *_] = format.signatures
        raise ExtractionFailed(
            f"{path.name} is not {format.title} but something else: it has no {header.decode()} "
            f"header. Get a fresh copy, or save it as {format.name.upper()} again."
        )
    if found is not None and found[0] is not format:
        other, description = found
        advice = other.extensions[0] if len(other.extensions) == 1 else "match its content"
        raise ExtractionFailed(
            f"{path.name} is not {format.title} but {description}. Rename it to {advice}."
        )


def _find_signature(head: bytes) -> tuple[FileFormat, str] | None:
    """Find the only format with this signature; several are zip archives."""
    found = [
        (format, description)
        for format in FORMATS
        for start, description in format.signatures.items()
        if head.startswith(start)
    ]
    return found[0] if len({format for format, _ in found}) == 1 else None


def _read_head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except FileNotFoundError as cause:
        raise FileMissing(f"File not found: {path}.") from cause
    except OSError as cause:
        raise ExtractionFailed(f"{path} cannot be read: {cause.strerror}.") from cause
