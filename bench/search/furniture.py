"""Chunks of the planning documents that are only a heading or a page number.

    python -m bench.search.furniture CORPUS

What no chunk is, no result of any query is. The documents are split as the Document Store, the
Policy KB and DocVec split them. A chunk counts as a page number, or as a heading if it has at most
twelve words and no end of a sentence. Then each is looked up as the only hit of a merged search: it
is left out, joined to the chunk below it, or, at the end of a document, stays.
"""

import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

from bench.search.planning import SKIPPED, read_documents
from bench.table import table
from quinion.chunk.paged import split_pages
from quinion.chunk.recursive import chunk_pages
from quinion.chunk.sections.split import chunk_sections
from quinion.embed.token_counter import TokenCounter
from quinion.extract.document import Options, inspect
from quinion.extract.pdf.lines import read_lined_pages
from quinion.model.page import Page
from quinion.model.record import Hit, Record
from quinion.model.section import SectionChunk
from quinion.search.merge import Merging, find_below, merge
from quinion.settings import Settings

MAX_WORDS = 12
MERGING = Merging(document=("document",), overlap=True)
SHOWN = 5
_PAGE_NUMBER = re.compile(
    r"\W*(page|p)?\W*([0-9]+|[ivxlc]+)(\W*(of|/)\W*[0-9]+)?\W*", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?:;][\"'”’)]*$")

Chunks = Mapping[str, Sequence[str]]
"""Texts of the chunks of each document, in order."""


def is_furniture(text: str) -> bool:
    """Whether a text is only a page number, or only a heading."""
    stripped = text.strip()
    if _PAGE_NUMBER.fullmatch(stripped):
        return True
    return len(stripped.split()) <= MAX_WORDS and not _SENTENCE_END.search(stripped)


def split_documents(folder: Path, models: Path) -> Iterator[tuple[str, Chunks]]:
    """Split the documents as each server does."""
    documents = read_documents(folder)
    counter = TokenCounter.of(None, models)
    size = Settings().docvec_chunk_size
    split: Mapping[str, Callable[[Sequence[Page]], Sequence[str]]] = {
        "Document Store": lambda pages: [one.text for one in chunk_pages(pages)],
        "DocVec": lambda pages: [one.text for one in split_pages(pages, counter.starts, size)],
    }
    for server, find in split.items():
        yield server, {name: find(pages) for name, pages in documents.items()}
    sections = dict(read_sections(folder, documents))
    yield (
        "Policy KB",
        {name: [one.found_text for one in some] for name, some in sections.items()},
    )


def read_sections(
    folder: Path, documents: Collection[str]
) -> Iterator[tuple[str, Sequence[SectionChunk]]]:
    """Read these documents as the Policy KB does."""
    options = Options(ocr=False)
    for path in sorted(folder.rglob("*.pdf")):
        if path.stem in documents and path.stem != SKIPPED:
            pages = read_lined_pages(path, 1, inspect(path, options).page_count, options)
            yield path.stem, chunk_sections([line for page in pages for line in page.lines])


def judge(texts: Sequence[str], place: int) -> str:
    """What a merged search makes of the chunk at this place."""
    record = Record("a", texts[place], {"document": "a", "chunk_index": place})
    hits = merge([Hit(record, 1.0)], MERGING, 1)
    if not hits:
        return "left out"
    return "joined" if find_below(hits[0], MERGING) and place + 1 < len(texts) else "stays"


def main(corpus: Path) -> None:
    rows = []
    with tempfile.TemporaryDirectory(prefix="quinion-models-") as models:
        for server, documents in split_documents(corpus / "planning", Path(models)):
            fates: Counter[str] = Counter()
            for texts in documents.values():
                for place, text in enumerate(texts):
                    if is_furniture(text):
                        fate = judge(texts, place)
                        fates[fate] += 1
                        if fates[fate] <= SHOWN:
                            print(f"{server}, {fate}: {text!r}")
            total = sum(map(len, documents.values()))
            count = sum(fates.values())
            rows.append([server, f"{total:,}", f"{count}", *(f"{fates[f]}" for f in FATES)])
    head = ["server", "chunks", "a heading or page number only", *(f"merged: {f}" for f in FATES)]
    print(table(head, rows))


FATES = ("left out", "joined", "stays")

if __name__ == "__main__":
    main(Path(sys.argv[1]))
