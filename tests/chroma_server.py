"""Real Chroma server for tests, in a temporary folder; it can be killed and paused."""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.contract.process import free_port

# Equivalent to the program `chroma`, without its slow imports.
_PROGRAM = "import sys, chromadb_rust_bindings as chroma; chroma.cli(['chroma', *sys.argv[1:]])"


class ChromaServer:
    """A server that can be killed and restarted at the same address with its data."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        self._command = [sys.executable, "-c", _PROGRAM, "run", "--path", str(folder)]
        self._command += ["--host", "127.0.0.1", "--port", str(port)]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not self._answers():
            assert time.monotonic() < deadline, "the Chroma server does not start"
            time.sleep(0.02)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/api/v2/heartbeat", timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def chroma_server(folder: Path, port: int | None = None) -> Iterator[ChromaServer]:
    server = ChromaServer(folder, port or free_port())
    try:
        yield server
    finally:
        server.kill()
