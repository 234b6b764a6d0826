"""How good DocVec's ranking is, on judged queries.

    python -m bench.retrieval CORPUS

Cranfield (1,400 abstracts, 225 queries) and XQuAD (240 paragraphs, 1,190 questions): each
document is a text file of a folder, the folder is indexed, and every query is asked through the
server's own tools. A document scores by its best chunk. Beside it stands exact search over
windows of 254 tokens, embedded by the same model: what chunking and the index cost or gain.
"""

import argparse
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import numpy as np

from quinion.cli.client import call, connect
from quinion.embed.local import LocalEmbedder
from quinion.embed.tokens import TokenCounter
from quinion.servers import docvec
from quinion.settings import Settings

DEPTH = 10
WINDOW_TOKENS = 254
CHUNKS_ASKED = 50


@dataclass(frozen=True)
class JudgedSet:
    name: str
    documents: Mapping[str, str]
    queries: Mapping[str, str]
    relevant: Mapping[str, frozenset[str]]


def read_cranfield(folder: Path) -> JudgedSet:
    documents = {
        match[1]: match[2].strip()
        for match in re.finditer(
            r"<docno>(\d+)</docno>.*?<text>(.*?)</text>",
            (folder / "cran.all.1400.xml").read_text(),
            re.DOTALL,
        )
    }
    titles = re.findall(r"<title>(.*?)</title>", (folder / "cran.qry.xml").read_text(), re.DOTALL)
    # The judgements number the queries by their order.
    queries = {str(number): title.strip() for number, title in enumerate(titles, 1)}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "cranqrel.trec.txt").read_text().splitlines():
        query, _, document, judgement = line.split()
        if int(judgement) > 0:
            relevant.setdefault(query, set()).add(document)
    return JudgedSet(
        "Cranfield",
        {name: text for name, text in documents.items() if text},
        queries,
        {query: frozenset(found) for query, found in relevant.items()},
    )


def read_xquad(file: Path) -> JudgedSet:
    documents: dict[str, str] = {}
    queries: dict[str, str] = {}
    relevant: dict[str, frozenset[str]] = {}
    for article in json.loads(file.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            name = str(len(documents))
            documents[name] = paragraph["context"]
            for question in paragraph["qas"]:
                queries[question["id"]] = question["question"]
                relevant[question["id"]] = frozenset({name})
    return JudgedSet("XQuAD (English)", documents, queries, relevant)


async def rank_by_docvec(judged: JudgedSet) -> dict[str, list[str]]:
    """The documents that the server finds for each query, best first."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "documents"
        folder.mkdir()
        for name, text in judged.documents.items():
            (folder / f"{name}.txt").write_text(text)
        rankings: dict[str, list[str]] = {}
        async with connect(Settings(home=Path(scratch) / "home"), docvec.NAME) as client:
            await call(client, "index_directory", {"dir_path": str(folder)})
            for query, text in judged.queries.items():
                arguments = {"query": text, "n_results": CHUNKS_ASKED}
                results = (await call(client, "search", arguments))["data"]["results"]
                files = (Path(result["metadata"]["source_file"]).stem for result in results)
                rankings[query] = list(dict.fromkeys(files))
        return rankings


def rank_exactly(judged: JudgedSet, cache: Path) -> dict[str, list[str]]:
    """The same by exact search over windows of so many tokens."""
    embedder, counter = LocalEmbedder(cache), TokenCounter.of()
    owners: list[str] = []
    windows: list[str] = []
    for name, text in judged.documents.items():
        starts = [*counter.starts(text), len(text)]
        for first in range(0, len(starts) - 1, WINDOW_TOKENS):
            last = min(first + WINDOW_TOKENS, len(starts) - 1)
            owners.append(name)
            windows.append(text[starts[first] : starts[last]])
    vectors = embedder.embed(windows)
    rankings: dict[str, list[str]] = {}
    for query, text in judged.queries.items():
        order = np.argsort(-(vectors @ embedder.embed_query(text)), kind="stable")
        rankings[query] = list(dict.fromkeys(owners[place] for place in order[:CHUNKS_ASKED]))
    return rankings


def ndcg(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    gained = sum(
        1 / math.log2(place + 2) for place, name in enumerate(ranking[:DEPTH]) if name in relevant
    )
    return gained / sum(1 / math.log2(place + 2) for place in range(min(DEPTH, len(relevant))))


def recall(ranking: Sequence[str], relevant: frozenset[str]) -> float:
    return len(relevant.intersection(ranking[:DEPTH])) / min(DEPTH, len(relevant))


def describe(judged: JudgedSet, way: str, rankings: Mapping[str, list[str]]) -> str:
    pairs = [(rankings[query], found) for query, found in judged.relevant.items()]
    means = [sum(measure(*pair) for pair in pairs) / len(pairs) for measure in (ndcg, recall)]
    return f"| {judged.name} | {way} | {len(pairs):,} | {means[0]:.3f} | {means[1]:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else None)
    parser.add_argument("corpus", type=Path)
    retrieval = parser.parse_args().corpus / "retrieval"
    print(f"| set | way | queries | nDCG@{DEPTH} | recall@{DEPTH} |\n|---|---|---|---|---|")
    with TemporaryDirectory() as scratch:
        for judged in (
            read_cranfield(retrieval / "cranfield"),
            read_xquad(retrieval / "xquad.en.json"),
        ):
            print(describe(judged, "DocVec", anyio.run(rank_by_docvec, judged)), flush=True)
            exact = rank_exactly(judged, Path(scratch))
            print(describe(judged, f"exact, {WINDOW_TOKENS}-token windows", exact), flush=True)


if __name__ == "__main__":
    main()
