"""Generated arguments for every tool, over a real client session: no answer outside the output
schema, no server error, no hang."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp.types import CallToolResult, TextContent

from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.store.policies import open_registry
from tests.contract.conftest import NewHome
from tests.contract.process import run_command
from tests.contract.session import Session
from tests.documents import PROSE, text_pdf
from tests.doors.generating import arguments
from tests.doors.house import (
    DOCLIBRARY,
    DOCUMENT_STORE,
    DOCVEC,
    MCP_SERVERS,
    MISTRAL_OCR,
    POLICY_KB,
    TOKEN,
    House,
    open_house,
    unexpected,
)

PATIENCE_S = 60.0
CALLS = 400
"""Generated calls of each server."""

Stocked = tuple[House, Mapping[str, Session], list[str]]


@pytest.fixture(scope="module")
def stocked(new_home: NewHome) -> Iterator[Stocked]:
    """Servers with a document each, a session with each, and their known ids."""
    home = new_home()
    root = home.files / "root"
    root.mkdir()
    file = str(text_pdf(root / "letter.pdf", PROSE))
    (root / "note.md").write_text(f"# A note\n\n{PROSE}\n")
    registry = open_registry(home.path / "policies.db", None)
    registry.create_policy(PolicyDraft("DOORS", "Doors", PolicyCategory.LOCAL_GUIDANCE))
    registry.create_revision("DOORS", RevisionDraft("First", date(2020, 1, 1), None, "rev_DOORS"))
    registry.close()
    with open_house(home, {"QUINION_READ_ROOTS": str(root)}) as house:
        sessions = {name: house[name].session(token=TOKEN) for name in MCP_SERVERS}
        opened = {name: session.__enter__() for name, session in sessions.items()}
        try:
            document = opened[DOCUMENT_STORE].call(
                "ingest_document", file_path=file, application_ref="A/1"
            )
            opened[DOCVEC].call("index_directory", dir_path=str(root))
            with run_command(home, DOCLIBRARY, house[DOCLIBRARY].variables) as command:
                command.call("add_document", file_path=file)
            opened[POLICY_KB].call(
                "ingest_policy_revision", source="DOORS", revision_id="rev_DOORS", file_path=file
            )
            known = [document["document_id"], "A/1", "DOORS", "rev_DOORS", "letter", file]
            known += [str(root), str(home.files / "allowed"), "other", "figure", "Figure 1"]
            yield house, opened, [*known, "title", "2020-01-01", "the weather", "Front matter"]
        finally:
            for session in sessions.values():
                session.__exit__(None, None, None)


def check(session: Session, server: str, tool: str, given: dict[str, Any]) -> None:
    """Assert that the answer matches the output schema or is a refusal, not a server error."""

    async def call() -> CallToolResult:
        with anyio.fail_after(PATIENCE_S):
            return await session.client.call_tool(tool, given)

    result = session.do(call)
    said = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
    assert "unexpectedly" not in said, (tool, given, said)
    assert "internal" not in said.lower() or "internal" in str(given).lower(), (tool, given, said)
    if result.is_error:
        assert server == MISTRAL_OCR, (tool, given, said)
        assert said
    elif schema := session.tools[tool].output_schema:
        jsonschema.validate(result.structured_content, schema)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("server", MCP_SERVERS)
def test_arguments_of_any_kind_get_an_answer_of_the_contract(stocked: Stocked, server: str) -> None:
    house, sessions, known = stocked
    session = sessions[server]
    tools = sorted(session.tools)

    @settings(
        max_examples=CALLS,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def answer(data: st.DataObject) -> None:
        tool = data.draw(st.sampled_from(tools), "tool")
        given = data.draw(arguments(session.tools[tool].input_schema, known), "arguments")
        check(session, server, tool, given)

    before = len(house[server].log)
    answer()
    assert not unexpected(house[server].log[before:])
