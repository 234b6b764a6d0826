"""PNG images of pages, elements and formulas, rendered on demand and cached.

Worker processes render the images. The least recently used ones are evicted from the cache.
"""

import base64
import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from quinion.concurrency import KeyedLock, in_thread
from quinion.ingest.engine_resources import Resources
from quinion.model.element import Box
from quinion.workers.pool import Workers

MAX_BYTES = 512 << 20
"""Maximum size of the cache on disk."""
FORMULAS = "formulas"
_PNG_START = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"IEND\xaeB`\x82"


class Pictures:
    """Image cache in one folder. An image that can't be cached is rendered again."""

    def __init__(self, resources: Resources, folder: Path, max_bytes: int = MAX_BYTES) -> None:
        self._resources = resources
        self._folder = folder
        self._max_bytes = max_bytes
        self._locks = KeyedLock()

    async def page(self, path: str, sha256: str, number: int, **how: object) -> bytes:
        """Render a page, at the largest size that clients accept.

        `how` are further arguments of `render_page`: marks, a part of the page, other limits.
        """
        what = {name: value for name, value in how.items() if name != "extension"}
        digest = hashlib.sha256(json.dumps(what).encode()).hexdigest() if what else ""
        return await self._get(
            f"{sha256}/page-{number}{digest and '-'}{digest[:32]}.png",
            lambda: self._draw(path, number, **how),
        )

    async def crop(self, path: str, sha256: str, number: int, box: Box) -> bytes:
        """Render a part of a page at high resolution."""
        corners = "-".join(f"{value:.1f}" for value in asdict(box).values())
        return await self._get(
            f"{sha256}/part-{number}-{corners}.png",
            lambda: self._draw(path, number, box=asdict(box), extension=".pdf"),
        )

    async def formula(self, latex: str) -> bytes:
        """Render a formula from its LaTeX.

        Raises:
            InvalidInput: it cannot be rendered correctly.
        """
        name = hashlib.sha256(latex.encode()).hexdigest()
        return await self._get(
            f"{FORMULAS}/{name}.png",
            lambda: self._make(self._resources.element_workers, "render_formula", latex=latex),
        )

    async def _draw(self, path: str, number: int, **how: object) -> bytes:
        real = await in_thread(os.path.realpath, path)  # workers do not follow links
        workers = self._resources.page_workers
        return await self._make(workers, "picture", path=real, page=number, **how)

    async def _make(self, workers: Workers, job: str, **arguments: object) -> bytes:
        item = await workers.first(job, **arguments)
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
