"""Metrics, the request log and request ids of the OCR API."""

import re
from pathlib import Path

import httpx2

from tests.contract.ocr_api.asking import read
from tests.contract.ocr_api.conftest import Endpoint
from tests.documents import PROSE, text_pdf


def read_metrics(client: httpx2.Client) -> dict[str, float]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_metrics_need_the_key(endpoint: Endpoint) -> None:
    with endpoint.client(None) as client:
        assert client.get("/metrics").status_code == 401


def test_metrics_cover_requests_workers_and_memory(client: httpx2.Client, tmp_path: Path) -> None:
    before = read_metrics(client)
    read(client, text_pdf(tmp_path / "report.pdf", PROSE))
    client.delete("/v1/files/none")
    after = read_metrics(client)

    def count(name: str) -> float:
        return after[name] - before.get(name, 0)

    calls = 'quinion_calls_total{server="ocr-api",tool="%s"}'
    assert count(calls % "ocr") == 1
    assert count(calls % "upload_file") == 1
    assert count(calls % "delete_file") == 2
    errors = 'quinion_call_errors_total{server="ocr-api",tool="delete_file",code="404"}'
    assert count(errors) == 1
    assert 0 < count('quinion_call_duration_seconds_sum{server="ocr-api",tool="ocr"}') < 60
    assert after['quinion_calls_active{server="ocr-api"}'] == 0
    assert after['quinion_workers{kind="markdown",state="idle"}'] >= 1
    assert after['quinion_worker_queue_length{kind="markdown"}'] == 0
    assert after['quinion_memory_bytes{process="server"}'] > 20_000_000


def test_an_address_that_does_not_exist_is_no_label(client: httpx2.Client) -> None:
    client.get("/v1/evil/../label")
    client.get("/v2/models")
    assert {"label", "models"}.isdisjoint(re.findall(r"\w+", client.get("/metrics").text))


def test_a_failed_answer_has_the_id_of_its_line_in_the_request_log(
    endpoint: Endpoint, client: httpx2.Client
) -> None:
    failed = client.get("/v1/files/none")
    assert failed.status_code == 404
    request_id = failed.headers["x-request-id"]
    line = r"INFO quinion.requests: ocr-api describe_file by .*\(127.0.0.1\)': 404 in [\d.]+ ms"
    assert re.search(rf"{line} \[request {request_id}\]", endpoint.log.read_text())
    assert "x-request-id" not in client.get("/health").headers
