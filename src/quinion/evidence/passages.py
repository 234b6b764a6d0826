"""Passages that answers cite: where they lie, and pages with them marked.

    record ─server─▶ passage ─▶ words of its pages ─▶ regions ─▶ image

Words that are kept are read from the home. Others are found in the original, and then kept. If the
place of a passage cannot be determined, the answer says so and the page is shown without marks.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quinion.concurrency import in_thread
from quinion.errors import (
    FileMissing,
    FileProblem,
    FileUnreadable,
    InvalidInput,
    OriginalMissing,
    QuinionError,
)
from quinion.evidence.marks import Region, is_passage, mark
from quinion.evidence.recover import recover
from quinion.extract.formats import IMAGE, PDF, by_extension
from quinion.framing import Frame
from quinion.ingest.engine_resources import Resources
from quinion.ingest.source import Digests, open_source
from quinion.model.element import Box as PointBox
from quinion.model.page import Box, PageSpan, PageWords, decode_words, words_of_text

PAGED = by_extension([PDF, IMAGE])
"""Formats whose pages can be shown, by extension."""
CONTEXT = 0.05
"""Context of a passage in a cropped image, as a share of the page."""
UNKNOWN = (
    "The place of this passage on the page is not known, so nothing is marked. Ingest the document "
    "again to have it marked."
)
NO_WORDS = "The words of this page could not be read, so nothing is marked."


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk or an element, with what it takes to show it.

    `document` is the name for people, and `document_id` the one for the server. `path` is the file
    that was ingested, and `sha256` the hash of its content; empty if it was not recorded. `spans`
    is the place of a chunk, empty if its record has none. An element has a `box` instead, in
    points.
    """

    id: str
    text: str
    document_id: str
    document: str
    path: Path
    sha256: str
    pages: tuple[int, ...]
    spans: tuple[PageSpan, ...] = ()
    box: PointBox | None = None

    @property
    def extension(self) -> str:
        """The extension of its file, which tells the format."""
        return self.path.suffix.lower()

    @property
    def numbers(self) -> tuple[int, ...]:
        """The pages on which it is looked for."""
        return tuple(dict.fromkeys(span.page for span in self.spans)) or self.pages


