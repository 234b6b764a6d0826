"""Chunks as another program stores them that keeps to the spec, and to no more."""

from tests.contract.folder import Entry

COLLECTION = "policy_docs"
OPEN_END = 99991231


def foreign_chunk(
    source: str,
    revision_id: str,
    index: int,
    section: str = "Chapter 1",
    page: int = 1,
    text: str = "A chunk.",
) -> Entry:
    """One chunk of a revision that is in force since 2021; no two point the same way."""
    return Entry(
        id=f"{source}__{revision_id}__{section.replace(' ', '_')}__{index:03d}",
        text=text,
        metadata={
            "source": source,
            "source_title": "A title",
            "revision_id": revision_id,
            "version_label": "January 2021",
            "effective_from": 20210101,
            "effective_to": OPEN_END,
            "section_ref": section,
            "page_number": page,
            "chunk_index": index,
        },
        vector=[0.0] * index + [1.0],
    )
