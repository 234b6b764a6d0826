"""Rankings of a judged set by each mode of the Document Store, through its search tool.

The documents are chunked as the Document Store chunks them, and stored as its records, without the
detour of PDF files. A document or page counts by its best chunk. Beside the modes, two plain
stacks: exact search over the vectors, and BM25 over the chunks' words as they are.
"""

import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from mcp import Client

from bench.judged_sets import JudgedSet
from bench.ranking import DEPTH, Rankings
from quinion.chunk.recursive import chunk_pages, join_pages
from quinion.cli.server_client import call
from quinion.embed.base import Vectors
from quinion.engine import Engine, open_engine
from quinion.ingest.applications.records import IngestedDocument
from quinion.model.document_type import DocumentType
from quinion.model.page import Method
from quinion.model.record import Mode, Record
from quinion.servers import document_store
from quinion.servers.document_store.records import CHUNKS, chunk_records
from quinion.settings import Settings

PLAIN_VECTORS, PLAIN_WORDS = "plain vectors", "plain BM25"
ASKED = 50
"""Chunks per query, which give ten documents or pages."""
STEP = 512
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Stored:
    """The records of a set with their vectors, and the document of each."""

    records: Sequence[Record]
    vectors: Vectors
    documents: Mapping[str, str]


async def rank(judged: JudgedSet, models: Path) -> dict[str, Rankings]:
    """Rank the documents or pages for each query, by mode and by plain stack."""
    with tempfile.TemporaryDirectory(prefix="quinion-search-") as folder:
        settings = Settings(home=Path(folder), models=models, mirror="off")
        async with open_engine(settings) as engine:
            stored = await store(judged, engine)
            async with Client(document_store.build(engine)) as client:
                rankings = await _ask(judged, stored, client)
            return rankings | _rank_plainly(judged, stored, engine)


async def store(judged: JudgedSet, engine: Engine) -> Stored:
    """Chunk, embed and store the documents of a set."""
    records: list[Record] = []
    documents: dict[str, str] = {}
    for number, (name, pages) in enumerate(judged.documents.items()):
        chunks = chunk_pages(pages)
        document = IngestedDocument(
            f"d{number}",
            Path(f"{judged.titles.get(name, name)}.pdf"),
            "",
            "judged",
            DocumentType.OTHER,
            len(chunks),
            datetime.now(UTC),
            Method.TEXT_LAYER,
            contains_drawings=False,
        )
        made = chunk_records(document, join_pages(pages), chunks)
        documents |= dict.fromkeys((record.id for record in made), name)
        records += made
    parts = []
    for start in range(0, len(records), STEP):
        some = records[start : start + STEP]
        parts.append(engine.embedder.embed([record.text for record in some]))
        await engine.collections.write(
            lambda write, some=some, vectors=parts[-1]: write.upsert(CHUNKS, some, vectors)  # type: ignore[misc]
        )
    return Stored(records, np.concatenate(parts), documents)


async def _ask(judged: JudgedSet, stored: Stored, client: Client) -> dict[str, Rankings]:
    rankings: dict[str, dict[str, list[str]]] = {mode: {} for mode in Mode}
    for query in judged.relevant:
        for mode in Mode:
            arguments = {"query": judged.queries[query], "max_results": ASKED, "mode": str(mode)}
            answer = await call(client, "search_application_docs", arguments)
            found = (
                (stored.documents[one["chunk_id"]], one["metadata"]["page_numbers"])
                for one in answer["results"]
            )
            rankings[mode][query] = _places(judged, found)
    return dict(rankings)


def _places(judged: JudgedSet, found: object) -> list[str]:
    places: dict[str, None] = {}
    for document, pages in found:  # type: ignore[attr-defined]
        places |= dict.fromkeys(judged.places(document, [int(page) for page in pages.split(",")]))
        if len(places) >= DEPTH:
            break
    return list(places)


def _rank_plainly(judged: JudgedSet, stored: Stored, engine: Engine) -> dict[str, Rankings]:
    words = PlainWords([record.text for record in stored.records])
    rankings: dict[str, dict[str, list[str]]] = {PLAIN_VECTORS: {}, PLAIN_WORDS: {}}
    for query in judged.relevant:
        text = judged.queries[query]
        for name, scores in (
            (PLAIN_VECTORS, stored.vectors @ engine.embedder.embed_query(text)),
            (PLAIN_WORDS, words.score(text)),
        ):
            best = np.argsort(-scores, kind="stable")[:ASKED]
            records = (stored.records[n] for n in best if scores[n] > 0)
            found = ((stored.documents[r.id], str(r.metadata["page_numbers"])) for r in records)
            rankings[name][query] = _places(judged, found)
    return dict(rankings)


class PlainWords:
    """BM25 over lower-case words, without stemming or stop words."""

    def __init__(self, texts: Sequence[str], k1: float = 1.2, b: float = 0.75) -> None:
        self._postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        counts = [Counter(_WORD.findall(text.lower())) for text in texts]
        self._count = len(texts)
        average = sum(one.total() for one in counts) / self._count
        for number, one in enumerate(counts):
            norm = k1 * (1 - b + b * one.total() / average)
            for word, count in one.items():
                self._postings[word].append((number, count * (k1 + 1) / (count + norm)))

    def score(self, query: str) -> Vectors:
        scores = np.zeros(self._count, np.float32)
        for word in set(_WORD.findall(query.lower())):
            having = self._postings.get(word, [])
            rarity = math.log1p((self._count - len(having) + 0.5) / (len(having) + 0.5))
            for number, weight in having:
                scores[number] += rarity * weight
        return scores
