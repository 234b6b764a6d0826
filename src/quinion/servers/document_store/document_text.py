"""Text of a document, reassembled from its chunks."""

from collections.abc import Iterator, Sequence

from quinion.engine import Engine
from quinion.errors import DocumentMissing, InvalidInput, NoChunks
from quinion.model.record import Record, is_flagged
from quinion.servers.document_store.answers import DocumentText, Listed
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.servers.response_size import how_many_fit

SEPARATOR = "\n\n"


async def read_text(
    engine: Engine, document_id: str, without_overlap: bool, from_chunk: int
) -> DocumentText:
    """Read the text from the given chunk on, as much as fits into one answer.

    Raises:
        DocumentMissing: the id is not in the registry.
        NoChunks: the document is registered, but no chunks are stored.
        InvalidInput: `from_chunk` is past the last chunk.
    """
    entries = await engine.collections.get(REGISTRY, ids=[document_id])
    if not entries:
        raise DocumentMissing(f"Document not found: {document_id}")
    document = Listed.of(entries[0])
    records = await engine.collections.get(CHUNKS, where={"document_id": document_id})
    if not records:
        raise NoChunks(f"Document {document_id} has no chunks. Ingest its file again.")
    if from_chunk >= len(records):
        raise InvalidInput(
            f"from_chunk is {from_chunk}, but {document_id} has {len(records)} chunks."
        )
    records.sort(key=_index)
    parts = list(_without_overlap(records) if without_overlap else _full_chunks(records))[
        from_chunk:
    ]
    count = max(1, how_many_fit(parts))
    shown = records[from_chunk : from_chunk + count]
    return DocumentText(
        document_id=document_id,
        file_path=document.file_path,
        document_type=document.document_type,
        chunk_count=len(records),
        text=("" if without_overlap else SEPARATOR).join(parts[:count]),
        next_chunk=from_chunk + count if count < len(parts) else None,
        hidden_text=any(is_flagged(record.metadata) for record in shown),
    )


def _index(record: Record) -> int:
    return int(record.metadata["chunk_index"])


def _full_chunks(records: Sequence[Record]) -> Iterator[str]:
    return (record.text for record in records)


def _without_overlap(records: Sequence[Record]) -> Iterator[str]:
    """Yield the text that each chunk adds to the previous ones, with the gap before it.

    Chunks written by other programs have no offsets and are assumed not to overlap.
    """
    reached = 0
    for record in records:
        start = int(record.metadata.get("char_start", reached))
        gap = str(record.metadata.get("gap_before", SEPARATOR if reached else ""))
        yield gap + record.text[max(0, reached - start) :]
        reached = max(reached, start + len(record.text))
