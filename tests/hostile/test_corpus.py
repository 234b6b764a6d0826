"""Corpus of files that broke other programs, with each tool for their kind."""

import os
from pathlib import Path

import pytest

from tests.contract.process import Home
from tests.hostile.corpus import hostile_files, take
from tests.hostile.serving import MOST_BYTES, MOST_S, TAKEN, Servers

CORPUS = os.environ.get("QUINION_CORPUS", "")

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.timeout(5 * MOST_S),
    pytest.mark.skipif(not CORPUS, reason="set QUINION_CORPUS to the folder of documents"),
]


@pytest.mark.parametrize(
    "file", hostile_files(CORPUS) if CORPUS else [], ids=lambda file: file.name
)
def test_a_hostile_file_ends_in_an_answer_of_the_contract(
    servers: Servers, home: Home, file: Path
) -> None:
    for path in take(file, home.files):
        for server, extensions in TAKEN.items():
            if path.suffix.lower() in extensions:
                outcome = servers.give(server, path)
                assert outcome.seconds <= MOST_S, outcome
                assert outcome.peak <= MOST_BYTES, outcome
