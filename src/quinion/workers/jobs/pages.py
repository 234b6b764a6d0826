"""Jobs on single pages that somebody wants to see: render them, and find their words.

Workers of their own do them, so that a page is shown while documents are being read.
"""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

from quinion.extract import document
from quinion.extract.page_image import Marks, PictureLimits, render_page
from quinion.framing import Frame
from quinion.model.element import Box
from quinion.workers.jobs import Job


def _picture(
    path: str,
    page: int,
    extension: str = "",
    box: Frame | None = None,
    clip: list[float] | None = None,
    marks: Frame | None = None,
    limits: Frame | None = None,
) -> Iterator[Frame]:
    png = render_page(
        Path(path),
        page,
        extension=extension,
        box=Box(**box) if box else None,
        clip=(clip[0], clip[1], clip[2], clip[3]) if clip else None,
        marks=Marks(**marks) if marks else None,
        limits=PictureLimits(**limits) if limits else None,
    )
    yield {"png": b64encode(png).decode()}


def _page_words(path: str, page: int, options: Frame) -> Iterator[Frame]:
    found = document.read_words(Path(path), page, document.Options(**options))
    yield {"words": found.words, "page_count": found.page_count}


JOBS: dict[str, Job] = {"picture": _picture, "page_words": _page_words}
