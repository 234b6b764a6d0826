"""Sample of the ten thousand cases of `make fuzz`."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.conftest import NewHome
from tests.hostile.fuzz import fuzz_servers
from tests.hostile.mutate import CHANGES, Random, good_files, make_case

SOME = 300
FEW = 10


def test_a_case_is_the_same_each_time() -> None:
    cases = [make_case(number) for number in range(50)]
    good_files.cache_clear()
    assert [make_case(number) for number in range(50)] == cases
    assert len({case.data for case in cases}) == len(cases)
    assert make_case(0, seed=1).data != make_case(0, seed=2).data


@given(st.binary(max_size=300), st.integers(), st.sampled_from(CHANGES))
def test_a_change_can_be_made_to_anything(data: bytes, seed: int, change: object) -> None:
    assert callable(change)
    assert change(Random(seed), data, [b"", data]) == change(Random(seed), data, [b"", data])


@pytest.mark.timeout(1200)
def test_damaged_files_are_read_or_refused() -> None:
    # In a separate process, because the memory of all its descendants is measured.
    options = ["--cases", str(SOME), "--sample", "0"]
    command = [sys.executable, "-m", "tests.hostile.fuzz", *options]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"survey \| [1-9]\d* \| [1-9]", run.stdout), "none read, or none refused"


@pytest.mark.timeout(1200)
def test_damaged_files_are_answered_by_every_tool(new_home: NewHome) -> None:
    tally = fuzz_servers(new_home(), range(0, SOME, SOME // FEW))
    assert tally.failures == []
