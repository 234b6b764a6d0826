"""Quality of the pages of a document: which of them a person should check. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quinion.model.page import LOW_CONFIDENCE, Page
from quinion.model.record import Metadata, Scalar

PAGE_COUNT = "page_count"
"""Metadata key of a document: its number of pages."""


@dataclass(frozen=True, slots=True)
class PageQuality:
    """The number of pages, and the numbers of those to check.

    `empty` pages have no text; the words of `doubtful` ones were recognized with low confidence;
    `hidden` ones have text that cannot be seen. `page_count` is 0 if it was not recorded.
    """

    page_count: int = 0
    empty: tuple[int, ...] = ()
    doubtful: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()

    @classmethod
    def of(cls, pages: Sequence[Page]) -> "PageQuality":
        """Inspect the pages of a document."""
        return cls(
            len(pages),
            tuple(page.number for page in pages if not page.text.strip()),
            tuple(page.number for page in pages if _is_doubtful(page)),
            tuple(page.number for page in pages if page.hidden),
        )

    @classmethod
    def from_metadata(cls, metadata: Metadata) -> "PageQuality":
        """Read what `as_metadata` wrote."""
        lists = (
            _parse(str(metadata.get(f"{name}_pages", "")))
            for name in ("empty", "doubtful", "hidden")
        )
        return cls(int(metadata.get(PAGE_COUNT, 0)), *lists)

    def as_metadata(self) -> dict[str, Scalar]:
        """Metadata of the document's record; ranges of pages as `3,5-9`, left out if empty."""
        lists = {"empty": self.empty, "doubtful": self.doubtful, "hidden": self.hidden}
        noted = {f"{name}_pages": _format(numbers) for name, numbers in lists.items() if numbers}
        return {PAGE_COUNT: self.page_count, **noted} if self.page_count else {}


NOT_RECORDED = PageQuality()


def _is_doubtful(page: Page) -> bool:
    return page.confidence is not None and page.confidence < LOW_CONFIDENCE


def _format(numbers: Iterable[int]) -> str:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return ",".join(f"{first}-{last}" if first < last else f"{first}" for first, last in ranges)


def _parse(text: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return tuple(numbers)
