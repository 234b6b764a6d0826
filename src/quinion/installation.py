"""Checks of the installation: packages, extras, OCR and the embedding model."""

import importlib.metadata
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter

from quinion import __version__
from quinion.embed.local.embedder import LocalEmbedder
from quinion.engine import ENGINES, TESSERACT, check_ocr
from quinion.errors import BadSetting, QuinionError
from quinion.extract.ocr.languages import advise, find_missing
from quinion.settings import Settings

PACKAGES = ("mcp", "chromadb", "pymupdf", "onnxruntime", "tokenizers", "pillow")
EXTRAS = {
    "fast": "ctranslate2",
    "formulas": "ziamath",
    "ocr": "rapidocr",
    "postgres": "psycopg",
    "redis": "redis",
    "tracing": "opentelemetry.exporter.otlp.proto.grpc",
}
"""Package that shows whether an extra is installed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check; `advice` is the fix for a problem."""

    what: str
    well: bool
    found: str
    advice: str = ""


def check_installation(settings: Settings) -> Iterator[Finding]:
    """Check everything that is installed. Blocking: it loads the embedding model."""
    yield from check_programs(settings)
    yield _check_model(settings)


def check_programs(settings: Settings) -> Iterator[Finding]:
    """Check packages, extras and OCR. Blocking."""
    yield Finding("quinion", True, f"{__version__} on Python {platform.python_version()}")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    yield Finding("packages", True, ", ".join(versions))
    yield _check_extras(settings)
    if settings.enable_ocr and settings.ocr_engine == "rapidocr":
        yield _check_rapidocr(settings)
    else:
        yield _check_tesseract(settings)


def _check_extras(settings: Settings) -> Finding:
    missing = [extra for extra, package in EXTRAS.items() if not _is_installed(package)]
    found = ", ".join(
        f"{extra}: {'not installed' if extra in missing else 'installed'}" for extra in EXTRAS
    )
    if settings.redis_url and "redis" in missing:
        advice = "REDIS_URL needs the extra redis. Run: pip install 'redis>=8.1,<9', or unset it."
        return Finding("extras", False, found, advice)
    if settings.database and "postgres" in missing:
        advice = (
            "QUINION_DATABASE_URL needs the extra postgres. Run: pip install "
            "'psycopg[binary]>=3.3,<4', or unset it."
        )
        return Finding("extras", False, found, advice)
    return Finding("extras", True, found)


def _is_installed(package: str) -> bool:
    with suppress(ModuleNotFoundError):  # a package above it is missing
        return find_spec(package) is not None
    return False


def _check_rapidocr(settings: Settings) -> Finding:
    try:
        check_ocr(settings)
    except BadSetting as error:
        return Finding("OCR", False, str(error), "See OCR_ENGINE in the reference of settings.")
    version = importlib.metadata.version("rapidocr")
    return Finding("OCR", True, f"rapidocr {version}, on for {settings.ocr_languages}")


def _check_tesseract(settings: Settings) -> Finding:
    program = shutil.which(TESSERACT)
    if program is None:
        return Finding(
            "OCR",
            not settings.enable_ocr,
            "Tesseract is not installed: scanned pages cannot be read.",
            "Install it (Debian: apt-get install tesseract-ocr; macOS: brew install tesseract), "
            "or set ENABLE_OCR=false.",
        )
    ended = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    state = f"on for {settings.ocr_languages}" if settings.enable_ocr else "off (ENABLE_OCR)"
    found = f"{ended.stdout.splitlines()[0]}, {state}"
    if settings.enable_ocr and (missing := find_missing(TESSERACT, settings.ocr_languages)):
        found += f"; no language data for {', '.join(missing)}"
        return Finding("OCR", False, found, f"Run: {advise(missing)}")
    return Finding("OCR", True, found)


def _check_model(settings: Settings) -> Finding:
    numerics = ENGINES.get(settings.embedding_engine)
    embedder = LocalEmbedder(settings.models, settings.model_dir, numerics=numerics)
    started = perf_counter()
    try:
        embedder.embed_query("does the model work?")
    except (QuinionError, OSError) as error:  # OSError: the home of another user
        return Finding("embedding model", False, str(error), "See quinion model.")
    return Finding(
        "embedding model",
        True,
        f"{embedder.fingerprint}, {embedder.dimensions} dimensions, "
        f"first vector after {perf_counter() - started:.1f} s",
    )
