"""All servers in one process, with each tool that reads a file as a function.

Mistral OCR's tool uses quinion's own endpoint, so that the file is read and not only sent. For any
file, the answer must follow the contract, within two minutes and 1.5 GB, and the server must
survive.
"""

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from mcp.types import CallToolResult, TextContent

from quinion.model.policy import PolicyCategory, PolicyDraft
from quinion.store.policies import open_registry
from tests.contract.policy_kb.asking import revise
from tests.contract.process import SCRIPTS, STOPPING_S, Home, plain_client, run_command
from tests.contract.session import Answer, Session, open_session
from tests.hostile.watch import watch

MOST_S = 120.0
MOST_BYTES = 1_500_000_000
HEALTH_S = 5.0

POLICY = "HOSTILE"
KEY = "sk-hostile"
PORTS = {
    f"{name}_PORT": "0"
    for name in ("DOCUMENT_STORE", "POLICY_KB", "DOCVEC", "DOCLIBRARY", "MISTRAL_OCR")
}
PICTURES = (".png", ".jpg", ".jpeg")
TAKEN = {
    "document-store": (".pdf", *PICTURES, ".tif", ".tiff", ".bmp"),
    "policy-kb": (".pdf",),
    "docvec": (".pdf", ".md", ".txt", ".py"),
    "doclibrary": (".pdf",),
    "mistral-ocr": (".pdf", *PICTURES, ".webp", ".gif"),
}
"""What files each server takes, by their extensions."""
FILE_ERRORS = {
    *("file_not_found", "unsupported_file_type", "extraction_failed", "no_content", "no_chunks"),
}
DOCVEC_ERRORS = {
    *("FILE_NOT_FOUND", "PERMISSION_DENIED", "UNSUPPORTED_FORMAT", "INVALID_INPUT"),
    "EXTRACTION_FAILED",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file: `said` is a status or the code of an error."""

    said: str
    message: str
    seconds: float
    peak: int

    @property
    def is_within_limits(self) -> bool:
        return self.seconds <= MOST_S and self.peak <= MOST_BYTES


class Servers:
    """The servers while they run."""

    def __init__(
        self,
        process: "subprocess.Popen[str]",
        endpoint: "subprocess.Popen[str]",
        sessions: Mapping[str, Session],
        health: list[str],
    ) -> None:
        self._process = process
        self._endpoint = endpoint
        self._sessions = sessions
        self._health = health
        self._tools: dict[str, Callable[[str], tuple[str, str]]] = {
            "document-store": self._ingest_document,
            "policy-kb": self._ingest_policy,
            "docvec": self._index,
            "doclibrary": self._add,
            "mistral-ocr": self._extract,
        }
        self.revision = ""

    def give(self, server: str, path: Path) -> Outcome:
        """Give the file to the server's tool; its answer is one of the contract's."""
        reader = self._endpoint if server == "mistral-ocr" else self._process
        with watch(reader.pid) as watching:
            began = time.monotonic()
            said, message = self._tools[server](str(path))
            seconds = time.monotonic() - began
        self.check_alive()
        return Outcome(said, message, seconds, watching.peak)

    def check_alive(self) -> None:
        """All servers answer, and at once."""
        for process in (self._process, self._endpoint):
            assert process.poll() is None, "the server has ended"
        with plain_client() as client:
            for address in self._health:
                began = time.monotonic()
                assert client.get(f"{address}/health").json() == {"status": "ok"}
                assert time.monotonic() - began < HEALTH_S

    def _ingest_document(self, path: str) -> tuple[str, str]:
        answer = self.call(
            "document-store", "ingest_document", file_path=path, application_ref="HOSTILE/1"
        )
        if answer["status"] == "error":
            assert answer["error_type"] in FILE_ERRORS, answer
            return answer["error_type"], answer["message"]
        assert answer["status"] in {"success", "already_ingested", "skipped"}, answer
        return answer["status"], ""

    def _ingest_policy(self, path: str) -> tuple[str, str]:
        answer = self.call(
            "policy-kb",
            "ingest_policy_revision",
            source=POLICY,
            revision_id=self.revision,
            file_path=path,
        )
        if answer["status"] == "error":
            assert answer["error_type"] in FILE_ERRORS, answer
            return answer["error_type"], answer["message"]
        assert answer["status"] == "success", answer
        return "success", ""

    def _index(self, path: str) -> tuple[str, str]:
        answer = self.call("docvec", "index_file", file_path=path)
        if answer["success"]:
            return "success", ""
        assert answer["error_code"] in DOCVEC_ERRORS, answer
        return answer["error_code"], answer["error"]

    def _add(self, path: str) -> tuple[str, str]:
        result = self._reply("doclibrary", "add_document", file_path=path)
        answer = result.structured_content or {}
        if "error" not in answer:
            assert answer["status"] in {"added", "already_in_library"}, answer
            return answer["status"], ""
        assert answer["error"].startswith("Error: "), answer
        return "error", answer["error"]

    def _extract(self, path: str) -> tuple[str, str]:
        result = self._sessions["mistral-ocr"].do(
            self._sessions["mistral-ocr"].client.call_tool, "extract_markdown", {"file_path": path}
        )
        [content] = result.content
        assert isinstance(content, TextContent)
        if not result.is_error:
            assert result.structured_content == {"content": content.text}
            return "success", ""
        assert "HTTP 500" not in content.text, content.text
        return "error", content.text

    def call(self, server: str, tool: str, **arguments: Any) -> Answer:
        """The answer of a tool that answers with data."""
        answer = self._reply(server, tool, **arguments).structured_content
        assert isinstance(answer, dict)
        return answer

    def _reply(self, server: str, tool: str, **arguments: Any) -> CallToolResult:
        return self._sessions[server].start(tool, **arguments).reply()


@contextmanager
def run_servers(home: Home) -> Iterator[Servers]:
    """Start the servers, and the endpoint that Mistral OCR's asks; end them."""
    home.files.joinpath("written").mkdir()
    with ExitStack() as stack:
        log = stack.enter_context((home.files / "server.log").open("a"))
        endpoint = stack.enter_context(
            _run(home, ["serve", "ocr-api", "--port", "0"], {"MCP_API_KEY": KEY}, log)
        )
        url = _read_address(endpoint, r"(http://\S+)/v1")
        variables = {
            **PORTS,
            "MISTRAL_API_KEY": KEY,
            "MISTRAL_OCR_ALLOWED_DIR": str(home.files / "written"),
            "MISTRAL_SERVER_URL": url,
        }
        process = stack.enter_context(_run(home, ["serve", "--no-console"], variables, log))
        addresses = {
            server: _read_address(process, rf"{server}\s+(http://\S+)/mcp") for server in TAKEN
        }
        sessions = {
            server: stack.enter_context(open_session(f"{address}/mcp"))
            for server, address in addresses.items()
        }
        sessions["doclibrary"] = stack.enter_context(run_command(home, "doclibrary", variables))
        for session in sessions.values():
            session.patience_s = 2 * MOST_S
        servers = Servers(process, endpoint, sessions, list(addresses.values()))
        servers.revision = _register(home)
        yield servers


@contextmanager
def _run(
    home: Home, arguments: list[str], variables: Mapping[str, str], log: Any
) -> "Iterator[subprocess.Popen[str]]":
    with subprocess.Popen(
        [str(SCRIPTS / "quinion"), *arguments],
        env=home.environment(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            status = process.wait(STOPPING_S)
            assert status == 0


def _read_address(process: "subprocess.Popen[str]", pattern: str) -> str:
    assert process.stdout is not None
    for line in iter(process.stdout.readline, ""):
        if found := re.search(pattern, line):
            return found[1]
    raise AssertionError(f"the server did not print {pattern}")


def _register(home: Home) -> str:
    registry = open_registry(home.path / "policies.db", None)
    try:
        registry.create_policy(PolicyDraft(POLICY, "Hostile", PolicyCategory.LOCAL_GUIDANCE))
        return revise(registry, POLICY, "One", date(2026, 1, 1))
    finally:
        registry.close()
