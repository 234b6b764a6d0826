"""Documents in the console: list, reading, upload, deletion."""

import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from starlette.requests import ClientDisconnect

from quinion.console.uploads import Uploads
from quinion.servers import document_store
from quinion.settings import Settings
from tests.contract.conftest import NewHome
from tests.contract.console.conftest import Console, open_console
from tests.contract.local import Shared
from tests.documents import PROSE, Blank, Scan, Text, hide_text, make_pdf, photo, text_pdf

REF = "26/00002/FUL"
PATIENCE_S = 60


@pytest.fixture
def console(shared: Shared, new_home: NewHome) -> Iterator[Console]:
    with open_console(shared, new_home()) as console:
        console.enter()
        yield console


def upload(console: Console, name: str, content: bytes, application: str = REF) -> Any:
    params = {"name": name, "application": application}
    return console.post("/documents/upload", params=params, content=content)


def wait(console: Console) -> list[Any]:
    """Wait until all jobs have ended."""
    ends = time.monotonic() + PATIENCE_S
    while True:
        jobs = console.json("/jobs")["jobs"]
        if not any(job["state"] in {"waiting", "running"} for job in jobs):
            return list(jobs)
        assert time.monotonic() < ends, jobs


def ingest(console: Console, name: str, text: str = PROSE) -> str:
    """Upload a document and return its id."""
    pdf = text_pdf(console.home.files / "made.pdf", text)
    assert upload(console, name, pdf.read_bytes()).status_code == 202
    job = wait(console)[0]
    assert job["state"] == "done", job
    return str(job["document"])


def uploaded(console: Console) -> list[Path]:
    return sorted(path for path in (console.home.path / "uploads").rglob("*") if path.is_file())


def test_an_uploaded_file_becomes_a_document_that_can_be_read(console: Console) -> None:
    id_ = ingest(console, "Letter & plan.pdf")
    [listed] = console.json("/documents")["documents"]
    assert (listed["id"], listed["application"], listed["method"]) == (id_, REF, "Text layer")
    shown = console.json(f"/documents/{id_}")
    assert ([page["number"] for page in shown["pages"]], shown["page"]) == ([1], 1)
    assert shown["text"].split() == PROSE.split()
    assert [chunk["chunk_index"] for chunk in shown["chunks"]] == [0]
    assert "Letter &amp; plan.pdf" in console.page(f"/documents/{id_}")
    [hit] = console.json("/?q=bicycle&kind=documents")["hits"]
    assert console.get(hit["open"]).status_code == 200


def test_pages_to_check_are_named_in_the_list_and_on_the_document(console: Console) -> None:
    path = make_pdf(console.home.files / "made.pdf", [Text(PROSE), Blank(), Text(PROSE[::-1])])
    hide_text(path, 3, "Only programs read this sentence, which is white on white.")
    upload(console, "three.pdf", path.read_bytes())
    id_ = wait(console)[0]["document"]
    [listed] = console.json("/documents")["documents"]
    assert listed["pages"] == 3
    marks = {one["mark"]: one["pages"] for one in listed["warnings"]}
    assert marks == {"hidden": [3], "empty": [2]}
    assert "1 page: no text" in console.page("/documents")
    shown = console.json(f"/documents/{id_}?page=2")
    assert [page["mark"] for page in shown["pages"]] == ["", "empty", "hidden"]
    assert (shown["before"], shown["after"], shown["chunks"]) == (1, 3, [])
    assert "This page has no text." in console.page(f"/documents/{id_}?page=2")


def test_a_page_has_an_image_a_thumbnail_and_boxes_of_its_chunks(console: Console) -> None:
    id_ = ingest(console, "Letter.pdf")
    shown = console.json(f"/documents/{id_}")
    [chunk] = shown["chunks"]
    for left, top, right, bottom in chunk["boxes"]:
        assert 0 < left < right < 1
        assert 0 < top < bottom < 1
    image, small = (console.get(shown[key]) for key in ("image",)), shown["pages"][0]["thumbnail"]
    sizes = [Image.open(BytesIO(one.content)).width for one in (*image, console.get(small))]
    assert sizes[0] > 3 * sizes[1] > 300
    assert console.get(f"/documents/{id_}/page/2").status_code == 404
    assert console.get("/documents/none/page/1").status_code == 404
    [path] = uploaded(console)
    path.unlink()
    assert console.page(f"/documents/{id_}").count("<rect") == len(chunk["boxes"])


def test_a_document_can_be_downloaded_until_its_file_changes(console: Console) -> None:
    id_ = ingest(console, "Letter.pdf")
    [path] = uploaded(console)
    answer = console.get(f"/documents/{id_}/file")
    assert answer.content == path.read_bytes()
    assert 'attachment; filename="Letter.pdf"' in answer.headers["content-disposition"]
    path.write_bytes(b"another content")
    assert "has changed" in console.get(f"/documents/{id_}/file").text
    path.unlink()
    assert console.get(f"/documents/{id_}/file").status_code == 404
    assert "is not there any more" in console.page(f"/documents/{id_}")


def test_two_tabs_delete_the_same_document(console: Console) -> None:
    id_ = ingest(console, "Letter.pdf")
    first = console.post(f"/documents/{id_}/delete")
    assert first.json()["chunks_removed"] == 1
    assert uploaded(console) == []
    second = console.post(f"/documents/{id_}/delete")
    assert second.status_code == 404
    assert "Document not found" in second.text
    assert console.json("/documents")["documents"] == []


