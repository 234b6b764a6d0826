"""Are the words inside the marks the words of the chunk?

    python -m bench.evidence CORPUS [--chunks 2000] [--scanned 400] [--seed 1]

CORPUS is the folder of documents to measure with. Every PDF and image of its folders `planning`,
`technical` and `scans` is read as the servers read it, with OCR in worker processes. Chunks are
drawn at random, the same for the same seed: `--scanned` of them from pages that OCR read, or all
if there are fewer.

The words whose centres are inside the marks are compared with the words of the chunk. The words of
a text layer are read again with another function of PyMuPDF. Scans have two rows:

- the words that OCR read, which must be exactly those of the chunk;
- for forty of them, the words that the program Tesseract reads on the image that is shown to
  people, as far as both read the same word. This shows that the boxes are where the words are.
"""

import argparse
import random
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import process_time

import anyio

from bench.evidence_words import Printed, read_layer, read_shown, split_words
from quinion.chunk.recursive import chunk_pages, join_pages
from quinion.engine import Engine, open_engine
from quinion.errors import QuinionError
from quinion.evidence.marks import Region, is_passage, mark
from quinion.evidence.passages import PAGED
from quinion.ingest.documents import ANY_PICTURE, read
from quinion.ingest.progress import no_progress
from quinion.ingest.source import open_source
from quinion.model.chunk import Chunk
from quinion.model.page import (
    Box,
    Method,
    Page,
    PageSpan,
    PageWords,
    decode_words,
    words_of_text,
)
from quinion.settings import Settings

FOLDERS = ("planning", "technical", "scans")
LAYERS, SCANS, SHOWN = "text layers", "scans", "scans as shown"
LIMITS = {LAYERS: (0.98, 0.995), SCANS: (0.95, 0.98), SHOWN: (0.95, 0.98)}
"""The F1 that counts as right, and the share of chunks that must reach it."""
SHOWN_CHUNKS = 40
"""Few, because the program reads the images of their pages again."""
EPSILON = 1e-4


@dataclass(frozen=True)
class Sample:
    """A chunk, where it lies, and the words of its pages."""

    path: Path
    chunk: Chunk
    spans: Sequence[PageSpan]
    words: dict[int, PageWords]
    is_scanned: bool

    @property
    def numbers(self) -> list[int]:
        return list(dict.fromkeys(span.page for span in self.spans))


