"""The console in the process of the tests, with all servers on one engine."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from functools import cache
from html.parser import HTMLParser
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal

from quinion.console.calls import Calls
from quinion.console.open import open_console as open_app
from quinion.console.session import Sessions
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.servers import document_store, docvec, policy_kb
from quinion.servers.policy_kb import REGISTRY_FILE
from quinion.servers.registry import CATALOG
from quinion.settings import Settings
from quinion.store.policies import open_registry
from quinion.telemetry.metrics import Family
from tests.contract.conftest import NewHome
from tests.contract.local import Shared, open_local_engine
from tests.contract.policy_kb.policies import leaflet
from tests.contract.process import Home, Variables
from tests.documents import PROSE, text_pdf

ADDRESS = "http://127.0.0.1:3000"


@dataclass
class Console:
    """A browser without scripts, and access to the tools behind the pages."""

    app: Any
    portal: BlockingPortal
    sessions: Sessions
    calls: Calls
    home: Home

    def __post_init__(self) -> None:
        self.cookies = httpx2.Cookies()

    def send(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Send a request with the cookies of this browser."""

        async def send() -> httpx2.Response:
            transport = httpx2.ASGITransport(self.app)
            async with httpx2.AsyncClient(
                transport=transport, base_url=ADDRESS, cookies=self.cookies
            ) as client:
                response = await client.request(method, path, **options)
                self.cookies = client.cookies
                return response

        return self.portal.call(send)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return self.send("GET", path, **options)

    def json(self, path: str) -> Any:
        """The data of a view."""
        answer = self.get(path, headers={"accept": "application/json"})
        assert answer.headers["content-type"] == "application/json", answer.text
        return answer.json()

    def page(self, path: str) -> str:
        """The HTML of a view."""
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return answer.text

    def post(self, path: str, **options: Any) -> httpx2.Response:
        """Change something, with the CSRF token that the pages carry."""
        token = find_csrf(self.page("/"))
        return self.send("POST", path, headers={"x-csrf-token": token}, **options)

    def enter(self) -> None:
        """Open the address with the key."""
        assert self.get(f"/?key={self.sessions.make_key()}").status_code == 200

    def call(self, server: str, tool: str, **arguments: Any) -> Any:
        """Call a tool, to prepare what the pages show."""
        return self.portal.call(self.calls.call, server, tool, arguments)


OpenConsole = Callable[..., Console]


@contextmanager
def open_console(
    shared: Shared, home: Home, variables: Variables | None = None
) -> Iterator[Console]:
    """Run the console on the engine of a home."""
    settings = Settings.from_environment(home.environment(variables or {}))
    token = settings.api_key.get_secret_value() if settings.api_key else None
    with ExitStack() as stack:
        engine = stack.enter_context(
            shared.portal.wrap_async_context_manager(open_local_engine(shared, settings, None))
        )
        servers = {
            name: cache(lambda entry=entry: entry.load().build(engine))
            for name, entry in CATALOG.items()
        }

        def measure() -> Iterator[Family]:
            for server in servers.values():
                yield from server().measure(engine.count)
            yield from engine.measure()

        sessions = Sessions(settings.home, token)
        app = stack.enter_context(
            shared.portal.wrap_async_context_manager(open_app(settings, sessions, servers, measure))
        )
        yield Console(app, shared.portal, sessions, Calls(servers), home)


@pytest.fixture
def locked(shared: Shared, new_home: NewHome) -> Iterator[Console]:
    """A console that nobody has opened yet."""
    with open_console(shared, new_home()) as console:
        yield console


def find_csrf(page: str) -> str:
    """Return the CSRF token of a page."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag == "meta" and ("name", "csrf") in attrs:
                found.append(dict(attrs)["content"] or "")

    Reader().feed(page)
    return found[0]


EVIL = "<script>alert('stored')</script>"
"""What no page may contain as it is."""
SECRET_WORD = "zinnober"


@pytest.fixture(scope="module")
def stocked(shared: Shared, new_home: NewHome) -> Iterator[Console]:
    """An open console on a home that has something of each kind; every name and text is hostile."""
    with open_console(shared, new_home()) as console:
        _stock(console)
        console.enter()
        yield console


def _stock(console: Console) -> None:
    files = console.home.files
    text_pdf(
        files / "Notes <img src=x onerror=alert(1)>.pdf",
        f"{PROSE}\n{EVIL} {SECRET_WORD}",
        "The second page is about hedges.\n" + PROSE.replace("cycle", "cargo cycle"),
        title=EVIL,
    )
    for pdf in files.glob("*.pdf"):
        console.call(
            document_store.NAME,
            "ingest_document",
            file_path=str(pdf),
            application_ref=f"26/1/{EVIL}",
            document_type=EVIL,
        )
    notes = files / f"notes {EVIL.replace('/', '')}"
    notes.mkdir()
    (notes / "a & b.md").write_text(f"# {EVIL}\n\nHedges are {SECRET_WORD}. {EVIL}\n")
    console.call(docvec.NAME, "index_directory", dir_path=str(notes))
    registry = open_registry(console.home.path / REGISTRY_FILE, None)
    try:
        registry.create_policy(PolicyDraft("EVIL", EVIL, PolicyCategory.NATIONAL_POLICY, EVIL))
        for label, start in ((f"First {EVIL}", date(2020, 1, 1)), (EVIL, date(2024, 1, 1))):
            plan = registry.create_revision("EVIL", RevisionDraft(label, start))
            console.call(
                policy_kb.NAME,
                "ingest_policy_revision",
                source="EVIL",
                revision_id=plan.revision.revision_id,
                file_path=str(leaflet(files / f"{start}.pdf", f"{EVIL} {start.year}")),
            )
    finally:
        registry.close()
