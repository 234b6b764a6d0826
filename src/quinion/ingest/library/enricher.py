"""`quinion library enrich`: descriptions and LaTeX of elements from a vision model.

    undescribed elements → image → cached or new answer → cache → embed → write, in groups

Each answer is cached at once under the hash of its image. An interrupted run continues where it
stopped, and a document that is added again is described without new requests.

This is the only code that sends images off this machine, and only on request.
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

from quinion.concurrency import in_thread, together
from quinion.enrich import prompts
from quinion.enrich.vision import HOST, DescriptionFailed, Remark, Vision
from quinion.errors import BadSetting
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import CONTENT, LibraryElement, figure_of, figure_record
from quinion.ingest.progress import Progress
from quinion.settings import Settings

MAX_PARALLEL = 2
"""Concurrent requests. More do not speed up a model on one graphics card."""
GROUP_ELEMENTS = 16
"""Elements per write; searches wait during a write."""
TIMEOUT_S = 180.0
"""Timeout of one image, retries included. Models without a graphics card take a minute."""
MAX_SKIPS_IN_A_ROW = 3
"""Images in a row without a description before the run fails: the model may not accept images."""

T = TypeVar("T")


@dataclass(slots=True)
class Enrichment:
    """Result of a run."""

    asked: int = 0
    """Number of answers from the model."""
    remembered: int = 0
    """Number of answers from the cache."""
    not_described: list[tuple[LibraryElement, str]] = field(default_factory=list)
    """Elements that the model did not describe, with the reason."""
    remaining: int = 0
    """Number of elements left for another run."""

    @property
    def done(self) -> int:
        return self.asked + self.remembered + len(self.not_described)


class Enricher:
    """Describes documents; concurrent calls for the same document run one after the other."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._vision: Vision | None = None

    async def enrich(self, slug: str, limit: int | None, progress: Progress) -> Enrichment:
        """Describe at most `limit` elements that have no description yet.

        Raises:
            BadSetting: no vision model is configured, or its settings are invalid.
            DocumentMissing, OriginalMissing: the document or its file does not exist.
            EnricherUnavailable: the model does not respond. Earlier answers are stored.
            StoreUnavailable: the store cannot be read or written.
            ModelUnavailable: the embedding model cannot be used.
        """
        vision = await in_thread(self._open)
        async with self._library.resources.locks.hold(("enrichment", slug)):
            wanted = [one for one in await self._library.elements(slug) if _is_wanted(one)]
            run = _Run(self._library, vision, wanted[:limit], progress)
            run.result.remaining = len(wanted) - len(wanted[:limit])
            try:
                await together(*[run.work] * MAX_PARALLEL)
            finally:
                with anyio.CancelScope(shield=True):
                    await run.write()
            return run.result

    def _open(self) -> Vision:
        if self._vision is None:
            self._vision = make_vision(self._library.resources.settings)
        return self._vision


def make_vision(settings: Settings) -> Vision:
    """Create the client of the configured vision model.

    Raises:
        BadSetting: no vision model is configured, or its settings are invalid.
    """
    if not settings.vision_url or not settings.vision_model:
        missing = "DOCLIBRARY_VISION_MODEL" if settings.vision_url else HOST
        raise BadSetting(
            f"{missing} is not set, so there is no model to describe figures. Set {HOST} to the "
            "URL of an OpenAI-compatible server (http://localhost:11434/v1) and "
            "DOCLIBRARY_VISION_MODEL to a model there that accepts images, and start again."
        )
    return Vision(settings.vision_url, settings.vision_model, settings.vision_api_key, TIMEOUT_S)


class _Run:
    """One run over a list of elements, shared by several tasks."""

    def __init__(
        self,
        library: Library,
        vision: Vision,
        figures: list[LibraryElement],
        progress: Progress,
    ) -> None:
        self.result = Enrichment()
        self._library = library
        self._vision = vision
        self._prefix = f"remark {vision.model}, prompt {prompts.VERSION} "
        self._figures: Iterator[LibraryElement] = iter(figures)
        self._total = len(figures)
        self._progress = progress
        self._described: list[LibraryElement] = []
        self._skips_in_a_row = 0

    async def work(self) -> None:
        """Describe elements one by one until none are left."""
        for figure in self._figures:
            try:
                remark = await self._find_remark(figure)
            except DescriptionFailed as error:
                self._skip(figure, error)
            else:
                self._skips_in_a_row = 0
                self._described.append(
                    replace(figure, description=remark.description, latex=remark.latex)
                )
            done = self.result.done
            message = f"described {figure.element.label} on page {figure.element.page}"
            await self._progress(done, self._total, f"{message}, {done} of {self._total}")
            if len(self._described) >= GROUP_ELEMENTS:
                await self.write()

    async def write(self) -> None:
        """Write the elements described since the last write."""
        group, self._described = self._described, []
        if not group:
            return
        library, resources = self._library, self._library.resources
        async with library.writing():
            ids = [figure.id for figure in group]
            there = {
                one.id: figure_of(one) for one in await resources.collections.get(CONTENT, ids=ids)
            }
            # Meanwhile the document may have been removed, and its slug reused.
            known = [one for one in group if one.id in there and _same(one, there[one.id])]
            if not known:
                return
            records = [figure_record(figure) for figure in known]
            vectors = await in_thread(resources.model.embed, [record.text for record in records])
            await resources.collections.write(lambda write: write.upsert(CONTENT, records, vectors))

    def _skip(self, figure: LibraryElement, error: DescriptionFailed) -> None:
        self.result.not_described.append((figure, error.message))
        self._skips_in_a_row += 1
        if self._skips_in_a_row >= MAX_SKIPS_IN_A_ROW:
            raise error

    async def _find_remark(self, figure: LibraryElement) -> Remark:
        picture = await self._library.show_element(figure)
        task = "latex" if prompts.wants_latex(figure.element) else "description"
        resources = self._library.resources
        key = f"{self._prefix}{task} {hashlib.sha256(picture).hexdigest()}"
        if kept := (await in_thread(resources.store.values, key)).get(key):
            self.result.remembered += 1
            return Remark(**json.loads(kept))
        remark = await _run_detached(lambda: self._vision.describe(picture, figure.element))
        await resources.collections.write(
            lambda write: write.set_value(key, json.dumps(asdict(remark)))
        )
        self.result.asked += 1
        return remark


def _is_wanted(figure: LibraryElement) -> bool:
    return not (figure.latex if prompts.wants_latex(figure.element) else figure.description)


def _same(one: LibraryElement, other: LibraryElement) -> bool:
    return one.element == other.element and one.document_slug == other.document_slug


async def _run_detached(function: Callable[[], T]) -> T:
    """Run a function in a thread that is abandoned on cancellation.

    `in_thread` would block a cancelled caller, and the exit of the process, until the timeout of
    a server that hangs.
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
