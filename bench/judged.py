"""Ranking quality of each embedding engine on judged queries.

Every set is chunked as Document Store chunks its documents, embedded by each engine available on
this machine, and searched exactly. A document or page scores by its best chunk. Queries are
embedded as in the servers: in float32 if the chunks are, otherwise by the int8 query graph.

The engines alternate over the chunks, so background load affects all of them alike. Speed is
chunks per second of CPU time.

The sets judged by document are also searched through DocVec's tools, one file per document. This
shows the effect of DocVec's chunking and index.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.judged_sets import JudgedSet, read_cranfield, read_sets
from bench.part import Claim, Part, Setting
from bench.ranking import DEPTH, Rankings, mean_ndcg, mean_recall
from bench.table import number, table
from quinion.chunk.recursive import chunk_pages, join_pages
from quinion.cli.server_client import call, connect
from quinion.embed.base import Vectors
from quinion.embed.local.embedder import LocalEmbedder
from quinion.embed.local.runtimes import Numerics, is_installed
from quinion.servers import docvec
from quinion.settings import Settings

TURN = 128
"""Chunks that an engine embeds before the next engine continues."""
MOST_LOST = 0.005
DOCVEC_ASKED = 50
QUICK_DOCUMENTS = 60


@dataclass(frozen=True)
class Chunks:
    """Chunks of a set, with the documents or pages that each counts for."""

    texts: list[str]
    places: list[list[str]]


@dataclass(frozen=True)
class Embedded:
    """Vectors of a set's chunks from one engine."""

    vectors: Vectors
    cpu_s: float


@dataclass(frozen=True)
class Result:
    """Scores of one engine on one set."""

    ndcg: float
    lowest: float
    mean: float
    speed: float


@dataclass(frozen=True)
class Compared:
    """Results of all engines on one set."""

    judged: JudgedSet
    chunks: Chunks
    results: Mapping[Numerics, Result]


async def measure(setting: Setting) -> Part:
    retrieval, models = setting.corpus / "retrieval", setting.scratch / "models"
    if setting.quick:
        sets = [read_cranfield(retrieval / "cranfield").cut(QUICK_DOCUMENTS)]
    else:
        sets = read_sets(retrieval)
    engines = {n: LocalEmbedder(models, numerics=n) for n in Numerics if is_installed(n)}
    compared = [compare(judged, engines) for judged in sets]
    body = [*render(compared), f"On this machine `auto` selects `{choose(models)}`."]
    if not setting.quick:
        by_document = [judged for judged in sets if not judged.by_page]
        body += [
            "Through DocVec's tools, with its chunking, its index and its default engine, one "
            "file per document:",
            await ask_docvec(by_document, setting.scratch, models),
        ]
    claims = [claim_kept(one) for one in compared]
    return Part("judged", "Ranking by embedding engine", "\n\n".join(body), claims)


def render(compared: Sequence[Compared]) -> list[str]:
    engines = list(compared[0].results)
    return [
        f"Chunks of 800 characters with an overlap of 200, exact search, nDCG@{DEPTH}. Queries "
        f"are embedded as in the servers: in float32 for `{Numerics.ONNX}`, for the other engines "
        "by a graph with int8 weights.",
        table(
            ["set", "documents", "chunks", "queries", *(f"`{n}`" for n in engines)],
            [[*count(one), *(f"{r.ndcg:.4f}" for r in one.results.values())] for one in compared],
        ),
        "Agreement is the cosine between a chunk's vector and the reference vector: the lowest and "
        "the mean. Speed is chunks per second of CPU time.",
        table(
            ["set", *(f"`{n}`: {what}" for n in engines for what in ("lowest", "mean", "speed"))],
            [
                [
                    one.judged.name,
                    *(cell for result in one.results.values() for cell in show(result)),
                ]
                for one in compared
            ],
        ),
    ]


def claim_kept(compared: Compared) -> Claim:
    """Claim for the engine that differs most, as `auto` may select any of them."""
    reference = compared.results[Numerics.ONNX].ndcg
    faster = [r.ndcg for n, r in compared.results.items() if n is not Numerics.ONNX]
    differences = [abs(ndcg - reference) for ndcg in faster] or [0.0]
    what = f"{compared.judged.name}: nDCG@{DEPTH} of faster engines against `{Numerics.ONNX}`"
    most = max(differences)
    return Claim(what, most, min(differences), most, "", MOST_LOST, at_most=True)


