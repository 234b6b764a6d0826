"""Search results of all servers as passages: the best first, each passage once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from quinion.lexical.overlap import Shingles, find_shingles
from quinion.servers import doclibrary, document_store, docvec, policy_kb

Answer = dict[str, Any]
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
    document: str = ""
    """Id of the document, source and revision of a policy, path of a file, or slug."""
    page: int | None = None
    label: str = ""
    """Section of a policy, or label of an element."""
    chunk_id: str = ""
    evidence: Answer | None = None
    """Where it lies on its page, if that is known."""
    file: str = ""
    """Path of the file, if the server says it; of PDFs to commands only."""

    @property
    def location(self) -> str:
        """Address of the file and the page in it, for terminals; empty if it is not known."""
        if not Path(self.file).is_absolute():
            return ""
        page = f"#page={self.page}" if self.page else ""
        return f"{Path(self.file).as_uri()}{page}"

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
    kept: list[tuple[Passage, Shingles]] = []
    for passage in found:
        shingles = find_shingles(passage.text)
        same = next((one for one, its in kept if _is_same(one, its, passage, shingles)), None)
        if same is None:
            kept.append((passage, shingles))
        else:
            same.others.append(f"{passage.source} ({passage.server})")
    return [passage for passage, _ in kept]


def _is_same(one: Passage, its: Shingles, other: Passage, shingles: Shingles) -> bool:
    if one.server == other.server:  # a server merges its own results, if asked
        return False
    return len(its & shingles) >= SAME_SHARE * min(len(its), len(shingles))


def _of_document(result: Answer) -> Passage:
    metadata = result["metadata"]
    numbers = metadata["page_numbers"]
    pages = f"page{'s' * (',' in numbers)} {numbers.replace(',', ', ')}"
    title, name = metadata["title"], metadata["source_file"]
    is_name = _join_words(name).startswith(_join_words(title))  # it says no more
    shown = "" if is_name else f"{title} · "
    place = f"{pages}   {shown}{metadata['application_ref']} · {metadata['document_type']}"
    return Passage(
        document_store.NAME,
        _score(result, "relevance_score"),
        name,
        place,
        result["text"],
        _same_texts(result, document_store.NAME),
        document=metadata["document_id"],
        page=int(metadata["page_numbers"].partition(",")[0]),
        chunk_id=result["chunk_id"],
        evidence=result.get("evidence"),
        file=_file(result),
    )


def _join_words(text: str) -> str:
    return text.replace("_", " ").casefold()


def _of_policy(result: Answer) -> Passage:
    title = f"{result['source']}, {result['section_ref']}"
    place = f"page {result['page_number']}   {result['version_label']} · {result['revision_id']}"
    return Passage(
        policy_kb.NAME,
        _score(result, "relevance_score"),
        title,
        place,
        result["text"],
        _same_texts(result, policy_kb.NAME),
        document=f"{result['source']}/{result['revision_id']}",
        page=result["page_number"],
        label=result["section_ref"],
        chunk_id=result["chunk_id"],
        evidence=result.get("evidence"),
        file=_file(result),
    )


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
    return Passage(
        docvec.NAME,
        _score(result, "score"),
        title,
        place,
        result["content"],
        _same_texts(result, docvec.NAME),
        document=title,
        page=metadata.get("page_number"),
        chunk_id=result["chunk_id"],
        evidence=result.get("evidence"),
        file=title,
    )


def _of_library(result: Answer) -> Passage:
    label = result.get("element_label")
    place = f"page {result['page_number']}" + (f"   {label}" if label else "")
    slug = result["document_slug"]
    return Passage(
        doclibrary.NAME,
        _score(result, "score"),
        slug,
        place,
        result["content"],
        _same_texts(result, doclibrary.NAME),
        document=slug,
        page=result["page_number"],
        label=label or "",
        evidence=result.get("evidence"),
        chunk_id=_cited_chunk(result),
    )


def _file(result: Answer) -> str:
    return str((result.get("evidence") or {}).get("file", ""))


def _cited_chunk(result: Answer) -> str:
    """The chunk in the URI of the evidence; empty if the result has none."""
    uri = str((result.get("evidence") or {}).get("uri", ""))
    return parse_qs(urlsplit(uri).query).get("chunk", [""])[0]


def _same_texts(result: Answer, server: str) -> list[str]:
    """The chunks that a merged result stands for."""
    return [f"{id_} ({server})" for id_ in result.get("merged", {}).get("same_text", [])]


def _score(result: Answer, key: str) -> float:
    """The score by which a server sorts its results: that of the match, if words are compared."""
    return float(result["match"]["score"] if "match" in result else result[key])
