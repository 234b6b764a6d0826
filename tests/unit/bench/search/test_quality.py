"""Quality of the search modes on a small sample of judged sets: it must not fall."""

import os
from pathlib import Path

import anyio
import pytest

from bench.judged_sets import JudgedSet, read_cranfield, read_xquad
from bench.ranking import mean_ndcg
from bench.search.modes import rank
from quinion.model.record import Mode

CORPUS = os.environ.get("QUINION_CORPUS", "")
LARGEST_FALL = 0.01
MEASURED = {
    "Cranfield": {Mode.SEMANTIC: 0.579, Mode.KEYWORD: 0.523, Mode.HYBRID: 0.630},
    "XQuAD (English)": {Mode.SEMANTIC: 0.972, Mode.KEYWORD: 0.982, Mode.HYBRID: 0.989},
}
"""nDCG@10 when the modes were introduced."""


def read_sample(name: str) -> JudgedSet:
    retrieval = Path(CORPUS) / "retrieval"
    if name == "Cranfield":
        return read_cranfield(retrieval / "cranfield").cut(150)
    return read_xquad(retrieval / "xquad.en.json").cut(80)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(not CORPUS, reason="set QUINION_CORPUS to the folder of documents")
@pytest.mark.parametrize("name", MEASURED)
def test_no_mode_finds_less_than_before(name: str, tmp_path: Path) -> None:
    judged = read_sample(name)
    ranked = anyio.run(rank, judged, tmp_path)
    found = {mode: mean_ndcg(ranked[mode], judged.relevant) for mode in MEASURED[name]}
    for mode, ndcg in MEASURED[name].items():
        assert found[mode] >= ndcg - LARGEST_FALL, found
    assert found[Mode.HYBRID] >= found[Mode.SEMANTIC]
