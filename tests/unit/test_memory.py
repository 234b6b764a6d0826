import subprocess
import sys
from pathlib import Path

import pytest

# In a new process: what this one has freed before would be taken first.
SCRIPT = """
import psutil
from quinion.memory import give_back
from tests.heap import leave_holes

def resident():
    return psutil.Process().memory_info().rss

before = resident()
freed = leave_holes()
kept = resident()
give_back()
print(freed, kept - before, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="others give back by themselves")
def test_what_was_freed_is_given_back() -> None:
    said = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    freed, kept, left = map(int, said.split())
    assert kept > 0.8 * freed
    assert left < 0.2 * freed
