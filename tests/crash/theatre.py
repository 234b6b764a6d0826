"""Plays a scene again and again on the same home, each time with another end, and looks after it.

Every play is forked from a process that has loaded all modules and has one thread, so that one
costs a second or two. The home is put back to what it was by copying; it has to be at the same
path, for the path of its store is part of what it keeps.
"""

import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import chromadb  # noqa: F401 - loaded here, so that no play has to
import onnxruntime  # type: ignore[import-untyped]  # noqa: F401
import redis
import tokenizers  # noqa: F401

from quinion.errors import QuinionError
from quinion.pipeline.engine import in_thread, open_engine
from quinion.settings import Settings
from tests.chroma_server import ChromaServer, chroma_server
from tests.crash.layer import Decide, Run, Say, let_all, watch
from tests.crash.scenes import Answer, Scene, Stage, State, Step, write_files
from tests.redis_server import ON_DISK, RedisServer, redis_server


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What was found after a restart, and after the same call was made again."""

    state: State
    problems: list[str]
    answer: Answer
    state_again: State
    problems_again: list[str]


class Theatre:
    """One scene's home. Use `open_theatre`."""

    def __init__(
        self,
        scene: Scene,
        folder: Path,
        registry: RedisServer | None,
        chroma: ChromaServer | None,
    ) -> None:
        self.scene = scene
        self._folder = folder
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
        home.mkdir()
        (home / "models").symlink_to(models)
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
        """Do what the scene is about, on a home as it was, and then these things."""
        self._put_back()
        return self._watch((self.scene.act, *then), decide)

    def look(self) -> State:
        """What there is after a restart."""
        state: State
        [state] = self._play(self.scene.server.look)
        return state

    def look_and_act_again(self) -> Aftermath:
        """What there is after a restart, and after the same call."""
        look, act = self.scene.server.look, self.scene.act
        return Aftermath(*self._play(look, verify, act, look, verify))

    def read_log(self) -> str:
        """What all plays have printed since the last reading."""
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
        """Open the engine, take the steps and say what each comes to; where it can't be opened, say
        that, as the first one's outcome, and open it for the others."""
        logging.basicConfig()
        try:
            await self._take(steps, say)
        except Unopened as error:
            say(error.answer)
            await self._take(steps[1:], say)

    async def _take(self, steps: Sequence[Step], say: Say) -> None:
        async with AsyncExitStack() as stack:
            try:
                engine = await stack.enter_async_context(open_engine(self.settings))
                server = self.scene.server.build(engine)
            except QuinionError as error:
                raise Unopened(error) from error
            stage = Stage(engine, server, self._folder / "files")
            for step in steps:
                say(await step(stage))

    def _put_back(self) -> None:
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
    """The server says why it can't be started."""

    def __init__(self, error: QuinionError) -> None:
        super().__init__(error.message)
        self.answer = {"status": "error", "error_type": error.code, "message": error.message}


class PlayFailed(Exception):
    """A process that nobody killed did not come to its end."""


async def verify(stage: Stage) -> list[str]:
    """What the server's own `verify` finds."""
    # Else `verify` has a child try Chroma first, which takes longer than all the rest.
    store = await stage.engine.store()
    await in_thread(store.agree, store.collections())
    answer = await stage.ask("verify")
    return list(answer["problems"])


@contextmanager
def open_theatre(scene: Scene, models: Path, *, on_server: bool = False) -> Iterator[Theatre]:
    """A home that has what is there before the scene. `on_server`: Chroma is a server."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="quinion-crash-"))).resolve()
        registry = None
        if scene.redis:
            (folder / "redis").mkdir()
            registry = stack.enter_context(redis_server(folder / "redis", ON_DISK))
        chroma = stack.enter_context(chroma_server(folder / "chroma")) if on_server else None
        theatre = Theatre(scene, folder, registry, chroma)
        theatre.prepare(models)
        yield theatre
