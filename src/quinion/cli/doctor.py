"""`quinion doctor`: what is installed, which model and engine are used, is the home well."""

import importlib.metadata
import json
import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import asdict, dataclass
from time import perf_counter

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from quinion import __version__
from quinion.embed.local import LocalEmbedder
from quinion.errors import HomeInUse, QuinionError
from quinion.pipeline.engine import open_engine
from quinion.servers.catalog import CATALOG
from quinion.servers.document_store.records import CHUNKS, REGISTRY
from quinion.settings import Settings
from quinion.store.lock import is_held, read_holder

PACKAGES = ("mcp", "chromadb", "pymupdf", "onnxruntime", "tokenizers", "pillow")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    well: bool
    found: str


def run(settings: Settings, *, as_json: bool) -> int:
    """Look at everything; 1 when something is amiss."""
    checks: list[Callable[[Settings], Finding]] = [
        _check_python,
        _check_packages,
        _check_tesseract,
        _check_model,
        _check_home,
        _check_servers,
    ]
    findings = [check(settings) for check in checks]
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        table = Table("", "what", "found")
        for finding in findings:
            table.add_row("✓" if finding.well else "✗", finding.what, escape(finding.found))
        Console().print(table)
    return int(not all(finding.well for finding in findings))


def _check_python(_: Settings) -> Finding:
    return Finding("quinion", True, f"{__version__} on Python {platform.python_version()}")


def _check_packages(_: Settings) -> Finding:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return Finding("packages", True, ", ".join(versions))


def _check_tesseract(settings: Settings) -> Finding:
    program = shutil.which("tesseract")
    if program is None:
        return Finding(
            "OCR",
            not settings.enable_ocr,
            "Tesseract is not installed: scanned pages can't be read. "
            "Install it (Debian: apt-get install tesseract-ocr), or set ENABLE_OCR=false.",
        )
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    state = "on" if settings.enable_ocr else "off (ENABLE_OCR)"
    return Finding("OCR", True, f"{said.stdout.splitlines()[0]}, {state}")


def _check_model(settings: Settings) -> Finding:
    embedder = LocalEmbedder(settings.home / "models", settings.model_dir)
    begun = perf_counter()
    try:
        embedder.embed_query("is the model well?")
    except QuinionError as error:
        return Finding("embedding model", False, str(error))
    return Finding(
        "embedding model",
        True,
        f"{embedder.fingerprint}, {embedder.dimensions} dimensions, "
        f"first vector after {perf_counter() - begun:.1f} s",
    )


def _check_home(settings: Settings) -> Finding:
    try:
        return anyio.run(_look_into_home, settings)
    except HomeInUse as error:
        holder = read_holder(settings.home)
        running = holder is not None and bool(holder.addresses)
        return Finding("home", running, f"{settings.home}, served now" if running else str(error))
    except QuinionError as error:
        return Finding("home", False, str(error))


async def _look_into_home(settings: Settings) -> Finding:
    async with open_engine(settings) as engine:
        store = await engine.store()
        documents, chunks = store.count(REGISTRY), store.count(CHUNKS)
        listed = sum(int(r.metadata["chunk_count"]) for r in await engine.get(REGISTRY))
        counted = f"{documents} documents and {chunks} chunks in {store.place}"
        agree = chunks == listed
        if not agree:
            counted += f", but the registry lists {listed} chunks"
        return Finding("home", agree, f"{settings.home}: {counted}")


def _check_servers(settings: Settings) -> Finding:
    holder = read_holder(settings.home) if is_held(settings.home) else None
    if holder is None or not holder.addresses:
        return Finding("servers", True, f"none is running; there are: {', '.join(CATALOG)}")
    running = ", ".join(f"{name} at {address}" for name, address in holder.addresses.items())
    return Finding("servers", True, f"{running} (process {holder.pid})")
