"""Starting the server as its users know it, and sharing a home with its commands."""

import socket

import pytest

from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import say, show
from tests.contract.doclibrary.conftest import STDIO, serve_http
from tests.contract.doclibrary.documents import SURVEY
from tests.contract.process import Home, run_http, run_stdio, run_to_end

WRONG_USE, BAD_SETTING = 2, 3


def test_the_port_is_3005_if_nothing_is_said(fresh_home: Home) -> None:
    # Another program of this machine may have it; then the refusal names it.
    with socket.socket() as probe:
        is_free = probe.connect_ex(("127.0.0.1", 3005)) != 0
    if is_free:
        with run_http(fresh_home, command=("doclibrary-mcp", "--http")) as server:
            assert server.address == "http://127.0.0.1:3005"
    else:
        ended = run_to_end(fresh_home, {}, "--http", program="doclibrary-mcp")
        assert "127.0.0.1:3005" in ended.stderr


def test_a_bad_port_refuses_to_start_and_is_named(fresh_home: Home) -> None:
    ended = run_to_end(fresh_home, {"DOCLIBRARY_PORT": "99999"}, program="doclibrary-mcp")
    assert (ended.returncode, ended.stdout) == (BAD_SETTING, "")
    assert "DOCLIBRARY_PORT" in ended.stderr


@pytest.mark.parametrize("arguments", [("--port", "1"), ("--nonsense",)])
def test_wrong_use_is_refused(fresh_home: Home, arguments: tuple[str, ...]) -> None:
    ended = run_to_end(fresh_home, {}, *arguments, program="doclibrary-mcp")
    assert ended.returncode == WRONG_USE
    assert "usage: doclibrary-mcp" in ended.stderr


def test_a_second_process_and_the_commands_work_through_the_first(new_library: NewHome) -> None:
    home = new_library()
    with serve_http(home), run_stdio(home, {}, STDIO) as session:
        assert f"({SURVEY})" in say(session, "list_documents")
        assert show(session, "get_page_image", document_slug=SURVEY, page_number=1)
        listed = run_to_end(home, {}, "library", "list", "--json", program="quinion")
        assert listed.returncode == 0
        assert f'"slug": "{SURVEY}"' in listed.stdout
