"""The Document Store on an engine with any store, in the process of the tests."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from types import ModuleType

from anyio.from_thread import start_blocking_portal
from mcp import Client

from quinion.embed.local.embedder import LocalEmbedder
from quinion.engine import Engine
from quinion.home import hold_home
from quinion.servers import document_store
from quinion.settings import Settings
from quinion.store.base import VectorStore
from quinion.workers.kinds import ELEMENTS
from quinion.workers.pool import Workers
from tests.contract.process import Home
from tests.contract.session import Session


class LocalServer:
    """Has of `HttpServer` what the contract's tests use."""

    def __init__(self, home: Home, store: VectorStore) -> None:
        self.home = home
        self.store = store
        self._settings = Settings(home=home.path, workers=1, chroma_in_memory=True)
        self._log = home.files / "server.log"

    @property
    def log(self) -> str:
        """All that it has logged so far."""
        return self._log.read_text()

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A client's session with a server of its own."""
        with (
            _log_to(logging.FileHandler(self._log)),
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(open_engine(self._settings, self.store)) as engine,
            portal.wrap_async_context_manager(Client(document_store.build(engine))) as client,
        ):
            yield Session(portal, client)
        assert "Traceback" not in self.log, self.log


@asynccontextmanager
async def open_engine(settings: Settings, store: VectorStore) -> AsyncIterator[Engine]:
    """An engine as users have it, but for the store."""
    async with AsyncExitStack() as stack:
        lock = stack.enter_context(hold_home(settings))
        model = LocalEmbedder(settings.models, settings.model_dir, numerics=None)
        workers = Workers(settings.workers)
        stack.push_async_callback(workers.close)
        element_workers = Workers(settings.workers, kind=ELEMENTS)
        stack.push_async_callback(element_workers.close)
        stack.callback(store.close)
        yield Engine(settings, lock, workers, element_workers, model, store, stack.callback)


@contextmanager
def _log_to(handler: logging.Handler) -> Iterator[None]:
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()


def behaviours(module: ModuleType) -> dict[str, object]:
    """The tests of a module and their fixtures, but for the server that it starts."""
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and name not in ("server", "home")
    }
