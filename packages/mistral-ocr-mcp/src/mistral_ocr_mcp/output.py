"""Output folder of a document: image files, and `content.md` that refers to them."""

from collections import deque
from dataclasses import dataclass, field

from mistral_ocr_mcp.images import choose_name
from mistral_ocr_mcp.links import rewrite_images
from mistral_ocr_mcp.ocr import Image, Page
from mistral_ocr_mcp.sandbox import Draft
from mistral_ocr_mcp.spool import Decoder, Picture, Spool

CONTENT = "content.md"
INLINE = "inline"
EMPTY_LINK = ""
"""Destination of references without an image; the id itself could be a path or a URL."""


def join(pages: list[Page]) -> str:
    """Join the Markdown of the pages."""
    return "\n\n".join(page.markdown for page in pages)


@dataclass
class Output:
    """Writes images and Markdown to a draft folder."""

    draft: Draft
    spool: Spool
    images: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)

    def save_image(self, image: Image) -> None:
        """Write one image, or record why it is skipped.

        Raises:
            Failure: the file cannot be written.
        """
        if image.picture is None:
            self.skipped.append((image.id, "the API sent no data for it"))
        elif image.picture.problem is not None:
            self.skipped.append((image.id, image.picture.problem))
        else:
            self._names[id(image)] = self._write(image.id, image.picture)

    def save_markdown(self, pages: list[Page]) -> None:
        """Write `content.md`; call it after all images are saved.

        Raises:
            Failure: the file cannot be written.
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
        # If several images of a page share an id, references use them in order.
        targets: dict[str, deque[str]] = {}
        for image in page.images:
            name = self._names.get(id(image))
            targets.setdefault(image.id, deque()).append(f"./{name}" if name else EMPTY_LINK)

        def redirect(destination: str) -> str | None:
            if destination in targets:
                names = targets[destination]
                return names.popleft() if len(names) > 1 else names[0]
            if destination[:5].lower() == "data:":
                return self._save_inline(destination)
            return None

        return rewrite_images(page.markdown, targets, redirect)

    def _save_inline(self, address: str) -> str:
        """Write an image that is embedded in the Markdown as a data URL."""
        decoder = Decoder(self.spool)
        decoder.feed(address)
        picture = decoder.finish()
        if picture.problem is not None:
            self.skipped.append((INLINE, picture.problem))
            return EMPTY_LINK
        return f"./{self._write(INLINE, picture)}"
