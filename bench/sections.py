"""Accuracy of section detection in real policy documents.

    python bench/sections.py CORPUS
    python bench/sections.py CORPUS planning/fenland/a681fe9e5be6.pdf   (prints its outline)

CORPUS is the folder of documents to measure with. The ground truth comes from the documents'
numbering and lists of policies, from an independent transcription of the NPPF, and from the
positions of the transcription's words on the pages. Each document is also read without layout, as
after perfect OCR; only numbers, labels and the table of contents are then available.
"""

import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path

from quinion.chunk.sections.headers_footers import find_furniture
from quinion.chunk.sections.references import select
from quinion.chunk.sections.split import chunk_sections, find_sections
from quinion.extract.document import Options, inspect
from quinion.extract.pdf.lines import read_lined_pages
from quinion.model.line import Line, LinedPage
from quinion.model.section import Kind, Section, SectionChunk

NPPF = "planning/nppf/NPPF_2024-12.pdf"
TRANSCRIPTION = "planning/nppf/NPPF_December_2024.md"
NPPF_NOTES = 91
DRAFT = "planning/nppf/NPPF_2025-12_draft.pdf"
# The draft's policies, counted on its pages.
DRAFT_FAMILIES = {
    **{"PM": 17, "DM": 10, "S": 6, "CC": 3, "HO": 13, "E": 4, "TC": 4, "CO": 2, "W": 4, "M": 6},
    **{"L": 4, "GB": 8, "DP": 4, "TR": 8, "HC": 8, "P": 6, "F": 9, "N": 6, "HE": 11},
}
DRAFT_CHAPTERS, DRAFT_ANNEXES, DRAFT_TABLES, DRAFT_NOTES = 20, "ABCDEF", 3, 88


@dataclass(frozen=True)
class Plan:
    """A plan; `pages` come from its list of policies, `ahead` is the offset to PDF pages."""

    name: str
    file: str
    code: str
    pages: Sequence[int]
    ahead: int
    chapters: int


PLANS = (
    Plan(
        "Tandridge, detailed policies",
        "planning/tandridge/Tandridge_local_plan_policies.pdf",
        "DP{}",
        [4, 13, 15, 17, 19, 20, 24, 27, 28, 29, 30, 33, 36, 38, 40, 42, 45, 46, 51, 53, 56, 62],
        2,
        23,
    ),
    Plan(
        "Tandridge, core strategy",
        "planning/tandridge/Tandridge_Core_Strategy.pdf",
        "CSP {}",
        [
            15,
            20,
            21,
            24,
            25,
            25,
            26,
            27,
            28,
            28,
            31,
            34,
            35,
            38,
            40,
            41,
            42,
            44,
            44,
            47,
            48,
            51,
            53,
        ],
        6,
        21,
    ),
    Plan(
        "Fenland",
        "planning/fenland/a681fe9e5be6.pdf",
        "LP{}",
        [12, 15, 16, 18, 19, 26, 32, 36, 42, 46, 50, 56, 61, 64, 69, 72, 74, 74, 76],
        1,
        7,
    ),
)
OTHERS = {
    "Watford, inspector's report": "planning/watford/2fec45008d69.pdf",
    "Watford, main modifications": "planning/watford/cbed9a41b44b.pdf",
    "Watford, sustainability appraisal": "planning/watford/a8be251d6ea1.pdf",
    "City of London, commentary": "planning/city_of_london/84b71619b3c3.pdf",
    "Coventry, area action plan report": "planning/coventry/Coventry_AAP_Final_Report.pdf",
    "Coventry, modifications appraisal": "planning/coventry/"
    "MOD14_SASEA_Final_Report___Local_Plan_Proposed_Modfications_2017.pdf",
    "Coventry, green belt review": "planning/coventry/coventry_green_belt_review.pdf",
}


def main(corpus: Path) -> None:
    print("| document | what | found | of | right pages | no layout | missed |")
    print("|---|---|---:|---:|---:|---:|---|")
    judge_nppf(corpus)
    judge_draft(corpus)
    for plan in PLANS:
        judge_plan(corpus, plan)
    print("\n| document | pages | lines | sections | chunks | ms a page | letters in no section |")
    print("|---|---:|---:|---:|---:|---:|---|")
    bare = alone = total = 0
    for name, file in {
        "NPPF 2024": NPPF,
        "NPPF draft 2025": DRAFT,
        **{plan.name: plan.file for plan in PLANS},
        **OTHERS,
    }.items():
        sections, chunks = count(name, corpus / file)
        total += len(chunks)
        bare += sum(chunk.below != "" for chunk in chunks)
        alone += sum(
            sections[chunk.section_index].is_heading and not chunk.below for chunk in chunks
        )
    print(f"\nOf {total} chunks, {bare} are headings with the text below, {alone} bare headings.")


