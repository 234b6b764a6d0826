"""Kinds of workers: their jobs and their limits of memory and time.

Each kind has processes of its own, because PyMuPDF's layout model costs 0.6 s and 80 MB, and one
process can either load it or block it (`quinion.extract.pdf.mupdf`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

PAGE_TIMEOUT_S = 60.0
"""Timeout for each page. OCR has a shorter timeout, and the page is rendered before it."""


@dataclass(frozen=True)
class WorkerKind:
    """A kind of worker: the module with its `JOBS`, and its limits.

    The kernel enforces the limit of the address space. A worker whose address space is larger than
    `max_idle_bytes` after a job is not reused. `timeouts_s` are the jobs that need less time than
    OCR, or that process an entire text in one step.
    """

    jobs: str
    address_space_bytes: int
    max_idle_bytes: int
    timeouts_s: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        """The last part of the module's name."""
        return self.jobs.rpartition(".")[2]

    def timeout_s(self, job: str) -> float:
        """The timeout for each item of a job."""
        return self.timeouts_s.get(job, PAGE_TIMEOUT_S)


# The address spaces allow an A0 page at 300 dpi, and keep server, workers and Tesseract together
# under 1.5 GB for a document. An idle worker needs 180 MB, or 400 with a tokenizer and Tesseract,
# or 470 to 560 with the layout model. Damaged files leak memory, which adds up.
# The timeouts of survey, probe and a page add up to less than two minutes for a page that hangs.
DOCUMENTS = WorkerKind(
    jobs="quinion.workers.jobs.documents",
    address_space_bytes=864 << 20,
    max_idle_bytes=450 << 20,
    timeouts_s={"survey": 20.0, "describe": 20.0, "probe": 40.0, "read_chunks": 110.0},
)
ELEMENTS = WorkerKind(
    jobs="quinion.workers.jobs.elements",
    address_space_bytes=1 << 30,
    max_idle_bytes=620 << 20,
    timeouts_s={"find_elements": 40.0, "render_formula": 20.0},
)
PAGES = WorkerKind(
    jobs="quinion.workers.jobs.pages",
    address_space_bytes=864 << 20,
    max_idle_bytes=450 << 20,
    timeouts_s={"picture": 20.0},
)
# The largest, because a scanned page is held in grey for OCR and in colour for its figures, in
# addition to the model.
MARKDOWN = WorkerKind(
    jobs="quinion.workers.jobs.markdown",
    address_space_bytes=5 << 28,
    max_idle_bytes=620 << 20,
    timeouts_s={"survey": 20.0},
)
