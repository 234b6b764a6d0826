"""kill -9 while an index is changed: afterwards it is as it was or as it was to be, and whole."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

import anyio
import pytest

from quinion.pipeline.engine import Engine, open_engine
from quinion.settings import Settings
from tests.crash.die import OPERATIONS, SHELF
from tests.crash.dying import die_at

TO_THE_END = 10**6
LONG = "\n\n".join(f"# Chapter {n}\n\n" + f"Word {n} by word. " * 40 for n in range(1, 5))

State = dict[str, tuple[str, tuple[str, ...]]]
"""The indexed files, each with its hash and the texts of its chunks."""


@dataclass(frozen=True)
class Case:
    """Something that is done to an index which has `long.md` and `short.txt`."""

    operation: str
    file: str = ""
    prepare: Callable[[Path], object] = lambda _: None


def _add(folder: Path) -> None:
    (folder / "new.md").write_text(LONG.replace("Word", "New word"))
    (folder / "other.txt").write_text("Another one.\n")


CASES = {
    "new files": Case("index_directory", "", _add),
    "a changed file": Case(
        "index_directory", "", lambda folder: (folder / "long.md").write_text(LONG[:2500])
    ),
    "a moved file": Case(
        "index_directory", "", lambda folder: (folder / "long.md").rename(folder / "moved.md")
    ),
    "a deleted file": Case("delete_file", "long.md"),
    "deleted chunks": Case("delete_chunks", "long.md"),
    "all deleted": Case("clear_index"),
}


@dataclass(frozen=True)
class Scene:
    """A home before a case, what it is done to, and how the index is before and after."""

    case: Case
    home: Path
    target: Path
    before: State
    after: State


async def _look(engine: Engine) -> State:
    """What is indexed, after files and chunks were found to agree."""
    files = {line.id: line.metadata["doc_hash"] for line in await engine.get(SHELF.files)}
    chunks = await engine.get(SHELF.chunks)
    assert {chunk.metadata["source_file"] for chunk in chunks} == set(files)
    state: State = {}
    for path, doc_hash in files.items():
        mine = [chunk for chunk in chunks if chunk.metadata["source_file"] == path]
        mine.sort(key=lambda chunk: int(chunk.metadata["chunk_index"]))
        assert {chunk.metadata["doc_hash"] for chunk in mine} == {doc_hash}
        state[path] = str(doc_hash), tuple(chunk.text for chunk in mine)
    return state


async def _run(home: Path, operation: str | None, target: Path) -> State:
    """Open the home, do something in it if anything, and look."""
    async with open_engine(Settings(home=home, workers=1)) as engine:
        if operation:
            await OPERATIONS[operation](engine, str(target))
        return await _look(engine)


@pytest.fixture(params=CASES, scope="module")
def scene(
    request: pytest.FixtureRequest, models: Path, tmp_path_factory: pytest.TempPathFactory
) -> Scene:
    case = CASES[request.param]
    place = tmp_path_factory.mktemp("scene")
    folder, home, done = place / "documents", place / "home", place / "done"
    for path in (folder, home):
        path.mkdir()
    (home / "models").symlink_to(models)
    (folder / "long.md").write_text(LONG)
    (folder / "short.txt").write_text("A short text.\n")
    before = anyio.run(_run, home, "index_directory", folder)
    case.prepare(folder)
    target = folder / case.file
    shutil.copytree(home, done, symlinks=True)
    assert die_at(case.operation, done, target, TO_THE_END).returncode == 0
    return Scene(case, home, target, before, anyio.run(_run, done, None, target))


def die_and_look(scene: Scene, moment: int, home: Path) -> tuple[int, State]:
    """Exit status of the process that was to die, and the index that the next one finds."""
    shutil.copytree(scene.home, home, symlinks=True)
    status = die_at(scene.case.operation, home, scene.target, moment).returncode
    state = anyio.run(_run, home, None, scene.target)
    # The same again works, whatever was left.
    assert anyio.run(_run, home, scene.case.operation, scene.target) == scene.after
    return status, state


def test_a_kill_in_the_middle_leaves_all_or_nothing(scene: Scene, tmp_path: Path) -> None:
    assert scene.before != scene.after
    status, state = die_and_look(scene, 3, tmp_path / "home")
    assert status == -9
    assert state in (scene.before, scene.after)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_kill_anywhere_leaves_all_or_nothing(scene: Scene, tmp_path: Path) -> None:
    states = []
    for moment in count():
        status, state = die_and_look(scene, moment, tmp_path / str(moment))
        states.append(state)
        assert state in (scene.before, scene.after), moment
        if status == 0:
            break
    assert moment >= 6, "there are fewer moments than the operation has steps"
    # Before the first step nothing has happened; what was acknowledged stays.
    assert states[0] == scene.before
    assert states[-1] == scene.after
    # Once it is as it was to be, it stays so: there is one moment at which it happens.
    assert sum(old != new for old, new in pairwise(states)) == 1
