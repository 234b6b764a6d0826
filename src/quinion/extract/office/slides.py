"""PowerPoint files as Markdown, slide by slide; the slide number is cited.

PyMuPDF opens these files too, but it joins all slides to one text. So their XML is read here: the
order of the slides, the paragraphs of each, its title, and its notes.
"""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element
from zipfile import ZipFile

from quinion.extract.office.archive import open_archive, read_xml
from quinion.model.text_part import Lines, Syntax, TextPart

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_PRESENTATION = PurePosixPath("ppt/presentation.xml")
_TITLES = frozenset({"title", "ctrTitle"})
_NO_TEXT = frozenset({"sldNum", "dt", "ftr", "sldImg"})
"""Placeholders of the slide number, the date, the footer, and of the slide in its notes."""


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a presentation for `extract.formats`: one part for each slide with text.

    Raises:
        ExtractionFailed: damaged, encrypted or too large.
    """
    with open_archive(path) as archive:
        for number, slide in enumerate(_find_slides(archive), 1):
            if text := _read_slide(archive, slide):
                yield TextPart(text, Syntax.MARKDOWN, {"slide": number}, Lines.NONE)


def _find_slides(archive: ZipFile) -> Iterator[PurePosixPath]:
    """Find the slides in the order in which they are shown."""
    targets = {id_: target for id_, _, target in _relations(archive, _PRESENTATION)}
    for one in read_xml(archive, str(_PRESENTATION)).iter(f"{_SLIDE}sldId"):
        if (target := targets.get(one.get(_ID, ""))) is not None:
            yield target


def _read_slide(archive: ZipFile, slide: PurePosixPath) -> str:
    blocks = _read_blocks(read_xml(archive, str(slide)))
    for _, kind, target in _relations(archive, slide):
        if kind == "notesSlide":
            blocks += _read_blocks(read_xml(archive, str(target)))
    return "\n\n".join(blocks)


def _read_blocks(root: Element) -> list[str]:
    """Read the paragraphs, the title as a heading; a row of a table is one paragraph."""
    blocks: list[str] = []
    for element in root.iter():
        if element.tag == f"{_DRAWING}tr":
            cells = (_text(cell) for cell in element.iter(f"{_DRAWING}tc"))
            blocks.append(" | ".join(filter(None, cells)))
        elif element.tag == f"{_SLIDE}sp":
            blocks += _read_shape(element)
    return [block for block in blocks if block]


def _read_shape(shape: Element) -> Iterator[str]:
    placeholder = shape.find(f".//{_SLIDE}ph")
    kind = "" if placeholder is None else placeholder.get("type", "")
    if kind in _NO_TEXT:
        return
    for paragraph in shape.iter(f"{_DRAWING}p"):
        text = _text(paragraph)
        yield f"# {text}" if kind in _TITLES and text else text


def _text(element: Element) -> str:
    return " ".join("".join(run.text or "" for run in element.iter(f"{_DRAWING}t")).split())


def _relations(archive: ZipFile, source: PurePosixPath) -> Iterator[tuple[str, str, PurePosixPath]]:
    """List what an entry refers to: id, kind and name in the archive."""
    name = str(source.parent / "_rels" / f"{source.name}.rels")
    if name not in archive.namelist():
        return
    for one in read_xml(archive, name):
        target = one.get("Target", "")
        joined = _normalize(target[1:] if target.startswith("/") else f"{source.parent}/{target}")
        yield one.get("Id", ""), one.get("Type", "").rpartition("/")[2], joined


def _normalize(path: str) -> PurePosixPath:
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return PurePosixPath(*parts)
