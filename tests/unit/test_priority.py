import os

import pytest

from quinion.priority import NICENESS, give_way


@pytest.mark.parametrize(("begun", "given"), [(0, NICENESS), (NICENESS + 5, NICENESS + 5)])
def test_who_gives_way_never_takes_more_than_was_given(
    monkeypatch: pytest.MonkeyPatch, begun: int, given: int
) -> None:
    monkeypatch.setattr(os, "getpriority", lambda which, who: begun)
    asked: list[int] = []
    monkeypatch.setattr(os, "setpriority", lambda which, who, niceness: asked.append(niceness))
    give_way()
    assert asked == [given]