def test_a_file_that_was_not_uploaded_stays(console: Console) -> None:
    path = text_pdf(console.home.files / "own.pdf", PROSE)
    answer = console.call(
        document_store.NAME, "ingest_document", file_path=str(path), application_ref=REF
    )
    assert console.post(f"/documents/{answer['document_id']}/delete").status_code == 200
    assert path.exists()


def test_a_document_is_ingested_again(console: Console) -> None:
    id_ = ingest(console, "Letter.pdf")
    assert console.post(f"/documents/{id_}/ingest").json()["state"] == "waiting"
    job = wait(console)[0]
    assert (job["state"], job["message"]) == ("done", "1 chunks, text layer.")
    assert len(uploaded(console)) == 1


@pytest.mark.parametrize(
    ("name", "saved"),
    [
        ("../../../etc/passwd.pdf", "passwd.pdf"),
        ("C:\\Users\\me\\plan.pdf", "plan.pdf"),
        ("<b>&amp;.pdf", "<b>&amp;.pdf"),
        (".hidden.pdf", "hidden.pdf"),
        ("line\nbreak\x00.pdf", "linebreak.pdf"),
        (f"{'é' * 300}.pdf", f"{'é' * 98}.pdf"),
    ],
)
def test_the_name_of_an_upload_leads_nowhere(console: Console, name: str, saved: str) -> None:
    ingest(console, name)
    assert [path.name for path in uploaded(console)] == [saved]


@pytest.mark.parametrize(
    ("name", "application", "message"),
    [
        ("plan.exe", REF, "cannot be ingested"),
        ("plan", REF, "cannot be used as the name"),
        (".pdf", REF, "cannot be used as the name"),
        ("plan.pdf", " ", "application_ref is empty"),
    ],
)
def test_what_cannot_be_ingested_is_refused(
    console: Console, name: str, application: str, message: str
) -> None:
    answer = upload(console, name, b"x", application)
    assert answer.status_code == 400
    assert message in answer.text
    assert uploaded(console) == []


def test_an_upload_of_two_gigabytes_is_refused_before_it_is_sent(console: Console) -> None:
    async def nothing() -> Any:
        yield b""
        raise AssertionError("the body was read")

    token = console.sessions.csrf_token(console.cookies["quinion-3000"])
    headers = {"x-csrf-token": token, "content-length": str(2 << 30)}
    path = f"/documents/upload?name=a.pdf&application={quote(REF)}"
    answer = console.send("POST", path, headers=headers, content=nothing())
    assert answer.status_code == 400
    assert "2,048 MiB" in answer.text


def test_an_upload_that_is_cancelled_half_way_leaves_nothing(console: Console) -> None:
    async def break_off() -> Any:
        yield b"%PDF-1.7"
        raise ClientDisconnect

    uploads = Uploads(Settings.from_environment(console.home.environment({})))
    with pytest.raises(ClientDisconnect):
        console.portal.call(uploads.receive, "plan.pdf", 1 << 20, break_off())
    assert list((console.home.path / "uploads").iterdir()) == []
    assert console.json("/jobs")["jobs"] == []


def test_a_failure_has_its_reason_and_can_be_retried_or_dismissed(console: Console) -> None:
    assert upload(console, "broken.pdf", b"no document").status_code == 202
    [job] = wait(console)
    assert job["state"] == "failed"
    assert job["message"]
    assert job["can_retry"]
    assert len(uploaded(console)) == 2  # with the mark
    console.post(f"/jobs/{job['number']}/retry")
    [again] = wait(console)
    assert again["number"] > job["number"]
    console.post(f"/jobs/{again['number']}/dismiss")
    assert console.json("/jobs")["jobs"] == []
    assert uploaded(console) == []


def test_a_picture_is_skipped_and_not_kept(console: Console) -> None:
    upload(console, "photo.jpg", photo(console.home.files / "photo.jpg").read_bytes())
    [job] = wait(console)
    assert job["message"].startswith("Skipped: a drawing or picture")
    assert uploaded(console) == []


def test_a_job_is_cancelled(console: Console) -> None:
    scan = make_pdf(console.home.files / "scan.pdf", [Scan(PROSE, seed) for seed in (1.0,) * 6])
    for number in range(3):
        upload(console, f"scan{number}.pdf", scan.read_bytes() + b"\n" * number)
    for job in console.json("/jobs")["jobs"]:
        console.post(f"/jobs/{job['number']}/cancel")
    jobs = wait(console)
    assert {job["state"] for job in jobs} == {"cancelled"}
    assert console.json("/documents")["documents"] == []
    assert console.post("/jobs/99/cancel").status_code == 404


def test_the_next_start_deletes_what_an_unfinished_upload_left(
    shared: Shared, new_home: NewHome
) -> None:
    home = new_home()
    with open_console(shared, home) as console:
        console.enter()
        ingest(console, "kept.pdf")
        [kept] = uploaded(console)
        (kept.parent / ".unfinished").touch()  # killed between the commit and this
    left = home.path / "uploads" / "0123"
    left.mkdir()
    for name in (".unfinished", "partial.pdf"):
        (left / name).touch()
    with open_console(shared, home) as again:
        assert uploaded(again) == [kept]


def test_the_list_comes_in_parts_and_by_application(console: Console) -> None:
    ingest(console, "a.pdf")
    answer = console.json(f"/documents?application={REF}&type=other")
    assert len(answer["documents"]) == 1
    assert answer["before"] is answer["after"] is None
    assert console.json("/documents?application=26/9")["documents"] == []
    assert console.json("/documents?part=2")["before"] == "/documents?part=1"
    assert "No such documents" in console.page("/documents?part=2")
    assert console.get("/documents?part=0").status_code == 400
    assert console.get("/documents/none").status_code == 404
