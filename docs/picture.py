"""Picture of a terminal for the README, made by `make picture` from real commands.

It ingests `samples/` into an empty home, runs the commands below and draws their output as
`search.svg`. No font is loaded from the network.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parent
PICTURE = DOCS / "search.svg"
SAMPLES = DOCS.parent / "samples"
REFERENCE = "26/00001/FUL"
COMMANDS = (
    'quinion search "how many cycle parking spaces are there?" --limit 1',
    'quinion search "risk of flooding from the canal" --limit 1',
)
FOLDER = "file:///home/planning"
"""Folder of the samples in the picture, wherever the repository is."""
COLUMNS = 100
FONT = "font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace;"


def record() -> dict[str, str]:
    """Run the commands in a new home; their output with ANSI colours, by command."""
    with TemporaryDirectory() as home:
        environment = {**os.environ, "QUINION_HOME": home, "COLUMNS": str(COLUMNS)}
        environment |= {"FORCE_COLOR": "1", "TERM": "xterm-256color", "QUINION_MIRROR": "off"}
        ingest = ["quinion", "ingest", str(SAMPLES), "--application-ref", REFERENCE]
        _run(ingest, environment)
        return {command: _run(shlex.split(command), environment) for command in COMMANDS}


def draw(outputs: dict[str, str]) -> str:
    """Draw commands and outputs as SVG."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere, force_terminal=True)
        for command, output in outputs.items():
            console.print(Text.assemble(("$ ", "green"), (command, "bold")))
            console.print(Text.from_ansi(output.rstrip()))
            console.print()
        svg = console.export_svg(title="quinion", unique_id="quinion")
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"\s*<!-- .*? -->", "", svg)
    svg = re.sub(r"font-family: Fira Code, monospace;", FONT, svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _run(command: list[str], environment: dict[str, str]) -> str:
    program = str(Path(sys.executable).with_name(command[0]))
    output = subprocess.run(
        [program, *command[1:]], env=environment, capture_output=True, text=True, check=True
    ).stdout
    return output.replace(DOCS.parent.as_uri(), FOLDER)


if __name__ == "__main__":
    PICTURE.write_text(draw(record()), encoding="utf-8")
