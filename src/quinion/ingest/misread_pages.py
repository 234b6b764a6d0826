"""Warning about scanned pages on which OCR probably misread many words.

The engines' own confidences mean different things: a page at 92 has 5 wrong words of 100 if
Tesseract read it, and 22 if RapidOCR did. So they are converted to the share of right words that
was measured on pages with known text (`docs/extraction.md`).
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from quinion.model.page import Method, Page

# Confidence of a page, and the share of its words that are right. Between them it is interpolated.
_TESSERACT = ((65.0, 0.55), (75.0, 0.68), (82.0, 0.75), (91.0, 0.93), (95.0, 0.98))
_RAPIDOCR = ((92.0, 0.77), (95.0, 0.88), (97.0, 0.91), (99.0, 0.97))
_SHOWN_PAGES = 10

MAX_WRONG = 0.1
"""Share of a page's words that may be wrong without a warning."""


def find_misread(pages: Iterable[Page]) -> dict[int, float]:
    """Estimate the share of wrong words by page number, for pages that have too many."""
    estimated = {
        page.number: 1 - right_share(page.engine, page.confidence)
        for page in pages
        if page.method is Method.OCR and page.confidence is not None
    }
    return {number: wrong for number, wrong in estimated.items() if wrong > MAX_WRONG}


def right_share(engine: str | None, confidence: float) -> float:
    """Estimate the share of a page's words that are right from its mean confidence."""
    points = _TESSERACT if engine == "tesseract" else _RAPIDOCR
    if confidence <= points[0][0]:
        return points[0][1]
    for (low, less), (high, more) in pairwise(points):
        if confidence <= high:
            return less + (more - less) * (confidence - low) / (high - low)
    return points[-1][1]


def describe_misread(misread: Mapping[int, float]) -> list[str]:
    """Describe in one sentence which pages are affected, and what to do; empty without any."""
    if not misread:
        return []
    numbers = sorted(misread)
    shown = ", ".join(map(str, numbers[:_SHOWN_PAGES]))
    more = f" and {len(numbers) - _SHOWN_PAGES:,} more" if len(numbers) > _SHOWN_PAGES else ""
    worst = round(100 * max(misread.values()))
    pages = "Page" if len(numbers) == 1 else "Pages"
    return [
        f"{pages} {shown}{more} may have many misread words, by estimate up to {worst} of 100: "
        "compare with the original before you quote, or scan again at a higher resolution."
    ]
