"""Document sets with questions and human relevance judgements.

Cranfield and XQuAD are judged by document, FinanceBench and OHR-Bench by page. The questions on
FinanceBench's files come from FinanceBench and MMLongBench. OHR-Bench is reduced to a fixed sample
of its documents, with the questions on them.
"""

import ast
import gzip
import json
import random
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from quinion.extract.document import Options, inspect, read_pages
from quinion.model.page import Method, Page

SAMPLE_SEED = 8
SAMPLE_CHARACTERS = 1_200_000


@dataclass(frozen=True)
class JudgedSet:
    """A set; `relevant` names documents, or pages (see `name_page`) if `by_page` is set."""

    name: str
    documents: Mapping[str, Sequence[Page]]
    queries: Mapping[str, str]
    relevant: Mapping[str, frozenset[str]]
    by_page: bool
    titles: Mapping[str, str] = field(default_factory=dict)
    """Titles of documents whose name is only a number."""

    def places(self, document: str, pages: Sequence[int]) -> list[str]:
        """Return the documents or pages that a chunk on these pages counts for."""
        return [name_page(document, page) for page in pages] if self.by_page else [document]

    def cut(self, documents: int) -> "JudgedSet":
        """Keep the first documents, with the queries that they answer."""
        kept = dict(list(self.documents.items())[:documents])
        relevant = {
            query: found
            for query, places in self.relevant.items()
            if (found := frozenset(place for place in places if place.partition("#")[0] in kept))
        }
        queries = {query: self.queries[query] for query in relevant}
        return replace(self, documents=kept, queries=queries, relevant=relevant)


def name_page(document: str, page_number: int) -> str:
    return f"{document}#{page_number}"


def read_sets(folder: Path) -> list[JudgedSet]:
    """Read all sets of `corpus/retrieval`."""
    return [
        read_cranfield(folder / "cranfield"),
        read_xquad(folder / "xquad.en.json"),
        read_financebench(folder / "financebench"),
        read_ohrbench(folder / "ohrbench"),
    ]


def read_cranfield(folder: Path) -> JudgedSet:
    texts, titles = {}, {}
    pattern = r"<docno>(\d+)</docno>\s*<title>(.*?)</title>.*?<text>(.*?)</text>"
    content = (folder / "cran.all.1400.xml").read_text()
    for name, title, text in re.findall(pattern, content, re.DOTALL):
        texts[name], titles[name] = text.strip(), " ".join(title.split())
    asked = re.findall(r"<title>(.*?)</title>", (folder / "cran.qry.xml").read_text(), re.DOTALL)
    # The judgements number the queries by their order.
    queries = {str(number): title.strip() for number, title in enumerate(asked, 1)}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "cranqrel.trec.txt").read_text().splitlines():
        query, _, document, judgement = line.split()
        if int(judgement) > 0:
            relevant.setdefault(query, set()).add(document)
    return JudgedSet(
        "Cranfield",
        {name: [_page(1, text)] for name, text in texts.items() if text},
        queries,
        {query: frozenset(found) for query, found in relevant.items()},
        by_page=False,
        titles=titles,
    )


def read_xquad(file: Path) -> JudgedSet:
    documents: dict[str, list[Page]] = {}
    queries: dict[str, str] = {}
    relevant: dict[str, frozenset[str]] = {}
    for article in json.loads(file.read_text())["data"]:
        for paragraph in article["paragraphs"]:
            name = str(len(documents))
            documents[name] = [_page(1, paragraph["context"])]
            for question in paragraph["qas"]:
                queries[question["id"]] = question["question"]
                relevant[question["id"]] = frozenset({name})
    return JudgedSet("XQuAD (English)", documents, queries, relevant, by_page=False)


def read_financebench(folder: Path) -> JudgedSet:
    options = Options(ocr=False)
    documents = {
        path.stem: list(read_pages(path, 1, inspect(path, options).page_count, options))
        for path in sorted(folder.glob("*.pdf"))
    }
    asked = json.loads((folder / "questions.json").read_text())
    judged = [
        (
            entry["question"],
            # FinanceBench counts pages from 0.
            {name_page(e["doc_name"], e["evidence_page_num"] + 1) for e in entry["evidence"]},
        )
        for entry in asked["financebench"]
    ] + [
        (
            entry["question"],
            {
                name_page(Path(entry["doc_id"]).stem, page)
                for page in ast.literal_eval(entry["evidence_pages"])
            },
        )
        for entry in asked["mmlongbench"]
    ]
    answered = {str(n): pair for n, pair in enumerate(judged) if pair[1]}
    return JudgedSet(
        "FinanceBench",
        documents,
        {query: question for query, (question, _) in answered.items()},
        {query: frozenset(pages) for query, (_, pages) in answered.items()},
        by_page=True,
    )


def read_ohrbench(folder: Path) -> JudgedSet:
    documents: dict[str, list[Page]] = {}
    with tarfile.open(folder / "gt_pages_finance_manual_textbook.tar.gz") as archive:
        for member in sorted(archive.getnames()):
            if content := archive.extractfile(member):
                pages = json.load(content)
                name = member.removesuffix(".json")
                # OHR-Bench counts pages from 0, in the questions too.
                documents[name] = [_page(page["page_idx"] + 1, page["text"]) for page in pages]
    documents = _sample(documents)
    with gzip.open(folder / "qas.json.gz") as questions:
        asked = [entry for entry in json.load(questions) if entry["doc_name"] in documents]
    return JudgedSet(
        "OHR-Bench (sample)",
        documents,
        {entry["ID"]: entry["questions"] for entry in asked},
        {
            entry["ID"]: frozenset({name_page(entry["doc_name"], entry["evidence_page_no"] + 1)})
            for entry in asked
        },
        by_page=True,
    )


def _sample(documents: Mapping[str, list[Page]]) -> dict[str, list[Page]]:
    names = sorted(documents)
    random.Random(SAMPLE_SEED).shuffle(names)
    kept: dict[str, list[Page]] = {}
    room = SAMPLE_CHARACTERS
    for name in names:
        length = sum(len(page.text) for page in documents[name])
        if length <= room:
            kept[name] = documents[name]
            room -= length
    return kept


def _page(number: int, text: str) -> Page:
    return Page(number, text, Method.TEXT_LAYER)
