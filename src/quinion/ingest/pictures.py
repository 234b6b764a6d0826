"""PNG images of pages, elements and formulas, rendered on demand and cached.

Worker processes render the images. The least recently used ones are evicted from the cache.
"""

import base64
import hashlib
import os
import shutil
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from quinion.concurrency import KeyedLock, in_thread
from quinion.framing import Frame
from quinion.ingest.engine_resources import Resources
from quinion.model.element import Box

MAX_BYTES = 512 << 20
"""Maximum size of the cache on disk."""
FORMULAS = "formulas"
_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"IEND\xaeB`\x82"


class Pictures:
    """Image cache of one library folder. An image that can't be cached is rendered again."""

    def __init__(self, resources: Resources, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._resources = resources
        self._folder = folder
        self._max_bytes = max_bytes
        self._locks = KeyedLock()

    async def page(self, path: str, sha256: str, number: int) -> bytes:
        """Render a page, at the largest size that clients accept."""
        return await self._get(
            f"{sha256}/page-{number}.png",
            lambda: self._draw(path, number, None),
        )

    async def crop(self, path: str, sha256: str, number: int, box: Box) -> bytes:
        """Render a part of a page at high resolution."""
        corners = "-".join(f"{value:.1f}" for value in asdict(box).values())
        return await self._get(
            f"{sha256}/part-{number}-{corners}.png",
            lambda: self._draw(path, number, asdict(box)),
        )

    async def formula(self, latex: str) -> bytes:
        """Render a formula from its LaTeX.

        Raises:
            InvalidInput: it cannot be rendered correctly.
        """
        name = hashlib.sha256(latex.encode()).hexdigest()
        return await self._get(
            f"{FORMULAS}/{name}.png", lambda: self._make("render_formula", latex=latex)
        )

    def drop(self, sha256: str) -> None:
        """Delete the images of a document. Blocking."""
        shutil.rmtree(self._folder / sha256, ignore_errors=True)

    def sweep(self, listed: Collection[str]) -> None:
        """Delete the images of documents that are not listed. Blocking."""
        with suppress(FileNotFoundError):
            for folder in list(self._folder.iterdir()):
                if folder.name != FORMULAS and folder.name not in listed:
                    self.drop(folder.name)

    async def _draw(self, path: str, number: int, box: Frame | None) -> bytes:
        real = await in_thread(os.path.realpath, path)  # workers do not follow links
        return await self._make("picture", path=real, page=number, box=box, limits={})

    async def _make(self, job: str, **arguments: object) -> bytes:
        item = await self._resources.element_workers.first(job, **arguments)
        return base64.b64decode(item["png"])

    async def _get(self, name: str, make: Callable[[], Awaitable[bytes]]) -> bytes:
        file = self._folder / name
        async with self._locks.hold(name):
            if (kept := await in_thread(_read, file)) is not None:
                return kept
            picture = await make()
            await in_thread(self._keep, file, picture)
            return picture

    def _keep(self, file: Path, picture: bytes) -> None:
        with suppress(OSError):  # the image is returned even if the disk is full
            file.parent.mkdir(parents=True, exist_ok=True)
            # A fixed temporary name: the next attempt overwrites the file of a killed process.
            # The lock serializes writers of the same image.
            scratch = file.with_suffix(".part")
            scratch.write_bytes(picture)
            scratch.rename(file)
            self._evict()

    def _evict(self) -> None:
        kept = [(file.stat(), file) for file in self._folder.rglob("*.png")]
        excess = sum(status.st_size for status, _ in kept) - self._max_bytes
        for status, file in sorted(kept, key=lambda one: one[0].st_mtime):
            if excess <= 0:
                break
            file.unlink(missing_ok=True)
            excess -= status.st_size


def _read(file: Path) -> bytes | None:
    """Read a cached image if it is complete: a power cut may leave a truncated file."""
    try:
        picture = file.read_bytes()
        os.utime(file)
    except OSError:
        return None
    return picture if picture.startswith(_PNG_START) and picture.endswith(_PNG_END) else None
