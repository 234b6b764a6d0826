"""Zip archives that office files are: limits on their size, and their XML.

A small archive can have gigabytes of content. The sizes in its directory are checked before it is
read, and no entry is read beyond its stated size.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from quinion.errors import ExtractionFailed

MAX_ARCHIVE_BYTES = 256 << 20
"""Maximum size of a file, and of the text (XML) in it."""
_TEXT_SUFFIXES = (".xml", ".xhtml", ".html", ".htm", ".rels", ".opf", ".ncx")
_DAMAGE = (BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, KeyError)


@contextmanager
def open_archive(path: Path) -> Iterator[ZipFile]:
    """Open an archive.

    Raises:
        ExtractionFailed: damaged, encrypted or too large.
    """
    try:
        with ZipFile(path) as archive:
            texts = (one for one in archive.infolist() if one.filename.endswith(_TEXT_SUFFIXES))
            size = max(path.stat().st_size, sum(one.file_size for one in texts))
            if size > MAX_ARCHIVE_BYTES:
                raise ExtractionFailed(
                    f"{path.name} has more than {MAX_ARCHIVE_BYTES >> 20} MiB of text or is "
                    "larger than that. Split it."
                )
            yield archive
    except (*_DAMAGE, ElementTree.ParseError) as cause:
        raise ExtractionFailed(
            f"{path.name} is damaged ({cause}). Open it and save it again, then retry."
        ) from cause


def check_archive(path: Path) -> None:
    """Check the size of an archive.

    Raises:
        ExtractionFailed: see `open_archive`.
    """
    with open_archive(path):
        pass


def read_xml(archive: ZipFile, name: str) -> ElementTree.Element:
    """Parse an entry. ElementTree loads no external entity, and expat limits internal ones."""
    return ElementTree.fromstring(archive.read(name))  # noqa: S314
