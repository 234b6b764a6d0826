"""Output folder of a document: image files, and `content.md` that refers to them."""

from collections import deque
from dataclasses import dataclass, field
from hashlib import sha256

from mistral_ocr_mcp.images import choose_name
from mistral_ocr_mcp.links import Missing, rewrite_images
from mistral_ocr_mcp.ocr import Image, Page
from mistral_ocr_mcp.sandbox import Draft
from mistral_ocr_mcp.spool import Decoder, Picture, Spool

CONTENT = "content.md"
INLINE = "inline"


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
        targets: dict[str, deque[str | Missing]] = {}
        for image in page.images:
            name = self._names.get(id(image))
            target = f"./{name}" if name else Missing(image.id)
            targets.setdefault(image.id, deque()).append(target)
        saved = {
            self._digest(image.picture): name
            for image in page.images
            if image.picture is not None and (name := self._names.get(id(image)))
        }

        def redirect(destination: str) -> str | Missing | None:
            if destination in targets:
                names = targets[destination]
                return names.popleft() if len(names) > 1 else names[0]
            if destination[:5].lower() == "data:":
                return self._save_inline(destination, saved)
            return None

        return rewrite_images(page.markdown, targets, redirect)

    def _save_inline(self, address: str, saved: dict[bytes, str]) -> str | Missing:
        """Write an image that is embedded in the Markdown as a data URL, unless it is `saved`.

        `saved` has the digests and names of the page's images, and gets this one.
        """
        decoder = Decoder(self.spool)
        decoder.feed(address)
        picture = decoder.finish()
        if picture.problem is not None:
            self.skipped.append((INLINE, picture.problem))
            return Missing(INLINE)
        digest = self._digest(picture)
        if digest not in saved:
            saved[digest] = self._write(INLINE, picture)
        return f"./{saved[digest]}"

    def _digest(self, picture: Picture) -> bytes:
        digest = sha256()
        for piece in self.spool.read(picture):
            digest.update(piece)
        return digest.digest()
