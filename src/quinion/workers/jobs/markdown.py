"""Jobs that convert documents to Markdown, with PyMuPDF's layout model."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from PIL import Image

# Imported first: `quinion.extract.pdf.mupdf` would block the layout model.
import quinion.elements.mupdf_layout  # noqa: F401
from quinion.elements.ink_patches import SCAN_CONTRAST, find_patches
from quinion.extract.document import Options
from quinion.extract.markdown import reader
from quinion.extract.pdf import coverage
from quinion.framing import Frame
from quinion.model.element import Box
from quinion.workers.jobs import Job


def _survey(path: str, options: Frame) -> Iterator[Frame]:
    yield asdict(reader.survey(Path(path), Options(**options)))


def _read_markdown(
    path: str, first: int, last: int, sizes: list[int], options: Frame
) -> Iterator[Frame]:
    for page in reader.read_markdown(
        Path(path), first, last, sizes, _find_patches, Options(**options)
    ):
        yield asdict(page)


def _find_patches(grey: Image.Image, known: Sequence[coverage.Box]) -> list[coverage.Box]:
    text = [Box(*box) for box in known]
    found = find_patches(np.asarray(grey), text, SCAN_CONTRAST)
    return [(box.x0, box.y0, box.x1, box.y1) for box in found]


JOBS: dict[str, Job] = {"survey": _survey, "read_markdown": _read_markdown}
