"""A sample of what `make crash` does to a Chroma server: killed, and paused, around a request."""

from pathlib import Path

import pytest

from tests.crash.dying import CHROMA_OUTAGES, tally
from tests.crash.layer import why_not

WHY_NOT = why_not()

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]

SEED = 2
"""It chooses the last request of each, which changes records."""


@pytest.mark.parametrize(
    "scene", ["document-store ingest", pytest.param("policy-kb supersede", marks=pytest.mark.slow)]
)
def test_a_chroma_server_that_goes_in_the_middle_is_an_error_and_leaves_all_or_nothing(
    scene: str, models: Path
) -> None:
    found = tally(CHROMA_OUTAGES, scene, 1, SEED, models)
    assert found.flaws == []
    assert found.points == 4
