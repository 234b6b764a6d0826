"""Results of `quinion search` as text: the best of all servers, each passage once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quinion.cli.server_client import Answer
from quinion.servers import doclibrary, document_store, docvec, policy_kb

SHINGLE_WORDS = 5
SAME_SHARE = 0.6
"""Two texts are the same passage if the shorter has this share of its word sequences in common
with the other. Servers split the same page at different places."""


@dataclass(slots=True)
class Passage:
    """One result: where it is, and where else the same text was found."""

    server: str
    score: float
    title: str
    place: str
    text: str
    others: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """Title and place in one line."""
        return f"{self.title}, {self.place}" if self.place else self.title


def merge_results(answers: Mapping[str, Answer]) -> list[Passage]:
    """Sort the results of all servers, best first; a passage of two servers is listed once."""
    found = [
        *map(_of_document, answers.get(document_store.NAME, {}).get("results", [])),
        *map(_of_policy, answers.get(policy_kb.NAME, {}).get("results", [])),
        *map(_of_file, (answers.get(docvec.NAME, {}).get("data") or {}).get("results", [])),
        *map(_of_library, answers.get(doclibrary.NAME, {}).get("results", [])),
    ]
    found.sort(key=lambda passage: -passage.score)
    kept: list[tuple[Passage, frozenset[tuple[str, ...]]]] = []
    for passage in found:
        shingles = _shingles(passage.text)
        same = next((one for one, its in kept if _is_same(one, its, passage, shingles)), None)
        if same is None:
            kept.append((passage, shingles))
        else:
            same.others.append(f"{passage.source} ({passage.server})")
    return [passage for passage, _ in kept]


def print_results(passages: Iterable[Passage]) -> None:
    """Print the results; long texts wrap with a hanging indent."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for number, passage in enumerate(passages, 1):
        head = Text.assemble(
            (passage.title, "bold"),
            f", {passage.place}" if passage.place else "",
            (f"   {passage.score:.2f}", "cyan"),
        )
        grid.add_row(f"{number}.", head)
        for line in (" ".join(passage.text.split()), *(f"also: {one}" for one in passage.others)):
            grid.add_row("", Text(line))
    Console().print(grid)


def _is_same(
    one: Passage,
    its: frozenset[tuple[str, ...]],
    other: Passage,
    shingles: frozenset[tuple[str, ...]],
) -> bool:
    if one.server == other.server:  # overlapping chunks of one server are different passages
        return False
    shorter = min(len(its), len(shingles))
    if not shorter:
        return one.text.split() == other.text.split()
    return len(its & shingles) >= SAME_SHARE * shorter


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = text.casefold().split()
    return frozenset(
        tuple(words[start : start + SHINGLE_WORDS])
        for start in range(len(words) - SHINGLE_WORDS + 1)
    )


def _of_document(result: Answer) -> Passage:
    metadata = result["metadata"]
    pages = f"page {metadata['page_numbers'].replace(',', ', ')}"
    title, name = metadata["title"], metadata["source_file"]
    shown = "" if name.startswith(title) else f"{title} · "  # a title that says no more
    place = f"{pages}   {shown}{metadata['application_ref']} · {metadata['document_type']}"
    return Passage(
        document_store.NAME, _score(result, "relevance_score"), name, place, result["text"]
    )


def _of_policy(result: Answer) -> Passage:
    title = f"{result['source']}, {result['section_ref']}"
    place = f"page {result['page_number']}   {result['version_label']} · {result['revision_id']}"
    return Passage(policy_kb.NAME, _score(result, "relevance_score"), title, place, result["text"])


def _of_file(result: Answer) -> Passage:
    metadata = result["metadata"]
    parts = [
        f"page {metadata['page_number']}" if "page_number" in metadata else "",
        f"lines {metadata['start_line']}-{metadata['end_line']}"
        if "start_line" in metadata
        else "",
        f"slide {metadata['slide']}" if "slide" in metadata else "",
        f"sheet {metadata['sheet']}, rows {metadata['start_row']}-{metadata['end_row']}"
        if "sheet" in metadata
        else "",
        f"message “{metadata['message']}”" if "message" in metadata else "",
        metadata.get("header_path", ""),
        ".".join(filter(None, (metadata.get("class_name"), metadata.get("function_name")))),
    ]
    place = "   ".join(part for part in parts if part)
    title = metadata["source_file"]
    return Passage(docvec.NAME, _score(result, "score"), title, place, result["content"])


def _of_library(result: Answer) -> Passage:
    label = result.get("element_label")
    place = f"page {result['page_number']}" + (f"   {label}" if label else "")
    slug = result["document_slug"]
    return Passage(doclibrary.NAME, _score(result, "score"), slug, place, result["content"])


def _score(result: Answer, key: str) -> float:
    """The score by which a server sorts its results: that of the match, if words are compared."""
    return float(result["match"]["score"] if "match" in result else result[key])
