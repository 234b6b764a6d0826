"""Real Redis server for tests, on a Unix socket in a temporary folder.

If redis-server is not installed, tests of both backends run on SQLite only, and tests of Redis are
skipped with a message.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

PROGRAM = shutil.which("redis-server")
PLACES = ("sqlite", "redis") if PROGRAM else ("sqlite",)
IN_MEMORY = ("--save", "", "--appendonly", "no")
ON_DISK = ("--save", "", "--appendonly", "yes", "--appendfsync", "always")


class RedisServer:
    """A server that can be killed and restarted; `raw` is an independent client."""

    def __init__(self, folder: Path, options: tuple[str, ...]) -> None:
        self._socket = folder / "redis.sock"
        assert PROGRAM
        self._command = [PROGRAM, "--port", "0", "--unixsocket", str(self._socket)]
        self._command += ["--dir", str(folder), *options]
        self.url = f"unix://{self._socket}"
        self.raw: Any = redis.Redis.from_url(self.url, decode_responses=True)
        self._binary = redis.Redis.from_url(self.url)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while not self._answers():
            assert time.monotonic() < deadline, "redis-server does not start"
            time.sleep(0.01)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.raw.close()
        self._binary.close()
        self.kill()

    def dump(self) -> dict[str, object]:
        """Return all stored data as bytes."""
        keys = sorted(self.raw.keys())
        pipe = self._binary.pipeline()
        for key in keys:
            pipe.dump(key)
        return dict(zip(keys, pipe.execute(), strict=True))

    def _answers(self) -> bool:
        try:
            return bool(self.raw.ping())
        except redis.RedisError:
            return False


@contextmanager
def redis_server(folder: Path, options: tuple[str, ...] = IN_MEMORY) -> Iterator[RedisServer]:
    server = RedisServer(folder, options)
    try:
        yield server
    finally:
        server.close()
