"""Document library: find, show and remove documents. `adder` adds them."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from difflib import get_close_matches

import anyio

from quinion.concurrency import in_thread
from quinion.errors import (
    DocumentMissing,
    ElementMissing,
    ExtractionFailed,
    InvalidInput,
    OriginalMissing,
)
from quinion.ingest.engine_resources import Resources
from quinion.ingest.library.records import (
    CONTENT,
    DOCUMENTS,
    TEXT,
    LibraryDocument,
    LibraryElement,
    document_of,
    figure_of,
)
from quinion.model.element import ElementType, fold_label
from quinion.store.filters import all_of

MAX_SUGGESTIONS = 8
"""Maximum number of similar names in an error message."""


class Library:
    """The documents of one home."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self.originals = resources.kept.originals
        self.pictures = resources.pictures

    def writing(self) -> AbstractAsyncContextManager[None]:
        """Lock the library for one change."""
        return self.resources.locks.hold(("library change",))

    async def documents(self) -> list[LibraryDocument]:
        """All documents, sorted by title."""
        found = map(document_of, await self.resources.collections.get(DOCUMENTS))
        return sorted(found, key=lambda document: (document.title.casefold(), document.slug))

    async def document(self, slug: str) -> LibraryDocument:
        """The document with this slug.

        Raises:
            DocumentMissing: no such document; the message suggests similar slugs.
        """
        documents = await self.documents()
        for document in documents:
            if document.slug == slug:
                return document
        near = get_close_matches(slug, [document.slug for document in documents], MAX_SUGGESTIONS)
        raise DocumentMissing(f"Document '{slug}' not found.{_did_you_mean(near)}")

    async def find(self, query: str) -> list[LibraryDocument]:
        """The documents with all words of the query in their slug, title or file name."""
        words = query.casefold().split()

        def fits(document: LibraryDocument) -> bool:
            text = " ".join((document.slug, document.title, document.source_file)).casefold()
            return all(word in text for word in words)

        return [document for document in await self.documents() if fits(document)]

    async def elements(self, slug: str) -> list[LibraryElement]:
        """The elements of a document, in document order."""
        await self.document(slug)
        where = all_of({"document_slug": slug}, {"kind": {"$ne": TEXT}})
        figures = map(figure_of, await self.resources.collections.get(CONTENT, where=where))
        return sorted(figures, key=lambda figure: int(figure.id.rpartition(":")[2]))

    async def element(self, slug: str, label: str, page: int | None) -> LibraryElement:
        """The element with this label, on `page` if given.

        Raises:
            DocumentMissing, ElementMissing: not found; the message suggests similar names.
            InvalidInput: several elements match.
        """
        elements = await self.elements(slug)
        named = [one for one in elements if fold_label(one.element.label) == fold_label(label)]
        found = [one for one in named if page is None or one.element.page == page]
        if not found:
            raise ElementMissing(_describe_missing(slug, label, page, named, elements))
        if len(found) > 1 and len({one.element.page for one in found}) > 1:
            choices = "; ".join(
                f"page {one.element.page} ({one.element.type})" for one in found[:MAX_SUGGESTIONS]
            )
            raise InvalidInput(
                f"Several elements of '{slug}' are called '{label}': {choices}. "
                "Give page_number to choose one."
            )
        return found[0]

    async def show_element(self, figure: LibraryElement) -> bytes:
        """A PNG of the element: its rendered LaTeX if possible, else a crop of the page.

        Raises:
            OriginalMissing: the document's file no longer exists.
        """
        if figure.element.type is ElementType.EQUATION and figure.latex:
            # LaTeX from a model may be invalid; then crop the page.
            with suppress(InvalidInput, ExtractionFailed):
                return await self.pictures.formula(figure.latex)
        document = await self.document(figure.document_slug)
        path = await self._original(document)
        page, box = figure.element.page, figure.element.box
        with _name_original(document):
            return await self.pictures.crop(path, document.sha256, page, box)

    async def show_page(self, document: LibraryDocument, number: int) -> bytes:
        """A PNG of a page.

        Raises:
            InvalidInput: the page does not exist.
            OriginalMissing: the document's file no longer exists.
        """
        if not 1 <= number <= document.total_pages:
            raise InvalidInput(
                f"Page {number} not found. Document has {document.total_pages} pages."
            )
        path = await self._original(document)
        with _name_original(document):
            return await self.pictures.page(path, document.sha256, number, extension=".pdf")

    async def remove(self, slug: str) -> LibraryDocument:
        """Remove a document from the library, with its original and cached images.

        Raises:
            DocumentMissing: there is no document with this slug.
        """
        async with self.writing():
            document = await self.document(slug)
            with anyio.CancelScope(shield=True):
                async with self.resources.kept.change(removed=[document.sha256]):
                    await self.resources.collections.delete(document.selectors())
            return document

    async def _original(self, document: LibraryDocument) -> str:
        path = await in_thread(self.originals.fetch, document.sha256)
        if path is None:
            raise OriginalMissing(
                f"The original of '{document.slug}' ({document.source_file}) is no longer in the "
                f"library. Remove the document and add it again: quinion library remove "
                f"{document.slug}"
            )
        return str(path)


@contextmanager
def _name_original(document: LibraryDocument) -> Iterator[None]:
    """Replace the hash in error messages about the stored copy by the original file name."""
    try:
        yield
    except ExtractionFailed as error:
        message = error.message.replace(document.sha256, document.source_file)
        raise ExtractionFailed(message) from error


def _describe_missing(
    slug: str,
    label: str,
    page: int | None,
    named: Sequence[LibraryElement],
    elements: Sequence[LibraryElement],
) -> str:
    where = f" on page {page}" if page is not None else ""
    message = f"Element '{label}' not found in document '{slug}'{where}."
    if named:
        pages = ", ".join(str(one.element.page) for one in named[:MAX_SUGGESTIONS])
        return f"{message} It is on page {pages}."
    labels = {fold_label(one.element.label): one.element.label for one in elements}
    near = get_close_matches(fold_label(label), labels, MAX_SUGGESTIONS)
    return message + _did_you_mean([labels[one] for one in near])


def _did_you_mean(names: Sequence[str]) -> str:
    return f" Did you mean: {', '.join(names)}?" if names else ""
