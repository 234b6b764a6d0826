"""Accuracy and cost of scan detection and OCR.

    python -m bench.scans CORPUS [--reading] [--engine auto|tesseract|rapidocr]

CORPUS is the folder of documents to measure with. `--reading` measures only how pages with known
text are read; `--engine` sets OCR_ENGINE. `scan_labels.tsv` labels its pages and
documents; a label with a box (in points) refers to that part of a page. The thresholds were tuned
on the pages of the set `tuned`; the set `held` was held out. Pages are classified by their pixels
alone, without their text layer, so a vector drawing is measured as if it had been scanned.
Documents are classified as in the pipeline.
"""

import csv
import resource
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from bench.truths import Truths, find_truths, word_accuracy, words_found, words_right
from quinion.extract.document import Options, inspect, probe, read_pages
from quinion.extract.image import open_image
from quinion.extract.ocr import page_reader, rapidocr_process, tesseract
from quinion.extract.ocr.languages import AUTO, DEFAULT
from quinion.extract.ocr.raster import Raster
from quinion.extract.ocr.words import Engine
from quinion.extract.pdf.reader import open_pdf
from quinion.extract.scans import scan_probe
from quinion.extract.scans.scan_decision import (
    DocumentKind,
    PageKind,
    choose_pages_to_probe,
    decide,
)

LABELS = Path(__file__).with_name("scan_labels.tsv")
TEXT_PDFS = ("planning/**/*.pdf", "tables/**/*.pdf", "technical/**/*.pdf")
THRESHOLD = 0.7
OPTIONS = Options()


@dataclass(frozen=True)
class Label:
    set: str
    unit: str
    kind: PageKind
    file: str
    page: int
    box: tuple[float, ...]


def main(corpus: Path, *, only_reading: bool, engine: str) -> None:
    page_reader.use(DEFAULT, engine)
    if not only_reading:
        judge_decisions(corpus)
    print("| pages with known text | words found | precision | word accuracy | with RapidOCR |")
    print("|---|---:|---:|---:|---:|")
    for truths in find_truths(corpus):
        measure_reading(truths)


def judge_decisions(corpus: Path) -> None:
    labels = read_labels()
    print("| what | right | of | wrong |\n|---|---:|---:|---|")
    for name in ("tuned", "held"):
        for kind in (PageKind.TEXT, PageKind.PICTURE):
            judge_pages(corpus, [x for x in labels if x.set == name and x.kind is kind])
    named = {
        kind: find_documents(corpus, [label for label in labels if label.kind is kind])
        for kind in (PageKind.TEXT, PageKind.PICTURE)
    }
    others = find_files(corpus, TEXT_PDFS) - named[PageKind.TEXT] - named[PageKind.PICTURE]
    judge_documents("scanned documents that go on to OCR", corpus, named[PageKind.TEXT], False)
    judge_documents("drawings, maps, photographs skipped", corpus, named[PageKind.PICTURE], True)
    judge_documents("PDFs with text not skipped", corpus, others, False)
    print()


def read_labels() -> list[Label]:
    with LABELS.open(newline="") as file:
        return [
            Label(
                row["set"],
                row["unit"],
                PageKind(row["kind"]),
                row["file"],
                int(row["page"] or 1),
                tuple(float(edge) for edge in row["box"].split(",") if edge),
            )
            for row in csv.DictReader(file, delimiter="\t")
        ]


def judge_pages(corpus: Path, labels: Sequence[Label]) -> None:
    wrong = []
    start = cpu_s()
    for label in labels:
        if scan_probe.classify(rasterize(corpus / label.file, label)) is not label.kind:
            wrong.append(f"{Path(label.file).name} p. {label.page}")
    title = f"{labels[0].kind} pages by pixels alone, {labels[0].set}"
    report(f"{title} ({per_page(start, len(labels))})", len(labels), wrong)


def rasterize(path: Path, label: Label) -> Raster:
    if path.suffix != ".pdf":
        with open_image(path, OPTIONS.max_pixels) as image:
            return image.rasterize(label.page - 1, scan_probe.DPI, scan_probe.MAX_PIXELS)
    with open_pdf(path) as pdf:
        raster = pdf.rasterize(label.page - 1, scan_probe.DPI, scan_probe.MAX_PIXELS)
    if not label.box:
        return raster
    scale = (raster.dpi or scan_probe.DPI) / 72
    left, top, right, bottom = (round(edge * scale) for edge in label.box)
    return Raster(raster.image.crop((left, top, right, bottom)), raster.dpi)


def find_documents(corpus: Path, labels: Iterable[Label]) -> set[Path]:
    return find_files(corpus, [label.file for label in labels if label.unit == "document"])


def find_files(corpus: Path, patterns: Iterable[str]) -> set[Path]:
    return {path for pattern in patterns for path in corpus.glob(pattern)}


def judge_documents(title: str, corpus: Path, paths: set[Path], skipped: bool) -> None:
    wrong = []
    pages = 0
    start = cpu_s()
    for path in sorted(paths):
        inspection = inspect(path, OPTIONS)
        kinds = probe(path, choose_pages_to_probe(inspection, THRESHOLD), OPTIONS)
        pages += inspection.page_count
        if (decide(inspection, THRESHOLD, kinds) is DocumentKind.PICTURE) is not skipped:
            wrong.append(str(path.relative_to(corpus)))
    report(f"{title} ({per_page(start, pages)})", len(paths), wrong)


def measure_reading(truths: Truths) -> None:
    found, right, accuracies, by_rapidocr = [], [], [], 0
    start = cpu_s()
    for path in truths.paths:
        (page,) = read_pages(path, 1, 1, OPTIONS)
        truth = truths.read(path)
        found.append(words_found(page.text, truth))
        right.append(words_right(page.text, truth))
        accuracies.append(word_accuracy(page.text, truth))
        by_rapidocr += page.engine != Engine.TESSERACT
    # The engines run in processes of their own, whose time counts when they have ended.
    tesseract.close()
    rapidocr_process.close()
    count = len(truths.paths)
    print(
        f"| {truths.title}, {count} pages ({per_page(start, count)}) | {mean(found):.3f} "
        f"| {mean(right):.3f} | {mean(accuracies):.3f} | {by_rapidocr} of {count} |",
        flush=True,
    )


def cpu_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def per_page(start_s: float, pages: int) -> str:
    return f"{(cpu_s() - start_s) / pages:.3f} CPU s a page"


def report(title: str, total: int, wrong: Sequence[str]) -> None:
    print(f"| {title} | {total - len(wrong)} | {total} | {', '.join(wrong)} |", flush=True)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--reading", action="store_true")
    parser.add_argument("--engine", choices=(AUTO, *Engine), default=AUTO)
    arguments = parser.parse_args()
    if not arguments.corpus.is_dir():
        parser.error("CORPUS must be the folder with the documents")
    main(arguments.corpus, only_reading=arguments.reading, engine=arguments.engine)
