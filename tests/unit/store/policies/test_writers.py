"""Concurrent writers of the registry, threads and processes: writes are serialised."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from quinion.errors import PolicyExists, RevisionOverlap
from quinion.model.policy import (
    PolicyCategory,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionUpdate,
)
from quinion.store.policies import PolicyRegistry, open_registry
from tests.unit.store.policies.places import open_at

POLICY = PolicyDraft("A", "Title", PolicyCategory.LOCAL_PLAN)
FIRST = date(2024, 1, 1)
WRITERS = 4
DAYS = 25

WRITE_IN_CHILD = """
import json, sys
from pathlib import Path
from tests.unit.store.policies.test_writers import *
registry = open_at(Path(sys.argv[1]), sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps({"single": claim_days(registry), "chained": append_days(registry)}))
"""


def claim_days(registry: PolicyRegistry) -> list[str]:
    """Create revisions of one day each; each day can be claimed only once."""
    made = []
    for number in range(DAYS):
        day = FIRST + timedelta(days=number)
        try:
            made.append(registry.create_revision("A", RevisionDraft("L", day, day)))
        except RevisionOverlap:
            continue
    return [plan.revision.revision_id for plan in made]


def append_days(registry: PolicyRegistry) -> list[str]:
    """Append revisions without an end; each ends the previous one."""
    made = []
    for number in range(DAYS):
        draft = RevisionDraft("L", FIRST + timedelta(days=DAYS + number))
        try:
            made.append(registry.create_revision("A", draft))
        except RevisionOverlap:
            continue
    return [plan.revision.revision_id for plan in made]


def check_single_days(revisions: list[Revision], made: list[str]) -> None:
    single = [revision for revision in revisions if revision.revision_id in made]
    assert len(made) == len(set(made)) == len(single) == DAYS


def check_chain(revisions: list[Revision], made: list[str]) -> None:
    chain = [revision for revision in revisions if revision.revision_id in made]
    assert len(made) == len(set(made)) == len(chain)
    assert chain[0].effective_to is None
    for later, earlier in pairwise(chain):
        assert earlier.effective_to == later.effective_from - timedelta(days=1)


@pytest.fixture
def registry(tmp_path: Path, address: str) -> Iterator[PolicyRegistry]:
    registry = open_at(tmp_path / "registry.db", address)
    registry.create_policy(POLICY)
    yield registry
    registry.close()


def at_once(work: Callable[[int], list[str]]) -> list[str]:
    with ThreadPoolExecutor(WRITERS) as pool:
        return [made for part in pool.map(work, range(WRITERS)) for made in part]


def test_threads_share_a_registry(registry: PolicyRegistry) -> None:
    single = at_once(lambda _: claim_days(registry))
    check_single_days(registry.list_revisions("A"), single)
    chained = at_once(lambda _: append_days(registry))
    check_chain(registry.list_revisions("A"), chained)
    assert len(registry.list_revisions("A")) == len(single) + len(chained)


def test_processes_share_a_registry(registry: PolicyRegistry, tmp_path: Path, address: str) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE_IN_CHILD, str(tmp_path / "registry.db"), address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[4],
        )
        for _ in range(WRITERS)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [json.loads(child.communicate()[0]) for child in children]
    single = [made for answer in answers for made in answer["single"]]
    chained = [made for answer in answers for made in answer["chained"]]
    check_single_days(registry.list_revisions("A"), single)
    check_chain(registry.list_revisions("A"), chained)
    assert len(registry.list_revisions("A")) == len(single) + len(chained)


def test_processes_may_open_a_new_registry_at_once(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from quinion.store.policies import open_registry;"
        "open_registry(Path(sys.argv[1])).ping()"
    )
    for attempt in range(3):
        path = str(tmp_path / f"{attempt}.db")
        children = [subprocess.Popen([sys.executable, "-c", script, path]) for _ in range(WRITERS)]
        assert [child.wait() for child in children] == [0] * WRITERS


def test_opening_waits_for_the_writer_of_a_new_file(tmp_path: Path) -> None:
    """SQLite switches a new file to its log once, and refuses at once while another writes."""
    path = tmp_path / "registry.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor() as threads:
        opening = threads.submit(open_registry, path)
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.2)
        other.execute("COMMIT")
        opening.result().ping()


def test_one_of_many_creates_a_policy(registry: PolicyRegistry) -> None:
    def create(number: int) -> list[str]:
        try:
            draft = PolicyDraft("NEW", f"Title {number}", PolicyCategory.LOCAL_PLAN)
            return [registry.create_policy(draft).title]
        except PolicyExists:
            return []

    assert at_once(create) == [registry.get_policy("NEW").title]


def test_changes_of_different_fields_are_all_kept(registry: PolicyRegistry) -> None:
    made = registry.create_revision("A", RevisionDraft("L", FIRST)).revision.revision_id

    def change(writer: int) -> list[str]:
        for number in range(DAYS):
            if writer == 0:
                registry.edit_revision("A", made, RevisionEdit(version_label=f"L{number}"))
            elif writer == 1:
                registry.edit_revision("A", made, RevisionEdit(notes=f"N{number}"))
            elif writer == 2:
                registry.update_revision("A", made, RevisionUpdate(chunk_count=number))
            else:
                registry.update_revision("A", made, RevisionUpdate(page_count=number))
        return []

    at_once(change)
    now = registry.get_revision("A", made)
    last = DAYS - 1
    assert (now.version_label, now.notes) == (f"L{last}", f"N{last}")
    assert (now.chunk_count, now.page_count) == (last, last)


def test_a_reader_never_sees_half_a_supersession(registry: PolicyRegistry) -> None:
    """On each day from the first on some revision holds, however many are being appended."""
    registry.create_revision("A", RevisionDraft("L", FIRST))

    def work(worker: int) -> list[str]:
        if worker == 0:
            return append_days(registry)
        for _ in range(4 * DAYS):
            known = registry.list_revisions("A")
            check_chain(known, [revision.revision_id for revision in known])
            some_day = [r for r in known if r.covers(FIRST + timedelta(days=DAYS + worker))]
            assert len(some_day) == 1
        return []

    assert len(at_once(work)) == DAYS
