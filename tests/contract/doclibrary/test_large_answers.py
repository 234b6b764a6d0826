"""Pictures and lists that are too large for one answer, and documents that take long."""

import io
import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import psutil
import pytest
from PIL import Image

from quinion.extract.pdf.mupdf import pymupdf
from quinion.home import store_place
from quinion.ingest.library.records import (
    DOCUMENTS,
    LibraryDocument,
    count_types,
    document_record,
)
from quinion.settings import Settings
from quinion.store.factory import open_store
from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import add, find, reply, say, show, text_of
from tests.contract.doclibrary.conftest import serve_http
from tests.contract.doclibrary.documents import SURVEY, letter
from tests.contract.local import Serve
from tests.contract.process import Home, HttpServer, run_command
from tests.contract.session import Session
from tests.element_documents import HEIGHT, WIDTH

MANY = 1_000
LONG_PAGES = 2_000
MEGABYTE = 1 << 20


def noise(path: Path, width: float, height: float) -> Path:
    """A page of coloured noise, which no PNG makes small."""
    pixels = random.Random(1).randbytes(3 * 800 * 1000)
    stream = io.BytesIO()
    Image.frombytes("RGB", (800, 1000), pixels).save(stream, "PNG")
    with pymupdf.open() as document:
        page = document.new_page(width=width, height=height)
        page.insert_image(page.rect, stream=stream.getvalue(), keep_proportion=False)
        # With a text layer, so that nobody tries to read words into it.
        page.insert_text((40, 40), "This page is covered with coloured noise.")
        document.save(path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height"), [(WIDTH, HEIGHT), (14_000, 9_000)])
def test_a_picture_that_would_be_too_large_is_made_smaller(
    session: Session, folder: Path, width: int, height: int
) -> None:
    slug = add(session, noise(folder / f"noise {width}.pdf", width, height))["slug"]
    # That it is under 1 MiB is looked at in every answer.
    image = show(session, "get_page_image", document_slug=slug, page_number=1).image
    assert abs(image.width / image.height - width / height) < 0.02
    assert max(image.size) > 500


def document(number: int) -> LibraryDocument:
    return LibraryDocument(
        slug=f"document_{number}",
        title=f"{number:04d} " + "title " * 32,
        source_file=f"document {number}.pdf",
        sha256="0" * 64,
        total_pages=number,
        keywords=("ключевое слово",) * 20,
        date_added=datetime(2026, 1, 1, tzinfo=UTC),
        counts=count_types([]),
    )


@pytest.fixture(scope="module")
def full(new_home: NewHome, serve: Serve) -> Iterator[Session]:
    """A library of more documents than fit into an answer."""
    home = new_home()
    records = [document_record(document(number)) for number in range(MANY)]
    place = store_place(Settings.from_environment(home.environment({})))
    with closing(open_store(place)) as store, store.transaction() as transaction:
        transaction.upsert(DOCUMENTS, records, np.ones((MANY, 1), np.float32), "")
    with serve(home) as server, server.session() as session:
        yield session


def test_a_list_says_how_many_are_left_out_and_how_to_see_them(full: Session) -> None:
    result = reply(full, "list_documents")
    assert result.structured_content is not None
    shown = len(result.structured_content["documents"])
    assert 0 < shown < MANY
    assert result.structured_content["total_documents"] == MANY
    ending = f"… and {MANY - shown} more: use list_documents_paginated."
    assert text_of(result).endswith(ending)
    assert text_of(result).count("\n## ") == shown


def test_all_are_seen_in_parts(full: Session) -> None:
    slugs = set()
    for number in range(1, MANY // 100 + 1):
        reply(full, "list_documents_paginated", page=number, page_size=100)
        answer = full.call("list_documents_paginated", page=number, page_size=100)
        slugs |= {one["slug"] for one in answer["documents"]}
    assert len(slugs) == MANY
    assert full.call("find_document", query="title", limit=100)["total_count"] == MANY


@pytest.fixture
def patient(new_library: NewHome) -> Iterator[tuple[HttpServer, Session]]:
    """A server, and a session that waits for half an hour."""
    home: Home = new_library()
    with serve_http(home) as server, run_command(home, "doclibrary") as session:
        session.patience_s = 1_800.0
        yield server, session


@pytest.mark.slow
@pytest.mark.timeout(2_400)
def test_two_thousand_pages_are_added_in_bounded_memory(
    patient: tuple[HttpServer, Session], folder: Path
) -> None:
    server, session = patient
    pages = [f"Minutes of meeting number {n + 1}." for n in range(LONG_PAGES)]
    pages[LONG_PAGES // 2] = "The bats of the old mill fly out at dusk."
    process = psutil.Process(server.process.pid)
    job = session.start("add_document", file_path=str(letter(folder / "long.pdf", *pages)))
    job.wait_for_progress()
    # Meanwhile others are served.
    assert find(session, "plan of the nine streets", document_slug=SURVEY)
    assert job.result()["document"]["total_pages"] == LONG_PAGES
    assert len(job.progress) == 2 * LONG_PAGES
    # The model, the store and the workers' models are most of it.
    assert process.memory_info().rss < 1_000 * MEGABYTE
    for child in process.children(recursive=True):
        assert child.memory_info().rss < 1_000 * MEGABYTE
    shown = show(session, "get_page_image", document_slug="long", page_number=LONG_PAGES)
    assert shown.text.startswith(f"Page {LONG_PAGES} of {LONG_PAGES}\n")
    [found] = find(session, "when do bats fly", document_slug="long", limit=1)
    assert (found["page_number"], found["content"]) == (LONG_PAGES // 2 + 1, pages[LONG_PAGES // 2])
    assert f"Pages: {LONG_PAGES}" in say(session, "list_documents")
