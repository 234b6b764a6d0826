from pathlib import Path

import pytest

from bench.sides import run_ours
from bench.text import figures
from bench.text.agreement import Agreement
from bench.text.body import Run
from bench.text.rounds import Side
from bench.text.stages import Alone, Cost
from bench.text.work import Work

NOTHING = Work([], [], 0, [], {})
SAME = Agreement(1, 1, 1, 1.0, 1.0, 0.0)


def test_the_share_at_one_speed_corrects_for_a_slower_machine() -> None:
    ours = Side("quinion", run_ours, Path())
    for wall_s, embedding_cpu_s in ((11.0, 18.0), (22.0, 36.0)):
        ours.note(figures.INGEST, wall_s)
        ours.note(figures.EMBEDDING_CPU, embedding_cpu_s)
    alone = Alone("engine", {"embed": Cost(wall_s=10.0, cpu_s=20.0, embedding_cpu_s=18.0)})
    run = Run(NOTHING, ours, [], [alone, alone], SAME)
    assert run.shares() == pytest.approx([10 / 11, 10 / 22])
    assert run.shares_at_one_speed() == pytest.approx([10 / 11, 10 / 11])
