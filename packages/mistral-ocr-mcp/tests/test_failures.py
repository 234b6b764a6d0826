"""FR-6 (FR-5.1 to FR-5.3 of that table), NFR-3.1: what goes wrong, and what is done about it."""

import base64
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from conftest import Place
from ocr_client import API_KEY, Session, open_session
from ocr_front import DELETE, OCR, SIGN, UPLOAD, Front, image, page
from tests.documents import PROSE, text_pdf

PNG = base64.b64encode(b"a picture").decode()
TOOL = "extract_markdown_with_images"


def _arguments(place: Place) -> dict[str, str]:
    return {"file_path": place.document(), "output_dir": str(place.allowed)}


@pytest.mark.parametrize("kind", [UPLOAD, SIGN, OCR])
@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"detail": "Unauthorized"}, "HTTP 401: Unauthorized (check MISTRAL_API_KEY)"),
        (400, {"object": "error", "message": "Bad file", "code": "1901"}, "HTTP 400: Bad file"),
        (403, "Forbidden here", "HTTP 403: Forbidden here"),
        (404, {"message": {"detail": [{"msg": "no route"}]}}, "HTTP 404: no route"),
        (413, {"error": {"message": "too big"}}, "HTTP 413: too big"),
        (422, {"detail": [{"loc": ["x"], "msg": "wrong", "type": "t"}]}, "HTTP 422: wrong"),
    ],
)
def test_fr_6_2_an_api_error_has_its_status_and_message(
    session: Session,
    front: Front,
    place: Place,
    kind: str,
    status: int,
    body: object,
    said: str,
) -> None:
    front.respond(kind, status, body)
    assert session.refuse(TOOL, **_arguments(place)) == f"Mistral API error: {said}"
    assert front.count(kind) == 1, "what will not get better is not tried again"
    assert front.count(DELETE) == (0 if kind == UPLOAD else 1)
    assert place.listing() == ["allowed", "report.pdf"]


def test_the_real_endpoint_refuses_a_wrong_key(place: Place, endpoint: str) -> None:
    variables = {**place.variables(endpoint), "MISTRAL_API_KEY": "sk-wrong"}
    with open_session(place.outside, variables) as session:
        said = session.refuse(TOOL, **_arguments(place))
    assert said == "Mistral API error: HTTP 401: Unauthorized (check MISTRAL_API_KEY)"


@pytest.mark.parametrize("kind", [UPLOAD, SIGN, OCR])
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_or_failing_api_is_asked_again(
    session: Session, front: Front, place: Place, kind: str, status: int
) -> None:
    front.respond(kind, status, headers={"Retry-After": "0"}, times=3)
    session.save(**_arguments(place))
    assert front.count(kind) == 4


def test_retry_after_is_honoured(session: Session, front: Front, place: Place) -> None:
    front.respond(OCR, 429, headers={"Retry-After": "2"})
    begun = time.monotonic()
    session.save(**_arguments(place))
    assert 2 <= time.monotonic() - begun < 10


def test_retries_are_bounded(session: Session, front: Front, place: Place) -> None:
    front.respond(OCR, 500, {"message": "oh"}, headers={"Retry-After": "0"}, times=99)
    assert session.refuse(TOOL, **_arguments(place)) == "Mistral API error: HTTP 500: oh"
    assert front.count(OCR) == 4
    assert front.count(DELETE) == 1
    assert place.listing() == ["allowed", "report.pdf"]


def test_a_pause_that_is_too_long_is_not_waited_for_but_told(
    session: Session, front: Front, place: Place
) -> None:
    front.respond(OCR, 429, {"message": "slow down"}, headers={"Retry-After": "3600"}, times=99)
    said = session.refuse(TOOL, **_arguments(place))
    assert said == "Mistral API error: HTTP 429: slow down (try again in 3600 seconds)"
    assert front.count(OCR) == 1


@pytest.mark.parametrize("kind", [UPLOAD, SIGN, OCR])
def test_a_connection_that_is_cut_is_an_error(
    session: Session, front: Front, place: Place, kind: str
) -> None:
    front.cut(kind)
    said = session.refuse(TOOL, **_arguments(place))
    assert said.startswith(f"The API at {front.url} cannot be reached, or the connection was cut")
    assert place.listing() == ["allowed", "report.pdf"]
    assert front.count(DELETE) == (0 if kind == UPLOAD else 1)


