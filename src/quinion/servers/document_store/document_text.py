"""Text of a document, reassembled from its chunks."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise, takewhile

from quinion.engine import Engine
from quinion.errors import DocumentMissing, InvalidInput, NoChunks
from quinion.model.record import Record, is_flagged
from quinion.servers.document_store.answers import DocumentText, Listed
from quinion.servers.document_store.records import CHUNKS, REGISTRY, page_breaks
from quinion.servers.response_size import how_many_fit

SEPARATOR = "\n\n"
MAX_CHARACTERS = 100_000
"""Default size of one part of a text: about 25,000 tokens, a fair share of a model's context."""
_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9})?\s*)?", re.ASCII)
LAST_PAGE = 10**9

Pages = tuple[int, int]
"""First and last page of a range, both included."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What to read of a document, and in which form; see the parameters of `get_document_text`."""

    without_overlap: bool = False
    from_chunk: int = 0
    pages: Pages | None = None
    page_marks: bool = False
    max_characters: int | None = None

    @property
    def by_page(self) -> bool:
        """Whether the text is divided into pages; each character is then returned once."""
        return self.page_marks or self.pages is not None


@dataclass(frozen=True, slots=True)
class _Piece:
    """Text that one chunk adds, of one page, or of several if their border is not known."""

    pages: Pages
    text: str


async def read_text(engine: Engine, document_id: str, selection: Selection) -> DocumentText:
    """Read the selected text, as much as fits into one answer.

    Raises:
        DocumentMissing: the id is not in the registry.
        NoChunks: the document is registered, but no chunks are stored.
        InvalidInput: `from_chunk` is past the last chunk, or the pages have no text.
    """
    entries = await engine.collections.get(REGISTRY, ids=[document_id])
    if not entries:
        raise DocumentMissing(f"Document not found: {document_id}")
    document = Listed.of(entries[0])
    records = await engine.collections.get(CHUNKS, where={"document_id": document_id})
    if not records:
        raise NoChunks(f"Document {document_id} has no chunks. Ingest its file again.")
    first = selection.from_chunk
    if first >= len(records):
        raise InvalidInput(f"from_chunk is {first}, but {document_id} has {len(records)} chunks.")
    records.sort(key=_index)
    parts = _parts(records, selection)
    count = max(1, _how_many(parts[first:], selection))
    following = first + count
    following += sum(1 for _ in takewhile(lambda part: not part, parts[following:]))
    return DocumentText(
        document_id=document_id,
        file_path=document.file_path,
        title=document.title,
        document_type=document.document_type,
        chunk_count=len(records),
        text=_join(parts[first:following], selection),
        next_chunk=following if following < len(parts) else None,
        hint=_say_how_to_go_on(following) if following < len(parts) else None,
        hidden_text=any(
            is_flagged(record.metadata)
            for record, part in zip(records[first:following], parts[first:following], strict=True)
            if part
        ),
    )


def parse_pages(text: str | None) -> Pages | None:
    """Parse a page, `14`, or a range of pages, `3-7` or `3-`.

    Raises:
        InvalidInput: it is neither.
    """
    if text is None:
        return None
    match = _RANGE.fullmatch(text)
    first = int(match[1]) if match else 0
    last = int(match[2] or LAST_PAGE) if match and re.search("[-–]", text) else first
    if not 1 <= first <= last:
        raise InvalidInput(f'pages must be a page or a range such as "14" or "3-7", got {text!r}.')
    return first, last


def _parts(records: Sequence[Record], selection: Selection) -> list[str]:
    """Return what each chunk adds to the text; empty if it is not on the selected pages."""
    if selection.by_page:
        pieces = _strip_start(_select(_normalize(_pieces(records)), selection.pages))
        return list(_by_page(pieces, selection))
    return list(_without_overlap(records) if selection.without_overlap else _full_chunks(records))


def _how_many(parts: Sequence[str], selection: Selection) -> int:
    count, separator = how_many_fit(parts), _separator(selection)
    if selection.max_characters is None:
        return count
    limit = selection.max_characters + len(separator)
    ends = accumulate(len(part) + len(separator) for part in parts[:count])
    return sum(1 for end in ends if end <= limit)


def _join(parts: Sequence[str], selection: Selection) -> str:
    text = _separator(selection).join(parts)
    return text.strip() if selection.page_marks else text


