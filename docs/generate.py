"""Generator of the reference pages, run by `make docs`.

It writes `reference.md`, `commands.md`, the table in `settings.md`, and the tables in
`traceability/`, which come from the `traceability.tsv` beside the tests of each contract.
`tests/docs/test_reference.py` fails when one of them is stale.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import typer.main
from mcp.server.mcpserver import MCPServer
from mistral_ocr_mcp.server import OcrServer
from mistral_ocr_mcp.settings import Settings as OcrSettings

from quinion.cli.groups import GROUPS, load_group
from quinion.cli.main import app
from quinion.cli.report import EXIT_MEANINGS
from quinion.engine import open_engine
from quinion.servers.registry import CATALOG
from quinion.settings import Settings

DOCS = Path(__file__).parent
ROOT = DOCS.parent
NOTE = "<!-- Generated from the code by `make docs`; do not edit. -->"
END = "<!-- End of the generated part. -->"

REFERENCE = f"""\
# Reference

{NOTE}

Tools, resources and prompts of every server, as a client sees them. For their use, see \
[document-store](document-store.md), [policy-kb](policy-kb.md), [docvec](docvec.md), \
[doclibrary](doclibrary.md), [mistral-ocr](mistral-ocr.md). \
See also [settings](settings.md) and [commands](commands.md).
"""

COMMANDS = f"""\
# Commands

{NOTE}

`quinion COMMAND --help` prints the same text. `quinion --install-completion` enables shell \
completion of commands, options, servers and clients. Colours are off if the output is not a \
terminal or `NO_COLOR` is set; progress bars appear on a terminal only.

Each server also has a separate program: `document-store-mcp`, `policy-kb-mcp`, `docvec-mcp` and \
`doclibrary-mcp` run `quinion stdio SERVER`, or `quinion serve SERVER` with \
`--http [--host HOST] [--port PORT]`.
"""

TRACED = {
    **{
        name: ROOT / "tests" / "contract" / name.replace("-", "_") / "traceability.tsv"
        for name in CATALOG
    },
    "mistral-ocr": ROOT / "packages" / "mistral-ocr-mcp" / "tests" / "traceability.tsv",
}
"""The tests of each server's contract, by page."""

EXAMPLE = "Example: "
NONE = "(none)"
COMPUTED = {"QUINION_HOME": "the platform's data folder", "QUINION_WORKERS": "one per core"}

Schema = dict[str, Any]


def main() -> None:
    """Write all generated pages."""
    for page, text in make_pages().items():
        page.write_text(text, encoding="utf-8")


def make_pages() -> dict[Path, str]:
    """Generate the text of each page."""
    settings = DOCS / "settings.md"
    return {
        DOCS / "reference.md": anyio.run(_make_reference),
        DOCS / "commands.md": _make_commands(),
        settings: _replace_part(settings.read_text(encoding="utf-8"), _make_settings()),
        **_make_traceability(),
    }


async def _make_reference() -> str:
    with TemporaryDirectory() as folder:
        parts = [REFERENCE]
        # In memory, because tools and resources do not depend on stored data.
        settings = Settings(home=Path(folder), chroma_in_memory=True)
        async with open_engine(settings) as engine:
            for name, entry in CATALOG.items():
                parts.append(await _describe_server(name, entry.load().build(engine)))
        ocr = OcrServer(OcrSettings(folder, Path(folder), "none"))
        parts.append(await _describe_server("mistral-ocr", ocr))
    return "\n".join(parts)


async def _describe_server(name: str, server: MCPServer[Any]) -> str:
    lines = [f"## {name}", "", _one_line(server.instructions or ""), ""]
    lines += ["### Tools", ""]
    for tool in await server.list_tools():
        hints = tool.annotations
        kind = "writes"
        if hints and hints.read_only_hint:
            kind = "read-only"
        elif hints and hints.destructive_hint:
            kind = "deletes"
        lines += [f"#### `{tool.name}`", "", f"*{tool.title or tool.name}* · {kind}", ""]
        lines += [*_paragraphs(tool.description or ""), ""]
        lines += _table(("parameter", "type", "default", "description"), _describe_inputs(tool))
    rows = [
        *((r.uri, r.title, r.mime_type, r.description) for r in await server.list_resources()),
        *(
            (t.uri_template, t.title, t.mime_type, t.description)
            for t in await server.list_resource_templates()
        ),
    ]
    if rows:
        lines += ["### Resources", ""]
        named = [(f"`{uri}`", *rest) for uri, *rest in rows]
        lines += _table(("URI", "title", "type", "description"), named)
    if prompts := await server.list_prompts():
        lines += ["### Prompts", ""]
        lines += _table(
            ("prompt", "title", "arguments", "description"),
            [(f"`{p.name}`", p.title, _list_arguments(p), p.description) for p in prompts],
        )
    return "\n".join(lines)


def _describe_inputs(tool: Any) -> Iterator[tuple[str, ...]]:
    schema: Schema = tool.input_schema
    required = schema.get("required", [])
    for name, one in schema["properties"].items():
        default = "required" if name in required else _format_default(one.get("default"))
        kind = _format_type(one, schema.get("$defs", {}))
        yield f"`{name}`", kind, default, one.get("description", "")


def _list_arguments(prompt: Any) -> str:
    return ", ".join(
        f"`{one.name}`{'' if one.required else ' (optional)'}" for one in prompt.arguments or []
    )


def _make_settings() -> str:
    properties: dict[str, Schema] = Settings.model_json_schema()["properties"]
    rows = []
    for variable in Settings.variables():
        one = properties[variable]
        default = COMPUTED.get(variable) or _format_default(one.get("default"))
        rows.append((f"`{variable}`", default, _format_limits(one), one["description"]))
    return "\n".join(_table(("variable", "default", "limits", "description"), rows)).rstrip()


