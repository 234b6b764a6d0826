"""Starting a server: where it listens, and when it refuses to start."""

from pathlib import Path

import pytest

from tests.contract.document_store.asking import list_documents
from tests.contract.process import (
    Home,
    HttpServer,
    free_port,
    read_note,
    run_http,
    run_to_end,
)

pytestmark = pytest.mark.slow

WRONG_USE, BAD_SETTING = 2, 3


def test_document_store_port_is_listened_on(fresh_home: Home) -> None:
    port = free_port()
    variables = {"DOCUMENT_STORE_PORT": str(port)}
    with run_http(fresh_home, variables, ("document-store-mcp", "--http")) as server:
        assert server.address == f"http://127.0.0.1:{port}"
        assert server.request("GET", "/health").status_code == 200


def test_quinion_serve_is_the_same_server_and_its_port_option_counts_more(fresh_home: Home) -> None:
    port = free_port()
    command = ("quinion", "serve", "document-store", "--port", str(port))
    with run_http(fresh_home, {"DOCUMENT_STORE_PORT": "1"}, command) as server:
        assert server.address == f"http://127.0.0.1:{port}"
        assert read_note(fresh_home)["addresses"] == {"document-store": server.address}
        with server.session() as session:
            assert list_documents(session) == []


def test_a_taken_port_is_named_and_nothing_is_started(
    fresh_home: Home, http_server: HttpServer
) -> None:
    port = http_server.address.rsplit(":", 1)[1]
    ended = run_to_end(fresh_home, {}, "--http", "--port", port)
    assert ended.returncode == BAD_SETTING
    assert f"127.0.0.1:{port}" in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr


def test_an_unknown_server_is_refused_with_those_that_exist(fresh_home: Home) -> None:
    ended = run_to_end(fresh_home, {}, "serve", "document-shop", program="quinion")
    assert ended.returncode == WRONG_USE
    assert "document-store" in ended.stderr


def test_a_refusal_leaves_the_home_as_it_was(fresh_home: Home) -> None:
    before = sorted(Path(fresh_home.path).iterdir())
    run_to_end(fresh_home, {"ENABLE_OCR": "perhaps"})
    assert sorted(Path(fresh_home.path).iterdir()) == before
