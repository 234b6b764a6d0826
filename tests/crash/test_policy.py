"""kill -9 during operations on policies: afterwards registry and chunks agree."""

import shutil
from collections.abc import Awaitable, Callable, Iterator
from datetime import date
from itertools import count
from pathlib import Path

import anyio
import pytest

from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft, RevisionStatus
from quinion.pipeline.engine import in_thread, open_engine
from quinion.servers import policy_kb
from quinion.servers.policy_kb.check import find_problems
from quinion.servers.policy_kb.knowledge import KnowledgeBase
from quinion.servers.policy_kb.records import CHUNKS
from quinion.settings import Settings
from tests.crash.die import OPERATIONS, REVISION
from tests.crash.dying import die_at
from tests.documents import text_pdf

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

Look = Callable[[KnowledgeBase], Awaitable[None]]


def make_policy(path: Path, word: str, sentences: int) -> Path:
    """A policy of several chunks; it says the same word throughout, and no other one."""
    return text_pdf(path, "\n".join(f"{word} " * 12 for _ in range(sentences)))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("policies")
    return {
        "old": make_policy(folder / "old.pdf", "old", 60),
        "new": make_policy(folder / "new.pdf", "new", 80),
    }


async def _register(home: Path, file: Path | None) -> None:
    async with open_engine(Settings(home=home)) as engine:
        knowledge = policy_kb.open_knowledge(engine)
        draft = PolicyDraft("NPPF", "A Framework", PolicyCategory.NATIONAL_POLICY)
        await knowledge.create_policy(draft)
        await knowledge.create_revision("NPPF", RevisionDraft("December 2024", date(2024, 12, 12)))
        if file is not None:
            await OPERATIONS["ingest_revision"](engine, str(file))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> dict[str, int]:
    """How much there is of each text when it is whole."""

    async def measure(home: Path, file: Path) -> int:
        await _register(home, file)
        async with open_engine(Settings(home=home)) as engine:
            return (await _words(policy_kb.open_knowledge(engine)))[1]

    folder = tmp_path_factory.mktemp("whole")
    return {name: anyio.run(measure, folder / name, file) for name, file in files.items()}


@pytest.fixture(scope="module")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("empty") / "home"
    anyio.run(_register, home, None)
    return home


@pytest.fixture(scope="module")
def full_home(tmp_path_factory: pytest.TempPathFactory, files: dict[str, Path]) -> Path:
    home = tmp_path_factory.mktemp("full") / "home"
    anyio.run(_register, home, files["old"])
    return home


def die_everywhere(operation: str, template: Path, file: Path, work: Path) -> Iterator[Path]:
    """A copy of the template for each moment at which a process died in the operation."""
    for moment in count():
        home = work / str(moment)
        shutil.copytree(template, home)
        if die_at(operation, home, file, moment).returncode == 0:
            assert moment >= 5, "there are fewer moments than the operation has steps"
            return
        yield home


async def _agree_then(home: Path, operation: str, file: Path, look: Look) -> None:
    """Registry and chunks agree after a restart, and the same operation works again."""
    async with open_engine(Settings(home=home)) as engine:
        knowledge = policy_kb.open_knowledge(engine)
        assert await find_problems(knowledge) == []
        await look(knowledge)
        if operation != "supersede":
            await OPERATIONS[operation](engine, str(file))
        assert await find_problems(knowledge) == []


async def _words(knowledge: KnowledgeBase) -> tuple[str, int]:
    """The word of the stored text, and how much of it there is."""
    records = await knowledge.engine.get(CHUNKS)
    words = {word for record in records for word in record.text.split()}
    assert len(words) <= 1, "old and new chunks are mixed"
    return (words.pop() if words else ""), sum(len(record.text) for record in records)


def test_a_first_ingest_leaves_all_or_nothing(
    empty_home: Path, files: dict[str, Path], whole: dict[str, int], tmp_path: Path
) -> None:
    async def look(knowledge: KnowledgeBase) -> None:
        revision = await knowledge.find_revision("NPPF", REVISION["revision_id"])
        assert (await _words(knowledge), revision.status) in [
            (("", 0), RevisionStatus.PROCESSING),
            (("old", whole["old"]), RevisionStatus.ACTIVE),
        ]

    for home in die_everywhere("ingest_revision", empty_home, files["old"], tmp_path):
        anyio.run(_agree_then, home, "ingest_revision", files["old"], look)


def test_a_reindex_leaves_the_old_text_or_the_new(
    full_home: Path, files: dict[str, Path], whole: dict[str, int], tmp_path: Path
) -> None:
    async def look(knowledge: KnowledgeBase) -> None:
        assert await _words(knowledge) in whole.items()

    for home in die_everywhere("ingest_revision", full_home, files["new"], tmp_path):
        anyio.run(_agree_then, home, "ingest_revision", files["new"], look)


def test_a_removal_leaves_all_or_nothing(
    full_home: Path, files: dict[str, Path], whole: dict[str, int], tmp_path: Path
) -> None:
    async def look(knowledge: KnowledgeBase) -> None:
        assert await _words(knowledge) in [("old", whole["old"]), ("", 0)]

    for home in die_everywhere("remove_revision", full_home, files["old"], tmp_path):
        anyio.run(_agree_then, home, "remove_revision", files["old"], look)


def test_a_successor_leaves_dates_that_the_search_and_the_registry_agree_on(
    full_home: Path, files: dict[str, Path], tmp_path: Path
) -> None:
    async def look(knowledge: KnowledgeBase) -> None:
        registry = await knowledge.registry()
        for day in (date(2025, 12, 31), date(2026, 1, 1)):
            hits = await knowledge.search("rule", 10, [], day)
            holding = await in_thread(registry.get_effective_revision, "NPPF", day)
            assert bool(hits) == (holding is not None)

    for home in die_everywhere("supersede", full_home, files["old"], tmp_path):
        anyio.run(_agree_then, home, "supersede", files["old"], look)
