"""Scanned pages: quinion against a literal implementation of the spec.

quinion's side is the pool of OCR workers that all servers use: one per core, one page per request.
The pages are split into similar batches. Each side reads the same batch in turn, and a different
side starts each time. Image files have ground-truth text; PDF pages only count for the time.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from statistics import fmean
from time import perf_counter

from bench.part import Claim, Part, Setting, claim
from bench.processes import measure_cpu_s
from bench.sides import PeerSession, run_peer
from bench.table import spread, table
from bench.truths import Truths, find_truths, word_accuracy
from quinion.concurrency import together
from quinion.workers.pool import Workers

PDF_PAGES = (
    *(("planning/coventry/art_4_stonleigh_road.pdf", page) for page in (1, 2, 3, 4)),
    ("scans/ocrmypdf/linn.pdf", 1),
    ("scans/ocrmypdf/cardinal.pdf", 1),
)
"""PDF pages without a text layer."""
EVERY_BOOK_PAGE = 2
BATCHES = 6
LEAST_RATIO = 4.0
CORES = len(os.sched_getaffinity(0))

HOW_TO_READ = """\
- **The literal way** (`bench/literal_ocr.py`) implements the Document Store's spec literally: \
pages one after the other, rendered at 300 dpi, `pytesseract.image_to_string` for the text and \
`image_to_data` for the confidence, with Tesseract's default threads, which slow each other down. \
The variant with **one thread** (`OMP_THREAD_LIMIT=1`) avoids that.
- **quinion** reads with its worker processes, one page per core at a time, and gets text and \
confidence from one pass. It reads a page with poor results again upside down.
- The processes of both sides are already running. Time is from the first request to the last \
text."""


@dataclass(frozen=True)
class ScannedPage:
    path: Path
    number: int = 1


Read = Callable[[Sequence[ScannedPage]], Awaitable[dict[ScannedPage, str]]]


@dataclass
class Side:
    """A compared side, with its measurements by batch."""

    title: str
    read: Read
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    texts: dict[ScannedPage, str] = field(default_factory=dict)

    async def take(self, batch: Sequence[ScannedPage]) -> None:
        cpu_s, began = measure_cpu_s(os.getpid()), perf_counter()
        self.texts |= await self.read(batch)
        self.wall_s.append(perf_counter() - began)
        self.cpu_s.append(measure_cpu_s(os.getpid()) - cpu_s)

    def against(self, other: "Side") -> list[float]:
        """Return the speed-up over the other side, by batch."""
        pairs = zip(self.wall_s, other.wall_s, strict=True)
        return [theirs_s / own_s for own_s, theirs_s in pairs]

    def judge(self, kind: Truths) -> list[float]:
        """Return the word accuracy on each page of the kind."""
        return [
            word_accuracy(self.texts[ScannedPage(path)], kind.read(path)) for path in kind.paths
        ]


async def measure(setting: Setting) -> Part:
    """Read all batches with all sides in turn."""
    kinds = choose_truths(setting)
    batches = deal(kinds, setting)
    async with open_sides(setting) as sides:
        for side in sides:
            await side.read(shortest(batches))  # not counted: starts the processes
        for index, batch in enumerate(batches):
            turn = index % len(sides)
            for side in sides[turn:] + sides[:turn]:
                await side.take(batch)
    return report(sides, kinds, [len(batch) for batch in batches])


def choose_truths(setting: Setting) -> list[Truths]:
    """Select the pages of each kind: all, except for the books, whose pages are similar."""
    kinds = find_truths(setting.corpus)
    if not all(kind.paths for kind in kinds):
        raise SystemExit(f"{setting.corpus} lacks scans with ground truth: see bench/truths.py.")
    if setting.quick:
        return [Truths(kind.title, kind.paths[:1], kind.read) for kind in kinds[::2]]
    books, *others = kinds
    return [Truths(books.title, books.paths[::EVERY_BOOK_PAGE], books.read), *others]


def deal(kinds: Sequence[Truths], setting: Setting) -> list[list[ScannedPage]]:
    """Split the pages into batches with some of each kind."""
    images = [ScannedPage(path) for kind in kinds for path in kind.paths]
    if setting.quick:
        return [images]
    scanned = [ScannedPage(setting.corpus / file, page) for file, page in PDF_PAGES]
    return [(images + scanned)[first::BATCHES] for first in range(BATCHES)]


def shortest(batches: Iterable[Iterable[ScannedPage]]) -> list[ScannedPage]:
    """Return the smallest page, once per core."""
    page = min(chain(*batches), key=lambda page: page.path.stat().st_size)
    return [page] * CORES


@asynccontextmanager
async def open_sides(setting: Setting) -> AsyncIterator[list[Side]]:
    """Open three sides: literal, literal with one Tesseract thread, and quinion."""
    workers = Workers(CORES)
    log = setting.scratch / "literal.log"
    async with run_peer(setting.peer, "bench.literal_ocr", setting.scratch, log) as literal:
        try:
            yield [
                Side("literal way", partial(ask_literal, literal, "read")),
                Side("literal way, one thread", partial(ask_literal, literal, "read_single")),
                Side("quinion", partial(ask_workers, workers)),
            ]
        finally:
            await workers.close()


async def ask_literal(
    peer: PeerSession, request: str, pages: Sequence[ScannedPage]
) -> dict[ScannedPage, str]:
    answer = await peer.call(request, [(str(page.path), page.number) for page in pages])
    return {page: read["text"] for page, read in zip(pages, answer["pages"], strict=True)}


async def ask_workers(workers: Workers, pages: Sequence[ScannedPage]) -> dict[ScannedPage, str]:
    texts: dict[ScannedPage, str] = {}

    async def read(page: ScannedPage) -> None:
        found = await workers.first(
            "read_pages", path=str(page.path), first=page.number, last=page.number, options={}
        )
        texts[page] = found["text"]

    await together(*(partial(read, page) for page in pages))
    return texts


def report(sides: Sequence[Side], kinds: Sequence[Truths], sizes: Sequence[int]) -> Part:
    literal, *_, ours = sides
    gains = [
        [one - other for one, other in zip(ours.judge(kind), literal.judge(kind), strict=True)]
        for kind in kinds
    ]
    means = [fmean(gain) for gain in gains]
    accuracy = "scans: word accuracy less the literal way's, mean (range: kinds of scans)"
    claims = [
        claim("scans: pages/s against the literal way", ours.against(literal), target=LEAST_RATIO),
        Claim(accuracy, fmean(chain(*gains)), min(means), max(means), "", 0.0),
    ]
    body = [
        f"{sum(sizes)} pages in {len(sizes)} batches, {CORES} workers.",
        write_costs(sides, sizes),
        "Word accuracy is 1 − word edit distance ÷ true words, averaged over the pages; "
        "[extraction](extraction.md) has the figures of all pages.",
        write_accuracies(sides, kinds),
        HOW_TO_READ,
    ]
    return Part("scans", "Scanned pages", "\n\n".join(body), claims)


def write_costs(sides: Sequence[Side], sizes: Sequence[int]) -> str:
    *_, ours = sides
    rows = [
        (
            side.title,
            spread([size / wall_s for size, wall_s in zip(sizes, side.wall_s, strict=True)]),
            spread([cpu_s / size for size, cpu_s in zip(sizes, side.cpu_s, strict=True)]),
            "" if side is ours else spread(ours.against(side), "×"),
        )
        for side in sides
    ]
    return table(("", "pages/s", "CPU s per page", "quinion's speed-up"), rows)


def write_accuracies(sides: Sequence[Side], kinds: Sequence[Truths]) -> str:
    rows = [
        (f"{kind.title}, {len(kind.paths)}", *(f"{fmean(side.judge(kind)):.4f}" for side in sides))
        for kind in kinds
    ]
    return table(("pages with ground-truth text", *(side.title for side in sides)), rows)
