"""Worker process: reads untrusted files, isolated from the server.

Run as `python -m quinion.workers.worker`. Requests arrive on stdin and replies go to the original
stdout; output of libraries is redirected to stderr.

The server stops a worker by closing its stdin or killing its process group. If the server is
killed, stdin closes too, so no worker and no Tesseract outlives it.
"""

import errno
import logging
import os
import queue
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from functools import cache
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, BinaryIO

from quinion.chunk.file_chunks import split_file_text
from quinion.errors import ExtractionFailed, FileMissing, QuinionError
from quinion.extract import document, textfile
from quinion.extract.pdf import lines, metadata
from quinion.model.file_format import FORMATS
from quinion.runtime_tuning import lower_priority, release_memory
from quinion.workers.framing import LENGTH_BYTES, Frame, decode, decode_length, encode
from quinion.workers.safe_open import open_safely

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter

ADDRESS_SPACE, ADDRESS_SPACE_WITH_MODEL = 864 << 20, 1 << 30
"""Limits of a worker's address space, enforced by the kernel. They allow an A0 page at 300 dpi, and
keep server, workers and Tesseract together under 1.5 GB for a document."""
MAX_IDLE_MEMORY, MAX_IDLE_MEMORY_WITH_MODEL = 450 << 20, 620 << 20
"""Maximum address space of a worker that is reused after a job. It needs 180 MB, or 400 with a
tokenizer and Tesseract, or 470 to 560 with a model. Damaged files leak memory, which adds up."""
CHUNKS_AT_ONCE = 64
BUFFER, FLUSH_INTERVAL_S = 1 << 16, 0.05
"""Replies within this interval are sent together, so that the server wakes up once for a dozen
pages. A page that takes longer, for example with OCR, is sent at once."""
MISSING_ERRNOS = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""Errors of opening a file that existed when it was found."""


def _survey(path: str, first: int, last: int, options: Frame) -> Iterator[Frame]:
    for page in document.survey(Path(path), first, last, document.Options(**options)):
        yield asdict(page)


def _probe(path: str, numbers: list[int], options: Frame) -> Iterator[Frame]:
    for number in numbers:
        [kind] = document.probe(Path(path), [number], document.Options(**options))
        yield {"number": number, "kind": str(kind)}


def _read_pages(path: str, first: int, last: int, options: Frame) -> Iterator[Frame]:
    for page in document.read_pages(Path(path), first, last, document.Options(**options)):
        yield asdict(page)


def _read_lined_pages(path: str, first: int, last: int, options: Frame) -> Iterator[Frame]:
    for page in lines.read_lined_pages(Path(path), first, last, document.Options(**options)):
        yield asdict(page)


def _describe(path: str, options: Frame) -> Iterator[Frame]:
    yield asdict(metadata.describe(Path(path), document.Options(**options)))


def _read_chunks(path: str, extension: str, size: int, tokenizer: str) -> Iterator[Frame]:
    text = textfile.read_text(Path(path), extension)
    found = split_file_text(text, FORMATS[extension], _counter(tokenizer).starts, size)
    for start in range(0, len(found), CHUNKS_AT_ONCE):
        yield {"chunks": [asdict(one) for one in found[start : start + CHUNKS_AT_ONCE]]}


@cache
def _counter(tokenizer: str) -> "TokenCounter":
    # Imported here because it imports tokenizers, which most jobs do not need.
    from quinion.embed.token_counter import TokenCounter  # noqa: PLC0415

    return TokenCounter(Path(tokenizer))


JOBS: dict[str, Callable[..., Iterator[Frame]]] = {
    "survey": _survey,
    "probe": _probe,
    "read_pages": _read_pages,
    "read_lined_pages": _read_lined_pages,
    "read_chunks": _read_chunks,
    "describe": _describe,
}


def main(address_space: int = ADDRESS_SPACE, max_idle_memory: int = MAX_IDLE_MEMORY) -> None:
    """Serve requests until stdin is closed."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb", BUFFER)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    lower_priority()
    requests: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()
    sent = 0.0
    while True:
        for frame in _answer(requests.get()):
            is_last = "item" not in frame
            if is_last:
                release_memory()
                frame["too_large"] = _is_too_large(max_idle_memory)
            answers.write(encode(frame))
            if is_last or monotonic() - sent > FLUSH_INTERVAL_S:
                answers.flush()
                sent = monotonic()


def _listen(stdin: BinaryIO, requests: "queue.SimpleQueue[Frame]") -> None:
    """Queue requests; when stdin closes, kill this process and its child processes."""
    while header := stdin.read(LENGTH_BYTES):
        requests.put(decode(stdin.read(decode_length(header))))
    os.killpg(0, signal.SIGKILL)


def _answer(request: Frame) -> Iterator[Frame]:
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
        yield from _do(JOBS[request["job"]], arguments)


def _do(job: Callable[..., Iterator[Frame]], arguments: Frame) -> Iterator[Frame]:
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


def _is_too_large(max_idle_memory: int) -> bool:
    """Whether this process still uses too much memory after a job; False if unknown."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return False
    return pages * resource.getpagesize() > max_idle_memory


def _missing(path: str) -> Frame:
    message = f"File not found: {path}. It was removed or replaced by a link since it was found."
    return {"error": {"type": FileMissing.__name__, "message": message}}


def _failure(reason: str) -> Frame:
    message = f"The file could not be read: {reason}. Open and save it again, then retry."
    return {"error": {"type": ExtractionFailed.__name__, "message": message}}


if __name__ == "__main__":
    main()
