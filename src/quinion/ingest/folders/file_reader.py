"""file → chunks: text files are read and split in worker processes, pages of a PDF are read
there and split here."""

from collections.abc import Sequence
from dataclasses import dataclass

from quinion.chunk.paged import split_pages
from quinion.concurrency import in_thread
from quinion.embed.local.weights import find_tokenizer
from quinion.extract.formats import FileFormat
from quinion.framing import Frame
from quinion.ingest import documents
from quinion.ingest.engine_resources import Resources
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, check_unchanged
from quinion.model.chunk import FileChunk, file_chunk_from_json
from quinion.model.page import Page


@dataclass(frozen=True, slots=True)
class File:
    """A file after reading and splitting; `pages` are those of a PDF."""

    source: Source
    format: FileFormat
    chunks: Sequence[FileChunk]
    pages: Sequence[Page] = ()

    @property
    def path(self) -> str:
        return str(self.source.path)

    @property
    def hidden(self) -> dict[int, int]:
        """Number of invisible characters, by page number; pages without any are left out."""
        return {
            int(chunk.metadata["page_number"]): chunk.hidden
            for chunk in self.chunks
            if chunk.hidden
        }

    @property
    def total_tokens(self) -> int:
        return sum(chunk.tokens for chunk in self.chunks)


async def read_file(
    resources: Resources, source: Source, kind: FileFormat, size: int, progress: Progress
) -> File:
    """Read a file and split it into chunks of at most `size` tokens; none where it has no text.

    Raises:
        ExtractionFailed: the file can't be read, or changed while it was read.
        ModelUnavailable: the model, which has the tokenizer, is not installed.
        ToolMissing: a page needs OCR and Tesseract is not installed.
    """
    if kind.has_pages:
        document = await documents.read(
            resources,
            source,
            ocr=resources.settings.enable_ocr,
            threshold=documents.ANY_PICTURE,
            progress=progress,
        )
        found = await in_thread(lambda: split_pages(document.pages, resources.counter.starts, size))
        return File(source, kind, found, document.pages)
    chunks: list[FileChunk] = []

    async def keep(item: Frame) -> None:
        chunks.extend(map(file_chunk_from_json, item["chunks"]))

    await resources.workers.run(
        "read_chunks",
        keep,
        path=str(source.real_path),
        extension=source.path.suffix.lower(),
        size=size,
        tokenizer=str(find_tokenizer(resources.settings.models, resources.settings.model_dir)),
    )
    await in_thread(check_unchanged, source)
    return File(source, kind, chunks)
