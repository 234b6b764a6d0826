"""Worker process: reads untrusted files, isolated from the server.

Run as `python -m quinion.workers.worker JOBS ADDRESS_SPACE MAX_IDLE OCR_LANGUAGES OCR_ENGINE`: the
module with the jobs, the limits in bytes (`WorkerKind`), and the languages and engine of OCR.
Requests arrive on stdin and replies go to the original stdout.

The server stops a worker by closing its stdin or killing its process group. If the server is
killed, stdin closes too, so no worker and no OCR outlives it.
"""

import errno
import importlib
import logging
import os
import queue
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import BinaryIO

from quinion.errors import ExtractionFailed, FileMissing, QuinionError
from quinion.framing import Frame, encode, receive, take_stdout
from quinion.runtime_tuning import lower_priority, release_memory
from quinion.workers.jobs import Job
from quinion.workers.safe_open import open_safely

FLUSH_INTERVAL_S = 0.05
"""Replies within this interval are sent together, so that the server wakes up once for a dozen
pages. A page that takes longer, for example with OCR, is sent at once."""
MISSING_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors of opening a file that existed when it was found."""


def main(
    module: str, address_space: int, max_idle: int, ocr_languages: str, ocr_engine: str
) -> None:
    """Serve requests until stdin is closed."""
    replies = take_stdout()
    # No module is imported before the jobs, because their first import decides whether PyMuPDF
    # loads its layout model.
    jobs: Mapping[str, Job] = importlib.import_module(module).JOBS
    page_reader = importlib.import_module("quinion.extract.ocr.page_reader")
    page_reader.use(ocr_languages, ocr_engine)
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    _limit_address_space(address_space)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lower_priority()
    requests: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    sent = 0.0
    while True:
        for frame in _answer(requests.get(), jobs):
            is_last = "item" not in frame
            if is_last:
                release_memory()
                frame["too_large"] = _is_too_large(max_idle)
            replies.write(encode(frame))
            if is_last or monotonic() - sent > FLUSH_INTERVAL_S:
                replies.flush()
                sent = monotonic()


def _limit_address_space(limit: int) -> None:
    """Limit this process's address space; macOS has the limit but refuses to set it."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    except (ValueError, OSError):
        if sys.platform == "linux":
            raise


def _listen(stdin: BinaryIO, requests: "queue.SimpleQueue[Frame]") -> None:
    """Queue requests; when stdin closes, kill this process and its child processes."""
    while (request := receive(stdin)) is not None:
        requests.put(request)
    os.killpg(0, signal.SIGKILL)


def _answer(request: Frame, jobs: Mapping[str, Job]) -> Iterator[Frame]:
    arguments = request["arguments"]
    with ExitStack() as stack:
        if "path" in arguments:
            path = arguments["path"]
            try:
                arguments |= {"path": str(stack.enter_context(open_safely(Path(path))))}
            except OSError as error:
                yield (
                    _missing(path)
                    if error.errno in MISSING_ERRNOS
                    else _failure(str(error.strerror))
                )
                return
        yield from _do(jobs[request["job"]], arguments)


def _do(job: Job, arguments: Frame) -> Iterator[Frame]:
    try:
        for item in job(**arguments):
            yield {"item": item}
        yield {"done": True}
    except QuinionError as error:
        yield {"error": {"type": type(error).__name__, "message": str(error)}}
    except MemoryError:
        yield _failure("it needs more memory than a document may take")
    except Exception as error:  # the outermost handler: one bad file costs its own error
        traceback.print_exc()
        yield _failure(f"the reader failed with {type(error).__name__}: {error}")


def _is_too_large(max_idle: int) -> bool:
    """Whether this process still uses too much memory after a job; False if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return False
    return pages * resource.getpagesize() > max_idle


def _missing(path: str) -> Frame:
    message = f"File not found: {path}. It was removed or replaced by a link since it was found."
    return {"error": {"type": FileMissing.__name__, "message": message}}


def _failure(reason: str) -> Frame:
    message = f"The file could not be read: {reason}. Open and save it again, then retry."
    return {"error": {"type": ExtractionFailed.__name__, "message": message}}


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