@dataclass(frozen=True)
class Score:
    """Agreement of the marked words with the chunk's, and the processor time to find the marks."""

    sample: Sample
    f1: float
    foreign: int
    is_known: bool
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.evidence")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--chunks", type=int, default=2_000)
    parser.add_argument("--scanned", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice = random.Random(options.seed)
    documents = anyio.run(read_corpus, options.corpus)
    samples = [sample for path, pages in documents for sample in make_samples(path, pages)]
    scanned = draw(dice, [one for one in samples if one.is_scanned], options.scanned)
    layered = draw(
        dice, [one for one in samples if not one.is_scanned], options.chunks - len(scanned)
    )
    print("| words | chunks | F1 at least | of chunks | place unknown | foreign words | ms |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    report(LAYERS, [judge(sample, read_layer) for sample in layered])
    report(SCANS, [judge_kept(sample) for sample in scanned])
    report(SHOWN, [judge_common(sample) for sample in draw(dice, scanned, SHOWN_CHUNKS)])
    describe_pages(documents)


def draw(dice: random.Random, samples: Sequence[Sample], count: int) -> list[Sample]:
    return dice.sample(samples, min(count, len(samples)))


async def read_corpus(corpus: Path) -> list[tuple[Path, Sequence[Page]]]:
    """Read all documents as the servers do; those that cannot be read are listed on stderr."""
    found = []
    files = sorted(path for name in FOLDERS for path in (corpus / name).rglob("*"))
    with tempfile.TemporaryDirectory(prefix="quinion-bench-") as home:
        async with open_engine(Settings(home=Path(home), mirror="off")) as engine:
            for path in files:
                if path.suffix.lower() in PAGED:
                    try:
                        found.append((path, await read_document(engine, path)))
                    except QuinionError as error:
                        print(f"not read: {error}", file=sys.stderr)
    return found


async def read_document(engine: Engine, path: Path) -> Sequence[Page]:
    source = open_source(str(path), PAGED, ())
    document = await read(engine, source, ocr=True, threshold=ANY_PICTURE, progress=no_progress)
    return document.pages


def make_samples(path: Path, pages: Sequence[Page]) -> Iterator[Sample]:
    words = {
        page.number: decoded
        for page in pages
        if (decoded := decode_words(words_of_text(page.words)))
    }
    scanned = {page.number for page in pages if page.method is Method.OCR}
    document = join_pages(pages)
    for chunk in chunk_pages(pages):
        spans = chunk.page_spans(document)
        yield Sample(path, chunk, spans, words, bool(scanned.intersection(chunk.pages)))


def locate(sample: Sample) -> tuple[list[Region] | None, float]:
    """Find the marks of a chunk, None if its place is not known, and the processor time."""
    began = process_time()
    is_known = sample.words.keys() >= {*sample.numbers} and is_passage(
        sample.chunk.text, sample.spans, sample.words
    )
    if not is_known:
        return None, process_time() - began
    regions = [
        mark(number, sample.words[number], [one for one in sample.spans if one.page == number])
        for number in sample.numbers
    ]
    return regions, process_time() - began


def judge(sample: Sample, read_page: Callable[[Path, int], Printed]) -> Score:
    """Compare the words that a reader sees inside the marks with the words of the chunk."""
    regions, seconds = locate(sample)
    if regions is None:
        return Score(sample, 0.0, 0, False, seconds)
    marked = Counter(
        word for region in regions for word in inside(region, read_page(sample.path, region.page))
    )
    own = Counter(split_words(sample.chunk.text))
    return Score(sample, f1(marked, own), (marked - own).total(), True, seconds)


def judge_kept(sample: Sample) -> Score:
    """Compare with the words that are kept of the page."""
    return judge(sample, lambda _, number: kept(sample.words[number]))


def judge_common(sample: Sample) -> Score:
    """Compare with another run of Tesseract, as far as both runs read the same words."""
    regions, seconds = locate(sample)
    if regions is None:
        return Score(sample, 0.0, 0, False, seconds)
    seen = {number: read_shown_once(sample.path, number) for number in sample.numbers}
    ours = count_words(word for number in sample.numbers for word in kept(sample.words[number]))
    theirs = count_words(word for printed in seen.values() for word in printed)
    marked = Counter(word for region in regions for word in inside(region, seen[region.page]))
    own = Counter(split_words(sample.chunk.text))
    # A word that only one run read, or read more often, says nothing about its place.
    common = {word for word, count in ours.items() if theirs[word] == count}
    own, marked = (
        Counter({word: count for word, count in words.items() if word in common})
        for words in (own, marked)
    )
    return Score(sample, f1(marked, own), (marked - own).total(), True, seconds)


@cache
def read_shown_once(path: Path, number: int) -> Printed:
    return list(read_shown(path, number))


def f1(marked: Counter[str], own: Counter[str]) -> float:
    total = marked.total() + own.total()
    return 2 * (marked & own).total() / total if total else 1.0


def kept(words: PageWords) -> Printed:
    """Return the words that are kept of a page."""
    bounds = zip(words.offsets, words.offsets[1:], strict=False)
    texts = [words.text[start:end] for start, end in bounds]
    return list(zip(texts, words.boxes, strict=True))


def count_words(printed: Iterable[tuple[str, Box]]) -> Counter[str]:
    return Counter(word for text, _ in printed for word in split_words(text))


def inside(region: Region, printed: Printed) -> Iterator[str]:
    """Yield the words whose centres are inside the marks."""
    for text, box in printed:
        if is_inside(box, region):
            yield from split_words(text)


def is_inside(box: Box, region: Region) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(
        left - EPSILON <= x <= right + EPSILON and top - EPSILON <= y <= bottom + EPSILON
        for left, top, right, bottom in (*region.boxes, *region.hidden)
    )


def report(name: str, scores: Sequence[Score]) -> None:
    if not scores:
        return
    least, share = LIMITS[name]
    reached = sum(score.f1 >= least for score in scores) / len(scores)
    unknown = sum(not score.is_known for score in scores)
    foreign = sum(score.foreign for score in scores)
    ms = 1_000 * statistics.median(score.seconds for score in scores)
    verdict = "met" if reached >= share else "MISSED"
    print(
        f"| {name} | {len(scores)} | {least} | {reached:.2%} (at least {share:.1%}: {verdict}) "
        f"| {unknown} | {foreign} | {ms:.1f} |",
        flush=True,
    )
    for score in scores:
        if score.f1 < least:
            chunk = score.sample.chunk
            pages = ",".join(map(str, chunk.pages))
            print(
                f"{name}: {score.f1:.3f}, {score.foreign} foreign, "
                f"{score.sample.path} page {pages} chunk {chunk.index}",
                file=sys.stderr,
            )


def describe_pages(documents: Iterable[tuple[Path, Sequence[Page]]]) -> None:
    print()
    pages = [page for _, found in documents for page in found if page.text.strip()]
    for name, method in ((LAYERS, Method.TEXT_LAYER), (SCANS, Method.OCR)):
        sizes = [len(words_of_text(page.words)) for page in pages if page.method is method]
        if sizes:
            print(
                f"{name}: {len(sizes):,} pages, {statistics.mean(sizes):,.0f} bytes of words each"
            )


if __name__ == "__main__":
    main()
