"""A child that reads Chroma for us, and what is made of how it ends."""

import sys
from pathlib import Path

import pytest

from quinion.errors import StoreUnavailable
from quinion.store.chroma import DATABASE, Place
from quinion.store.taking import Taken, read_through

FALLS_SILENT = "import time; print(flush=True); time.sleep(60)"
GOES_ON = """
import time
for _ in range(8):
    print(flush=True)
    time.sleep(0.1)
print('{"records": 8, "unread": {}, "others": []}')
"""
DIES = "import os; os.abort()"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    (tmp_path / DATABASE).touch()
    monkeypatch.setattr("quinion.store.taking.SILENCE_S", 0.5)
    return Place(tmp_path)


@pytest.mark.parametrize(("script", "said"), [(FALLS_SILENT, "silent"), (DIES, "signal 6")])
def test_a_child_that_dies_or_falls_silent_says_that_chroma_is_damaged(
    place: Place, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    monkeypatch.setattr("quinion.store.taking.CHILD", (sys.executable, "-c", script))
    with pytest.raises(StoreUnavailable, match=f"damaged: .*{said}.* quinion rebuild"):
        read_through(place)


def test_a_child_may_take_long_if_it_gets_on(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quinion.store.taking.CHILD", (sys.executable, "-c", GOES_ON))
    assert read_through(place) == Taken(records=8)
