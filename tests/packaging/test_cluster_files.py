"""Files of `deploy/cluster`: the Compose file, the manifests for Kubernetes, and nginx."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]

from deploy.bundle import ROOT
from quinion.settings import Settings

CLUSTER = ROOT / "deploy" / "cluster"
COMPOSITION = yaml.safe_load((CLUSTER / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSITION["services"]
PORTS = ["3002", "3003", "3004", "3005"]
KUBERNETES = "1.32"
each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


@cache
def manifests() -> dict[tuple[str, str], Any]:
    """All objects of the manifests, by kind and name."""
    found = {}
    for path in sorted((CLUSTER / "kubernetes").glob("*.yaml")):
        for one in yaml.safe_load_all(path.read_text()):
            found[one["kind"], one["metadata"]["name"]] = one
    return found


def containers() -> list[Any]:
    pods = [
        one["spec"]["template"]["spec"]
        for one in manifests().values()
        if "template" in one.get("spec", {})
    ]
    return [container for pod in pods for container in pod["containers"]]


@each_service
def test_a_service_is_confined(service: dict[str, Any]) -> None:
    assert not service["user"].startswith(("0", "root"))
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["mem_limit"]


def test_only_nginx_is_reachable_from_outside() -> None:
    outside = [
        name for name, one in SERVICES.items() if "ports" in one or "outside" in one["networks"]
    ]
    assert outside == ["nginx"]
    assert COMPOSITION["networks"]["inside"] == {"internal": True}
    assert "QUINION_BIND:-127.0.0.1" in SERVICES["nginx"]["ports"][0]
    assert all(
        "MCP_API_KEY:?" in SERVICES[f"server-{n}"]["environment"]["MCP_API_KEY"] for n in (1, 2)
    )


def test_servers_and_workers_share_their_settings() -> None:
    servers = [SERVICES["server-1"], SERVICES["server-2"]]
    assert servers[0]["environment"] == servers[1]["environment"]
    worker = SERVICES["worker"]
    assert worker["deploy"]["replicas"] == 3
    for name, value in worker["environment"].items():
        assert name == "QUINION_HOME" or servers[0]["environment"][name] == value
    variables = set(Settings.variables())
    assert variables >= {*worker["environment"], *servers[0]["environment"]}
    folder = servers[0]["environment"]["QUINION_BLOBS_URL"].removeprefix("file://")
    shared = "shared:" + folder.rpartition("/")[0]
    assert all(shared in one["volumes"] for one in (*servers, worker))
    assert "/data /shared\n" in (ROOT / "deploy" / "Dockerfile").read_text()


def test_the_documentation_has_the_commands_of_the_compose_file() -> None:
    page = (ROOT / "docs" / "scaling.md").read_text()
    comments = re.findall(r"^#   (.*)$", (CLUSTER / "docker-compose.yml").read_text(), re.M)
    assert comments
    assert all(command in page for command in comments)


@pytest.mark.parametrize("manifest", manifests().values(), ids=map("/".join, manifests()))
def test_a_manifest_matches_the_schema_of_kubernetes(manifest: Any) -> None:
    kubernetes_validate.validate(manifest, KUBERNETES, strict=True)


def test_the_schema_test_can_fail() -> None:
    broken = {**manifests()["Deployment", "worker"], "spec": {"replicas": "three"}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, KUBERNETES, strict=True)


@pytest.mark.parametrize("container", containers(), ids=lambda one: str(one["name"]))
def test_a_container_is_confined(container: Any) -> None:
    security = container["securityContext"]
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert "memory" in container["resources"]["limits"]


def test_the_manifests_are_complete() -> None:
    kustomization = yaml.safe_load((CLUSTER / "kustomization.yaml").read_text())
    resources = {Path(one).name for one in kustomization["resources"]}
    assert resources == {path.name for path in (CLUSTER / "kubernetes").glob("*.yaml")}
    generated = {one["name"] for one in kustomization["configMapGenerator"]}
    text = "\n".join(path.read_text() for path in (CLUSTER / "kubernetes").glob("*.yaml"))
    assert set(re.findall(r"configMap(?:Ref)?: \{name: ([\w-]+)\}", text)) == generated
    given = dict(
        line.split("=", 1) for line in (CLUSTER / "kubernetes/settings.env").read_text().split()
    )
    assert {name for name in given if not name.startswith("AWS_")} <= set(Settings.variables())


@pytest.mark.parametrize("folder", ["nginx", "kubernetes"])
def test_nginx_knows_each_server_at_each_port(folder: str) -> None:
    upstreams = (CLUSTER / folder / "upstreams.conf").read_text()
    configuration = (CLUSTER / "nginx" / "quinion.conf").read_text()
    assert re.findall(r"listen (\d+);", configuration) == PORTS
    groups = dict(re.findall(r"^    (\d+) (\w+);$", configuration, re.M))
    assert list(groups) == PORTS
    for port, group in groups.items():
        [block] = re.findall(rf"^upstream {group} \{{(.*?)^\}}", upstreams, re.M | re.S)
        servers = re.findall(r"server ([\w.-]+):(\d+) ", block)
        assert {found for _, found in servers} == {port}
        assert len(servers) == 2
    if folder == "nginx":
        assert set(re.findall(r"server ([\w-]+):", upstreams)) <= SERVICES.keys()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is missing")
def test_kustomize_builds_what_the_manifests_say() -> None:
    done = subprocess.run(
        ["kubectl", "kustomize", str(CLUSTER)], check=True, capture_output=True, text=True
    )
    built = list(yaml.safe_load_all(done.stdout))
    for one in built:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    kinds = [one["kind"] for one in built]
    assert len(built) == len(manifests()) + 2
    assert kinds.count("ConfigMap") == 2
