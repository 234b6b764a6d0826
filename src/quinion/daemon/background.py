"""An engine in the background: `attach` starts it, and it ends when nobody needs it any more.

A process of its own, with no parent and in no session of a terminal or a client: what is done
to the client that happened to be the first must not end it.
"""

import json
import logging
import os
import signal
import sys
from contextlib import suppress

import anyio

from quinion.daemon.handshake import Reply
from quinion.errors import QuinionError
from quinion.settings import Settings

log = logging.getLogger(__name__)


def main(report: int) -> None:
    """Serve until nobody needs it; say through the pipe `report` whether it could begin."""
    settings = Settings.model_validate(json.load(sys.stdin))
    if os.fork():
        os._exit(0)
    os.setsid()
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s: %(message)s")
    try:
        anyio.run(_serve, settings, report)
    except QuinionError as error:
        with suppress(OSError):  # it was said that all is ready
            _say(report, Reply.refusing(error))


async def _serve(settings: Settings, report: int) -> None:
    # Here, not above: the process that started this waits for the fork.
    from quinion.daemon.socket_server import Door, open_door  # noqa: PLC0415
    from quinion.engine import open_engine  # noqa: PLC0415

    async def stop_on_signal(door: Door) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async for _ in signals:
                door.leave()

    async with (
        open_engine(settings) as engine,
        open_door(engine, background=True) as door,
        anyio.create_task_group() as group,
    ):
        group.start_soon(stop_on_signal, door)
        _say(report, Reply())
        await door.wait_until_leaving()
        group.cancel_scope.cancel()


def _say(report: int, reply: Reply) -> None:
    os.write(report, reply.encode())
    os.close(report)


if __name__ == "__main__":
    main(int(sys.argv[1]))
