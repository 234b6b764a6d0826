"""`quinion verify --repair` for policies whose registry and chunks disagree."""

from datetime import date
from pathlib import Path

import numpy as np
import pytest

from quinion.concurrency import in_thread
from quinion.engine import Engine, open_engine
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft, RevisionUpdate
from quinion.model.record import Record
from quinion.servers import policy_kb
from quinion.servers.policy_kb.check import find_problems, repair
from quinion.servers.policy_kb.records import CHUNKS
from quinion.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def write(engine: Engine, revision_id: str, count: int) -> None:
    records = [
        Record(
            f"{revision_id} {n}",
            "a text",
            {
                "source": "NPPF",
                "revision_id": revision_id,
                "version_label": "another",
                "effective_from": 1,
                "effective_to": 2,
            },
        )
        for n in range(count)
    ]
    vectors = np.eye(384, dtype=np.float32)[:count]
    await engine.collections.write(lambda write: write.upsert(CHUNKS, records, vectors))


@pytest.mark.slow
async def test_the_registry_is_authoritative_and_chunk_counts_are_corrected(tmp_path: Path) -> None:
    async with open_engine(Settings(home=tmp_path, chroma_dir=tmp_path / "chroma")) as engine:
        knowledge = policy_kb.open_knowledge(engine)
        draft = PolicyDraft("NPPF", "A Framework", PolicyCategory.NATIONAL_POLICY)
        await knowledge.create_policy(draft)
        plan = await knowledge.create_revision("NPPF", RevisionDraft("2024", date(2024, 12, 12)))
        registry = await knowledge.registry()
        [revision] = await in_thread(registry.list_revisions, "NPPF")
        assert plan
        await in_thread(
            registry.update_revision, "NPPF", revision.revision_id, RevisionUpdate(chunk_count=5)
        )
        await knowledge.sync()
        await write(engine, revision.revision_id, 3)
        await write(engine, "of nobody", 2)
        assert len(await find_problems(knowledge)) == 6

        repaired = await repair(knowledge)
        assert [line.partition(": ")[0] for line in repaired] == [
            f"NPPF {revision.revision_id}",
            f"NPPF {revision.revision_id}",
        ]
        # Unregistered chunks are reported and kept.
        problems = await find_problems(knowledge)
        assert [line.partition(":")[0] for line in problems] == ["of nobody 0", "of nobody 1"]
        assert await repair(knowledge) == []
        [revision] = await in_thread(registry.list_revisions, "NPPF")
        assert revision.chunk_count == 3
        assert len(await engine.collections.get(CHUNKS, where={"revision_id": "of nobody"})) == 2
