"""Strict schema check of the MCP inspector for every tool of every server.

`tools/list --strict` checks input and output schemas for features that some client or model does
not support, and exits with an error if it finds any. The tests check its warnings too.
"""

import json
from pathlib import Path

import pytest

from tests.conformance.clients.plan import SERVERS
from tests.conformance.tools import INSPECTOR, run
from tests.contract.conftest import NewHome
from tests.contract.process import SCRIPTS, Home, wait_until_free

OCR = "mistral-ocr"
OCR_SOURCES = Path(__file__).parents[2] / "packages" / "mistral-ocr-mcp" / "src"
PATIENCE_S = 60.0

FREE = {("docvec", "outputSchema", "$defs.JsonValue")}
"""Any JSON by contract: the details of an error of DocVec."""


@pytest.fixture(params=[*(server.name for server in SERVERS), OCR])
def server(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def command(server: str) -> list[str]:
    """Command that starts the server on stdio."""
    if server == OCR:
        return [str(SCRIPTS / "python"), "-m", "mistral_ocr_mcp"]
    return [str(SCRIPTS / f"{server}-mcp")]


def variables(server: str, home: Home) -> dict[str, str]:
    """Environment of the server."""
    if server == OCR:
        return {
            "PYTHONPATH": str(OCR_SOURCES),
            "MISTRAL_API_KEY": "not-called",
            "MISTRAL_OCR_ALLOWED_DIR": str(home.files),
        }
    return home.environment({})


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_finds_nothing_wrong_with_the_schemas(
    server: str, era: str, node: str, new_home: NewHome
) -> None:
    home = new_home()
    given = (f"-e {name}={value}" for name, value in variables(server, home).items())
    ended = run(
        *(node, INSPECTOR, "--cli", "--method", "tools/list", "--strict", "--format", "json"),
        *("--protocol-era", era),
        *(part for pair in given for part in pair.split(" ", 1)),
        *command(server),
        patience_s=PATIENCE_S,
        variables={"HOME": str(home.files)},
    )
    wait_until_free(home)
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["result"]["tools"]
    found = {
        (server, finding["schema"], finding["path"])
        for tool in report.get("schemaFindings", [])
        for finding in tool["findings"]
    }
    assert found <= FREE
