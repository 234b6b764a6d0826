"""Runner of plays: runs of a scene on copies of one home, with a check after each.

Each play is forked from a single-threaded process that has loaded all modules, so that it takes a
second or two. Chroma has a separate process in each play; the process of the engine does not import
it.
"""

import logging
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import onnxruntime  # type: ignore[import-untyped]  # noqa: F401 - here, so that no play has to
import redis
import tokenizers  # noqa: F401

from quinion.engine import open_engine
from quinion.errors import QuinionError
from quinion.settings import Settings
from quinion.store.factory import STORE
from tests.chroma_server import ChromaServer, chroma_server
from tests.crash.layer import Decide, Run, Say, let_all, watch
from tests.crash.mirror import MirrorReader, check_store, mirror_reader
from tests.crash.scenes import Answer, Scene, Stage, State, Step, failure, write_files
from tests.redis_server import ON_DISK, RedisServer, redis_server


@dataclass(frozen=True, slots=True)
class Aftermath:
    """State after a restart, and after the same call was repeated.

    `problems` is the answer of `verify` after the restart. `problems_again` is the result of the
    store's integrity check after the last close, and `unmirrored` lists the differences between
    the mirror and the store then.
    """

    state: State
    problems: list[str]
    answer: Answer
    state_again: State
    problems_again: list[str]
    unmirrored: list[str]


class Theatre:
    """Home of one scene. Use `open_theatre`."""

    def __init__(
        self,
        scene: Scene,
        folder: Path,
        mirror: MirrorReader,
        registry: RedisServer | None,
        chroma: ChromaServer | None,
    ) -> None:
        self.scene = scene
        self._folder = folder
        self._mirror = mirror
        self.redis = registry
        self.chroma = chroma
        self._rows: dict[str, Any] = {}
        self.settings = Settings(
            home=folder / "home",
            workers=1,
            embedding_engine="onnx",
            redis_url=registry.url if registry else None,
            chroma_url=chroma.url if chroma else None,
        )
        self.before: State = {}

    def prepare(self, models: Path) -> None:
        write_files(self._folder / "files")
        home = self.settings.home
        if self.scene.unpack:
            self.scene.unpack(home)
        else:
            home.mkdir()
        (home / "models").symlink_to(models)
        if self.scene.prepare:
            self._play(self.scene.prepare)
        shutil.copytree(home, self._folder / "template", symlinks=True)
        if self.redis:
            self._rows = self.redis.dump()
        if self.chroma:
            self.chroma.kill()
            shutil.copytree(self.chroma.folder, self._folder / "chroma-template")
            self.chroma.start()
        [self.before] = self._play(self.scene.server.look)

    def act(self, decide: Decide = let_all, *then: Step) -> Run:
        """Make the scene's call on a copy of its home, then run these steps."""
        return self.play((self.scene.act, *then), decide)

    def play(self, steps: Sequence[Step], decide: Decide = let_all) -> Run:
        """Run these steps on a copy of the scene's home."""
        self.put_back()
        return self._watch(steps, decide)

    def look(self) -> State:
        """Return the state after a restart."""
        state: State
        [state] = self._play(self.scene.server.look)
        return state

    def look_and_act_again(self) -> Aftermath:
        """Return the state after a restart, and after the same call and a clean close."""
        look, act = self.scene.server.look, self.scene.act
        state, problems, answer, again = self._play(look, verify, act, look)
        problems_again = check_store(self.settings.home / STORE)
        return Aftermath(state, problems, answer, again, problems_again, self.find_unmirrored())

    def find_unmirrored(self) -> list[str]:
        """Return the differences between the mirror and the closed store."""
        location = self.chroma.url if self.chroma else self.settings.home / "chroma"
        return self._mirror.compare(self.settings.home / STORE, location)

    def read_log(self) -> str:
        """Return the output of all plays since the last call."""
        log = self._folder / "log"
        text = log.read_text(errors="replace")
        os.truncate(log, 0)
        return text

    def _watch(self, steps: Sequence[Step], decide: Decide) -> Run:
        return watch(
            self.settings.home,
            lambda say: anyio.run(self._stage, steps, say),
            decide,
            log=self._folder / "log",
        )

    def _play(self, *steps: Step) -> list[Any]:
        run = self._watch(steps, let_all)
        if run.status or run.hung or len(run.said) != len(steps):
            raise PlayFailed(f"it ended with {run.status} (hung: {run.hung}):\n{self.read_log()}")
        return run.said

    async def _stage(self, steps: Sequence[Step], say: Say) -> None:
        """Open the engine, run the steps and report the outcome of each. A failure to open the
        engine is the outcome of the first step; the engine is opened again for the others."""
        logging.basicConfig()
        try:
            await self._take(steps, say)
        except Unopened as error:
            say(error.answer)
            await self._take(steps[1:], say)
        assert "chromadb" not in sys.modules, "Chroma is imported by the process of the engine"

    async def _take(self, steps: Sequence[Step], say: Say) -> None:
        async with AsyncExitStack() as stack:
            try:
                engine = await stack.enter_async_context(open_engine(self.settings))
                server = self.scene.server.build(engine)
            except QuinionError as error:
                raise Unopened(error) from error
            stage = Stage(engine, server, self._folder / "files", say)
            for step in steps:
                say(await step(stage))

    def put_back(self) -> None:
        """Restore the home to its state before the scene's call."""
        home = self.settings.home
        shutil.rmtree(home)
        shutil.copytree(self._folder / "template", home, symlinks=True)
        if self.redis:
            with redis.Redis.from_url(self.redis.url) as client:
                client.flushall()
                for key, value in self._rows.items():
                    client.restore(key, 0, value)
        if self.chroma:
            self.chroma.kill()
            shutil.rmtree(self.chroma.folder)
            shutil.copytree(self._folder / "chroma-template", self.chroma.folder)
            self.chroma.start()


class Unopened(Exception):
    """The server can't be started; the message has the reason."""

    def __init__(self, error: QuinionError) -> None:
        super().__init__(error.message)
        self.answer = {"status": "error", "error_type": error.code, "message": error.message}


class PlayFailed(Exception):
    """A process failed without being killed."""


async def verify(stage: Stage) -> list[str]:
    """Return the problems that the server's tool `verify` reports. Its warnings, which concern the
    mirror, are ignored."""
    answer = await stage.ask("verify")
    return [str(answer)] if failure(answer) else list(answer["problems"])


@contextmanager
def open_theatre(scene: Scene, models: Path, *, on_server: bool = False) -> Iterator[Theatre]:
    """Open a home with the initial content of the scene. `on_server`: mirror to a Chroma server."""
    with ExitStack() as stack:
        mirror = stack.enter_context(mirror_reader())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="quinion-crash-"))).resolve()
        registry = None
        if scene.redis:
            (folder / "redis").mkdir()
            registry = stack.enter_context(redis_server(folder / "redis", ON_DISK))
        chroma = stack.enter_context(chroma_server(folder / "chroma")) if on_server else None
        theatre = Theatre(scene, folder, mirror, registry, chroma)
        theatre.prepare(models)
        yield theatre
