"""Opening of the console: its app with what runs behind the pages."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import partial

from starlette.types import ASGIApp

from quinion.console.app import build_app
from quinion.console.calls import Calls
from quinion.console.jobs import Jobs
from quinion.console.session import Sessions
from quinion.console.uploads import Uploads
from quinion.console.views.documents import finish_upload
from quinion.console.views.health import Health, Measure, RecentLog
from quinion.console.watches import Watches
from quinion.servers.base import ContractServer
from quinion.settings import Settings


@asynccontextmanager
async def open_console(
    settings: Settings,
    sessions: Sessions,
    servers: Mapping[str, Callable[[], ContractServer]],
    measure: Measure,
    count_client: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> AsyncIterator[ASGIApp]:
    """Build the console on the servers of this process, and run its queue within the block.

    `servers` are by their names in the catalog, and `measure` yields their metrics;
    `count_client` keeps the engine from being idle.
    """
    calls = Calls(servers)
    uploads = Uploads(settings)
    await uploads.remove_unfinished(calls)
    jobs = Jobs(calls, partial(finish_upload, uploads), count_client)
    log = RecentLog()
    logging.getLogger().addHandler(log)
    try:
        watches = Watches(settings.home, calls, jobs, count_client)
        async with jobs.run(), watches.run():
            health = Health(settings, calls, measure, log)
            yield build_app(settings, sessions, calls, jobs, watches, uploads, health)
    finally:
        logging.getLogger().removeHandler(log)
