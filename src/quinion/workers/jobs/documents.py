"""Jobs on documents: read the pages of PDFs and images, and split text files into chunks."""

from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from quinion.chunk.file_chunks import split_parts
from quinion.extract import document
from quinion.extract.formats import INDEXED
from quinion.extract.pdf import lines, metadata
from quinion.framing import Frame
from quinion.workers.jobs import Job

if TYPE_CHECKING:
    from quinion.embed.token_counter import TokenCounter

CHUNKS_AT_ONCE = 64


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
    parts = INDEXED[extension].read_parts(Path(path), extension)
    chunks = split_parts(parts, _counter(tokenizer).starts, size)
    while batch := [asdict(one) for one in islice(chunks, CHUNKS_AT_ONCE)]:
        yield {"chunks": batch}


def _convert(path: str, extension: str, target: str) -> Iterator[Frame]:
    # Imported here because it imports the library of office files, which most jobs do not need.
    from quinion.extract.office.as_pdf import convert  # noqa: PLC0415

    yield {"pages": convert(Path(path), extension, Path(target))}


@cache
def _counter(tokenizer: str) -> "TokenCounter":
    # Imported here because it imports tokenizers, which most jobs do not need.
    from quinion.embed.token_counter import TokenCounter  # noqa: PLC0415

    return TokenCounter(Path(tokenizer))


JOBS: dict[str, Job] = {
    "survey": _survey,
    "probe": _probe,
    "read_pages": _read_pages,
    "read_lined_pages": _read_lined_pages,
    "read_chunks": _read_chunks,
    "describe": _describe,
    "convert": _convert,
}
