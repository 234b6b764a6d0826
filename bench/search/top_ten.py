"""Results that are only a heading or a page number, in the top ten of the planning questions.

    python -m bench.search.top_ten CORPUS [SERVER ...]

The planning documents are split as the Document Store, the Policy KB and DocVec split them, and
stored as their records. Each question and each generated query (`planning.py`) is asked through
their search tools: by meaning and hybrid, each as the contracts say and merged. A footnote counts
separately: it may be only an address.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
from mcp import Client

from bench.judged_sets import JudgedSet
from bench.search.furniture import is_furniture, read_sections
from bench.search.modes import STEP
from bench.search.modes import store as store_documents
from bench.search.planning import read_planning
from bench.table import table
from quinion.chunk.paged import split_pages
from quinion.cli.server_client import call
from quinion.engine import Engine, open_engine
from quinion.extract.formats import PDF
from quinion.ingest.folders.file_reader import File
from quinion.ingest.folders.records import IndexCollections
from quinion.ingest.folders.records import chunk_records as file_records
from quinion.ingest.source import Source
from quinion.model.policy import Policy, PolicyCategory, Revision, RevisionStatus
from quinion.model.record import Mode, Record
from quinion.servers import document_store, docvec, policy_kb
from quinion.servers.policy_kb.records import CHUNKS, chunk_records
from quinion.settings import Settings

SERVERS = {
    "Document Store": (document_store, "search_application_docs", "max_results", "text"),
    "Policy KB": (policy_kb, "search_policy", "n_results", "text"),
    "DocVec": (docvec, "search", "n_results", "content"),
}
"""Module, tool, the parameter for the number of results, and the field that has the text."""
WAYS = [(mode, merge) for mode in (Mode.SEMANTIC, Mode.HYBRID) for merge in (False, True)]
TOP = 10


async def count(folder: Path, models: Path, servers: Sequence[str]) -> list[list[str]]:
    """Store the documents, ask everything, and return the rows of the table."""
    questions, terms = read_planning(folder)
    rows = []
    with tempfile.TemporaryDirectory(prefix="quinion-search-") as home:
        settings = Settings(home=Path(home), models=models, mirror="off")
        async with open_engine(settings) as engine:
            for server in servers:
                await STORES[server](engine, folder, questions)
                module, tool, limit, field = SERVERS[server]
                async with Client(module.build(engine)) as client:
                    for mode, merge in WAYS:
                        way = f"{mode}, merged" if merge else str(mode)
                        row = [server, way]
                        for queries in (questions.queries, terms.queries):
                            kinds: Counter[str] = Counter()
                            for query in queries.values():
                                asked = {"query": query, limit: TOP, "mode": mode, "merge": merge}
                                for one in find_results(await call(client, tool, asked)):
                                    kind = judge(one[field], one.get("section_ref", ""))
                                    kinds[kind] += 1
                                    if kind != TEXT:
                                        print(f"{server}, {way}, {query!r}: {kind} {one[field]!r}")
                            row += [
                                f"{kinds[FURNITURE]} of {kinds.total():,}",
                                f"{kinds[FOOTNOTE]}",
                            ]
                        rows.append(row)
                        print(row, flush=True)
    return rows


TEXT, FOOTNOTE, FURNITURE = "text", "footnote", "heading or page number"


def judge(text: str, section_ref: str) -> str:
    """What a result is."""
    if not is_furniture(text):
        return TEXT
    return FOOTNOTE if "Footnote" in section_ref else FURNITURE


def find_results(answer: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Find the results in the answer of any server."""
    found: Sequence[Mapping[str, Any]] = answer.get("data", answer)["results"]
    return found


async def _store_documents(engine: Engine, _: Path, judged: JudgedSet) -> None:
    await store_documents(judged, engine)


async def _store_policies(engine: Engine, folder: Path, judged: JudgedSet) -> None:
    await _write(engine, CHUNKS, list(_policy_records(folder, judged)))


async def _store_files(engine: Engine, _: Path, judged: JudgedSet) -> None:
    names = IndexCollections(engine.settings.docvec_collection)
    await _write(engine, names.chunks, list(_file_records(judged, engine)))


STORES = {
    "Document Store": _store_documents,
    "Policy KB": _store_policies,
    "DocVec": _store_files,
}


async def _write(engine: Engine, collection: str, records: Sequence[Record]) -> None:
    for start in range(0, len(records), STEP):
        some = records[start : start + STEP]
        vectors = engine.embedder.embed([record.text for record in some])
        await engine.collections.write(
            lambda write, some=some, vectors=vectors: write.upsert(collection, some, vectors)  # type: ignore[misc]
        )


def _policy_records(folder: Path, judged: JudgedSet) -> Iterator[Record]:
    now = datetime.now(UTC)
    for number, (name, chunks) in enumerate(read_sections(folder, judged.documents)):
        slug = f"P{number}"
        policy = Policy(slug, name, "", PolicyCategory.LOCAL_PLAN, now, now)
        revision = Revision(
            revision_id=f"rev_{slug}",
            source=slug,
            version_label="",
            effective_from=date(2020, 1, 1),
            effective_to=None,
            status=RevisionStatus.ACTIVE,
            file_path=None,
            file_size_bytes=None,
            page_count=None,
            chunk_count=len(chunks),
            notes="",
            created_at=now,
            ingested_at=now,
            error=None,
        )
        yield from chunk_records(policy, revision, chunks, "")


def _file_records(judged: JudgedSet, engine: Engine) -> Iterator[Record]:
    size = engine.settings.docvec_chunk_size
    for name, pages in judged.documents.items():
        path = Path(f"{name}.pdf")
        source = Source(path, path, sha256(name.encode()).hexdigest())
        chunks = split_pages(pages, engine.counter.starts, size)
        yield from file_records(File(source, PDF, chunks, pages))


def main(corpus: Path, servers: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="quinion-models-") as models:
        rows = anyio.run(count, corpus / "planning", Path(models), servers or list(SERVERS))
    head = ["server", "search", "questions", "footnotes", "generated queries", "footnotes"]
    print(table(head, rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
