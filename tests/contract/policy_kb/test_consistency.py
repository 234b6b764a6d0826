"""Registry and store agree, whatever was done; and the server stays small."""

import json
import random
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import psutil
import pytest

from quinion.errors import QuinionError
from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import (
    PolicyCategory,
    PolicyDraft,
    RevisionDraft,
    RevisionEdit,
    RevisionUpdate,
)
from quinion.store.policies import PolicyRegistry
from tests.contract import folder
from tests.contract.policy_kb.asking import (
    chunks_of,
    find,
    found_on,
    ingest,
    ingest_well,
    remove,
    revise,
)
from tests.contract.policy_kb.conftest import NewPlace
from tests.contract.policy_kb.policies import leaflet
from tests.contract.policy_kb.serving import AGREE, Place
from tests.contract.policy_kb.storing import foreign_chunk
from tests.contract.process import MIRRORED, HttpServer
from tests.contract.session import Session
from tests.documents import truncated_pdf

SOURCES = ("ALPHA", "BETA")
STEPS = 24
SPEC_LIMIT = 2 << 30
OWN_LIMIT = 700 << 20
"""What the project promises; the spec's limit is three times that."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three texts of different length, and one that can't be read."""
    made = tmp_path_factory.mktemp("texts")
    good = [leaflet(made / f"{n}.pdf", f"text {n}", n) for n in (3, 5, 8)]
    return [*good, truncated_pdf(made / "damaged.pdf")]


class Operator:
    """Somebody who does whatever comes to mind, with tools, registry and files."""

    def __init__(self, session: Session, registry: PolicyRegistry, files: list[Path]) -> None:
        self.session = session
        self.registry = registry
        self.files = files
        self.random = random.Random(20260214)
        self.done: list[str] = []

    def act(self) -> None:
        """Do something; a refusal is as good as anything."""
        often = [self.revise, self.ingest, self.ingest]
        action = self.random.choice(
            [*often, *often, self.edit, self.remove, self.delete, self.look]
        )
        source = self.random.choice(SOURCES)
        try:
            action(source)
            self.done.append(action.__name__)
        except QuinionError as error:
            self.done.append(f"{action.__name__}: {error.code}")

    def day(self) -> date:
        return date(2020, 1, 1) + timedelta(days=self.random.randrange(0, 2000))

    def revision(self, source: str) -> str:
        known = self.registry.list_revisions(source)
        return self.random.choice(known).revision_id if known else "none"

    def revise(self, source: str) -> None:
        start = self.day()
        end = self.random.choice([None, start + timedelta(days=self.random.randrange(300))])
        self.registry.create_revision(source, RevisionDraft(f"from {start}", start, end))

    def ingest(self, source: str) -> None:
        file = self.random.choice(self.files)
        ingest(self.session, source, self.revision(source), file)

    def edit(self, source: str) -> None:
        edit = RevisionEdit(effective_to=self.random.choice([None, self.day()]))
        self.registry.edit_revision(source, self.revision(source), edit)

    def remove(self, source: str) -> None:
        remove(self.session, source, self.revision(source))

    def delete(self, source: str) -> None:
        # In the order of `quinion policy delete`, which asks the rules first.
        revision_id = self.revision(source)
        self.registry.delete_revision(source, revision_id)
        remove(self.session, source, revision_id)

    def look(self, source: str) -> None:
        resolver = EffectiveDateResolver(self.registry)
        for _ in range(3):
            day = self.day()
            found = resolver.resolve_for_policy(source, day).revision
            expected = {found.revision_id} if found and found.chunk_count else set()
            assert found_on(self.session, source, day) == expected, (source, day, self.done)


@pytest.fixture
def place(kind: str, new_place: NewPlace) -> Place:
    return new_place(kind)


@pytest.mark.slow
def test_registry_and_texts_agree_after_many_operations(place: Place, files: list[Path]) -> None:
    with place.registry() as registry:
        for source in SOURCES:
            registry.create_policy(PolicyDraft(source, source, PolicyCategory.LOCAL_PLAN))
        with place.serve_stdio(MIRRORED) as session:
            operator = Operator(session, registry, files)
            for _ in range(STEPS):
                operator.act()
            for source in SOURCES:
                operator.look(source)
                for revision in registry.list_revisions(source):
                    stored = len(chunks_of(session, source, revision.revision_id))
                    assert stored == revision.chunk_count, operator.done
            assert {"revise", "ingest", "remove", "look", "edit"} <= set(operator.done)
        assert place.check() == AGREE
        counts = {
            (revision.source, revision.revision_id): revision.chunk_count
            for shelf in registry.list_all_revisions().values()
            for revision in shelf
        }
    # The same once more, as another program sees it.
    for entry in folder.read(place.home.chroma)["policy_docs"]:
        key = entry.metadata["source"], entry.metadata["revision_id"]
        counts[key] -= 1
    assert set(counts.values()) == {0}


def test_the_check_finds_what_does_not_agree(new_place: NewPlace) -> None:
    place = new_place("sqlite")
    with place.registry() as registry:
        registry.create_policy(PolicyDraft("ALPHA", "Alpha", PolicyCategory.LOCAL_PLAN))
        revision_id = registry.create_revision(
            "ALPHA", RevisionDraft("A", date(2020, 1, 1))
        ).revision.revision_id
        registry.update_revision("ALPHA", revision_id, RevisionUpdate(chunk_count=5))
    chunks = [foreign_chunk("ALPHA", revision_id, index) for index in range(6)]
    orphan = foreign_chunk("ALPHA", "gone", 0)
    folder.put(place.home, {"policy_docs": [*chunks, orphan]})
    ended = place.run("policy", "check", "--json")
    assert ended.returncode == 1, ended.stderr
    first, second = sorted(json.loads(ended.stdout)["problems"])
    assert "6 chunks are stored, and the registry says 5" in first
    assert orphan.id in second


@pytest.fixture(scope="module")
def busy(new_place: NewPlace, files: list[Path]) -> Iterator[HttpServer]:
    """A server of its own, after it has read, embedded and searched."""
    place = new_place("sqlite")
    with (
        place.serve_http() as server,
        server.session() as session,
        place.registry() as registry,
    ):
        registry.create_policy(PolicyDraft("ALPHA", "Alpha", PolicyCategory.LOCAL_PLAN))
        for number, file in enumerate(files[:-1]):
            revision_id = revise(registry, "ALPHA", f"{number}", date(2000 + number, 1, 1))
            ingest_well(session, "ALPHA", revision_id, file)
        for number in range(20):
            find(session, f"cycle lanes {number}", effective_date="2024-03-15", n_results=100)
        yield server


@pytest.mark.slow
def test_the_server_stays_far_below_two_gigabytes(busy: HttpServer) -> None:
    process = psutil.Process(busy.process.pid)
    used = process.memory_info().rss
    everything = used + sum(child.memory_info().rss for child in process.children(recursive=True))
    assert used < OWN_LIMIT
    assert everything < SPEC_LIMIT
