"""Who is served, what is refused in which words, and that nothing is ever fetched."""

import socket
import threading
import time
from pathlib import Path

import httpx2
import psutil
import pytest

from tests.contract.ocr_api.asking import as_data, process, upload
from tests.contract.ocr_api.conftest import KEY, Endpoint
from tests.documents import PROSE, Scan, make_pdf, text_pdf


def test_health_needs_no_key(endpoint: Endpoint) -> None:
    with endpoint.client(None) as client:
        assert client.get("/health").json() == {"status": "ok"}


@pytest.mark.parametrize("key", [None, "sk-wrong", KEY + "x"])
def test_all_else_needs_the_key(endpoint: Endpoint, key: str | None) -> None:
    with endpoint.client(key) as client:
        for method, path in (
            ("POST", "/v1/files"),
            ("GET", "/v1/files/x/url"),
            ("DELETE", "/v1/files/x"),
            ("POST", "/v1/ocr"),
        ):
            answer = client.request(method, path)
            assert (answer.status_code, answer.json()) == (401, {"detail": "Unauthorized"})


def test_a_foreign_name_is_refused(client: httpx2.Client) -> None:
    answer = client.post("/v1/ocr", headers={"Host": "evil.example"}, content=b"{}")
    assert answer.status_code == 421


def test_a_signed_address_gives_the_file_without_a_key(
    endpoint: Endpoint, client: httpx2.Client, tmp_path: Path
) -> None:
    path = text_pdf(tmp_path / "report.pdf", PROSE)
    file_id = upload(client, path)
    url = client.get(f"/v1/files/{file_id}/url", params={"expiry": 1}).json()["url"]
    assert url.startswith(f"{endpoint.address}/")
    with endpoint.client(None) as stranger:
        assert stranger.get(url).content == path.read_bytes()
        forged = url[:-1] + ("0" if url[-1] != "0" else "1")
        assert stranger.get(forged).status_code == 404
        later = url.replace("expires=", "expires=9")
        assert stranger.get(later).status_code == 404
    client.delete(f"/v1/files/{file_id}")
    with endpoint.client(None) as stranger:
        assert stranger.get(url).status_code == 404


def test_no_address_is_ever_fetched(client: httpx2.Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.settimeout(0.5)
        port = canary.getsockname()[1]
        for address in (
            f"http://127.0.0.1:{port}/x.pdf",
            f"http://127.0.0.1:{port}/signed/x?expires=99999999999&signature=00",
            "file:///etc/passwd",
            "/etc/passwd",
        ):
            answer = process(client, {"type": "document_url", "document_url": address})
            assert answer.status_code == 400
            assert "fetches nothing" in answer.json()["message"]
        with pytest.raises(TimeoutError):
            canary.accept()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{",
        '{"model": "mistral-ocr-latest"}',
        '{"model": "gpt", "document": {"type": "file", "file_id": "x"}}',
        '{"model": "mistral-ocr-latest", "document": {"type": "file"}}',
        '{"model": "mistral-ocr-latest", "document": {"file_id": "x"}, "pages": [-1]}',
    ],
)
def test_a_request_that_is_not_the_apis_is_422_with_details(
    client: httpx2.Client, body: str
) -> None:
    answer = client.post("/v1/ocr", content=body)
    assert answer.status_code == 422
    assert {"loc", "msg", "type"} <= answer.json()["detail"][0].keys()


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/files/nothing", "/v1/files/..%2F..%2Fetc"])
def test_a_file_that_is_not_there_is_404(client: httpx2.Client, method: str, path: str) -> None:
    assert client.request(method, path).status_code == 404


def test_a_file_id_that_is_not_there_is_404(client: httpx2.Client) -> None:
    answer = process(client, {"type": "file", "file_id": "nothing"})
    assert answer.status_code == 404
    assert answer.json()["message"] == "No such file: nothing"


def test_an_upload_without_a_file_or_for_another_purpose_is_422(client: httpx2.Client) -> None:
    assert client.post("/v1/files", data={"purpose": "ocr"}).status_code == 422
    answer = client.post("/v1/files", files={"file": b"x"}, data={"purpose": "fine-tune"})
    assert answer.status_code == 422


@pytest.mark.parametrize("pages", ["1-", "a", "0,,1", "0-999999,0-999999", [7]])
def test_pages_that_are_none_are_400(client: httpx2.Client, tmp_path: Path, pages: object) -> None:
    document = {"document_url": as_data(text_pdf(tmp_path / "one.pdf", PROSE))}
    assert process(client, document, pages=pages).status_code == 400


def test_what_is_too_large_is_refused_before_it_is_sent(endpoint: Endpoint) -> None:
    host, _, port = endpoint.address.removeprefix("http://").partition(":")
    for path, length in (("/v1/files", 10**10), ("/v1/ocr", 10**9)):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(
                f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {KEY}\r\n"
                f"Content-Type: multipart/form-data; boundary=x\r\n"
                f"Content-Length: {length}\r\n\r\n".encode()
            )
            assert b" 413 " in connection.recv(100)


@pytest.mark.slow
def test_a_client_that_goes_away_ends_the_reading(
    endpoint: Endpoint, client: httpx2.Client, tmp_path: Path
) -> None:
    path = make_pdf(tmp_path / "long.pdf", [Scan(PROSE * 8, cover=0.9)] * 60)
    file_id = upload(client, path)
    document = {"type": "file", "file_id": file_id}
    before = set(_workers(endpoint))
    with endpoint.client() as going:
        going.timeout = httpx2.Timeout(3)
        with pytest.raises(httpx2.TimeoutException):
            process(going, document)
    busy = {worker for worker in _workers(endpoint) if worker.is_running()} | before
    assert busy
    end = time.monotonic() + 30
    while any(_is_at_work(worker) for worker in _workers(endpoint)):
        assert time.monotonic() < end, "they go on reading"
    client.delete(f"/v1/files/{file_id}")
    assert endpoint.files() == []


@pytest.mark.slow
def test_others_are_answered_while_a_document_is_read(
    endpoint: Endpoint, client: httpx2.Client, tmp_path: Path
) -> None:
    path = make_pdf(tmp_path / "scan.pdf", [Scan(PROSE * 4, cover=0.9)] * 8)
    answers: list[httpx2.Response] = []
    thread = threading.Thread(
        target=lambda: answers.append(process(client, {"document_url": as_data(path)}))
    )
    thread.start()
    with endpoint.client(None) as other:
        count = 0
        while thread.is_alive():
            begun = time.monotonic()
            assert other.get("/health").status_code == 200
            assert time.monotonic() - begun < 5
            count += 1
    assert count > 1
    assert len(answers[0].json()["pages"]) == 8


def _workers(endpoint: Endpoint) -> list[psutil.Process]:
    return psutil.Process(endpoint.process.pid).children(recursive=True)


def _is_at_work(process: psutil.Process) -> bool:
    try:
        return bool(process.cpu_percent(0.3) > 20)
    except psutil.NoSuchProcess:
        return False
