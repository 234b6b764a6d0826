"""Files of `deploy/`, and the Compose services run locally without containers."""

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

from deploy.bundle import ROOT
from quinion.store.policies import open_registry
from quinion.workers.kinds import DOCUMENTS
from tests.contract.policy_kb.asking import find, ingest_well, register, revise
from tests.contract.process import Home, HttpServer, run_http
from tests.documents import PROSE, Text, make_pdf

COMPOSE_FILE = (ROOT / "deploy" / "docker-compose.yml").read_text()
COMPOSITION = yaml.safe_load(COMPOSE_FILE)
SERVICES: dict[str, Any] = COMPOSITION["services"]
TOKEN = "a token"
each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def test_the_services_are_those_that_are_documented() -> None:
    assert set(SERVICES) == {"document-store", "policy-kb", "chroma", "redis"}


def test_the_comments_and_the_documentation_agree_with_the_services() -> None:
    page = (ROOT / "docs" / "installing.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (\d+|none outside) \| (\d+ [GM]B) \|", page, re.M)
    assert [name for name, _, _ in rows] == list(SERVICES)
    for name, port, limit in rows:
        service = SERVICES[name]
        ports = [one.rpartition(":")[2] for one in service.get("ports", [])]
        assert ports == ([] if port == "none outside" else [port])
        assert service["mem_limit"] == f"{limit[:-3]}{limit[-2].lower()}"
    comments = " ".join(re.findall(r"# (.*)", COMPOSE_FILE))
    assert f"may take {DOCUMENTS.address_space_bytes >> 20} MiB" in comments
    for command in re.findall(r"^(?:export|docker compose) .*$", page, re.M):
        assert command in comments


@each_service
def test_a_service_is_confined(service: dict[str, Any]) -> None:
    assert not service["user"].startswith(("0", "root"))
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"]
    assert service["healthcheck"]["test"][0] == "CMD"
    kept = {volume.split(":")[0] for volume in service["volumes"]}
    assert kept & COMPOSITION["volumes"].keys(), "what it keeps is lost with the container"


@each_service
def test_only_services_with_a_token_are_reachable_from_outside(service: dict[str, Any]) -> None:
    if "outside" in service["networks"] or "ports" in service:
        assert "MCP_API_KEY:?" in service["environment"]["MCP_API_KEY"]
    assert COMPOSITION["networks"]["inside"] == {"internal": True}
    assert all("QUINION_BIND:-127.0.0.1" in port for port in service.get("ports", []))


def test_the_image_is_not_run_by_root_and_is_made_of_files_that_exist() -> None:
    instructions = (ROOT / "deploy" / "Dockerfile").read_text()
    assert re.findall(r"^USER (.*)$", instructions, re.M)[-1] == "10001:10001"
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", instructions, re.M)
    sources = [source for line in copied for source in line.split()]
    assert sources
    let_in = re.findall(r"^!(.*)$", (ROOT / "deploy" / "Dockerfile.dockerignore").read_text(), re.M)
    assert sorted(sources) == sorted(let_in)
    assert all((ROOT / source).exists() for source in sources)


class Places:
    """Local equivalents of the names and paths in the Compose file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = folder / "documents"
        self.documents.mkdir()
        self.ports = {port: _free_port() for port in ("3002", "3003", "6379", "8000")}

    def here(self, text: str) -> str:
        """Translate a value of the Compose file to local addresses and paths."""
        for port, free in self.ports.items():
            text = re.sub(rf"[\w.-]+:{port}\b", f"127.0.0.1:{free}", text)
            text = re.sub(rf"^{port}$", str(free), text)
        return text.replace("/documents", str(self.documents))

    def home(self, name: str) -> Home:
        files = self.folder / name
        files.mkdir()
        return Home(files / "data", files)


@contextmanager
def program(places: Places, name: str, command: list[str]) -> Iterator[None]:
    """Run a third-party service with its data in a separate folder."""
    data = places.folder / name
    data.mkdir()
    arguments = [str(data) if one == "/data" else places.here(one) for one in command]
    with (places.folder / f"{name}.log").open("w") as log:
        with subprocess.Popen(arguments, cwd=data, stdout=log, stderr=log) as process:
            try:
                yield
            finally:
                process.kill()


def wait_until_healthy(places: Places, service: dict[str, Any]) -> None:
    """Wait with the service's health check from the Compose file."""
    command = [places.here(word) for word in service["healthcheck"]["test"][1:]]
    command[0] = {"python": sys.executable}.get(command[0], command[0])
    if command[0] == "redis-cli":
        command[1:1] = ["-p", str(places.ports["6379"])]
    deadline = time.monotonic() + 60
    while subprocess.run(command, capture_output=True, check=False).returncode != 0:
        assert time.monotonic() < deadline, f"not healthy: {command}"
        time.sleep(0.1)


@contextmanager
def server(places: Places, name: str) -> Iterator[HttpServer]:
    service = SERVICES[name]
    variables = {variable: places.here(value) for variable, value in service["environment"].items()}
    home = places.home(name)
    port = {"document-store": "3002", "policy-kb": "3003"}[name]
    variables |= {
        "MCP_API_KEY": TOKEN,
        "QUINION_ALLOWED_HOSTS": "",
        f"{name.upper().replace('-', '_')}_PORT": str(places.ports[port]),
    }
    with run_http(home, variables, tuple(service["command"])) as running:
        wait_until_healthy(places, service)
        yield running


@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_two_servers_with_homes_of_their_own_share_one_chroma(tmp_path: Path) -> None:
    """Their collections have different names, so neither affects the other's data."""
    places = Places(tmp_path)
    policies = SERVICES["policy-kb"]["environment"]
    travel = make_pdf(places.documents / "Travel_Plan.pdf", [Text(PROSE)])
    policy = make_pdf(places.documents / "policy.pdf", [Text(f"1. Cycling\n1.1 {PROSE}")])
    chroma = [sys.executable, *SERVICES["chroma"]["command"][1:]]
    redis = [*SERVICES["redis"]["command"], "--port", str(places.ports["6379"])]
    with ExitStack() as running:
        running.enter_context(program(places, "chroma", chroma))
        running.enter_context(program(places, "redis", redis))
        for name in ("chroma", "redis"):
            wait_until_healthy(places, SERVICES[name])
        store = running.enter_context(server(places, "document-store"))
        knowledge = running.enter_context(server(places, "policy-kb"))
        with store.session(token=TOKEN) as session:
            arguments = {"file_path": str(travel), "application_ref": "26/00001/FUL"}
            assert session.call("ingest_document", **arguments)["status"] == "success"
        # Other programs may write the registry in Redis; here, this test does.
        registry = open_registry(tmp_path, places.here(str(policies["REDIS_URL"])))
        source = register(registry)
        revision = revise(registry, source, "First edition", date(2020, 1, 1))
        with knowledge.session(token=TOKEN) as session:
            ingest_well(session, source, revision, policy)
            assert {one["source"] for one in find(session, "cycle parking")} == {source}
        with store.session(token=TOKEN) as session:
            found = session.call("search_application_docs", query="cycle parking")
            assert {one["metadata"]["source_file"] for one in found["results"]} == {travel.name}
        for one in (store, knowledge):
            assert not (one.home.path / "chroma").exists(), "the vectors are in the server"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
