"""`quinion library enrich`: descriptions and LaTeX of a document's elements, by a vision model.

    elements without → picture → known answer, or ask → keep answer → embed → write, in groups

An answer is kept as soon as it comes, under the hash of its picture. So a run that was ended or
killed goes on where it was, and a document that is added again is described without a question.

Pictures leave this machine here and nowhere else, when somebody asks for it.
"""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import TypeVar

import anyio
import anyio.from_thread
import anyio.lowlevel

from quinion.concurrency import KeyedLock, in_thread, together
from quinion.enrich import prompts
from quinion.enrich.vision import HOST, NotDescribed, Remark, Vision
from quinion.errors import BadSetting
from quinion.ingest.progress import Progress
from quinion.servers.doclibrary.library import Library
from quinion.servers.doclibrary.records import CONTENT, Figure, figure_of, figure_record
from quinion.settings import Settings

AT_ONCE = 2
"""Questions under way. A model on one graphics card answers no faster to more."""
GROUP = 16
"""Elements that are written together: searches wait while it is done."""
TIMEOUT_S = 180.0
"""For one picture, with its retries. Models without a graphics card take a minute."""
MOST_IN_A_ROW = 3
"""Pictures that the model may have nothing to say about, one after the other, before it is
asked no more: it may be one that takes no pictures."""

T = TypeVar("T")


@dataclass(slots=True)
class Enrichment:
    """What came of a run."""

    asked: int = 0
    """Answers that the model gave."""
    remembered: int = 0
    """Answers that were known from before."""
    not_described: list[tuple[Figure, str]] = field(default_factory=list)
    """Elements that the model had nothing to say about, with the reason."""
    remaining: int = 0
    """Elements that were left for another run."""

    @property
    def done(self) -> int:
        return self.asked + self.remembered + len(self.not_described)


class Enriching:
    """Describes documents; the same one asked for twice at once is described once."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._locks = KeyedLock()
        self._vision: Vision | None = None

    async def enrich(self, slug: str, limit: int | None, progress: Progress) -> Enrichment:
        """Describe the elements that have no description yet, `limit` of them at the most.

        Raises:
            BadSetting: no vision model is set, or it cannot be used.
            DocumentMissing, OriginalMissing: the document or its file is not there.
            EnricherUnavailable: the model does not answer. What it said before is kept.
            StoreUnavailable, ModelUnavailable: as they say.
        """
        vision = await in_thread(self._open)
        async with self._locks.hold(slug):
            wanted = [one for one in await self._library.elements(slug) if _is_wanted(one)]
            run = _Run(self._library, vision, wanted[:limit], progress)
            run.result.remaining = len(wanted) - len(wanted[:limit])
            try:
                await together(*[run.work] * AT_ONCE)
            finally:
                with anyio.CancelScope(shield=True):
                    await run.write()
            return run.result

    def _open(self) -> Vision:
        if self._vision is None:
            self._vision = make_vision(self._library.engine.settings)
        return self._vision


def make_vision(settings: Settings) -> Vision:
    """The vision model of the settings.

    Raises:
        BadSetting: none is set, or it cannot be used.
    """
    if not settings.vision_url or not settings.vision_model:
        missing = "DOCLIBRARY_VISION_MODEL" if settings.vision_url else HOST
        raise BadSetting(
            f"{missing} is not set, so there is no model to describe figures. Set {HOST} to the "
            "address of an OpenAI-compatible server (http://localhost:11434/v1) and "
            "DOCLIBRARY_VISION_MODEL to a model there that takes pictures, and start again."
        )
    return Vision(settings.vision_url, settings.vision_model, settings.vision_api_key, TIMEOUT_S)


class _Run:
    """One run over some elements, by several workers."""

    def __init__(
        self,
        library: Library,
        vision: Vision,
        figures: list[Figure],
        progress: Progress,
    ) -> None:
        self.result = Enrichment()
        self._library = library
        self._vision = vision
        self._prefix = f"remark {vision.model}, prompt {prompts.VERSION} "
        self._figures: Iterator[Figure] = iter(figures)
        self._total = len(figures)
        self._progress = progress
        self._described: list[Figure] = []
        self._in_a_row = 0

    async def work(self) -> None:
        """Take elements, one after the other, until there are none."""
        for figure in self._figures:
            try:
                remark = await self._find_remark(figure)
            except NotDescribed as error:
                self._pass_over(figure, error)
            else:
                self._in_a_row = 0
                self._described.append(
                    replace(figure, description=remark.description, latex=remark.latex)
                )
            done = self.result.done
            message = f"described {figure.element.label} on page {figure.element.page}"
            await self._progress(done, self._total, f"{message}, {done} of {self._total}")
            if len(self._described) >= GROUP:
                await self.write()

    async def write(self) -> None:
        """Put what was described since the last time into the library."""
        group, self._described = self._described, []
        if not group:
            return
        library, engine = self._library, self._library.engine
        async with library.writing:
            ids = [figure.id for figure in group]
            there = {one.id: figure_of(one) for one in await engine.get(CONTENT, ids=ids)}
            # The document may have been removed meanwhile, or another have taken its slug.
            known = [one for one in group if one.id in there and _same(one, there[one.id])]
            if not known:
                return
            records = [figure_record(figure) for figure in known]
            vectors = await in_thread(engine.model.embed, [record.text for record in records])
            await engine.write(lambda write: write.upsert(CONTENT, records, vectors))

    def _pass_over(self, figure: Figure, error: NotDescribed) -> None:
        self.result.not_described.append((figure, error.message))
        self._in_a_row += 1
        if self._in_a_row >= MOST_IN_A_ROW:
            raise error

    async def _find_remark(self, figure: Figure) -> Remark:
        picture = await self._library.show_element(figure)
        task = "latex" if prompts.wants_latex(figure.element) else "description"
        engine = self._library.engine
        key = f"{self._prefix}{task} {hashlib.sha256(picture).hexdigest()}"
        if kept := (await in_thread(engine.store.values, key)).get(key):
            self.result.remembered += 1
            return Remark(**json.loads(kept))
        remark = await _aside(lambda: self._vision.describe(picture, figure.element))
        await engine.write(lambda write: write.set_value(key, json.dumps(asdict(remark))))
        self.result.asked += 1
        return remark


def _is_wanted(figure: Figure) -> bool:
    return not (figure.latex if prompts.wants_latex(figure.element) else figure.description)


def _same(one: Figure, other: Figure) -> bool:
    return one.element == other.element and one.document_slug == other.document_slug


async def _aside(function: Callable[[], T]) -> T:
    """Run it in a thread that nobody waits for when it is no longer wanted.

    `in_thread` would hold a cancelled caller, and the end of the process, until a server that
    hangs has used up its time.
    """
    outcome: Future[T] = Future()
    ended = anyio.Event()
    token = anyio.lowlevel.current_token()

    def run() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:
            outcome.set_exception(error)
        with suppress(anyio.RunFinishedError):
            anyio.from_thread.run_sync(ended.set, token=token)

    threading.Thread(target=run, name="vision", daemon=True).start()
    await ended.wait()
    return outcome.result()
