"""Scan, picture or ordinary document: the decision, from what was measured. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from quinion.extract.scans.text_heuristics import MIN_MEAN_CONFIDENCE, has_running_text
from quinion.model.page import Method, Page

SAMPLE_SIZE = 5
# With fewer characters a page has no text layer worth the name.
MIN_LAYER_CHARACTERS = 10
# A page covered beyond this is one to look at, if nothing on it is to be read.
MIN_PICTURE_RATIO = 0.5


class PageKind(StrEnum):
    """What a page is for."""

    TEXT = "text"
    PICTURE = "picture"
    BLANK = "blank"


class DocumentKind(StrEnum):
    """What a document is."""

    ORDINARY = "ordinary"
    SCAN = "scan"
    PICTURE = "picture"


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is known of a document before any of its text is kept.

    `image_ratios` has one value per page: the part of it that images cover, and line work
    too where no text runs.
    """

    page_count: int
    image_ratios: tuple[float, ...]

    @property
    def image_ratio(self) -> float:
        """The average over the pages."""
        return sum(self.image_ratios) / self.page_count


def has_layer(text: str) -> bool:
    """Whether a page with this text layer needs no OCR."""
    return len(text.strip()) >= MIN_LAYER_CHARACTERS


def choose_pages_to_probe(inspection: Inspection, threshold: float) -> tuple[int, ...]:
    """Numbers (1-based) of a few pages spread over a document that its ratio puts in doubt."""
    if inspection.image_ratio <= threshold:
        return ()
    count = min(SAMPLE_SIZE, inspection.page_count)
    step = inspection.page_count / count
    return tuple(int(step * (place + 0.5)) + 1 for place in range(count))


def decide(inspection: Inspection, threshold: float, probed: Sequence[PageKind]) -> DocumentKind:
    """What the document is; without probes the ratio decides alone."""
    if inspection.image_ratio <= threshold:
        return DocumentKind.ORDINARY
    pictures = sum(kind is PageKind.PICTURE for kind in probed)
    texts = sum(kind is PageKind.TEXT for kind in probed)
    return DocumentKind.PICTURE if not probed or pictures > texts else DocumentKind.SCAN


def contains_drawings(
    inspection: Inspection, pages: Iterable[Page], probed: Mapping[int, PageKind] | None = None
) -> bool:
    """Whether some page that was read is mostly picture and carries no running text.

    `probed` has what is known of pages by their numbers; a receipt, whose lines are short, is
    known for text only by its probe.
    """
    known = probed or {}
    return any(
        inspection.image_ratios[page.number - 1] > MIN_PICTURE_RATIO
        and known.get(page.number) is not PageKind.TEXT
        and not _has_running_text(page)
        for page in pages
    )


def _has_running_text(page: Page) -> bool:
    if page.method is Method.OCR and (page.confidence or 0.0) < MIN_MEAN_CONFIDENCE:
        return False
    return has_running_text(page.text)