def judge_nppf(corpus: Path) -> None:
    pages = read(corpus / NPPF)
    sections, bare = find_both(pages)
    truth = Transcription((corpus / TRANSCRIPTION).read_text())
    on_pages = page_finder(pages)
    name = "NPPF 2024"
    paragraphs = {f"Para {number}": text for number, text in truth.paragraphs.items()}
    where = {ref: on_pages(text) for ref, text in paragraphs.items()}
    report(name, "paragraphs", paragraphs, sections, bare, where)
    texts = {page.page.number: letters(page.page.text) for page in pages}
    ending = [
        one
        for one in sections
        if one.ref in paragraphs and letters(one.text)[-15:] in texts[one.pages[-1]]
    ]
    row(name, "paragraphs that end on their last page", len(ending), len(paragraphs))
    compare(name, "paragraphs' text", paragraphs, sections)
    notes = {f"Footnote {number}": text for number, text in truth.notes.items()}
    report(name, "footnotes", [f"Footnote {n + 1}" for n in range(NPPF_NOTES)], sections, bare)
    compare(name, "footnotes' text", notes, sections)
    chapters = {f"Chapter {number}": members for number, members in truth.chapters.items()}
    report(name, "chapters", chapters, sections, bare)
    whole = [ref for ref, members in chapters.items() if inside(sections, ref) == members]
    row(name, "chapters with all their paragraphs", len(whole), len(chapters))
    report(name, "annexes", [f"Annex {number}" for number in (1, 2, 3)], sections, bare)


def judge_draft(corpus: Path) -> None:
    pages = read(corpus / DRAFT)
    sections, bare = find_both(pages)
    name = "NPPF draft 2025"
    policies = [f"Policy {f}{n + 1}" for f, count in DRAFT_FAMILIES.items() for n in range(count)]
    where = {f"Policy {code}": {page} for code, page in headed(pages, r"([A-Z]{1,2}\d+):").items()}
    report(name, "policies", policies, sections, bare, where)
    chapters = [f"Chapter {number}" for number in range(1, DRAFT_CHAPTERS + 1)]
    report(name, "chapters", chapters, sections, bare)
    report(name, "annexes", [f"Annex {letter}" for letter in DRAFT_ANNEXES], sections, bare)
    report(name, "tables", [f"Table {n + 1}" for n in range(DRAFT_TABLES)], sections, bare)
    report(name, "footnotes", [f"Footnote {n + 1}" for n in range(DRAFT_NOTES)], sections, bare)


def judge_plan(corpus: Path, plan: Plan) -> None:
    sections, bare = find_both(read(corpus / plan.file))
    where = {
        "Policy " + plan.code.format(number): {page + plan.ahead}
        for number, page in enumerate(plan.pages, 1)
    }
    report(plan.name, "policies", where, sections, bare, where)
    chapters = [f"Chapter {number}" for number in range(1, plan.chapters + 1)]
    report(plan.name, "chapters", chapters, sections, bare)
    report(plan.name, "paragraphs up to each last", up_to_last(sections), sections, bare)


class Transcription:
    """Independent transcription of the NPPF's paragraphs, footnotes and chapters."""

    def __init__(self, text: str) -> None:
        self.paragraphs: dict[int, str] = {}
        self.notes: dict[int, str] = {}
        self.chapters: dict[int, set[str]] = defaultdict(set)
        chapter = last = 0
        for line in text[text.index("\n# 1. ") : text.index("\n# Annex 2")].splitlines():
            if match := re.match(r"\[\^(\d+)\]:?\s*(.*)", line):
                # The transcription has one heading inside a note.
                self.notes[int(match[1])], annex, _ = match[2].partition("Annex 1: Impl")
                chapter = 0 if annex else chapter
            elif match := re.match(r"# (\d+)\.", line):
                chapter = int(match[1])
            elif line.startswith(f"{last + 1}. "):
                last += 1
                self.paragraphs[last] = line
                self.chapters[chapter].add(f"Para {last}")
            elif last and line.strip():
                self.paragraphs[last] += "\n" + line.removeprefix("# ").strip()
        del self.chapters[0]


def read(path: Path) -> list[LinedPage]:
    options = Options(ocr=False)
    return list(read_lined_pages(path, 1, inspect(path, options).page_count, options))


def lines_of(pages: Iterable[LinedPage]) -> list[Line]:
    return [line for page in pages for line in page.lines]


def find_both(pages: Sequence[LinedPage]) -> tuple[list[Section], list[Section]]:
    """Find the sections with and without layout."""
    lines = lines_of(pages)
    bare = [replace(line, box=None, size=None, bold=False, marked=False) for line in lines]
    return find_sections(lines), find_sections(bare)


