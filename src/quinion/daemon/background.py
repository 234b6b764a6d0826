"""Background engine: `client.attach` starts it; it exits after an idle timeout.

It is a detached process without a parent and in a new session, so that stopping the client that
started it does not stop the engine.
"""

import json
import logging
import os
import signal
import sys
from contextlib import suppress

import anyio

from quinion import __version__
from quinion.daemon.client import LOG_NAME
from quinion.daemon.handshake import Reply
from quinion.errors import QuinionError
from quinion.settings import Settings
from quinion.telemetry.logs import configure
from quinion.telemetry.tracing import start_tracing

log = logging.getLogger(__name__)


def main(pipe: int) -> None:
    """Serve until idle or stopped; report through `pipe` whether the engine started."""
    settings = Settings.model_validate(json.load(sys.stdin))
    if os.fork():
        os._exit(0)
    os.setsid()
    configure(
        settings.log_level,
        settings.log_format,
        log_requests=True,
        file=settings.home / LOG_NAME,
    )
    log.info("quinion %s started in the background for %s", __version__, settings.home)
    try:
        start_tracing(settings.otel_endpoint)
        anyio.run(_serve, settings, pipe)
    except QuinionError as error:
        with suppress(OSError):  # the pipe is closed if the engine had started
            _report(pipe, Reply.refusing(error))
        log.warning("%s", error.message)
    log.info("The background engine has stopped")


async def _serve(settings: Settings, pipe: int) -> None:
    # Imported here because the parent waits until the fork.
    from quinion.daemon.socket_server import SocketServer, open_socket_server  # noqa: PLC0415
    from quinion.engine import open_engine  # noqa: PLC0415

    async def stop_on_signal(server: SocketServer) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                server.shut_down()

    async with (
        open_engine(settings) as engine,
        open_socket_server(engine, background=True) as server,
        anyio.create_task_group() as group,
    ):
        group.start_soon(stop_on_signal, server)
        _report(pipe, Reply())
        await server.wait_for_shutdown()
        group.cancel_scope.cancel()


def _report(pipe: int, reply: Reply) -> None:
    os.write(pipe, reply.encode())
    os.close(pipe)


if __name__ == "__main__":
    main(int(sys.argv[1]))
