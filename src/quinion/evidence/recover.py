"""Places of chunks whose records have none, from homes of earlier versions. Pure.

Only a place that is certain is returned: the text of the chunk occurs exactly once where it can be.
"""

from collections.abc import Iterator, Mapping, Sequence

from quinion.model.page import PageSpan, PageWords, join_spans, without_spaces


def recover(
    text: str, numbers: Sequence[int], pages: Mapping[int, PageWords]
) -> tuple[PageSpan, ...]:
    """Find the only place of a chunk on these pages; empty if there is none or several.

    A chunk of several pages goes from the end of the first to the start of the last.
    """
    letters = without_spaces(text)
    texts = [pages[number].text for number in numbers]
    found = list(_starts(letters, texts))
    if not letters or len(found) != 1:
        return ()
    [start] = found
    spans = []
    rest = len(letters)
    for number, page in zip(numbers, texts, strict=True):
        end = min(len(page), start + rest)
        spans.append(PageSpan(number, start, end))
        rest -= end - start
        start = 0
    return join_spans(spans)


def _starts(letters: str, texts: Sequence[str]) -> Iterator[int]:
    """Yield the offsets on the first page at which the text may start."""
    first, *others = texts
    if not others:
        start = first.find(letters)
        while start >= 0:
            yield start
            start = first.find(letters, start + 1)
        return
    between = sum(map(len, others[:-1]))
    joined = "".join(texts)
    # At least one letter is on the first page, and one on the last.
    lowest = max(0, len(first) + between + 1 - len(letters))
    highest = min(len(first) - 1, len(joined) - len(letters))
    yield from (start for start in range(lowest, highest + 1) if joined.startswith(letters, start))
