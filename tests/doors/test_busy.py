"""Overload: each contract's "busy" error, then normal service."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import CallToolResult
from pydantic import BaseModel

from quinion.engine import open_engine
from quinion.servers import base
from quinion.servers.base import (
    MAX_CONCURRENT_READS,
    MAX_CONCURRENT_WRITES,
    ContractServer,
    make_tool,
    serving,
)
from quinion.servers.registry import CATALOG
from quinion.settings import Settings

WRITING = {
    "document-store": ("ingest_document", {"file_path": "/x.pdf", "application_ref": "A/1"}),
    "policy-kb": (
        "ingest_policy_revision",
        {"source": "X", "revision_id": "x", "file_path": "/x.pdf"},
    ),
    "docvec": ("index_file", {"file_path": "/x.md"}),
    "doclibrary": ("add_document", {"file_path": "/x.pdf"}),
}


class Refused(BaseModel):
    code: str
    message: str


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
@pytest.mark.parametrize("reads", [True, False])
async def test_one_call_too_many_is_told_to_come_again_and_may(reads: bool) -> None:
    most = MAX_CONCURRENT_READS if reads else MAX_CONCURRENT_WRITES
    all_begun, go_on = anyio.Event(), anyio.Event()
    begun = 0

    async def wait() -> str:
        nonlocal begun
        begun += 1
        if begun == most:
            all_begun.set()
        await go_on.wait()
        return "done"

    server = ContractServer(
        "waiting",
        title="Waiting",
        instructions="",
        tools=[make_tool(wait, title="Wait", read_only=reads)],
        make_error=lambda code, message: Refused(code=code, message=message),
    )
    answers: list[Any] = []

    async def ask() -> None:
        answers.append(await server.call_tool("wait", {}))

    async with anyio.create_task_group() as group:
        for _ in range(most):
            group.start_soon(ask)
        with anyio.fail_after(30):
            await all_begun.wait()
        refused = await server.call_tool("wait", {})
        assert isinstance(refused, CallToolResult)
        said = refused.structured_content or {}
        assert said["code"] == "busy"
        assert "try again" in said["message"]
        go_on.set()
    assert len(answers) == begun == most
    await ask()
    assert begun == most + 1


@pytest.mark.anyio
@pytest.mark.parametrize("name", CATALOG)
async def test_busy_is_said_in_the_words_of_each_contract(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, arguments = WRITING[name]
    async with open_engine(Settings(home=tmp_path)) as engine:
        async with Client(CATALOG[name].load().build(engine)) as client:
            monkeypatch.setattr(base, "MAX_CONCURRENT_WRITES", 0)
            with serving(command=True):
                answer = (await client.call_tool(tool, arguments)).structured_content
                monkeypatch.undo()
                after = (await client.call_tool(tool, arguments)).structured_content
    assert answer is not None
    code = answer.get("error_type") or answer.get("error_code") or answer["error"]
    assert "busy" in code.lower()
    assert "try again" in str(answer)
    assert "busy" not in str(after), "the next one is taken"
