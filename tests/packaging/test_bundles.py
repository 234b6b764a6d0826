"""Output of `make bundles`: up-to-date registry files, and bundles that run as servers."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

import pytest
from mcp import StdioServerParameters

from deploy.bundle import MCPB, REGISTRY, ROOT, make_bundle, run_mcpb
from deploy.servers import NAMESPACE, SERVERS, Server, describe_for_registry
from quinion.servers.registry import CATALOG
from tests.contract.session import Session, open_session
from tests.documents import PROSE, Text, make_pdf

BY_NAME = {server.name: server for server in SERVERS}
each_server = pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)


def test_every_server_is_there() -> None:
    assert BY_NAME.keys() == {*CATALOG, "mistral-ocr"}


@each_server
def test_the_registrys_file_is_not_stale(server: Server) -> None:
    file = REGISTRY / server.name / "server.json"
    assert json.loads(file.read_text()) == describe_for_registry(server), "run: make bundles"


@each_server
def test_the_registrys_file_keeps_to_the_limits_of_its_schema(server: Server) -> None:
    entry = describe_for_registry(server)
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert 1 <= len(entry["description"]) <= 100
    assert 1 <= len(entry["title"]) <= 100
    [package] = entry["packages"]
    assert package["version"] == entry["version"] == server.version
    assert package["registryType"] == "pypi"
    assert package["transport"] == {"type": "stdio"}
    for argument in package.get("packageArguments", []):
        assert argument.keys() == {"type", "value"}
    for variable in package["environmentVariables"]:
        assert variable.keys() <= {"name", "description", "isRequired", "isSecret", "format"}
        assert variable.get("format", "filepath") == "filepath"


@each_server
def test_the_readme_on_the_package_index_names_the_server_as_the_registry_asks(
    server: Server,
) -> None:
    folder = ROOT if server.package == "quinion" else ROOT / "packages" / server.package
    words = (folder / "README.md").read_text().split()
    names = [after for word, after in pairwise(words) if word == "mcp-name:"]
    assert f"{NAMESPACE}/{server.name}" in names


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MCPB.exists():
        pytest.skip("mcpb, the bundles' own tool, is not installed; `make bundles` installs it")
    folder = tmp_path_factory.mktemp("bundles")
    for server in SERVERS:
        make_bundle(server, folder)
    return folder


@each_server
def test_a_bundle_is_valid_and_contains_exactly_the_needed_files(
    bundles: Path, server: Server
) -> None:
    [file] = bundles.glob(f"{server.name}-*.mcpb")
    with ZipFile(file) as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("manifest.json"))
    [wheel] = [name for name in names if name.endswith(".whl")]
    rest = {"manifest.json", "pyproject.toml", "icon.png", "LICENSE", "src/server.py"}
    assert names - {wheel} == rest
    assert wheel.startswith(server.package.replace("-", "_"))
    assert manifest["tools"]
    assert all(tool["description"] for tool in manifest["tools"])
    secrets = {key for key, option in manifest["user_config"].items() if option.get("sensitive")}
    assert secrets == {key for key in manifest["user_config"] if key.endswith("_key")}


def test_a_bundle_that_its_own_tool_finds_fault_with_is_not_made(
    bundles: Path, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({"manifest_version": "0.4", "name": "x"}))
    with pytest.raises(RuntimeError, match="server"):
        run_mcpb("validate", str(tmp_path / "manifest.json"))


@contextmanager
def started(bundles: Path, server: Server, place: Path) -> Iterator[Session]:
    """Start the bundle's server like a client: from the manifest, with optional settings empty."""
    folder = place / "bundle"
    with ZipFile(bundles / f"{server.name}-{server.version}.mcpb") as archive:
        archive.extractall(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    config = manifest["server"]["mcp_config"]
    arguments = [argument.replace("${__dirname}", str(folder)) for argument in config["args"]]
    options = {variable.name: "" for variable in server.variables}
    options |= {v.name: str(place) for v in server.variables if v.is_required}
    assert options.keys() == config["env"].keys()
    uv = str(Path(sys.executable).with_name("uv"))
    inherited = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    ours = {"XDG_DATA_HOME": str(place / "data"), "QUINION_IDLE_SECONDS": "0"}
    environment = {**inherited, **options, **ours}
    command = [uv, "sync", "--directory", str(folder)]
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"the packages that it needs cannot be had here: {made.stderr[-200:]}")
    with open_session(
        StdioServerParameters(command=uv, args=arguments, env=environment)
    ) as session:
        yield session


@pytest.mark.timeout(900)
@each_server
def test_a_bundle_is_the_server_of_its_manifest_once_uv_has_made_its_environment(
    bundles: Path, server: Server, tmp_path: Path
) -> None:
    with started(bundles, server, tmp_path) as session:
        offered = session.tools.keys()
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    assert offered == {tool["name"] for tool in manifest["tools"]}
    for unused in ("kubernetes", "networkx", "huggingface_hub", "torch"):
        assert not list((tmp_path / "bundle").rglob(f"site-packages/{unused}"))


@pytest.mark.timeout(900)
def test_a_bundle_has_all_that_is_needed_to_take_a_document_in(
    bundles: Path, tmp_path: Path
) -> None:
    document = make_pdf(tmp_path / "Transport_Assessment.pdf", [Text(PROSE)])
    with started(bundles, BY_NAME["document-store"], tmp_path) as session:
        arguments = {"file_path": str(document), "application_ref": "26/00001/FUL"}
        assert session.call("ingest_document", **arguments)["status"] == "success"
        found = session.call("search_application_docs", query="where do bicycles go?")
        assert "cycle parking" in found["results"][0]["text"]
