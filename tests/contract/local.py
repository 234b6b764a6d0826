"""Servers in the process of the tests: the real server, engine, store and model, without a process.

Most tests of a contract are about answers, and an MCP client in the same process gets the same
ones. The model and the worker processes are loaded once and shared by all of these servers.
"""

import logging
import os
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import (
    AbstractContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import ClientExtension

from quinion.embed.base import Embedder
from quinion.embed.local.embedder import LocalEmbedder
from quinion.engine import Engine, open_kept_files
from quinion.errors import QuinionError
from quinion.home import hold_home, store_place
from quinion.servers.base import ContractServer
from quinion.servers.registry import Entry, find_server
from quinion.settings import Settings
from quinion.store.base import VectorStore
from quinion.store.factory import open_store
from quinion.workers.kinds import ELEMENTS, PAGES
from quinion.workers.pool import Workers
from tests.contract.process import Home, Variables
from tests.contract.session import Ask, Session, connect

WORKERS = 2


@dataclass(frozen=True)
class Shared:
    """The event loop of all local servers, and what their engines share."""

    portal: BlockingPortal
    model: Embedder
    workers: Workers
    element_workers: Workers
    page_workers: Workers


@contextmanager
def share(models: Path) -> Iterator[Shared]:
    """Load the model and the workers when they are first used; kill the workers at the end."""
    with start_blocking_portal() as portal:
        shared = Shared(
            portal,
            LocalEmbedder(models, numerics=None),
            Workers(WORKERS),
            Workers(WORKERS, kind=ELEMENTS),
            Workers(WORKERS, kind=PAGES),
        )
        try:
            yield shared
        finally:
            portal.call(shared.workers.close)
            portal.call(shared.element_workers.close)
            portal.call(shared.page_workers.close)


@dataclass(frozen=True)
class LocalServer:
    """A server in this process; it has of `HttpServer` what does not need HTTP."""

    server: ContractServer
    home: Home
    portal: BlockingPortal
    log_path: Path

    @property
    def log(self) -> str:
        """All that has been logged so far."""
        return self.log_path.read_text()

    @contextmanager
    def session(
        self,
        mode: str = "auto",
        ask: Ask | None = None,
        *,
        command: bool = False,
        extensions: Sequence[ClientExtension] = (),
    ) -> Iterator[Session]:
        """Open a session of a client, or of a `command` of quinion.

        `legacy` is the protocol before 2026, over JSON-RPC streams.
        """
        with connect(
            self.portal, self.server, mode, ask, command=command, extensions=extensions
        ) as session:
            yield session


class Serve(Protocol):
    """`run_local` for one server."""

    def __call__(
        self, home: Home, variables: Variables | None = None, *, store: VectorStore | None = None
    ) -> AbstractContextManager[LocalServer]: ...


@contextmanager
def run_local(
    shared: Shared,
    name: str,
    home: Home,
    variables: Variables | None = None,
    *,
    store: VectorStore | None = None,
) -> Iterator[LocalServer]:
    """Run a server of the catalog on its own engine."""
    entry = find_server(name)
    settings = Settings.from_environment(home.environment(variables or {}))
    log_path = home.files / "server.log"
    with ExitStack() as stack:
        stack.enter_context(_log_to(log_path))
        engine = stack.enter_context(
            shared.portal.wrap_async_context_manager(
                open_local_engine(shared, entry.settings(settings), store)
            )
        )
        server = shared.portal.call(_build, entry, engine)
        yield LocalServer(server, home, shared.portal, log_path)
    written = log_path.read_text()
    # No test may cause an unexpected error.
    assert "Traceback" not in written, written


async def _build(entry: Entry, engine: Engine) -> ContractServer:
    server = entry.load().build(engine)
    with suppress(QuinionError):  # the next call reports it
        await server.warm()
    return server


@asynccontextmanager
async def open_local_engine(
    shared: Shared, settings: Settings, store: VectorStore | None
) -> AsyncIterator[Engine]:
    """Open an engine as users have it, except that it shares the model and the workers."""
    umask = os.umask(0)
    os.umask(umask)
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold_home(settings))
        os.umask(umask)  # the process of the tests is not a server alone
        store = store or open_store(store_place(settings))
        stack.callback(store.close)
        yield Engine(
            settings,
            lock,
            shared.workers,
            shared.element_workers,
            shared.page_workers,
            shared.model,
            store,
            await open_kept_files(settings, store, stack.callback),
            stack.callback,
        )


@contextmanager
def _log_to(path: Path) -> Iterator[None]:
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    # Tests of the queue in this process cancel jobs, whose tracebacks procrastinate logs.
    handler.addFilter(lambda record: not record.name.startswith("procrastinate"))
    logger = logging.getLogger()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
