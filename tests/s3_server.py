"""S3-compatible server for tests (moto), in a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.error import URLError

STARTING_S = 60.0
KEYS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
}
BUCKET = "documents"


class S3Server:
    """A server with one bucket. `environment` has what clients need, `url` is for quinion."""

    def __init__(self) -> None:
        self._port = _find_port()
        self.environment = {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._port}"}
        self.url = f"s3://{BUCKET}/quinion"
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=dict(os.environ)
        )
        deadline = time.monotonic() + STARTING_S
        address = f"{self.environment['AWS_ENDPOINT_URL']}/{BUCKET}"
        while not _make_bucket(address):
            assert self.process.poll() is None, "the S3 server does not start"
            assert time.monotonic() < deadline, "the S3 server does not answer"
            time.sleep(0.05)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    server = S3Server()
    try:
        yield server
    finally:
        server.close()


def _make_bucket(address: str) -> bool:
    try:
        urllib.request.urlopen(urllib.request.Request(address, method="PUT")).close()
    except (URLError, ConnectionError):
        return False
    return True


def _find_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
