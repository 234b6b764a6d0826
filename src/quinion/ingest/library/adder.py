"""`quinion library add`, step by step.

    open → convert to PDF → known already? → read pages → find elements → split → embed
    → keep original → store

Nothing is written before the last two steps. The original is stored first; if the process dies
before the document is listed, the next start deletes it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from quinion.chunk.paged import split_pages
from quinion.concurrency import in_thread, together
from quinion.embed.base import Vectors
from quinion.extract.formats import OFFICE
from quinion.framing import Frame
from quinion.ingest import documents
from quinion.ingest.engine_resources import Arguments, Resources
from quinion.ingest.foreign_text import check_language
from quinion.ingest.kept_files import NewFile
from quinion.ingest.library.library import Library
from quinion.ingest.library.records import (
    CONTENT,
    DOCUMENTS,
    LibraryDocument,
    chunk_records,
    count_types,
    document_record,
    figure_record,
    figures_of,
    now,
    placeholder,
    possible_slugs,
    searchable_text,
)
from quinion.ingest.progress import Progress
from quinion.ingest.source import Source, check_unchanged, open_source
from quinion.model.element import Element, element_of_json
from quinion.model.page import Page, count_hidden_by_page
from quinion.store.collections import Write

EXTENSIONS = frozenset({".pdf", *OFFICE})
CHUNK_TOKENS = 254
"""Input limit of the local model, in tokens of text."""
SLICE_RECORDS = 256
SLICE_PAGES = 8
TASK = "library document"
"""Kind of the tasks for workers."""

Added = tuple[LibraryDocument, bool, dict[int, int]]
"""A document, whether it is new, and its numbers of invisible characters by page."""


class DocumentAdder:
    """Adds documents; concurrent calls for the same document add it once."""

    def __init__(self, library: Library) -> None:
        self._library = library

    async def add(self, file_path: str, progress: Progress) -> Added:
        """Add a PDF, or an office or web file, which is converted to PDF.

        Returns the document, whether it is new, and if so, the number of invisible characters by
        page number.

        Raises:
            FileProblem, ToolMissing: the file cannot be ingested.
            StoreUnavailable: the store cannot be read or written.
            ModelUnavailable: the embedding model cannot be used.
        """
        resources = self._library.resources
        given = await in_thread(open_source, file_path, EXTENSIONS, resources.settings.read_roots)
        if resources.queue:
            found = await resources.queue.run(TASK, given, {}, progress)
            if found is not None:
                await in_thread(resources.store.refresh)
                return _results().validate_python(found)
        return await self._add_source(given, progress)

    async def do_task(self, given: Source, _: Arguments, progress: Progress) -> Any:
        """Add a file that a server has handed over; see `DoTask`."""
        return _results().dump_python(await self._add_source(given, progress), mode="json")

    async def _add_source(self, given: Source, progress: Progress) -> Added:
        resources = self._library.resources
        async with (
            _as_pdf(resources, given) as source,
            resources.locks.hold(("library document", source.sha256)),
        ):
            for document in await self._library.documents():
                if document.sha256 == source.sha256:
                    return document, False, {}
            document, hidden = await self._ingest(source, given.path, progress)
            return document, True, hidden

    async def _ingest(
        self, source: Source, given: Path, progress: Progress
    ) -> tuple[LibraryDocument, dict[int, int]]:
        resources = self._library.resources
        options = {"ocr": resources.settings.enable_ocr, "extension": source.path.suffix}
        info = await resources.workers.first(
            "describe", path=str(source.real_path), options=options
        )
        reading = await documents.read(
            resources,
            source,
            ocr=resources.settings.enable_ocr,
            threshold=documents.ANY_PICTURE,
            progress=progress,
        )
        count = len(reading.pages)

        async def second_half(done: float, _: float, message: str) -> None:
            await progress(count + done, 2 * count, message)

        elements = await _find_elements(resources, source, count, second_half)
        await in_thread(check_unchanged, source)
        draft = LibraryDocument(
            slug="",
            title=(info["title"] if _has_title(given) else "") or given.stem,
            source_file=given.name,
            sha256=source.sha256,
            total_pages=count,
            keywords=tuple(info["keywords"]),
            date_added=now(),
            counts=count_types(elements),
        )
        document = await self._store(source, draft, reading.pages, elements)
        check_language(given.name, (page.text for page in reading.pages))
        return document, count_hidden_by_page(reading.pages)

    async def _store(
        self, source: Source, draft: LibraryDocument, pages: Sequence[Page], elements: list[Element]
    ) -> LibraryDocument:
        library, resources = self._library, self._library.resources
        chunks = await in_thread(lambda: split_pages(pages, resources.counter.starts, CHUNK_TOKENS))
        hidden = count_hidden_by_page(pages)
        texts = [chunk.text for chunk in chunks]
        texts += map(searchable_text, figures_of("", elements, hidden))
        vectors = await self._embed(texts)
        async with library.writing():
            taken = {document.slug for document in await library.documents()}
            slug = next(
                slug for slug in possible_slugs(Path(draft.source_file)) if slug not in taken
            )
            document = replace(draft, slug=slug)
            records = [
                *chunk_records(slug, chunks),
                *map(figure_record, figures_of(slug, elements, hidden)),
            ]

            def store(write: Write) -> None:
                for selector in document.selectors():  # remains of an incomplete document
                    write.delete(selector)
                write.upsert(CONTENT, records, vectors)
                write.upsert(DOCUMENTS, [document_record(document)], placeholder())

            new = NewFile(source.real_path, source.sha256, pages, required=True)
            async with resources.kept.change([new]):
                await resources.collections.write(store)
        return document

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        parts = [
            await in_thread(
                self._library.resources.model.embed, texts[start : start + SLICE_RECORDS]
            )
            for start in range(0, len(texts), SLICE_RECORDS)
        ]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)


@cache
def _results() -> TypeAdapter[Added]:
    """The JSON form of results."""
    return TypeAdapter(Added)


def _has_title(given: Path) -> bool:
    """Whether the first page may have a title; that of a table has none."""
    format = OFFICE.get(given.suffix.lower())
    return format is None or format.is_prose


@asynccontextmanager
async def _as_pdf(resources: Resources, given: Source) -> AsyncIterator[Source]:
    """Yield the file itself if it is a PDF, or else its conversion, which exists in the block."""
    if given.path.suffix.lower() == ".pdf":
        yield given
        return
    with TemporaryDirectory(prefix="quinion-", ignore_cleanup_errors=True) as folder:
        target = await in_thread(lambda: Path(folder).resolve() / f"{given.path.name}.pdf")
        await resources.workers.first(
            "convert",
            path=str(given.real_path),
            extension=given.path.suffix.lower(),
            target=str(target),
        )
        await in_thread(check_unchanged, given)
        yield await in_thread(open_source, str(target), {".pdf"}, ())


async def _find_elements(
    resources: Resources, source: Source, page_count: int, progress: Progress
) -> list[Element]:
    """Find the elements of a document, in page order.

    Raises:
        ExtractionFailed: the file can't be read.
        ToolMissing: a page needs OCR and Tesseract is not installed.
    """
    found: dict[int, list[Element]] = {}
    workers = resources.element_workers
    slices = iter(range(1, page_count + 1, SLICE_PAGES))

    async def keep(item: Frame) -> None:
        found[item["number"]] = list(map(element_of_json, item["elements"]))
        message = f"looked for figures on page {item['number']} of {page_count}"
        await progress(len(found), page_count, message)

    async def work() -> None:
        for first in slices:
            last = min(first + SLICE_PAGES - 1, page_count)
            await workers.run(
                "find_elements",
                keep,
                path=str(source.real_path),
                first=first,
                last=last,
                ocr=resources.settings.enable_ocr,
            )

    await together(*[work] * workers.size)
    return [element for number in sorted(found) for element in found[number]]
