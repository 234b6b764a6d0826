"""Nobody sees or changes anything in the console without its key or token."""

import hashlib
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.console.conftest import Console, open_console
from tests.contract.local import Shared

DOCS = Path(__file__).parents[3] / "docs"
VIEWS = [
    *("/", "/search", "/search.json", "/?q=text", "/alive", "/jobs", "/nowhere"),
    *("/documents", "/documents/a", "/documents/a/file", "/policies", "/policies/a"),
    *("/policies/a/compare", "/library", "/library/a", "/library/a/page/1", "/library/table"),
    *("/library/picture?document=a&page=1", "/folders", "/engine", "/engine/backup/a.tar"),
    *("/documents/a/page/1", "/folders/vanished", "/engine/sizes", "/evidence"),
]
ACTIONS = [
    *("/documents/upload", "/documents/a/delete", "/documents/a/ingest", "/jobs/1/cancel"),
    *("/folders/index", "/folders/prune", "/engine/check", "/engine/backup"),
    *("/folders/watch", "/folders/unwatch", "/jobs/1/retry", "/jobs/1/dismiss"),
]
TOKEN = {"MCP_API_KEY": "a-token"}


@pytest.fixture
def guarded(shared: Shared, new_home: NewHome) -> Iterator[Console]:
    """A console with a token."""
    with open_console(shared, new_home(), TOKEN) as console:
        yield console


@pytest.mark.parametrize("path", VIEWS)
def test_no_view_without_the_key(locked: Console, path: str) -> None:
    answer = locked.get(path)
    assert answer.status_code in {401, 403}
    assert "quinion open" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("path", ACTIONS)
def test_no_action_without_the_key_or_the_token_of_its_page(locked: Console, path: str) -> None:
    assert locked.send("POST", path).status_code == 401
    locked.enter()
    assert locked.send("POST", path).status_code == 403


def test_the_key_becomes_a_cookie_once(locked: Console) -> None:
    key = locked.sessions.make_key()
    answer = locked.get(f"/?key={key}&q=text")
    assert answer.status_code == 200
    assert 'url=/?q=text"' in answer.text
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert locked.get("/").status_code == 200
    locked.cookies.clear()
    assert locked.get(f"/?key={key}").status_code == 403


@pytest.mark.parametrize("change", ["", "x", "1.2.3.4", "é"])
def test_a_forged_key_or_cookie_is_refused(locked: Console, change: str) -> None:
    assert locked.get("/", params={"key": change}).status_code == 403
    locked.cookies.set("quinion-3000", change.encode("ascii", "ignore").decode(), "127.0.0.1")
    assert locked.get("/").status_code == 403


def test_a_key_is_no_cookie(locked: Console) -> None:
    locked.cookies.set("quinion-3000", locked.sessions.make_key(), "127.0.0.1")
    assert locked.get("/").status_code == 403


def test_a_session_survives_a_restart_but_no_key_does(shared: Shared, new_home: NewHome) -> None:
    home = new_home()
    with open_console(shared, home) as console:
        console.enter()
        key = console.sessions.make_key()
        console.sessions._started += 2  # as if the process had started after the key was made
        assert console.sessions.redeem_key(key) is None
        cookies = console.cookies
    with open_console(shared, home) as again:
        again.cookies = cookies
        assert again.get("/").status_code == 200


def test_a_session_that_has_expired_has_to_log_in_again(guarded: Console) -> None:
    guarded.send("POST", "/login", data={"token": "a-token"})
    assert guarded.get("/alive").status_code == 204
    expired = guarded.sessions._sign("session", -1)
    guarded.cookies.set("quinion-3000", expired, "127.0.0.1")
    assert guarded.get("/documents").headers["location"] == "/login?next=%2Fdocuments"
    assert guarded.get("/alive").status_code == 303
    assert guarded.get("/jobs", headers={"hx-request": "true"}).headers["hx-redirect"] == "/login"
    csrf = {"x-csrf-token": guarded.sessions.csrf_token(expired)}
    assert guarded.send("POST", "/documents/a/delete", headers=csrf).status_code == 401


