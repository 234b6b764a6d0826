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
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from quinion.backup import back_up
from quinion.concurrency import in_thread
from quinion.embed.base import Embedder
from quinion.embed.local.embedder import LocalEmbedder
from quinion.embed.local.runtimes import Numerics
from quinion.embed.truncated import Truncated
from quinion.errors import BadSetting, ExtraMissing
from quinion.evidence.passages import Evidence
from quinion.extract.ocr import rapidocr_process
from quinion.extract.ocr.languages import (
    DEFAULT,
    advise,
    are_readable_by_rapidocr,
    find_missing,
)
from quinion.home import check_restored, hold_home, store_place
from quinion.ingest.engine_resources import HandOver
from quinion.ingest.kept_files import KeptFiles
from quinion.ingest.pictures import Pictures
from quinion.settings import Settings
from quinion.store.base import Selector, VectorStore
from quinion.store.collections import Collections
from quinion.store.factory import STORE, open_bucket, open_store
from quinion.store.lock import FolderLock
from quinion.store.locks import Locks
from quinion.store.migrate import check_migrated
from quinion.telemetry.metrics import Family
from quinion.workers.kinds import DOCUMENTS, ELEMENTS, PAGES, WorkerKind
from quinion.workers.metrics import measure_workers
from quinion.workers.pool import Workers

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter
    from quinion.queue.dispatcher import Dispatcher

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
    page_workers: Workers
    model: Embedder
    store: VectorStore
    kept: KeptFiles
    at_close: Callable[[Callable[[], object]], object]
    queue: HandOver | None = None

    def __post_init__(self) -> None:
        self.embedder = Truncated(self.model)
        self.collections = Collections(self.store, lambda: self.model.fingerprint)
        self.locks = self.kept.locks
        self.pictures = Pictures(self, self.kept.pictures)
        self.evidence = Evidence(self)

    def with_settings(self, settings: Settings) -> "Engine":
        """A view of this engine for a server with different settings."""
        view = copy(self)
        view.settings = settings
        view.evidence = Evidence(view)
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
        pools = (self.workers, self.element_workers, self.page_workers)
        yield from measure_workers([pool.load for pool in pools])
        lag = self.store.mirror_lag()
        pending = Family("quinion_mirror_pending", "gauge", "Changes that the mirror lacks.")
        seconds = Family("quinion_mirror_lag_seconds", "gauge", "Age of the oldest of them.")
        yield from (pending.add(lag.pending), seconds.add(lag.seconds))

    def count(self, collection: str) -> int:
        """Count the records of a collection. Blocking."""
        return self.store.count(Selector.everything(collection))

    async def back_up(self) -> Path:
        """Write an archive of the home into the home; see `backup.back_up`."""
        return await in_thread(back_up, self.settings, self.store)


def check_ocr(settings: Settings) -> None:
    """Compare OCR_ENGINE and OCR_LANGUAGES with what is installed.

    Without Tesseract its languages are not checked: pages that need it are an error of their own.

    Raises:
        BadSetting: an engine or a language that the user has set is not installed.
    """
    if not settings.enable_ocr:
        return
    if settings.ocr_engine == "rapidocr":
        _check_rapidocr(settings)
        return
    missing = find_missing(TESSERACT, settings.ocr_languages)
    if not missing:
        return
    problem = f"Tesseract has no language data for {', '.join(missing)}. Run: {advise(missing)}"
    if settings.ocr_languages != DEFAULT:
        raise BadSetting(f"OCR_LANGUAGES: {problem}, or set ENABLE_OCR=false.")
    log.warning("%s. Until then scanned pages are not read", problem)


def warn_of_unused(settings: Settings) -> None:
    """Log what is not used while the store is in a database."""
    if not settings.database:
        return
    own = settings.home / STORE
    if own.exists():
        log.warning(
            "The store in %s is not used while QUINION_DATABASE_URL is set. To copy its documents "
            "into the database, run quinion migrate --to with its address",
            own,
        )


def _check_rapidocr(settings: Settings) -> None:
    if not rapidocr_process.is_installed():
        raise BadSetting(
            "OCR_ENGINE: the package rapidocr is not installed. Run: "
            "pip install 'rapidocr>=3.10,<3.11', or set OCR_ENGINE=auto."
        )
    if not are_readable_by_rapidocr(settings.ocr_languages):
        raise BadSetting(
            f"OCR_ENGINE: rapidocr reads Latin, Chinese and Japanese script, not all of "
            f"OCR_LANGUAGES={settings.ocr_languages}. Set OCR_ENGINE=tesseract."
        )


def _open_workers(settings: Settings, kind: WorkerKind) -> Workers:
    return Workers(
        settings.workers,
        kind=kind,
        ocr_languages=settings.ocr_languages,
        ocr_engine=settings.ocr_engine,
    )


@asynccontextmanager
async def open_engine(settings: Settings) -> AsyncIterator[Engine]:
    """Lock the home and build the engine on it.

    Raises:
        HomeInUse: another process has locked the home or the store's folder, or uses its database.
        BadSetting: a folder or a language of OCR cannot be used.
    """
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    await in_thread(check_ocr, settings)
    warn_of_unused(settings)
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold_home(settings))
        check_restored(settings.home)
        model = LocalEmbedder(
            settings.models,
            settings.model_dir,
            numerics=ENGINES.get(settings.embedding_engine),
        )
        workers = _open_workers(settings, DOCUMENTS)
        stack.push_async_callback(workers.close)
        element_workers = _open_workers(settings, ELEMENTS)
        stack.push_async_callback(element_workers.close)
        page_workers = _open_workers(settings, PAGES)
        stack.push_async_callback(page_workers.close)
        store = await in_thread(open_store, store_place(settings))
        stack.callback(store.close)
        await in_thread(check_migrated, store)
        kept = await open_kept_files(settings, store, stack.callback)
        queue = None
        if settings.database and settings.blobs_url:
            queue = _open_queue(settings.database, settings.blobs_url)
            stack.push_async_callback(queue.close)
        yield Engine(
            settings,
            lock,
            workers,
            element_workers,
            page_workers,
            model,
            store,
            kept,
            stack.callback,
            queue,
        )


def _open_queue(database: str, blobs: str) -> "Dispatcher":
    """Open the queue of documents for workers; it connects at its first use.

    Raises:
        ExtraMissing: its library is not installed.
    """
    # Imported here because most users have no workers.
    try:
        from quinion.queue.dispatcher import Dispatcher  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            "QUINION_BLOBS_URL is set, but the queue of documents cannot be imported: "
            f"{error}. Run: pip install 'procrastinate>=3.10,<4'"
        ) from error
    return Dispatcher(database, open_bucket(blobs))


async def open_kept_files(
    settings: Settings, store: VectorStore, at_close: Callable[[Callable[[], object]], object]
) -> KeptFiles:
    """Open the files that are kept with the documents of this store.

    Raises:
        BadSetting: the folder of originals cannot be used.
    """
    folder = settings.home
    if store_place(settings).is_in_memory:  # it forgets its documents
        scratch = TemporaryDirectory(prefix="quinion-", ignore_cleanup_errors=True)
        at_close(scratch.cleanup)
        folder = Path(scratch.name)
    kept = KeptFiles(
        folder,
        store,
        Locks(store.leases),
        keep_originals=settings.keep_originals == "on",
        bucket=open_bucket(settings.blobs_url) if settings.blobs_url else None,
    )
    try:
        await kept.open()
    except OSError as error:
        raise BadSetting(
            f"The originals in {folder} cannot be opened ({error}). Check its permissions."
        ) from error
    return kept
