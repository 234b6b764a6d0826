"""Health of the engine in the console."""

import io
import logging
import tarfile

from quinion.servers import document_store
from tests.contract.console.conftest import Console


def test_sizes_model_and_memory_are_shown(stocked: Console) -> None:
    shown = stocked.json("/engine")
    servers = {one["name"]: one for one in shown["servers"]}
    assert (servers["document-store"]["documents"], servers["document-store"]["chunks"]) == (1, 1)
    assert servers["policy-kb"]["chunks"] > 0
    assert shown["memory"]["server"] > 1 << 20
    assert shown["model"].startswith("OK")
    page = stocked.page("/engine")
    assert "Worker processes" in page
    assert "document-store" in page


def test_warnings_are_shown_and_escaped(stocked: Console) -> None:
    logging.getLogger("quinion.test").warning("a <b>warning</b>")
    assert stocked.json("/engine")["warnings"][0]["text"] == "a <b>warning</b>"
    assert "a &lt;b&gt;warning" in stocked.page("/engine")


def test_calls_of_clients_are_shown_but_not_those_of_the_console(stocked: Console) -> None:
    fields = {"client": "desk 1", "server": "docvec", "tool": "search", "outcome": "ok"}
    logging.getLogger("quinion.requests").warning(
        "a call", extra={"fields": {**fields, "duration_ms": 1.5}}
    )
    stocked.call(document_store.NAME, "page_documents")
    calls = stocked.json("/engine")["calls"]
    assert [call["client"] for call in calls] == ["desk 1"]


def test_the_data_and_the_installation_are_checked(stocked: Console) -> None:
    page = stocked.post("/engine/check").text
    assert page.count("no problems") == 4
    assert "<strong>packages</strong>: mcp " in page


def test_the_parts_of_the_home_are_measured(stocked: Console) -> None:
    shown = stocked.json("/engine/sizes")
    sizes = {one["name"]: one["bytes"] for one in shown["sizes"]}
    assert sizes["store"] > 1 << 12
    assert sum(sizes.values()) == shown["total"]
    assert "Together" in stocked.page("/engine/sizes")


def test_a_backup_is_downloaded_once(stocked: Console) -> None:
    made = stocked.post("/engine/backup")
    address = made.headers["hx-redirect"]
    sent = stocked.get(address)
    with tarfile.open(fileobj=io.BytesIO(sent.content)) as archive:
        names = archive.getnames()
    assert any(name.endswith("store.db") for name in names)
    assert not any("engine.console" in name for name in names)
    assert stocked.get(address).status_code == 404
    assert stocked.get("/engine/backup/..%2Fengine.console").status_code == 404
