"""Integrity check of doclibrary: compares the list of documents, their content and originals."""

from collections import Counter

from quinion.concurrency import in_thread
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import CONTENT, TEXT, LibraryDocument
from quinion.model.element import ElementType


async def find_problems(library: Library) -> list[str]:
    """One line per inconsistency; an empty list means the library is consistent."""
    kinds = await _count_kinds(library)
    documents = {document.slug: document for document in await library.documents()}
    problems = []
    for slug, document in documents.items():
        found = kinds.get(slug, Counter())
        if {f"{kind}s": found[kind] for kind in ElementType} != document.counts:
            problems.append(f"{slug}: the elements stored are not as many as are listed")
        problems += await in_thread(_check_original, library, document)
    return problems + [
        f"{slug}: {found[TEXT]} chunks and {found.total() - found[TEXT]} elements are stored of "
        "a document that is not listed: add it again"
        for slug, found in kinds.items()
        if slug not in documents
    ]


async def _count_kinds(library: Library) -> dict[str, Counter[str]]:
    kinds: dict[str, Counter[str]] = {}
    for record in await library.resources.collections.get(CONTENT):
        slug = str(record.metadata["document_slug"])
        kinds.setdefault(slug, Counter())[str(record.metadata["kind"])] += 1
    return kinds


def _check_original(library: Library, document: LibraryDocument) -> list[str]:
    if not library.originals.has(document.sha256):
        return [f"{document.slug}: its original ({document.source_file}) is gone"]
    if library.originals.is_damaged(document.sha256):
        return [f"{document.slug}: its original ({document.source_file}) is damaged"]
    return []
