"""Worker of the queue with simulated documents: `python -m tests.queue_worker URL FOLDER`.

The arguments of a task say what happens: `seconds` to wait, in place of reading; `signal` that the
worker sends itself at once; `once` names a file that exists after the first try, after which
nothing happens any more.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio

from quinion.ingest.engine_resources import Arguments
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source
from quinion.queue.runner import Runner
from quinion.queue.tasks import Tasks
from quinion.store.bucket import Bucket

KIND = "simulated"


async def do(source: Source, arguments: Arguments, progress: Progress) -> Any:
    if log := arguments.get("log"):
        with Path(log).open("a") as file:  # noqa: ASYNC230
            file.write(f"{os.getpid()} {source.path.name}\n")
    mark = Path(arguments["once"]) if arguments.get("once") else None
    if (number := arguments.get("signal")) and (mark is None or not mark.exists()):
        if mark:
            mark.touch()
        os.kill(os.getpid(), signal.Signals[number])
    seconds = float(arguments.get("seconds", 0))
    await progress(1, 2, "read")
    await anyio.sleep(seconds)
    return [os.getpid(), source.path.name]


async def main(url: str, folder: str) -> None:
    tasks = Tasks(url)
    await tasks.open()
    try:
        await Runner(tasks, Bucket(folder), {KIND: do}).serve()
    finally:
        await tasks.close()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
