import subprocess
import sys

import pytest

from quinion.extract.document import OCR_TIMEOUT_S
from quinion.extract.scans import scan_probe
from quinion.workers.kinds import (
    DOCUMENTS,
    ELEMENTS,
    MARKDOWN,
    PAGE_TIMEOUT_S,
    PAGES,
    WorkerKind,
)

SHOW_LAYOUT_MODEL = """
import importlib, sys
import quinion.workers.worker
assert not {"quinion.extract", "pymupdf"} & {*sys.modules}
jobs = importlib.import_module(sys.argv[1]).JOBS
print(*jobs, bool(sys.modules.get("pymupdf.layout")))
"""


def test_a_page_that_never_ends_is_answered_within_two_minutes() -> None:
    survey, probe = DOCUMENTS.timeout_s("survey"), DOCUMENTS.timeout_s("probe")
    assert survey + probe + PAGE_TIMEOUT_S <= 120
    assert DOCUMENTS.timeout_s("read_chunks") < 120
    assert probe > scan_probe.TIMEOUT_S
    assert OCR_TIMEOUT_S < DOCUMENTS.timeout_s("read_pages") == PAGE_TIMEOUT_S
    assert MARKDOWN.timeout_s("read_markdown") > OCR_TIMEOUT_S


@pytest.mark.parametrize(
    ("kind", "has_model"), [(DOCUMENTS, False), (PAGES, False), (ELEMENTS, True), (MARKDOWN, True)]
)
def test_only_kinds_that_need_it_load_the_layout_model(kind: WorkerKind, has_model: bool) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", SHOW_LAYOUT_MODEL, kind.jobs],
        check=True,
        capture_output=True,
        text=True,
    )
    *jobs, loaded = shown.stdout.split()
    assert loaded == str(has_model)
    assert {*kind.timeouts_s} <= {*jobs}
