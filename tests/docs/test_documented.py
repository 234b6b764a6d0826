"""Settings, tools and commands are documented, and names in the documentation exist."""

import ast
import re
from pathlib import Path

import pytest
import typer.main

from quinion.cli.groups import GROUPS, load_group
from quinion.cli.main import app
from quinion.engine import open_engine
from quinion.servers.registry import CATALOG
from quinion.settings import Settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
VARIABLES = Settings.variables()


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_has_a_row_in_the_settings(variable: str) -> None:
    assert f"\n| `{variable}` | " in (DOCS / "settings.md").read_text()


def test_the_settings_document_no_variable_that_is_not_there() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \|", (DOCS / "settings.md").read_text(), re.M)
    assert sorted(rows) == sorted(VARIABLES)


def test_no_module_but_settings_reads_a_variable() -> None:
    readers = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"\bos\.(getenv|environ(\.|\[(?!.*\] = )))", path.read_text())
    ]
    assert readers == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=str)
def test_no_page_names_a_command_that_is_not_there(page: Path) -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    groups = {name: load_group(name).commands for name in GROUPS}
    for name, sub in re.findall(r"`quinion ([a-z][\w-]*)(?: ([a-z]\w*))?", page.read_text()):
        assert name in commands, name
        assert not sub or name not in groups or sub in groups[name], f"{name} {sub}"


@pytest.mark.anyio
@pytest.mark.parametrize("name", CATALOG)
async def test_every_tool_and_parameter_stands_on_its_servers_page(
    name: str, tmp_path: Path
) -> None:
    page = (DOCS / f"{name}.md").read_text()
    async with open_engine(Settings(home=tmp_path)) as engine:
        tools = await CATALOG[name].load().build(engine).list_tools()
    assert tools
    for tool in tools:
        assert f"`{tool.name}`" in page
        for parameter in tool.input_schema["properties"]:
            assert f"`{parameter}`" in page, f"{tool.name}: {parameter}"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    for file, test in set(
        re.findall(r"((?:packages/[\w-]+/)?tests/[\w/]+\.py)::(\w+)", page.read_text())
    ):
        names = {
            node.name
            for node in ast.walk(ast.parse((ROOT / file).read_text()))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert test in names, f"{file}::{test}"


@pytest.mark.parametrize("page", sorted((DOCS / "traceability").glob("*.md")), ids=str)
def test_every_traceability_page_is_linked_from_its_servers_page(page: Path) -> None:
    assert f"](traceability/{page.name})" in (DOCS / page.name).read_text()
    assert re.search(r"\| `(packages/[\w-]+/)?tests/[\w/]+\.py::test_\w+`", page.read_text())


def test_every_line_of_the_security_model_names_its_test() -> None:
    """That the named tests exist is checked above."""
    lines = (DOCS / "security.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| threat")]
    assert rows
    assert [row for row in rows if not re.search(r"tests/[\w/]+\.py::test_\w+", row)] == []


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=str)
def test_every_link_between_pages_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
