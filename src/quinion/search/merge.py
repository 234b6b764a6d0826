"""Merged results: overlapping chunks as one text, each text once, no chunk of a few words alone.

Hits are taken in the order of their scores. One that overlaps a neighbour among the results is
joined to it. One whose text a result has already is left out, and its id noted there. A page number
is left out. A chunk that is a few words and no sentence is mostly a heading: it is joined to the
chunk below it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from quinion.chunk.page_edges import is_page_number
from quinion.lexical.overlap import find_numbers, find_shingles, measure_overlap
from quinion.model.record import Hit, Match, Merged, Metadata, Record, Scalar

SAME_SHARE = 0.8
"""Share of a text's word sequences that another one must have to have the same text."""
MAX_FRAGMENT = 100
"""Length in characters of the longest chunk that is joined to the one below it."""
_SENTENCE_END = re.compile(r"[.!?;:|}\])][\"'”’*_]*\s*$")
_JOINT = "\n"


@dataclass(frozen=True, slots=True)
class Merging:
    """How the chunks of a collection are merged.

    `document` are the metadata keys that identify a document, whose chunks `chunk_index` numbers;
    without them, chunks are not joined. `overlap` is set if neighbouring chunks overlap.
    """

    document: tuple[str, ...] = ()
    overlap: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    """A document and the index of a chunk in it."""

    document: tuple[Scalar, ...]
    index: int


@dataclass(slots=True)
class _Result:
    """Chunks that are one result, best first, and the ids of others with the same text."""

    hits: list[Hit]
    same_text: list[str] = field(default_factory=list)


def merge(hits: Iterable[Hit], how: Merging, limit: int) -> list[Hit]:
    """Merge hits, best first, to at most `limit` results."""
    results: list[_Result] = []
    for hit in hits:
        if is_page_number(hit.record.text):
            continue
        if near := [one for one in results if _is_neighbour(one, hit, how)]:
            near[0].hits.append(hit)
            for other in near[1:]:
                near[0].hits += other.hits
                near[0].same_text += other.same_text
                results.remove(other)
        elif same := next((one for one in results if _has_text(one, hit.record)), None):
            same.same_text.append(hit.record.id)
        elif len(results) < limit:
            results.append(_Result([hit]))
        else:
            break
    return [_join(one, how) for one in results]


def find_below(hit: Hit, how: Merging) -> Metadata | None:
    """Find which chunk is to be joined to a merged hit: its metadata, or none."""
    place = _find_place(hit.record, how)
    if place is None or not _is_fragment(hit.record.text):
        return None
    return {**dict(zip(how.document, place.document, strict=True)), "chunk_index": place.index + 1}


def append(hit: Hit, below: Record) -> Hit:
    """Join the chunk below to a merged hit."""
    text = f"{hit.record.text}{_JOINT}{below.text}"
    merged = hit.merged or Merged((hit.record.id,), _find_pages(hit.record))
    parts = [hit.record, below]
    pages = tuple(sorted({*merged.pages, *_find_pages(below)}))
    return replace(
        hit,
        record=replace(hit.record, text=text, metadata=_combine(hit.record, parts, text, pages)),
        merged=replace(merged, ids=(*merged.ids, below.id), pages=pages),
    )


def _is_neighbour(result: _Result, hit: Hit, how: Merging) -> bool:
    place = _find_place(hit.record, how)
    if place is None:
        return False
    for one in result.hits:
        other = _find_place(one.record, how)
        if other and other.document == place.document and abs(other.index - place.index) == 1:
            pair = (one, hit) if other.index < place.index else (hit, one)
            first, second = (each.record for each in pair)
            if _is_fragment(first.text) or (how.overlap and _overlap(first, second)):
                return True
    return False


def _find_place(record: Record, how: Merging) -> _Place | None:
    index = record.metadata.get("chunk_index")
    document = tuple(record.metadata[key] for key in how.document if key in record.metadata)
    if not document or len(document) < len(how.document) or not isinstance(index, int):
        return None
    return _Place(document, index)


