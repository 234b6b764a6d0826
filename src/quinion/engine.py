"""The engine: one home with its lock, workers, embedding model and store.

Each process builds one engine and passes it to its servers. The model is loaded at first use.

Acknowledged writes are on the disk. A document is one store transaction, so after a crash it is
there completely or not at all.
"""

import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from quinion.backup import back_up
from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.embed.local.embedder import LocalEmbedder
from quinion.embed.local.runtimes import Numerics
from quinion.embed.truncated import Truncated
from quinion.errors import BadSetting
from quinion.extract.ocr.languages import DEFAULT, advise, find_missing
from quinion.home import check_restored, hold_home, store_place
from quinion.settings import Settings
from quinion.store.base import Selector, VectorStore
from quinion.store.collections import Collections
from quinion.store.factory import open_store
from quinion.store.lock import FolderLock
from quinion.telemetry.memory import measure_memory
from quinion.telemetry.metrics import Family
from quinion.workers.kinds import ELEMENTS
from quinion.workers.pool import Workers

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter

log = logging.getLogger(__name__)

TESSERACT = "tesseract"
ENGINES = {
    "onnx": Numerics.ONNX,
    "ctranslate2": Numerics.CTRANSLATE2,
}
"""Numerics by the value of QUINION_EMBEDDING_ENGINE; `auto` runs a benchmark instead."""

SWITCH_INTERVAL_S = 0.001
"""Longest time that a thread holds the interpreter lock. A search switches threads several times,
and would wait this long at each switch while documents are ingested."""


@dataclass(eq=False)
class Engine:
    """Shared resources of all servers. Use `open_engine`.

    `model` is the local embedding model; `embedder` is the same model with texts truncated to the
    length that two of the contracts prescribe. `at_close` registers a callback that closes a
    server's own resources.
    """

    settings: Settings
    lock: FolderLock
    workers: Workers
    element_workers: Workers
    model: Embedder
    store: VectorStore
    at_close: Callable[[Callable[[], object]], object]

    def __post_init__(self) -> None:
        self.embedder = Truncated(self.model)
        self.collections = Collections(self.store, lambda: self.model.fingerprint)

    def with_settings(self, settings: Settings) -> "Engine":
        """A view of this engine for a server with different settings."""
        view = copy(self)
        view.settings = settings
        return view

    @cached_property
    def counter(self) -> "TokenCounter":
        """Token counter of the local model. The first use blocks.

        Raises:
            ModelUnavailable: the model, which has the tokenizer, is not installed.
        """
        # Imported here because it imports tokenizers, which most servers never need.
        from quinion.embed.token_counter import TokenCounter  # noqa: PLC0415

        return TokenCounter.of(self.settings.model_dir, self.settings.models)

    def measure(self) -> Iterator[Family]:
        """Yield the metrics of workers, memory and the mirror, which all servers share."""
        limits = Family("quinion_workers_limit", "gauge", "Largest number of workers, by kind.")
        workers = Family("quinion_workers", "gauge", "Running workers, by kind and state.")
        queue = Family("quinion_worker_queue_length", "gauge", "Jobs that wait for a worker.")
        pids: list[int] = []
        for load in (self.workers.load, self.element_workers.load):
            limits.add(load.limit, kind=load.kind)
            workers.add(load.busy, kind=load.kind, state="busy")
            workers.add(load.idle, kind=load.kind, state="idle")
            queue.add(load.waiting, kind=load.kind)
            pids += load.pids
        memory = Family("quinion_memory_bytes", "gauge", "Resident memory of processes.")
        memory.add(measure_memory() or 0, process="server")
        memory.add(sum(measure_memory(pid) or 0 for pid in pids), process="workers")
        lag = self.store.mirror_lag()
        pending = Family("quinion_mirror_pending", "gauge", "Changes that the mirror lacks.")
        seconds = Family("quinion_mirror_lag_seconds", "gauge", "Age of the oldest of them.")
        yield from (limits, workers, queue, memory, pending.add(lag.pending))
        yield seconds.add(lag.seconds)

    def count(self, collection: str) -> int:
        """Count the records of a collection. Blocking."""
        return self.store.count(Selector.everything(collection))

    async def back_up(self) -> Path:
        """Write an archive of the home into the home; see `backup.back_up`."""
        return await in_thread(back_up, self.settings, self.store)


def check_ocr_languages(settings: Settings) -> None:
    """Compare OCR_LANGUAGES with what Tesseract has.

    Without Tesseract nothing is checked: pages that need it are an error of their own.

    Raises:
        BadSetting: a language that the user has set is not installed.
    """
    if not settings.enable_ocr:
        return
    missing = find_missing(TESSERACT, settings.ocr_languages)
    if not missing:
        return
    problem = f"Tesseract has no language data for {', '.join(missing)}. Run: {advise(missing)}"
    if settings.ocr_languages != DEFAULT:
        raise BadSetting(f"OCR_LANGUAGES: {problem}, or set ENABLE_OCR=false.")
    log.warning("%s. Until then scanned pages are not read", problem)


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncIterator[Engine]:
    """Lock the home and build the engine on it.

    Raises:
        HomeInUse: another process has locked the home or the store's folder.
        BadSetting: a folder or a language of OCR cannot be used.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    await in_thread(check_ocr_languages, settings)
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold_home(settings))
        check_restored(settings.home)
        model = LocalEmbedder(
            settings.models,
            settings.model_dir,
            numerics=ENGINES.get(settings.embedding_engine),
        )
        workers = Workers(settings.workers, ocr_languages=settings.ocr_languages)
        stack.push_async_callback(workers.close)
        element_workers = Workers(
            settings.workers, kind=ELEMENTS, ocr_languages=settings.ocr_languages
        )
        stack.push_async_callback(element_workers.close)
        store = await in_thread(open_store, store_place(settings))
        stack.callback(store.close)
        yield Engine(settings, lock, workers, element_workers, model, store, stack.callback)