def choose(models: Path) -> Numerics:
    """Return the engine that `auto` selects on this machine."""
    return Numerics(LocalEmbedder(models, numerics=None).fingerprint.rpartition(":")[2])


def chunk(judged: JudgedSet) -> Chunks:
    found = Chunks([], [])
    for document, pages in judged.documents.items():
        for part in chunk_pages(pages):
            found.texts.append(part.text)
            found.places.append(judged.places(document, part.pages))
    return found


def compare(judged: JudgedSet, engines: Mapping[Numerics, LocalEmbedder]) -> Compared:
    chunks = chunk(judged)
    embedded = embed_in_turns(chunks.texts, engines)
    reference = embedded[Numerics.ONNX].vectors
    results = {}
    for numerics, made in embedded.items():
        queries = {
            query: engines[numerics].embed_query(judged.queries[query]) for query in judged.relevant
        }
        cosines = (reference * made.vectors).sum(1)
        results[numerics] = Result(
            mean_ndcg(rank(queries, chunks, made.vectors), judged.relevant),
            float(cosines.min()),
            float(cosines.mean()),
            len(chunks.texts) / made.cpu_s,
        )
    return Compared(judged, chunks, results)


def embed_in_turns(
    texts: Sequence[str], engines: Mapping[Numerics, LocalEmbedder]
) -> dict[Numerics, Embedded]:
    parts: dict[Numerics, list[Vectors]] = {numerics: [] for numerics in engines}
    cpu_s = dict.fromkeys(engines, 0.0)
    for embedder in engines.values():
        embedder.embed(texts[:1])  # loading is measured elsewhere
    for begin in range(0, len(texts), TURN):
        for numerics, embedder in engines.items():
            before = time.process_time()
            parts[numerics].append(embedder.embed(texts[begin : begin + TURN]))
            cpu_s[numerics] += time.process_time() - before
    return {n: Embedded(np.concatenate(parts[n]), cpu_s[n]) for n in engines}


def rank(queries: Mapping[str, Vectors], chunks: Chunks, vectors: Vectors) -> Rankings:
    """Rank the documents or pages of the best chunks for each query, without duplicates."""
    rankings = {}
    for query, vector in queries.items():
        order = np.argsort(-(vectors @ vector), kind="stable")
        places: dict[str, None] = {}
        for index in order:
            places |= dict.fromkeys(chunks.places[index])
            if len(places) >= DEPTH:
                break
        rankings[query] = list(places)
    return rankings


def count(compared: Compared) -> list[str]:
    judged = compared.judged
    counts = [len(judged.documents), len(compared.chunks.texts), len(judged.relevant)]
    return [judged.name, *(f"{size:,}" for size in counts)]


def show(result: Result) -> list[str]:
    return [f"{result.lowest:.5f}", f"{result.mean:.5f}", number(result.speed)]


async def ask_docvec(sets: Sequence[JudgedSet], scratch: Path, models: Path) -> str:
    rows = []
    for index, judged in enumerate(sets):
        rankings = await rank_by_docvec(judged, scratch / f"docvec-{index}", models)
        found = (score(rankings, judged.relevant) for score in (mean_ndcg, mean_recall))
        rows.append([judged.name, *(f"{value:.3f}" for value in found)])
    return table(["set", f"nDCG@{DEPTH}", f"recall@{DEPTH}"], rows)


async def rank_by_docvec(judged: JudgedSet, scratch: Path, models: Path) -> Rankings:
    """Rank the documents that the server finds for each query."""
    folder = scratch / "documents"
    folder.mkdir(parents=True)
    for name, pages in judged.documents.items():
        (folder / f"{name}.txt").write_text(join_pages(pages))
    rankings: dict[str, list[str]] = {}
    async with connect(Settings(home=scratch / "home", models=models), docvec.NAME) as client:
        await call(client, "index_directory", {"dir_path": str(folder)})
        for query in judged.relevant:
            arguments = {"query": judged.queries[query], "n_results": DOCVEC_ASKED}
            results = (await call(client, "search", arguments))["data"]["results"]
            files = (Path(result["metadata"]["source_file"]).stem for result in results)
            rankings[query] = list(dict.fromkeys(files))
    return rankings