def _is_fragment(text: str) -> bool:
    """Whether a text is a few words and no sentence."""
    return len(text) <= MAX_FRAGMENT and not _SENTENCE_END.search(text)


def _overlap(first: Record, second: Record) -> int:
    """Number of characters at the end of the first text with which the second one begins."""
    before, after = first.metadata, second.metadata
    starts = before.get("char_start"), after.get("char_start")
    # A policy's sections are numbered from 0 each, and headings have text below them.
    is_one_text = before.get("section_index") == after.get("section_index")
    if isinstance(starts[0], int) and isinstance(starts[1], int) and is_one_text:
        return max(0, min(starts[0] + len(first.text) - starts[1], len(second.text)))
    return measure_overlap(first.text, second.text)


def _has_text(result: _Result, record: Record) -> bool:
    """Whether a result has most of this text, and all numbers in it.

    Revisions of a policy have the same text only if each word is the same. An element, which has a
    `kind` of its own, is something else than the chunk that has its text.
    """
    ours = find_shingles(record.text)
    texts = [one.record for one in result.hits if _is_comparable(one.record, record)]
    if any(one.text.casefold().split() == record.text.casefold().split() for one in texts):
        return True
    texts = [one for one in texts if _revision(one) == _revision(record)]
    theirs = frozenset().union(*(find_shingles(one.text) for one in texts))
    numbers = frozenset().union(*(find_numbers(one.text) for one in texts))
    return (
        bool(ours)
        and len(ours & theirs) >= SAME_SHARE * len(ours)
        and find_numbers(record.text) <= numbers
    )


def _is_comparable(one: Record, other: Record) -> bool:
    return one.metadata.get("kind") == other.metadata.get("kind")


def _revision(record: Record) -> Scalar | None:
    return record.metadata.get("revision_id")


def _join(result: _Result, how: Merging) -> Hit:
    """Join the chunks of a result in the order of their document."""
    best = result.hits[0]
    hits = sorted(result.hits, key=lambda hit: _index(hit.record, how))
    records = [hit.record for hit in hits]
    text = records[0].text
    for before, after in pairwise(records):
        overlap = _overlap(before, after) if how.overlap else 0
        text += after.text[overlap:] if overlap else f"{_JOINT}{after.text}"
    pages = tuple(sorted({page for record in records for page in _find_pages(record)}))
    metadata = _combine(best.record, records, text, pages)
    words = dict.fromkeys(word for hit in hits if hit.match for word in hit.match.words)
    return Hit(
        Record(best.record.id, text, metadata) if len(hits) > 1 else best.record,
        best.score,
        Match(best.match.score, tuple(words)) if best.match else None,
        Merged(tuple(record.id for record in records), pages, tuple(result.same_text)),
    )


def _index(record: Record, how: Merging) -> int:
    place = _find_place(record, how)
    return place.index if place else 0


def _find_pages(record: Record) -> tuple[int, ...]:
    noted = str(record.metadata.get("page_numbers", record.metadata.get("page_number", "")))
    return tuple(int(page) for page in noted.split(",") if page.strip().isdecimal())


def _combine(
    best: Record, records: Sequence[Record], text: str, pages: Sequence[int]
) -> dict[str, Scalar]:
    """The metadata of the best chunk, with what is true of all chunks together."""
    known = [record.metadata for record in records]
    combined: dict[str, Scalar] = {
        "page_numbers": ",".join(map(str, pages)),
        "char_count": len(text),
        "word_count": len(text.split()),
        "token_count": sum(int(one.get("token_count", 0)) for one in known),
        "start_line": min(int(one.get("start_line", 0)) for one in known),
        "end_line": max(int(one.get("end_line", 0)) for one in known),
        "hidden_text": any(bool(one.get("hidden_text", False)) for one in known),
    }
    found = {key for one in known for key in one}
    shared = {
        key: value
        for key, value in combined.items()
        if key in best.metadata or (key == "hidden_text" and key in found)
    }
    return {**best.metadata, **shared}
