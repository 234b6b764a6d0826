"""References of scanned policies: which are right, wrong or missing after OCR.

    python -m bench.scanned_sections CORPUS [--whole DPI]

CORPUS is the folder of documents to measure with. With --whole, the NPPF is rendered at DPI and
read completely, and its sections are compared with those of its text layer. Without, twelve pages
of each document are rendered at 200 dpi and read by OCR. The truth is the section of each line in
the document's own text layer. A chunk's reference is right if most of its letters lie in that
section or in a part of it, and `page` if the chunk is cited by its page only.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.sections import letters, lines_of, read
from quinion.chunk.sections.split import chunk_sections, document_text, find_sections
from quinion.extract.document import Options
from quinion.extract.pdf.lines import read_lined_pages
from quinion.extract.pdf.mupdf import pymupdf
from quinion.model.line import Line, LinedPage
from quinion.model.section import SectionChunk

DPI = 200
COUNT = 12
SCANS = {
    "NPPF 2024": ("planning/nppf/NPPF_2024-12.pdf", 30),
    "NPPF draft 2025": ("planning/nppf/NPPF_2025-12_draft.pdf", 20),
    "Tandridge, core strategy": ("planning/tandridge/Tandridge_Core_Strategy.pdf", 20),
    "Watford, inspector's report": ("planning/watford/2fec45008d69.pdf", 10),
}
# Letters by which a line is found in the text layer; shorter lines are not judged.
PROBE = 24

Path_ = tuple[str, ...]


def measure_whole(path: Path, dpi: int) -> None:
    """Compare the sections of a scanned document with those of its text layer."""
    truth = find_sections(lines_of(read(path)))
    with pymupdf.open(path) as document:
        count = document.page_count
    found = find_sections(lines_of(scan_pages(path, 1, count, dpi)))
    pages = {section.ref: section.pages[0] for section in reversed(found)}
    print("| section | found | of | right pages |")
    print("|---|---:|---:|---:|")
    for kind in sorted({section.kind for section in truth}):
        starts = {section.ref: section.pages[0] for section in truth if section.kind is kind}
        known = [ref for ref in starts if ref in pages]
        right = sum(pages[ref] == starts[ref] for ref in known)
        print(f"| {kind} | {len(known)} | {len(starts)} | {right} |")
        print(f"missing: {', '.join(ref for ref in starts if ref not in pages) or 'none'}")


def main(corpus: Path) -> None:
    print("| document | pages | chunks | right | page | wrong | not judged |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, (file, first) in SCANS.items():
        chunks = scan(corpus / file, first)
        truth = true_sections(corpus / file, first)
        found = Counter(judge(chunk, truth) for chunk in chunks)
        print(
            f"| {name} | {first} to {first + COUNT - 1} | {len(chunks)} | {found['right']} "
            f"| {found['page']} | {found['wrong']} | {found['unknown']} |",
            flush=True,
        )


def scan(path: Path, first: int) -> list[SectionChunk]:
    """Render the pages, read them by OCR, and split them."""
    return chunk_sections(lines_of(scan_pages(path, first, COUNT, DPI)))


def scan_pages(path: Path, first: int, count: int, dpi: int) -> list[LinedPage]:
    """Render pages as images in a PDF, and read it by OCR."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "scan.pdf"
        with pymupdf.open(path) as document, pymupdf.open() as images:
            for number in range(first, first + count):
                page = document[number - 1]
                image = page.get_pixmap(dpi=dpi).tobytes("png")
                images.new_page(width=page.rect.width, height=page.rect.height).insert_image(
                    page.rect, stream=image
                )
            images.save(copy)
        return list(read_lined_pages(copy, 1, count, Options()))


def true_sections(path: Path, first: int) -> dict[int, dict[Path_, str]]:
    """Return the letters of each section on each page, from the text layer."""
    lines = lines_of(read(path))
    pages: dict[int, dict[Path_, str]] = defaultdict(lambda: defaultdict(str))
    starts = line_starts(lines)
    for section in find_sections(lines):
        for start, end in section.spans:
            for line, offset in zip(lines, starts, strict=True):
                if start <= offset < end:
                    number = line.page_number - first + 1
                    pages[number][section.path] += letters(line.text)
    return pages


def line_starts(lines: Sequence[Line]) -> list[int]:
    text, starts = document_text(lines), []
    offset = 0
    for line in lines:
        assert text.startswith(line.text, offset)
        starts.append(offset)
        offset += len(line.text) + 1
    return starts


def judge(chunk: SectionChunk, truth: dict[int, dict[Path_, str]]) -> str:
    if chunk.ref.startswith("Page "):
        return "page"
    votes: Counter[Path_] = Counter()
    for line in chunk.text.splitlines():
        probe = letters(line)[:PROBE]
        if len(probe) < PROBE:
            continue
        holders = {
            path for number in chunk.pages for path, text in truth[number].items() if probe in text
        }
        # A line that several sections have is no evidence.
        if len(holders) == 1:
            votes[holders.pop()] += len(line)
    if not votes:
        return "unknown"
    inside = sum(count for path, count in votes.items() if chunk.ref in path)
    return "right" if inside > votes.total() / 2 else "wrong"


if __name__ == "__main__":
    match sys.argv[1:]:
        case [folder, "--whole", resolution] if Path(folder).is_dir():
            measure_whole(Path(folder) / SCANS["NPPF 2024"][0], int(resolution))
        case [folder] if Path(folder).is_dir():
            main(Path(folder))
        case _:
            sys.exit("usage: python -m bench.scanned_sections CORPUS [--whole DPI]")
