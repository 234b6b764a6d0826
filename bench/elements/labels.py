"""Manual labels (`labels.json`), and the elements detected on the labelled pages."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from quinion.elements.document import find_elements, open_document
from quinion.elements.mupdf_layout import pymupdf
from quinion.model.element import Box, Element, ElementType
from quinion.workers.jobs.elements import read_words

DPI = 200
LABELS = Path(__file__).with_name("labels.json")


@dataclass(frozen=True, slots=True)
class Label:
    """Manually labelled element; `label` is None if the page has no label for it."""

    label: str | None
    type: ElementType
    box: Box


@dataclass(frozen=True, slots=True)
class LabelledPage:
    path: str
    number: int
    is_scan: bool
    held_out: bool
    labels: tuple[Label, ...]


def read_labels() -> list[LabelledPage]:
    """Read all labelled pages in the order of the file."""
    return [
        LabelledPage(
            document["path"],
            int(number),
            document["kind"] == "scan",
            document["held_out"],
            tuple(
                Label(one["label"], ElementType(one["type"]), Box(*one["box"])) for one in labels
            ),
        )
        for document in json.loads(LABELS.read_text())["documents"]
        for number, labels in document["pages"].items()
    ]


def find_beside(
    corpus: Path, pages: Sequence[LabelledPage], *, as_pixels: bool = False
) -> Iterator[tuple[LabelledPage, tuple[Element, ...]]]:
    """Yield each labelled page with the elements detected on it, or on an image of it."""
    for page in pages:
        path = corpus / page.path
        if as_pixels:
            with TemporaryDirectory() as folder:
                picture = save_as_image(path, page.number, Path(folder) / "page.pdf")
                [found] = find_elements(picture, 1, 1, read_words)
        else:
            [found] = find_elements(path, page.number, page.number, read_words)
        yield page, found.elements


def save_as_image(path: Path, number: int, target: Path) -> Path:
    """Write a PDF with an image of the page."""
    with open_document(path) as document, pymupdf.open() as copy:
        page = document[number - 1]
        pixels = page.get_pixmap(dpi=DPI, colorspace=pymupdf.csGRAY, alpha=False)
        copied = copy.new_page(width=page.rect.width, height=page.rect.height)
        copied.insert_image(copied.rect, pixmap=pixels)
        copy.save(target)
    return target


def is_generated_label(element: Element) -> bool:
    """Whether the element's label is generated, i.e. not on the page."""
    return f" p{element.page}-" in element.label
