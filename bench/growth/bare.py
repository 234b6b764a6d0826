"""quinion's engine without a server: `python -m bench.growth.bare HOME`.

It reads lines of JSON like the plain stack, so the two are compared without protocol overhead.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal

from bench.growth.fill import DOCVEC_COLLECTIONS
from bench.peer import RESULTS, serve
from quinion.engine import Engine, open_engine
from quinion.search import modes
from quinion.servers.docvec.filters import read_filters
from quinion.settings import Settings


class BareEngine:
    def __init__(self, home: Path) -> None:
        # Open until the process exits.
        self._open = ExitStack()
        self._portal = self._open.enter_context(start_blocking_portal())
        engine = self._portal.wrap_async_context_manager(open_engine(Settings(home=home)))
        self._engine: Engine = self._open.enter_context(engine)

    def find(self, request: dict[str, Any]) -> dict[str, Any]:
        hits = self._portal.call(self._find, request["query"], request["where"])
        return {
            "ids": [hit.record.id for hit in hits],
            "documents": [[hit.record.text for hit in hits]],
        }

    async def _find(self, query: str, where: dict[str, Any] | None) -> Any:
        engine = self._engine
        found = await modes.search(
            engine.collections,
            engine.model,
            DOCVEC_COLLECTIONS.chunks,
            query,
            RESULTS,
            read_filters(where),
        )
        return found.hits


if __name__ == "__main__":
    serve(BareEngine, ["quinion"])
