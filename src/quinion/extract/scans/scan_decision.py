"""Decide from measurements whether a document is a scan, a picture or ordinary. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from quinion.extract.scans.text_heuristics import MIN_MEAN_CONFIDENCE, has_running_text
from quinion.model.page import Method, Page

SAMPLE_SIZE = 5
# A text layer with fewer characters does not count.
MIN_LAYER_CHARACTERS = 10
# A page without running text is a drawing if pictures cover more than this share of it.
MIN_PICTURE_RATIO = 0.5


class PageKind(StrEnum):
    """The content of a probed page."""

    TEXT = "text"
    PICTURE = "picture"
    BLANK = "blank"


class DocumentKind(StrEnum):
    """The decision for a document."""

    ORDINARY = "ordinary"
    SCAN = "scan"
    PICTURE = "picture"


@dataclass(frozen=True, slots=True)
class Inspection:
    """Measurements of a document, taken before its pages are read.

    `image_ratios` has one value per page: the share of it that images cover, including line work
    on pages without running text.
    """

    page_count: int
    image_ratios: tuple[float, ...]

    @property
    def image_ratio(self) -> float:
        """The mean over all pages."""
        return sum(self.image_ratios) / self.page_count


def has_layer(text: str) -> bool:
    """Whether a page with this text layer needs no OCR."""
    return len(text.strip()) >= MIN_LAYER_CHARACTERS


def choose_pages_to_probe(inspection: Inspection, threshold: float) -> tuple[int, ...]:
    """Choose a few pages (1-based), evenly spread, if the image ratio is above the threshold."""
    if inspection.image_ratio <= threshold:
        return ()
    count = min(SAMPLE_SIZE, inspection.page_count)
    step = inspection.page_count / count
    return tuple(int(step * (place + 0.5)) + 1 for place in range(count))


def decide(inspection: Inspection, threshold: float, probed: Sequence[PageKind]) -> DocumentKind:
    """Decide the kind of document; without probes the image ratio alone decides."""
    if inspection.image_ratio <= threshold:
        return DocumentKind.ORDINARY
    pictures = sum(kind is PageKind.PICTURE for kind in probed)
    texts = sum(kind is PageKind.TEXT for kind in probed)
    return DocumentKind.PICTURE if not probed or pictures > texts else DocumentKind.SCAN


def contains_drawings(
    inspection: Inspection, pages: Iterable[Page], probed: Mapping[int, PageKind] | None = None
) -> bool:
    """Whether a page that was read is mostly picture and has no running text.

    `probed` maps page numbers to the results of probes. A receipt has short lines, so only its
    probe shows that it is text.
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
