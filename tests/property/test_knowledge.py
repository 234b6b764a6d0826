"""Consistency of registry, chunks and search on every date under random operations.

The texts are short but real: each revision's PDF is read, embedded and stored like any other.
"""

import random
from collections.abc import Awaitable, Callable, Iterator
from datetime import date, timedelta
from pathlib import Path

import anyio
import pytest

from quinion.concurrency import in_thread
from quinion.engine import open_engine
from quinion.errors import PolicyProblem
from quinion.ingest.policies import KnowledgeBase
from quinion.ingest.progress import no_progress
from quinion.ingest.revisions import RevisionIngestion
from quinion.model.dates import date_to_int
from quinion.model.policy import PolicyCategory, PolicyDraft, Revision, RevisionDraft, RevisionEdit
from quinion.servers import policy_kb
from quinion.servers.policy_kb.check import find_problems
from quinion.servers.policy_kb.lookup import search
from quinion.servers.policy_kb.records import CHUNKS
from quinion.settings import Settings
from tests.documents import text_pdf
from tests.redis_server import PLACES, redis_server

FIRST = date(2024, 1, 1)
DAYS = 60
SOURCES = ["NPPF", "LTN_1_20"]


class Walk:
    """Random operations on a knowledge base; some of them are refused."""

    def __init__(self, knowledge: KnowledgeBase, file: Path, seed: int) -> None:
        self.knowledge = knowledge
        self.ingestion = RevisionIngestion(knowledge)
        self.file = str(file)
        self.dice = random.Random(seed)
        self.refused = 0

    async def step(self) -> None:
        operations: list[Callable[[str, Revision | None], Awaitable[object]]] = [
            self.create,
            self.edit,
            self.ingest,
            self.ingest,
            self.remove,
            self.delete,
        ]
        source = self.dice.choice(SOURCES)
        registry = await self.knowledge.registry()
        shelf = await in_thread(registry.list_revisions, source)
        revision = self.dice.choice(shelf) if shelf else None
        operation = self.dice.choice(operations) if revision else self.create
        try:
            await operation(source, revision)
        except PolicyProblem:
            self.refused += 1

    def day(self) -> date:
        return FIRST + timedelta(days=self.dice.randrange(DAYS))

    def end(self, start: date) -> date | None:
        return self.dice.choice([None, start + timedelta(days=self.dice.randrange(DAYS // 3))])

    async def create(self, source: str, _: Revision | None) -> None:
        start = self.day()
        await self.knowledge.create_revision(source, RevisionDraft("x", start, self.end(start)))

    async def edit(self, source: str, revision: Revision | None) -> None:
        assert revision is not None
        start = self.day()
        change = RevisionEdit(effective_from=start, effective_to=self.end(start))
        await self.knowledge.edit_revision(source, revision.revision_id, change)

    async def ingest(self, source: str, revision: Revision | None) -> None:
        assert revision is not None
        await self.ingestion.ingest(source, revision.revision_id, self.file, no_progress)

    async def remove(self, source: str, revision: Revision | None) -> None:
        assert revision is not None
        await self.knowledge.remove_chunks(source, revision.revision_id)

    async def delete(self, source: str, revision: Revision | None) -> None:
        assert revision is not None
        await self.knowledge.delete_revision(source, revision.revision_id)

    async def check(self) -> None:
        """On every day: search, filter and the entries themselves name the same revisions."""
        assert await find_problems(self.knowledge) == []
        registry = await self.knowledge.registry()
        shelves = await in_thread(registry.list_all_revisions)
        revisions = [r for shelf in shelves.values() for r in shelf if r.is_ready and r.chunk_count]
        for offset in range(-1, DAYS + DAYS // 3 + 1):
            day = FIRST + timedelta(days=offset)
            holding = {
                (r.source, r.revision_id)
                for r in revisions
                if r.effective_from <= day and (r.effective_to is None or day <= r.effective_to)
            }
            found = await search(self.knowledge, "a rule", 50, [], day)
            assert {_key(hit.record.metadata) for hit in found} == holding, day
            number = date_to_int(day)
            stored = await self.knowledge.resources.collections.get(
                CHUNKS,
                where={
                    "$and": [
                        {"effective_from": {"$lte": number}},
                        {"effective_to": {"$gte": number}},
                    ]
                },
            )
            assert {_key(record.metadata) for record in stored} == holding, day


def _key(metadata: object) -> tuple[str, str]:
    assert isinstance(metadata, dict)
    return str(metadata["source"]), str(metadata["revision_id"])


@pytest.fixture(params=PLACES)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    if request.param == "sqlite":
        yield Settings(home=tmp_path / "home", workers=1)
        return
    with redis_server(tmp_path) as server:
        yield Settings(home=tmp_path / "home", workers=1, redis_url=server.url)


async def walk(settings: Settings, file: Path, seed: int, steps: int) -> None:
    async with open_engine(settings) as engine:
        knowledge = policy_kb.open_knowledge(engine)
        for source in SOURCES:
            draft = PolicyDraft(source, source, PolicyCategory.LOCAL_PLAN)
            await knowledge.create_policy(draft)
        walker = Walk(knowledge, file, seed)
        for number in range(steps):
            await walker.step()
            if number % 10 == 9:
                await walker.check()
        assert walker.refused < steps * 0.8, "nearly everything was refused"


@pytest.mark.slow
def test_search_and_registry_agree_after_random_operations(
    settings: Settings, tmp_path: Path
) -> None:
    file = text_pdf(tmp_path / "policy.pdf", "1. There is a rule, and it holds.")
    anyio.run(walk, settings, file, 1, 40)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(2, 8))
def test_search_and_registry_agree_after_many_random_operations(
    settings: Settings, tmp_path: Path, seed: int
) -> None:
    file = text_pdf(tmp_path / "policy.pdf", "1. There is a rule, and it holds.")
    anyio.run(walk, settings, file, seed, 300)