def test_with_a_token_people_log_in(guarded: Console) -> None:
    sent = guarded.get("/?q=text")
    assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=%2F%3Fq%3Dtext")
    assert "MCP_API_KEY" in guarded.page(sent.headers["location"])
    wrong = guarded.send("POST", "/login", data={"token": "another"})
    assert wrong.status_code == 401
    assert "That is not the token." in wrong.text
    entered = guarded.send("POST", sent.headers["location"], data={"token": "a-token"})
    assert (entered.status_code, entered.headers["location"]) == (303, "/?q=text")
    assert guarded.get("/").status_code == 200


def test_with_a_token_no_key_is_accepted(guarded: Console) -> None:
    assert guarded.get(f"/?key={guarded.sessions.make_key()}").status_code == 303


def test_another_token_ends_all_sessions(shared: Shared, new_home: NewHome) -> None:
    home = new_home()
    with open_console(shared, home, TOKEN) as console:
        console.send("POST", "/login", data={"token": "a-token"})
        cookies = console.cookies
    with open_console(shared, home, {"MCP_API_KEY": "a-new-token"}) as again:
        again.cookies = cookies
        assert again.get("/").status_code == 303


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_the_log_in_leads_nowhere_else(guarded: Console, target: str) -> None:
    sent = guarded.send("POST", "/login", params={"next": target}, data={"token": "a-token"})
    assert sent.headers["location"] == "/"


def test_a_request_of_a_script_without_a_session_is_sent_to_the_log_in(guarded: Console) -> None:
    answer = guarded.get("/", headers={"hx-request": "true"})
    assert (answer.status_code, answer.headers["hx-redirect"]) == (401, "/login")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-csrf-token": "wrong"},
        {"origin": "http://127.0.0.1:4000"},
        {"origin": "null"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_change_without_the_token_of_its_page_is_refused(
    locked: Console, headers: dict[str, str]
) -> None:
    locked.enter()
    assert locked.send("POST", "/", headers=headers).status_code == 403
    # With the token, it is only the wrong method.
    assert locked.post("/").status_code == 405


def test_the_token_of_another_session_is_refused(locked: Console) -> None:
    locked.enter()
    other = locked.sessions.csrf_token("another cookie")
    assert locked.send("POST", "/", headers={"x-csrf-token": other}).status_code == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "rebound.example"}, 421),
        ({"host": "rebound.example:3000"}, 421),
        ({"origin": "http://evil.example"}, 403),
    ],
)
def test_a_foreign_host_or_origin_is_refused(
    locked: Console, headers: dict[str, str], status: int
) -> None:
    locked.enter()
    assert locked.get("/", headers=headers).status_code == status


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/console.js"])
def test_every_answer_forbids_frames_and_scripts_of_others(locked: Console, path: str) -> None:
    locked.enter()
    headers = locked.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-frame-options"] == "DENY"
    assert headers["x-content-type-options"] == "nosniff"


def test_pages_load_nothing_from_elsewhere_and_have_no_inline_code(locked: Console) -> None:
    locked.enter()
    page = locked.page("/?q=text")
    assert set(re.findall(r'(?:src|action)="([^"?]*)', page)) <= {
        "/",
        "/static/icon.svg",
        "/static/htmx.min.js",
        "/static/console.js",
    }
    assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=", page)
    for path in re.findall(r'(?:src|href)="(/static/[^"]*)"', page):
        assert locked.get(path).status_code == 200


def test_health_is_open_and_says_nothing_else(locked: Console) -> None:
    assert locked.get("/health").json() == {"status": "ok"}


def test_only_the_owner_can_read_the_secret(locked: Console) -> None:
    secret = locked.home.path / "engine.console"
    assert secret.stat().st_mode & 0o777 == 0o600


def test_htmx_is_the_published_file() -> None:
    script = files("quinion.console") / "static" / "htmx.min.js"
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    assert f"SHA-256 `{digest}`" in (DOCS / "design.md").read_text()