@dataclass(frozen=True, slots=True)
class Located:
    """Where a passage lies; without regions, `note` says why its place is not known."""

    regions: tuple[Region, ...] = ()
    note: str | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether a part of the passage is invisible on the page."""
        return any(region.hidden for region in self.regions)


@dataclass(frozen=True, slots=True)
class _Original:
    path: Path
    sha256: str
    extension: str
    document: str


class Evidence:
    """Locates passages and renders their pages."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._digests = Digests()

    async def warm(self) -> None:
        """Start a worker for images in advance; a failure is reported by the first image."""
        with suppress(QuinionError):
            await self._resources.page_workers.warm()

    async def find(self, passages: Sequence[Passage]) -> list[Located]:
        """Locate passages by the words that are kept, without opening an original."""
        return await in_thread(
            lambda: [_place(passage, self._read_words(passage)) for passage in passages]
        )

    async def locate(self, passage: Passage) -> Located:
        """Locate a passage. Words that are not kept are found in the original, and then kept.

        Raises:
            OriginalMissing: they are not kept, and the original is gone or has changed.
            FileProblem, ToolMissing: the original cannot be read.
        """
        words = await in_thread(self._read_words, passage)
        missing = [number for number in passage.numbers if number not in words]
        if missing:
            original = await self._open(passage)
            for number in missing:
                if found := await self._find_words(original, number):
                    words[number] = found
        return await in_thread(_place, passage, words)

    async def count_pages(self, passage: Passage) -> int:
        """Count the pages of the passage's document.

        Raises:
            OriginalMissing, FileProblem: see `show`.
        """
        item = await self._ask(await self._open(passage), passage.pages[0], ocr=False)
        return int(item["page_count"])

    async def show(
        self,
        passage: Passage,
        page: int,
        regions: Iterable[Region] = (),
        *,
        cropped: bool = False,
        limits: Mapping[str, int] | None = None,
    ) -> bytes:
        """Render a page of the passage's document with these regions marked, as a PNG.

        A `cropped` image has only the marked part with some context.

        Raises:
            OriginalMissing: the original is gone and was not kept, or has changed.
            InvalidInput: there is no such page.
            FileProblem: the original cannot be read.
        """
        original = await self._open(passage)
        how: dict[str, object] = {"extension": original.extension}
        if limits:
            how["limits"] = dict(limits)
        for region in regions:
            if region.page == page:
                how["marks"] = {"boxes": region.boxes, "hidden": region.hidden}
                if cropped:
                    how["clip"] = _surround([*region.boxes, *region.hidden])
        try:
            return await self._resources.pictures.page(
                str(original.path), original.sha256, page, **how
            )
        except (FileProblem, InvalidInput) as error:
            raise _name(error, original) from error

    def _read_words(self, passage: Passage) -> dict[int, PageWords]:
        found = {}
        for number in passage.numbers if passage.sha256 else ():
            data = self._resources.kept.words.read(passage.sha256, number)
            if data is not None and (words := decode_words(data)) is not None:
                found[number] = words
        return found

    async def _find_words(self, original: _Original, number: int) -> PageWords | None:
        ocr = self._resources.settings.enable_ocr
        encoded = words_of_text((await self._ask(original, number, ocr=ocr))["words"])
        if not encoded:
            return None
        await self._resources.kept.keep_words(original.sha256, {number: encoded})
        return decode_words(encoded)

    async def _ask(self, original: _Original, number: int, *, ocr: bool) -> Frame:
        options = {"ocr": ocr, "extension": original.extension}
        try:
            return await self._resources.page_workers.first(
                "page_words", path=str(original.path), page=number, options=options
            )
        except FileProblem as error:
            raise _name(error, original) from error

    async def _open(self, passage: Passage) -> _Original:
        """Find the kept original, or the file that was ingested if it has not changed."""
        return await in_thread(self._find_original, passage)

    def _find_original(self, passage: Passage) -> _Original:
        if passage.extension not in PAGED:
            raise InvalidInput(f"{passage.document} has no pages that can be shown.")
        kept = passage.sha256 and self._resources.kept.originals.fetch(passage.sha256)
        if kept:
            return _Original(kept, passage.sha256, passage.extension, passage.document)
        roots = self._resources.settings.read_roots
        try:
            source = open_source(str(passage.path), PAGED, roots, self._digests)
        except (FileMissing, FileUnreadable) as error:
            raise OriginalMissing(
                f"The file of {passage.document} is gone and was not kept. Put it back at "
                f"{passage.path}, or ingest it again."
            ) from error
        if passage.sha256 and source.sha256 != passage.sha256:
            raise OriginalMissing(
                f"{passage.path} has changed since it was ingested, and its earlier content was "
                "not kept. Ingest it again."
            )
        return _Original(source.real_path, source.sha256, passage.extension, passage.document)


def _place(passage: Passage, pages: Mapping[int, PageWords]) -> Located:
    """Locate a passage by the words of its pages."""
    if any(number not in pages for number in passage.numbers):
        return Located(note=NO_WORDS)
    if passage.box is not None:
        return _place_element(passage.pages[0], passage.box, pages)
    spans = passage.spans or recover(passage.text, passage.pages, pages)
    if not spans or not is_passage(passage.text, spans, pages):
        return Located(note=UNKNOWN)
    numbers = dict.fromkeys(span.page for span in spans)
    return Located(
        tuple(
            mark(number, pages[number], [span for span in spans if span.page == number])
            for number in numbers
        )
    )


def _place_element(number: int, box: PointBox, pages: Mapping[int, PageWords]) -> Located:
    width, height = pages[number].size
    if not width or not height:
        return Located(note=UNKNOWN)
    place = (box.x0 / width, box.y0 / height, box.x1 / width, box.y1 / height)
    return Located((Region(number, (place,), blocks=(place,)),))


def _surround(boxes: Sequence[Box]) -> Box:
    left, top, right, bottom = zip(*boxes, strict=True)
    return (
        max(0.0, min(left) - CONTEXT),
        max(0.0, min(top) - CONTEXT),
        min(1.0, max(right) + CONTEXT),
        min(1.0, max(bottom) + CONTEXT),
    )


def _name(error: QuinionError, original: _Original) -> QuinionError:
    """Name the document in an error: the kept copy has a hash as its name."""
    return type(error)(error.message.replace(original.path.name, original.document))