def _make_traceability() -> dict[Path, str]:
    """The page of each server, from the TSV file beside its tests.

    A line of that file has a sentence of the contract and, in further columns, its tests or a
    remark. Tests in the folder of the file are named without it. `# ` begins a section.
    """
    pages = {}
    for page, listed in TRACED.items():
        rows = []
        for line in listed.read_text(encoding="utf-8").splitlines():
            sentence, *tests = line.split("\t")
            if sentence.startswith("# "):
                rows.append((f"**{sentence.removeprefix('# ')}**", ""))
                continue
            folder = listed.parent.relative_to(ROOT).as_posix()
            rows.append((sentence, "<br>".join(_word_test(test, folder) for test in tests)))
        table = "\n".join(_table(("the contract says", "tests"), rows)).rstrip()
        path = DOCS / "traceability" / f"{page}.md"
        pages[path] = _replace_part(path.read_text(encoding="utf-8"), table)
    return pages


def _word_test(test: str, folder: str) -> str:
    """A test with its path from the root of the repository; a remark stays as it is."""
    if not re.fullmatch(r"[\w/-]+\.py::\w+", test):
        return test
    return f"`{test}`" if "/" in test else f"`{folder}/{test}`"


def _make_commands() -> str:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = [COMMANDS]
    for name, command in commands.items():
        if name not in GROUPS:
            lines += _describe_command(f"quinion {name}", command, 2)
            continue
        group = load_group(name)
        lines += _describe_command(f"quinion {name}", group, 2)
        for sub, found in group.commands.items():
            lines += _describe_command(f"quinion {name} {sub}", found, 3)
    lines += ["## Exit status", ""]
    rows = [(str(status), meaning) for status, meaning in EXIT_MEANINGS.items()]
    lines += _table(("status", "means"), rows)
    return "\n".join(lines).rstrip() + "\n"


def _describe_command(usage: str, command: Any, level: int) -> list[str]:
    paragraphs = _paragraphs(command.help or "")
    text = [one for one in paragraphs if not one.startswith(EXAMPLE)]
    examples = [one.removeprefix(EXAMPLE) for one in paragraphs if one.startswith(EXAMPLE)]
    lines = [f"{'#' * level} `{usage}`", "", "\n".join(text).strip(), ""]
    if examples:
        lines += ["```sh", *examples, "```", ""]
    rows = [
        (_format_names(one), _format_command_default(one), one.help or "")
        for one in command.params
        if one.name != "help"
    ]
    return lines + _table(("argument or option", "default", "description"), rows)


def _format_names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar or parameter.name.upper()}`"
    return ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))


def _format_command_default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    default = parameter.default
    if default in (None, False, "", []) or callable(default):
        return ""
    return "on" if default is True else f"`{default}`"


def _format_type(schema: Schema, definitions: Schema) -> str:
    if "$ref" in schema:
        return _format_type(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        kinds = [_format_type(o, definitions) for o in schema["anyOf"] if o.get("type") != "null"]
        return " or ".join(dict.fromkeys(kinds))
    if schema.get("type") == "array":
        kind = f"list of {_format_type(schema.get('items', {}), definitions)}"
    else:
        kind = str(schema.get("type", "any"))
    return ", ".join(filter(None, (kind, _format_limits(schema))))


def _format_limits(schema: Schema) -> str:
    """Describe the limits of a value."""
    if "anyOf" in schema:
        return ", ".join(filter(None, map(_format_limits, schema["anyOf"])))
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    least, most = schema.get("minimum"), schema.get("maximum")
    limits = []
    if "exclusiveMinimum" in schema:
        limits.append(f"more than {_format_number(schema['exclusiveMinimum'])}")
    if least is not None and most is not None:
        limits.append(f"{_format_number(least)} to {_format_number(most)}")
    elif least is not None:
        limits.append(f"{_format_number(least)} or more")
    elif most is not None:
        limits.append(f"{_format_number(most)} or less")
    if "maxLength" in schema:
        limits.append(f"{schema['maxLength']:,} characters or fewer")
    if "maxItems" in schema:
        limits.append(f"{schema['maxItems']:,} items or fewer")
    return ", ".join(limits)


def _format_default(value: object) -> str:
    if value is None or value in ((), []):
        return NONE
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{_format_number(value)}`" if isinstance(value, float) else f"`{value}`"


def _format_number(value: float) -> str:
    return f"{int(value) if value == int(value) else value:,}"


def _paragraphs(text: str) -> list[str]:
    """Split a docstring into paragraphs of one line each, separated by empty lines."""
    blocks = [_one_line(block) for block in re.split(r"\n\s*\n", text.strip())]
    return [line for block in blocks for line in (block, "")][:-1]


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _table(head: Sequence[str], rows: Iterable[Sequence[str | None]]) -> list[str]:
    """Format a Markdown table followed by an empty line; empty if there are no rows."""
    written = [[_one_line(cell or "").replace("|", "\\|") for cell in row] for row in rows]
    if not written:
        return []
    lines = [head, ["---"] * len(head), *written]
    return ["| " + " | ".join(line) + " |" for line in lines] + [""]


def _replace_part(page: str, part: str) -> str:
    """Replace the generated part of a page."""
    before, _, rest = page.partition(NOTE)
    _, _, after = rest.partition(END)
    return f"{before}{NOTE}\n\n{part}\n\n{END}{after}"


if __name__ == "__main__":
    main()
