"""The server as a client starts it, and the client: real processes, real stdio."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent

SOURCE = Path(__file__).parents[1] / "src"
COMMAND = (sys.executable, "-m", "mistral_ocr_mcp")
API_KEY = "sk-hush-5f3a9c"
PATIENCE_S = 150.0
LOG = "server.log"

Variables = Mapping[str, str | None]


def environment(variables: Variables) -> dict[str, str]:
    """Nothing from whoever runs the tests but PATH; None takes a variable away."""
    given = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(SOURCE),
        "MISTRAL_API_KEY": API_KEY,
        **variables,
    }
    return {name: value for name, value in given.items() if value is not None}


def run_to_end(variables: Variables) -> "subprocess.CompletedProcess[str]":
    """Start a server that is expected to refuse, and wait for its end."""
    return subprocess.run(
        COMMAND,
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@dataclass(frozen=True)
class Outcome:
    """What a call came to: `text` of its content, and what is structured."""

    is_error: bool
    text: str
    structured: dict[str, Any] | None


class Job:
    """A call that is under way."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.future: Future[CallToolResult]
        self._reported = threading.Event()

    def wait_for_progress(self) -> None:
        assert self._reported.wait(PATIENCE_S), "no progress was reported"

    async def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.messages.append(message or "")
        self._reported.set()


class Session:
    """An open session with the server."""

    def __init__(self, portal: BlockingPortal, client: Client, log: Path) -> None:
        self._portal = portal
        self._log = log
        self.client = client
        self.tools = {tool.name: tool for tool in portal.call(client.list_tools).tools}

    @property
    def log(self) -> str:
        """All that the server has written to stderr."""
        return self._log.read_text()

    def start(self, tool: str, **arguments: Any) -> Job:
        """Call a tool, and do not wait."""
        job = Job()

        async def call() -> CallToolResult:
            with anyio.fail_after(PATIENCE_S):
                return await self.client.call_tool(tool, arguments, progress_callback=job.report)

        job.future = self._portal.start_task_soon(call)
        return job

    def finish(self, job: Job, tool: str) -> Outcome:
        """The answer, held against the schema that the tool announces."""
        result = job.future.result(PATIENCE_S)
        [content] = result.content
        assert isinstance(content, TextContent)
        structured = result.structured_content
        if result.is_error:
            assert structured is None
        else:
            jsonschema.validate(structured, self.tools[tool].output_schema)
        return Outcome(bool(result.is_error), content.text, structured)

    def call(self, tool: str, **arguments: Any) -> Outcome:
        """Call a tool, and wait."""
        return self.finish(self.start(tool, **arguments), tool)

    def refuse(self, tool: str, **arguments: Any) -> str:
        """Call a tool that is expected to fail; what it says."""
        outcome = self.call(tool, **arguments)
        assert outcome.is_error, outcome
        return outcome.text

    def save(self, **arguments: Any) -> dict[str, Any]:
        """`extract_markdown_with_images`, expected to succeed; its answer."""
        outcome = self.call("extract_markdown_with_images", **arguments)
        assert not outcome.is_error, outcome.text
        assert outcome.structured is not None
        return outcome.structured


@contextmanager
def open_session(
    folder: Path, variables: Variables, mode: str = "auto", command: tuple[str, ...] = COMMAND
) -> Iterator[Session]:
    """Start a server with a log in this folder, and end it by closing its stdin."""
    log = folder / LOG
    parameters = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=environment(variables)
    )
    with (
        log.open("a") as errors,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            Client(stdio_client(parameters, errlog=errors), mode=mode)
        ) as client,
    ):
        yield Session(portal, client, log)
    written = log.read_text()
    # Whatever a test did to it, nothing was unexpected, and the key is nowhere.
    assert "Traceback" not in written, written
    assert API_KEY not in written
