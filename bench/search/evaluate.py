"""Quality of the search modes on judged sets, written to docs/search.md with a chart.

    python -m bench.search.evaluate CORPUS [WORD ...]

CORPUS is the folder of documents to measure with. Words select sets by their names; then nothing
is written.
"""

import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import anyio

from bench.judged_sets import JudgedSet, read_sets
from bench.ranking import (
    DEPTH,
    Rankings,
    mean_ndcg,
    mean_recall,
    mean_reciprocal_rank,
)
from bench.search.chart import draw
from bench.search.modes import PLAIN_VECTORS, PLAIN_WORDS, rank
from bench.search.planning import KINDS, read_planning
from bench.table import table
from quinion.model.record import Mode

DOCS = Path(__file__).parents[2] / "docs"
BEGIN, END = "<!-- evaluation -->\n", "<!-- end of evaluation -->\n"
COLUMNS = (PLAIN_VECTORS, PLAIN_WORDS, *Mode)
METRICS = {
    f"nDCG@{DEPTH}": mean_ndcg,
    f"recall@{DEPTH}": mean_recall,
    "MRR": mean_reciprocal_rank,
}
WORST_KEPT = 3
"""Rank that a first result by meaning must keep in hybrid search."""

Scores = Mapping[str, Mapping[str, float]]
"""Score by set and column."""


def main(corpus: Path, words: Sequence[str]) -> None:
    sets = [*read_sets(corpus / "retrieval"), *read_planning(corpus / "planning")]
    chosen = [one for one in sets if not words or any(word in one.name for word in words)]
    ranked: dict[str, dict[str, Rankings]] = {}
    with tempfile.TemporaryDirectory(prefix="quinion-models-") as models:
        for judged in chosen:
            started = time.perf_counter()
            ranked[judged.name] = anyio.run(rank, judged, Path(models))
            took = time.perf_counter() - started
            line = "  ".join(
                f"{column} {mean_ndcg(ranked[judged.name][column], judged.relevant):.4f}"
                for column in COLUMNS
            )
            print(f"{judged.name}: {line}  ({took:.0f} s)", flush=True)
    body = "\n\n".join(render(chosen, ranked))
    print(body)
    if not words:
        write(body, draw(score(chosen, ranked, mean_ndcg), COLUMNS))


def score(
    sets: Iterable[JudgedSet], ranked: Mapping[str, Mapping[str, Rankings]], metric: object
) -> Scores:
    return {
        judged.name: {
            column: metric(ranked[judged.name][column], judged.relevant)  # type: ignore[operator]
            for column in COLUMNS
        }
        for judged in sets
    }


def render(
    sets: Sequence[JudgedSet], ranked: Mapping[str, Mapping[str, Rankings]]
) -> Iterable[str]:
    for name, metric in METRICS.items():
        yield table(
            [name, "queries", *COLUMNS],
            [
                [judged.name, f"{len(judged.relevant):,}", *_row(judged, ranked, metric)]
                for judged in sets
            ],
        )
    for judged in sets:
        if judged.name == "exact terms":
            yield f"nDCG@{DEPTH} of the generated queries by kind:"
            yield table(["kind", "queries", *COLUMNS], list(_by_kind(judged, ranked[judged.name])))
        if judged.name == "planning questions":
            yield _count_lost(judged, ranked[judged.name])


def write(body: str, chart: str) -> None:
    page = (DOCS / "search.md").read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    (DOCS / "search.md").write_text(f"{before}{BEGIN}\n{body}\n\n{END}{after}")
    (DOCS / "search-quality.svg").write_text(chart)


def _row(
    judged: JudgedSet, ranked: Mapping[str, Mapping[str, Rankings]], metric: object
) -> list[str]:
    found = score([judged], ranked, metric)[judged.name]
    return [f"{found[column]:.3f}" for column in COLUMNS]


def _by_kind(judged: JudgedSet, ranked: Mapping[str, Rankings]) -> Iterable[list[str]]:
    for kind in KINDS:
        some = {q: found for q, found in judged.relevant.items() if q.startswith(f"{kind}:")}
        if some:
            values = (mean_ndcg(ranked[column], some) for column in COLUMNS)
            yield [kind, f"{len(some)}", *(f"{value:.3f}" for value in values)]


def _count_lost(judged: JudgedSet, ranked: Mapping[str, Rankings]) -> str:
    """Report the questions whose answer is first by meaning and falls behind in hybrid search."""
    semantic, hybrid = ranked[Mode.SEMANTIC], ranked[Mode.HYBRID]
    first = [q for q, found in judged.relevant.items() if found & {*semantic[q][:1]}]
    lost = [q for q in first if not judged.relevant[q] & {*hybrid[q][:WORST_KEPT]}]
    return (
        f"Of {len(first)} planning questions that are answered at rank 1 by meaning, {len(lost)} "
        f"fall below rank {WORST_KEPT} in hybrid search."
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
