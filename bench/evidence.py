"""Are the words inside the marks the words of the chunk?

    python -m bench.evidence CORPUS [--chunks 2000] [--scanned 400] [--seed 1]

CORPUS is the folder of documents to measure with: its folders `planning` and `technical` have PDFs
with text layers, `scans` has scanned pages. Chunks are drawn at random, the same for the same seed.
The page is read again, with another function of PyMuPDF or another run of Tesseract. The words
whose centres are inside the marks are compared with the words of the chunk.
"""

import argparse
import random
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from quinion.chunk.recursive import chunk_pages, join_pages
from quinion.errors import QuinionError
from quinion.evidence.marks import Region, is_passage, mark
from quinion.extract.document import OCR_TIMEOUT_S, Options, read_pages, survey
from quinion.extract.formats import recognize
from quinion.extract.ocr.page_reader import place_words, read_upright
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.chunk import Chunk
from quinion.model.page import Box, Method, Page, PageWords, decode_words, words_of_text

LIMITS = {"text layers": (0.98, 0.995), "scans": (0.95, 0.98)}
"""The F1 that counts as right, and the share of chunks that must reach it."""
SCAN_PAGES = 3
MAX_PIXELS = 150_000_000
EPSILON = 1e-4
BETWEEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f\xad]+")

Printed = Iterable[tuple[str, Box]]
Read = Callable[[Path, int], Printed]


@dataclass(frozen=True)
class Sample:
    """A chunk, its document's text and pages, and how a page is read again."""

    path: Path
    chunk: Chunk
    document: str
    words: dict[int, PageWords]
    read: Read


@dataclass(frozen=True)
class Score:
    """Agreement of the marked words with the chunk's, and the time to find the marks."""

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
    sizes: list[int] = []
    folders = (options.corpus / name for name in ("planning", "technical"))
    layers = sorted(path for folder in folders for path in folder.rglob("*.pdf"))
    scans = sorted(path for path in (options.corpus / "scans").rglob("*") if is_image(path))
    print("| pages | chunks | F1 at least | of chunks | place unknown | foreign words | ms |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    counts = {"text layers": options.chunks - options.scanned, "scans": options.scanned}
    found = {
        "text layers": lambda: list(read_layers(layers, sizes)),
        "scans": lambda: list(read_scans(scans, dice, options.scanned)),
    }
    for name, count in counts.items():
        if count:
            samples = found[name]()
            drawn = dice.sample(samples, min(count, len(samples)))
            scores = [judge(sample) for sample in drawn]
            report(name, scores)
            list_missed(name, drawn, scores)
    if sizes:
        mean = statistics.mean(sizes)
        print(f"\nwords of a page: {mean:,.0f} bytes on average ({len(sizes):,} pages)")


def is_image(path: Path) -> bool:
    return path.suffix.lower() in {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".pdf"}


def read_layers(paths: Iterable[Path], sizes: list[int]) -> Iterator[Sample]:
    for path in paths:
        try:
            pages = [
                Page(one.number, one.text, Method.TEXT_LAYER, words=one.words)
                for one in survey(path, 1, 10_000, Options(ocr=False))
            ]
        except QuinionError:
            continue
        sizes += [len(words_of_text(page.words)) for page in pages if page.text.strip()]
        yield from make_samples(path, pages, read_layer)


def read_scans(paths: list[Path], dice: random.Random, wanted: int) -> Iterator[Sample]:
    dice.shuffle(paths)
    count = 0
    for path in paths:
        try:
            pages = [p for p in read_pages(path, 1, count_pages(path), Options()) if p.words]
        except QuinionError:
            continue
        if any(page.method is not Method.OCR for page in pages):
            continue
        for sample in make_samples(path, pages, read_scan):
            count += 1
            yield sample
        if count >= wanted:
            return


def count_pages(path: Path) -> int:
    with recognize(path).open_pages(path, MAX_PIXELS) as file:
        return min(file.page_count, SCAN_PAGES)


def make_samples(path: Path, pages: Sequence[Page], read: Read) -> Iterator[Sample]:
    words = {
        page.number: decoded
        for page in pages
        if (decoded := decode_words(words_of_text(page.words)))
    }
    document = join_pages(pages)
    for chunk in chunk_pages(pages):
        yield Sample(path, chunk, document, words, read)


def judge(sample: Sample) -> Score:
    began = perf_counter()
    spans = sample.chunk.page_spans(sample.document)
    numbers = list(dict.fromkeys(span.page for span in spans))
    is_known = all(number in sample.words for number in numbers) and is_passage(
        sample.chunk.text, spans, sample.words
    )
    if not is_known:
        return Score(0.0, 0, is_known, perf_counter() - began)
    regions = [
        mark(number, sample.words[number], [span for span in spans if span.page == number])
        for number in numbers
    ]
    seconds = perf_counter() - began
    marked = Counter(
        word
        for region in regions
        for text, box in sample.read(sample.path, region.page)
        if is_inside(box, region)
        for word in split_words(text)
    )
    own = Counter(split_words(sample.chunk.text))
    common = (marked & own).total()
    f1 = 2 * common / (marked.total() + own.total())
    return Score(f1, (marked - own).total(), is_known, seconds)


def split_words(text: str) -> list[str]:
    """Split at white space and control characters, which the readers treat differently."""
    return [word for word in BETWEEN.split(text) if word]


def is_inside(box: Box, region: Region) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(
        left - EPSILON <= x <= right + EPSILON and top - EPSILON <= y <= bottom + EPSILON
        for left, top, right, bottom in (*region.boxes, *region.hidden)
    )


def read_layer(path: Path, number: int) -> Printed:
    with pymupdf.open(path) as document:
        page = document[number - 1]
        width, height = page.rect.width, page.rect.height
        for *corners, word, _, _, _ in page.get_text("words"):
            shown = pymupdf.Rect(corners) * page.rotation_matrix
            yield (
                word,
                (
                    shown.x0 / width,
                    shown.y0 / height,
                    shown.x1 / width,
                    shown.y1 / height,
                ),
            )


def read_scan(path: Path, number: int) -> Printed:
    with recognize(path).open_pages(path, MAX_PIXELS) as file:
        raster = file.rasterize(number - 1, Options().ocr_dpi, MAX_PIXELS)
    result, upright = read_upright(raster, OCR_TIMEOUT_S)
    for word in place_words(result, upright, upside_down=upright is not raster):
        yield word.text, word.box


def report(name: str, scores: Sequence[Score]) -> None:
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


def list_missed(name: str, samples: Sequence[Sample], scores: Sequence[Score]) -> None:
    """List the chunks below the limit, on stderr."""
    for sample, score in zip(samples, scores, strict=True):
        if score.f1 < LIMITS[name][0]:
            pages = ",".join(map(str, sample.chunk.pages))
            print(
                f"{score.f1:.3f} {score.foreign} {sample.path} page {pages} "
                f"chunk {sample.chunk.index}",
                file=sys.stderr,
            )


if __name__ == "__main__":
    main()
