"""Planning documents: questions judged by document, and generated queries judged by page.

Generated queries are exact terms of the documents at hand: paragraphs, policies, references,
numbers, names and quotations. A page is relevant if it has the term; for a paragraph or a policy,
if a line of it begins with it. The generator is seeded.
"""

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench.judged_sets import JudgedSet, name_page
from quinion.errors import QuinionError
from quinion.extract.document import Options, inspect, read_pages
from quinion.model.page import Page

SEED = 24
PER_KIND = 20
MAX_PAGES = 5
"""Pages that a term may be on: a term of many pages asks for none in particular."""
SKIPPED = "NPPF_2024-12_resaved"
"""A copy of another document: results would be judged by which copy comes first."""

_PARAGRAPH = re.compile(r"^\s*(\d{1,3}(?:\.\d{1,2})?)\.?[ \t]+(?=[A-Z][a-z]+ )", re.MULTILINE)
_POLICY = re.compile(r"^\s*(Policy [A-Z]{1,3}\d{1,2})\b", re.MULTILINE)
_REFERENCE = re.compile(r"(?<![\w/])(?:[A-Z]{2,5}\d{1,4}|[A-Z\d]{1,5}(?:/[A-Z\d]+){1,4})(?![\w/])")
_NUMBER = re.compile(r"(?<![\w.,/])(\d{2,4}(?:\.\d+)?) ([a-z]{5,12})\b")
_NAME = re.compile(r"(?<=[a-z] )([A-Z][a-z]{4,12})\b")
_WORD = re.compile(r"[A-Za-z]+")
PHRASE_WORDS = 5

Terms = Mapping[str, frozenset[str]]
"""Pages by the query that asks for them."""
Pages = Sequence[tuple[str, str]]
"""Names and texts of pages."""


def read_planning(folder: Path) -> list[JudgedSet]:
    """Read the planning documents with their questions, and generate queries."""
    documents = read_documents(folder)
    asked = json.loads((folder / "qa_coventry_nppf.json").read_text())
    questions = {str(n): entry for n, entry in enumerate(asked)}
    relevant = {
        n: frozenset(Path(file).stem for file in entry["files"]) & documents.keys()
        for n, entry in questions.items()
    }
    queries = {n: entry["question"] for n, entry in questions.items() if relevant[n]}
    judged = {n: relevant[n] for n in queries}
    return [
        JudgedSet("planning questions", documents, queries, judged, by_page=False),
        make_exact_set(documents),
    ]


def read_documents(folder: Path) -> dict[str, Sequence[Page]]:
    """Read all PDFs that have a text layer, except drawings."""
    options = Options(ocr=False)
    found: dict[str, Sequence[Page]] = {}
    for path in sorted(folder.rglob("*.pdf")):
        if path.stem != SKIPPED and path.parent.name != "drawings":
            try:
                pages = list(read_pages(path, 1, inspect(path, options).page_count, options))
            except QuinionError:
                continue
            if any(page.text.strip() for page in pages):
                found[path.stem] = pages
    return found


def make_exact_set(documents: Mapping[str, Sequence[Page]]) -> JudgedSet:
    """Generate queries for exact terms of these documents."""
    pages = [
        (name_page(name, page.number), page.text)
        for name, some in documents.items()
        for page in some
    ]
    dice = random.Random(SEED)
    queries: dict[str, str] = {}
    relevant: dict[str, frozenset[str]] = {}
    for kind, find in KINDS.items():
        terms = {query: found for query, found in find(pages).items() if len(found) <= MAX_PAGES}
        for query in dice.sample(sorted(terms), min(PER_KIND, len(terms))):
            queries[f"{kind}: {query}"] = query
            relevant[f"{kind}: {query}"] = terms[query]
    return JudgedSet("exact terms", documents, queries, relevant, by_page=True)


def find_paragraphs(pages: Pages) -> Terms:
    return _collect(pages, lambda text: (f"paragraph {n}" for n in _PARAGRAPH.findall(text)))


def find_policies(pages: Pages) -> Terms:
    return _collect(pages, _POLICY.findall)


def find_references(pages: Pages) -> Terms:
    return _collect(pages, lambda text: filter(_is_code, _REFERENCE.findall(text)))


def find_numbers(pages: Pages) -> Terms:
    return _collect(pages, lambda text: map(" ".join, _NUMBER.findall(text)))


def find_names(pages: Pages) -> Terms:
    """Find capitalized words that are never written otherwise."""
    counts = Counter(word for _, text in pages for word in _WORD.findall(text))
    found = _collect(pages, _NAME.findall)
    return {name: some for name, some in found.items() if not counts[name.lower()]}


def find_quotations(pages: Pages) -> Terms:
    """Find phrases between other words of a line."""

    def find(text: str) -> Iterable[str]:
        for line in text.splitlines():
            words = line.split()
            if len(words) > PHRASE_WORDS + 4 and all(map(str.isalpha, words[2 : 2 + PHRASE_WORDS])):
                yield f'"{" ".join(words[2 : 2 + PHRASE_WORDS])}"'

    return _collect(pages, find)


KINDS: Mapping[str, Callable[[Pages], Terms]] = {
    "paragraph": find_paragraphs,
    "policy": find_policies,
    "reference": find_references,
    "number": find_numbers,
    "name": find_names,
    "quotation": find_quotations,
}


def _collect(pages: Pages, find: Callable[[str], Iterable[str]]) -> Terms:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for page, text in pages:
        for term in find(text):
            found[term].add(page)
    return {term: frozenset(some) for term, some in found.items()}


def _is_code(text: str) -> bool:
    return any(map(str.isdigit, text)) and any(map(str.isalpha, text))