def test_an_answer_that_is_cut_off_in_the_middle_of_an_image_leaves_nothing(
    session: Session, front: Front, place: Place
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99999\r\n\r\n"
    start = b'{"pages":[{"index":0,"markdown":"x","images":[{"id":"a","image_base64":"AAAA'
    front.cut(OCR, head + start * 50)
    said = session.refuse(TOOL, **_arguments(place))
    assert "the connection was cut" in said
    assert place.listing() == ["allowed", "report.pdf"]


@pytest.mark.parametrize("body", ["", "{}", "[]", '{"pages": null}', '{"pages": [{"x": 1}]}', "<"])
def test_an_answer_that_is_not_the_apis_is_an_error(
    session: Session, front: Front, place: Place, body: str
) -> None:
    front.respond(OCR, 200, body)
    said = session.refuse(TOOL, **_arguments(place))
    assert said.startswith("The API's answer (HTTP 200) is not what its client expects")
    assert place.listing() == ["allowed", "report.pdf"]


def test_an_endpoint_that_is_not_there_is_an_error(place: Place) -> None:
    with open_session(place.outside, place.variables("http://127.0.0.1:9")) as session:
        said = session.refuse(TOOL, **_arguments(place))
    assert said.startswith("The API at http://127.0.0.1:9 cannot be reached")
    assert said.endswith("Check the network and MISTRAL_SERVER_URL.")


def test_the_uploaded_file_is_deleted_afterwards(
    session: Session, front: Front, place: Place
) -> None:
    session.save(**_arguments(place))
    kinds = [call.kind for call in front.calls]
    assert kinds == [UPLOAD, SIGN, OCR, DELETE]
    assert front.last(DELETE).path == "/v1/files/file-1"


def test_the_real_endpoint_has_no_file_left(real: Session, forwarding: Front, place: Place) -> None:
    path = text_pdf(place.outside / "report.pdf", PROSE)
    real.save(file_path=str(path), output_dir=str(place.allowed))
    file_id = forwarding.last(DELETE).path
    with httpx2.Client(verify=False) as client:
        headers = {"Authorization": f"Bearer {API_KEY}"}
        answer = client.get(f"{forwarding.upstream}{file_id}", headers=headers)
    assert answer.status_code == 404


def test_a_deletion_that_fails_does_not_spoil_the_answer(
    session: Session, front: Front, place: Place
) -> None:
    front.respond(DELETE, 404, {"message": "gone"})
    session.save(**_arguments(place))
    assert "the uploaded file file-1 was not deleted" in session.log


@pytest.mark.parametrize("kind", [UPLOAD, SIGN, OCR])
def test_a_call_that_is_cancelled_ends_at_once_and_leaves_nothing(
    session: Session, front: Front, place: Place, kind: str
) -> None:
    front.hang(kind)
    job = session.start(TOOL, **_arguments(place))
    job.wait_for_progress()
    assert front.arrived.wait(30)
    job.future.cancel()
    if kind != UPLOAD:
        _wait_for(lambda: front.count(DELETE) == 1)
    front.released.set()
    assert place.listing() == ["allowed", "report.pdf"]
    session.save(**_arguments(place))


def test_a_client_that_goes_away_has_its_upload_deleted(place: Place, front: Front) -> None:
    front.hang(OCR)
    with open_session(place.outside, place.variables(front.url)) as session:
        job = session.start(TOOL, **_arguments(place))
        job.future.add_done_callback(lambda done: done.cancelled() or done.exception())
        assert front.arrived.wait(30)
    _wait_for(lambda: front.count(DELETE) == 1)
    assert place.listing() == ["allowed", "report.pdf"]


@pytest.mark.slow
def test_signs_of_life_come_while_the_api_is_at_work(
    session: Session, front: Front, place: Place
) -> None:
    front.hang(OCR)
    job = session.start(TOOL, **_arguments(place))
    _wait_for(lambda: "The document is being read (5 s)" in job.messages)
    job.future.cancel()
    front.released.set()


def test_fr_6_3_an_error_of_the_file_system_names_path_and_operation(
    session: Session, front: Front, place: Place
) -> None:
    """The folder is taken away while the API is at work."""
    (place.allowed / "project").mkdir()
    front.before_answer = (place.allowed / "project").rmdir
    front.lay_ready(page("text"))
    said = session.refuse(
        TOOL, file_path=place.document(), output_dir=str(place.allowed / "project")
    )
    target = place.allowed / "project"
    assert said == f"Cannot create a folder in {target}: No such file or directory"


@pytest.fixture
def on_full_disk(place: Place, front: Front) -> Iterator[Session]:
    """A limit on the size of files stands for the disk: the system refuses in the same way."""
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000));"
        "from mistral_ocr_mcp.cli import main; main()"
    )
    command = (sys.executable, "-c", program)
    with open_session(place.outside, place.variables(front.url), command=command) as session:
        yield session


def test_fr_6_3_a_disk_that_takes_no_more_is_told_and_leaves_nothing(
    on_full_disk: Session, place: Place, front: Front
) -> None:
    front.lay_ready(page("x" * 5000 + "![a](a)", image("a", PNG)))
    said = on_full_disk.refuse(TOOL, **_arguments(place))
    assert said.startswith(f"Cannot write {place.allowed}/.mistral-ocr-")
    assert said.endswith("content.md: File too large")
    assert place.listing() == ["allowed", "report.pdf"], "the image is gone too"


@pytest.mark.parametrize("size", [1_001, 5_000, 1_000_000])
@pytest.mark.parametrize("is_inline", [False, True])
def test_fr_6_3_a_disk_that_takes_no_image_is_told_and_leaves_nothing(
    on_full_disk: Session, place: Place, front: Front, size: int, is_inline: bool
) -> None:
    data = "data:image/png;base64," + base64.b64encode(bytes(size)).decode()
    front.lay_ready(page(f"![a]({data})") if is_inline else page("![a](a)", image("a", data)))
    said = on_full_disk.refuse(TOOL, **_arguments(place))
    assert said == f"Cannot write a temporary file in {place.allowed}: File too large"
    assert place.listing() == ["allowed", "report.pdf"]


def test_a_folder_that_appears_during_the_call_is_not_replaced(
    session: Session, front: Front, place: Place
) -> None:
    front.before_answer = (place.allowed / "report").mkdir
    answer = session.save(**_arguments(place))
    assert Path(answer["output_directory"]).name.startswith("report_")
    assert list((place.allowed / "report").iterdir()) == []


def _wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not come to be"
        time.sleep(0.02)
