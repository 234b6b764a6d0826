"""The folder that a document becomes: its images as files, and `content.md` that shows them."""

from collections import deque
from dataclasses import dataclass, field

from mistral_ocr_mcp.images import choose_name
from mistral_ocr_mcp.links import rewrite_images
from mistral_ocr_mcp.ocr import Image, Page
from mistral_ocr_mcp.sandbox import Draft
from mistral_ocr_mcp.spool import Decoder, Picture, Spool

CONTENT = "content.md"
INLINE = "inline"
NOWHERE = ""
"""Where a reference leads whose image did not come: nowhere, and never to what its id says."""


def join(pages: list[Page]) -> str:
    """The Markdown of a document, page by page."""
    return "\n\n".join(page.markdown for page in pages)


@dataclass
class Output:
    """What was written so far."""

    draft: Draft
    spool: Spool
    images: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)

    def save_image(self, image: Image) -> None:
        """Write one image, or note why it cannot be.

        Raises:
            Failure: the system refuses to write.
        """
        if image.picture is None:
            self.skipped.append((image.id, "the API sent no data for it"))
        elif image.picture.flaw is not None:
            self.skipped.append((image.id, image.picture.flaw))
        else:
            self._names[id(image)] = self._write(image.id, image.picture)

    def save_markdown(self, pages: list[Page]) -> None:
        """Write `content.md`, when all images are written.

        Raises:
            Failure: the system refuses to write.
        """
        text = join([Page(self._link(page), ()) for page in pages])
        with self.draft.create(CONTENT) as file:
            file.write(text.encode(errors="replace"))

    def _write(self, image_id: str, picture: Picture) -> str:
        name = choose_name(image_id, picture.mime, {CONTENT, *map(str.lower, self.images)})
        with self.draft.create(name) as file:
            for piece in self.spool.read(picture):
                file.write(piece)
        self.images.append(name)
        return name

    def _link(self, page: Page) -> str:
        # Where several images of a page have one id, the references take them in turn.
        targets: dict[str, deque[str]] = {}
        for image in page.images:
            name = self._names.get(id(image))
            targets.setdefault(image.id, deque()).append(f"./{name}" if name else NOWHERE)

        def redirect(destination: str) -> str | None:
            if destination in targets:
                turn = targets[destination]
                return turn.popleft() if len(turn) > 1 else turn[0]
            if destination[:5].lower() == "data:":
                return self._save_inline(destination)
            return None

        return rewrite_images(page.markdown, targets, redirect)

    def _save_inline(self, address: str) -> str:
        """Write an image whose data stands in the Markdown itself."""
        decoder = Decoder(self.spool)
        decoder.feed(address)
        picture = decoder.finish()
        if picture.flaw is not None:
            self.skipped.append((INLINE, picture.flaw))
            return NOWHERE
        return f"./{self._write(INLINE, picture)}"
