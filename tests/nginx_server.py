"""nginx of Debian for tests, with the configuration of `deploy/cluster`."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.bundle import ROOT

CONFIGURATION = ROOT / "deploy" / "cluster" / "nginx"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
needs_nginx = pytest.mark.skipif(NGINX is None, reason="nginx is missing: apt-get install nginx")
STARTING_S = 20.0
PORTS = (3002, 3003, 3004, 3005)
MAIN = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log info;
events {{ worker_connections 512; }}
http {{
    log_format routes "$status $upstream_addr";
    access_log {folder}/access.log routes;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/upstreams.conf;
    include {folder}/quinion.conf;
}}
"""

Addresses = Mapping[int, Sequence[int]]
"""The ports of the servers behind each port of the configuration."""


class Nginx:
    """nginx in front of servers on this machine. `ports` are its own, by those of the files."""

    def __init__(self, folder: Path, servers: Addresses) -> None:
        self._folder = folder
        self.ports = {port: find_port() for port in PORTS}
        (folder / "upstreams.conf").write_text(self._place_servers(servers))
        (folder / "quinion.conf").write_text(self._place_ports())
        (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
        self.start()

    def start(self) -> None:
        assert NGINX
        command = [NGINX, "-p", str(self._folder), "-c", str(self._folder / "nginx.conf")]
        subprocess.run([*command, "-t"], check=True, capture_output=True)
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + STARTING_S
        while not _answers(self.ports[PORTS[0]]):
            assert time.monotonic() < deadline, (self._folder / "error.log").read_text()
            time.sleep(0.02)

    @property
    def routes(self) -> list[tuple[str, list[str]]]:
        """The status of each request, and the servers that it was sent to."""
        lines = (self._folder / "access.log").read_text().splitlines()
        parts = [line.partition(" ") for line in lines]
        return [(status, servers.split(", ")) for status, _, servers in parts]

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()

    def _place_servers(self, servers: Addresses) -> str:
        """The file of upstreams, with as many servers for each port as there are here."""
        lines = []
        for line in (CONFIGURATION / "upstreams.conf").read_text().splitlines():
            found = re.match(r"( +server )server-(\d+):(\d+)( .*)", line)
            if found is None:
                lines.append(line)
            elif found[2] == "1":
                ports = servers.get(int(found[3]), [1])
                lines += [f"{found[1]}127.0.0.1:{port}{found[4]}" for port in ports]
        return "\n".join(lines)

    def _place_ports(self) -> str:
        text = (CONFIGURATION / "quinion.conf").read_text()
        for port, mine in self.ports.items():
            text = re.sub(rf"\b{port}\b", str(mine), text)
        return text.replace("listen ", "listen 127.0.0.1:")


@contextmanager
def nginx(folder: Path, servers: Addresses) -> Iterator[Nginx]:
    server = Nginx(folder, servers)
    try:
        yield server
    finally:
        server.close()


def find_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
