"""Metrics, the request log and request ids of real servers."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from quinion.daemon import client as daemon_client
from tests.contract.conftest import NewHome
from tests.contract.process import HttpServer, run_http, run_stdio
from tests.documents import PROSE, text_pdf

TOKEN = "a-token"
HEADER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(new_home: NewHome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server after an ingest, a search and a failed call."""
    command = ("quinion", "serve", "document-store", "--port", "0", "--log-format", "json")
    document = text_pdf(tmp_path_factory.mktemp("files") / "Letter.pdf", PROSE)
    with run_http(new_home(), {"MCP_API_KEY": TOKEN}, command) as server:
        with server.session(token=TOKEN) as session:
            session.call("ingest_document", file_path=str(document), application_ref="A/1")
            session.call("search_application_docs", query="development")
            session.call("ingest_document", file_path="/no/such.pdf", application_ref="A/1")
        yield server


def read_metrics(server: HttpServer) -> dict[str, float]:
    answer = server.request("GET", "/metrics", headers=HEADER)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-z_]+(\{([a-z]+="[^"]*",?)+\})? [\d.e+-]+', line) for line in lines)
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def read_log(server: HttpServer) -> list[dict[str, object]]:
    return [json.loads(line) for line in server.log.splitlines()]


def test_metrics_are_behind_the_token(server: HttpServer) -> None:
    assert server.request("GET", "/metrics").status_code == 401


def test_metrics_cover_calls_workers_memory_documents_and_the_mirror(server: HttpServer) -> None:
    metrics = read_metrics(server)
    ingest = 'server="document-store",tool="ingest_document"'
    assert metrics[f"quinion_calls_total{{{ingest}}}"] == 2
    [errors] = [name for name in metrics if name.startswith("quinion_call_errors_total")]
    assert 'tool="ingest_document",code="file_not_found"' in errors
    assert metrics[f"quinion_call_duration_seconds_count{{{ingest}}}"] == 2
    assert 0 < metrics[f"quinion_call_duration_seconds_sum{{{ingest}}}"] < 60
    assert metrics['quinion_worker_queue_length{kind="documents"}'] == 0
    assert metrics['quinion_workers{kind="documents",state="busy"}'] == 0
    assert metrics['quinion_workers{kind="documents",state="idle"}'] >= 1
    assert metrics['quinion_memory_bytes{process="server"}'] > 20_000_000
    assert metrics['quinion_memory_bytes{process="workers"}'] > 20_000_000
    assert metrics['quinion_documents{server="document-store"}'] == 1
    assert metrics['quinion_chunks{server="document-store"}'] >= 1
    assert {"quinion_mirror_pending", "quinion_mirror_lag_seconds"} <= set(metrics)


def test_each_call_is_a_line_of_the_request_log(server: HttpServer) -> None:
    calls = [line for line in read_log(server) if line["logger"] == "quinion.requests"]
    assert [(call["tool"], call["outcome"]) for call in calls[:3]] == [
        ("ingest_document", "ok"),
        ("search_application_docs", "ok"),
        ("ingest_document", "file_not_found"),
    ]
    for call in calls:
        assert str(call["client"]).endswith("(127.0.0.1)")
        assert call["server"] == "document-store"
        assert float(str(call["duration_ms"])) > 0
        assert re.fullmatch("[0-9a-f]{8}", str(call["request_id"]))
    assert len({call["request_id"] for call in calls}) == len(calls)


def test_a_failed_answer_repeats_the_id_of_its_request(server: HttpServer) -> None:
    with server.session(token=TOKEN) as session:
        failed = session.start("get_document_text", document_id="none").reply()
        done = session.start("list_ingested_documents", application_ref="A/1").reply()
    assert failed.meta is not None
    request_id = failed.meta["quinion/request_id"]
    assert request_id in {line.get("request_id") for line in read_log(server)}
    assert "quinion/request_id" not in (done.meta or {})


def test_an_unknown_tool_is_no_label_of_its_own(server: HttpServer) -> None:
    with server.session(token=TOKEN) as session:
        session.start("rm_rf").reply()
    text = server.request("GET", "/metrics", headers=HEADER).text
    assert 'tool="unknown"' in text
    assert "rm_rf" not in text


def test_nothing_of_arguments_and_answers_is_logged(server: HttpServer) -> None:
    assert "Letter.pdf" not in server.log
    assert "development" not in server.log


def test_the_log_of_the_engine_in_the_background_is_not_empty(
    new_home: NewHome, tmp_path: Path
) -> None:
    home = new_home()
    with run_stdio(home, {}, ("quinion", "stdio", "docvec")) as session:
        session.call("get_index_stats")
    daemon_client.stop_engine(home.path)
    log = home.engine_log
    assert "started in the background" in log
    assert re.search(r"INFO quinion.requests: docvec get_index_stats by .*: ok in [\d.]+ ms", log)
    assert "has stopped" in log
