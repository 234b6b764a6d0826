import os
import subprocess
import sys
from pathlib import Path

import pytest

from quinion.runtime_tuning import NICENESS, lower_priority

# In a new process, because this one would reuse memory that it has already freed.
SCRIPT = """
import psutil
from quinion.runtime_tuning import release_memory
from tests.heap import leave_holes

def resident():
    return psutil.Process().memory_info().rss

before = resident()
freed = leave_holes()
kept = resident()
release_memory()
print(freed, kept - before, resident() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="others give back by themselves")
def test_freed_memory_is_returned_to_the_system() -> None:
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


@pytest.mark.parametrize(("begun", "given"), [(0, NICENESS), (NICENESS + 5, NICENESS + 5)])
def test_lowering_the_priority_never_raises_it(
    monkeypatch: pytest.MonkeyPatch, begun: int, given: int
) -> None:
    monkeypatch.setattr(os, "getpriority", lambda which, who: begun)
    asked: list[int] = []
    monkeypatch.setattr(os, "setpriority", lambda which, who, niceness: asked.append(niceness))
    lower_priority()
    assert asked == [given]