def report(
    name: str,
    what: str,
    wanted: Iterable[str],
    sections: Sequence[Section],
    bare: Sequence[Section],
    where: Mapping[str, set[int]] | None = None,
) -> None:
    """Print how many expected sections are found exactly once and start on the right page."""
    refs = list(wanted)
    once = Counter(section.ref for section in sections)
    once_bare = Counter(section.ref for section in bare)
    missed = [ref for ref in refs if once[ref] != 1]
    first = {section.ref: section.pages[0] for section in sections}
    right = None
    if where is not None:
        wrong = [ref for ref in refs if first.get(ref) not in where.get(ref, set())]
        right = len(refs) - len(wrong)
        missed += [f"{ref} (page)" for ref in wrong if ref not in missed]
    found_bare = sum(once_bare[ref] == 1 for ref in refs)
    found = sum(once[ref] == 1 for ref in refs)
    row(name, what, found, len(refs), right, found_bare, ", ".join(missed))


def compare(name: str, what: str, true: Mapping[str, str], sections: Sequence[Section]) -> None:
    """Print how many sections match the transcription letter by letter, and the others' similarity.

    The transcription merges some headings into the preceding paragraphs; these count as matches.
    """
    texts = {section.ref: letters(section.text) for section in sections}
    after = {
        one.ref: letters(two.text)
        for one, two in pairwise(section for section in sections if section.kind != Kind.FOOTNOTE)
        if two.kind is Kind.HEADING
    }
    ratios: dict[str, float] = {}
    for ref, text in true.items():
        ours, theirs = texts.get(ref, ""), letters(text)
        if theirs not in {ours, ours + after.get(ref, "")}:
            ratios[ref] = SequenceMatcher(None, ours, theirs, autojunk=False).ratio()
    missed = ", ".join(f"{ref} ({ratio:.2f})" for ref, ratio in ratios.items())
    row(name, f"{what}, letter for letter", len(true) - len(ratios), len(true), missed=missed)


def letters(text: str) -> str:
    """Return the letters of a text: footnote marks, spacing and punctuation differ by edition."""
    return re.sub(r"[\W\d_]", "", re.sub(r"\[\^\d+\]", "", text)).casefold()


def inside(sections: Sequence[Section], ref: str) -> set[str]:
    return {one.ref for one in select(sections, ref) if one.kind is Kind.PARA}


def page_finder(pages: Sequence[LinedPage]) -> Callable[[str], set[int]]:
    """Return a function that finds a paragraph's page by its first letters in the page texts."""
    texts = {page.page.number: letters(page.page.text) for page in pages}

    def find(text: str) -> set[int]:
        start = letters(text)[:40]
        return {number for number, page in texts.items() if start in page}

    return find


def headed(pages: Sequence[LinedPage], pattern: str) -> dict[str, int]:
    """Return the page with a line that starts with the pattern, after the table of contents."""
    found: dict[str, int] = {}
    for page in pages[4:]:
        for line in page.page.text.splitlines():
            if match := re.match(pattern, line):
                found.setdefault(match[1], page.page.number)
    return found


def up_to_last(sections: Sequence[Section]) -> list[str]:
    """Return the expected paragraph numbers, assuming that no group has gaps."""
    last: dict[str, int] = {}
    headings = {section.ref.removeprefix("Section ") for section in sections}
    for section in sections:
        if section.kind is Kind.PARA and "." in section.ref:
            group, _, number = section.ref.removeprefix("Para ").rpartition(".")
            last[group] = max(last.get(group, 0), int(number))
    wanted = [f"{group}.{n + 1}" for group, count in last.items() for n in range(count)]
    return [f"Para {number}" for number in wanted if number not in headings]


def count(name: str, path: Path) -> tuple[Sequence[Section], Sequence[SectionChunk]]:
    pages = read(path)
    lines = lines_of(pages)
    start = time.process_time()
    sections = find_sections(lines)
    spent = time.process_time() - start
    printed = sum(len(letters(page.page.text)) for page in pages)
    kept = sum(len(letters(section.text)) for section in sections)
    furniture = sum(len(letters(lines[index].text)) for index in find_furniture(lines))
    lost = printed - kept - furniture
    kinds = Counter(str(section.kind) for section in sections)
    chunks = chunk_sections(lines)
    print(
        f"| {name} | {len(pages)} | {len(lines)} "
        f"| {', '.join(f'{count} {kind}' for kind, count in kinds.most_common())} "
        f"| {len(chunks)} | {1000 * spent / len(pages):.1f} "
        f"| {furniture} in headers and footers, {lost} else |",
        flush=True,
    )
    return sections, chunks


def row(
    name: str,
    what: str,
    found: int,
    total: int,
    right: int | None = None,
    bare: int | None = None,
    missed: str = "",
) -> None:
    cells = (name, what, found, total, blank(right), blank(bare), missed)
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def blank(number: int | None) -> str:
    return "" if number is None else str(number)


def show(path: Path) -> None:
    for section in find_sections(lines_of(read(path))):
        pages = f"{section.pages[0]}-{section.pages[-1]}"
        print(f"{pages:>9} {len(section.text):6} {'  ' * (len(section.path) - 1)}{section.ref}")


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3} or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python bench/sections.py CORPUS [FILE] (the folder with the documents)")
    if len(sys.argv) == 2:
        main(Path(sys.argv[1]))
    else:
        show(Path(sys.argv[1]) / sys.argv[2])