def _separator(selection: Selection) -> str:
    return "" if selection.without_overlap or selection.by_page else SEPARATOR


def _say_how_to_go_on(next_chunk: int) -> str:
    return (
        "This is a part of the text. To go on, call get_document_text again with "
        f"from_chunk={next_chunk} and otherwise the same arguments."
    )


def _index(record: Record) -> int:
    return int(record.metadata["chunk_index"])


def _full_chunks(records: Sequence[Record]) -> Iterator[str]:
    return (record.text for record in records)


def _without_overlap(records: Sequence[Record]) -> Iterator[str]:
    """Yield the text that each chunk adds to the previous ones, with the gap before it."""
    for record, gap, skipped in _added(records):
        yield gap + record.text[skipped:]


def _added(records: Sequence[Record]) -> Iterator[tuple[Record, str, int]]:
    """Yield each chunk with the gap before it, and how much of it the previous ones have.

    Chunks written by other programs have no offsets and are assumed not to overlap.
    """
    reached = 0
    for record in records:
        start = int(record.metadata.get("char_start", reached))
        gap = str(record.metadata.get("gap_before", SEPARATOR if reached else ""))
        yield record, gap, max(0, reached - start)
        reached = max(reached, start + len(record.text))


def _pieces(records: Sequence[Record]) -> Iterator[list[_Piece]]:
    """Yield what each chunk adds, divided by page.

    A chunk of several pages without page breaks, as older versions and other programs write it,
    is not divided.
    """
    for record, gap, skipped in _added(records):
        numbers = [int(number) for number in str(record.metadata["page_numbers"]).split(",")]
        breaks = page_breaks(record.metadata)
        if len(breaks) + 1 == len(numbers):
            ranges = [(number, number) for number in numbers]
        else:
            ranges, breaks = [(numbers[0], numbers[-1])], []
        bounds = [0, *breaks, len(record.text)]
        texts = [record.text[max(start, skipped) : end] for start, end in pairwise(bounds)]
        added = [_Piece(*pair) for pair in zip(ranges, texts, strict=True) if pair[1]]
        if added:
            added[0] = _Piece(added[0].pages, gap + added[0].text)
        yield added


def _normalize(parts: Iterator[list[_Piece]]) -> Iterator[list[_Piece]]:
    """Separate pages by one blank line, whatever white space was between them."""
    before: Pages | None = None
    for part in parts:
        for place, piece in enumerate(part):
            text = piece.text
            if piece.pages != before:
                text = SEPARATOR + text.lstrip()
            if place + 1 < len(part):
                text = text.rstrip()
            part[place] = _Piece(piece.pages, text)
            before = piece.pages
        yield part


def _select(parts: Iterator[list[_Piece]], pages: Pages | None) -> list[list[_Piece]]:
    """Keep what is on the selected pages.

    Raises:
        InvalidInput: nothing is.
    """
    read = list(parts)
    if pages is None:
        return read
    first, last = pages
    kept = [
        [one for one in part if one.pages[0] <= last and one.pages[1] >= first] for part in read
    ]
    if not any(kept):
        ends = [number for part in read for piece in part for number in piece.pages]
        raise InvalidInput(
            f"Pages {first} to {last} have no text. The document's text is on pages {min(ends)} "
            f"to {max(ends)}."
        )
    return kept


def _strip_start(parts: list[list[_Piece]]) -> list[list[_Piece]]:
    part = next(part for part in parts if part)
    part[0] = _Piece(part[0].pages, part[0].text.lstrip())
    return parts


def _by_page(parts: Sequence[Sequence[_Piece]], selection: Selection) -> Iterator[str]:
    """Yield the text of each chunk, with a mark where a page starts and where the answer does."""
    before: Pages | None = None
    has_begun = False
    for index, part in enumerate(parts):
        text = ""
        for piece in part:
            begins = index >= selection.from_chunk and not has_begun
            if selection.page_marks and (begins or piece.pages != before):
                text += f"{SEPARATOR}{_mark(piece.pages)}\n{piece.text.lstrip()}"
            else:
                text += piece.text
            before, has_begun = piece.pages, has_begun or begins
        yield text


def _mark(pages: Pages) -> str:
    first, last = pages
    return f"[page {first}]" if first == last else f"[pages {first}-{last}]"
