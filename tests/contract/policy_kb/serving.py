"""The Policy KB as users have it: a home, its registry in SQLite or in Redis, and a server."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from quinion.store.policies import PolicyRegistry, open_registry
from tests.contract.local import LocalServer, Shared, run_local
from tests.contract.process import Home, HttpServer, Variables, run_http, run_stdio, run_to_end
from tests.contract.session import Session

HTTP = ("policy-kb-mcp", "--http", "--port", "0")


@dataclass(frozen=True)
class Place:
    """A home, and the address of the Redis that has its registry, if one has."""

    home: Home
    shared: Shared
    redis_url: str | None = None

    @property
    def variables(self) -> Variables:
        """One worker, because a second takes longer to start than these documents to be read."""
        return {"REDIS_URL": self.redis_url, "QUINION_WORKERS": "1"}

    @contextmanager
    def registry(self) -> Iterator[PolicyRegistry]:
        """The registry, as another program has it: safe beside a running server."""
        registry = open_registry(self.home.path / "policies.db", self.redis_url, self.home.database)
        try:
            yield registry
        finally:
            registry.close()

    def serve(self, variables: Variables | None = None) -> AbstractContextManager[LocalServer]:
        """A server in this process."""
        given = {**self.variables, **(variables or {})}
        return run_local(self.shared, "policy-kb", self.home, given)

    @contextmanager
    def session(self) -> Iterator[Session]:
        """A session with a server in this process."""
        with self.serve() as server, server.session() as session:
            yield session

    @contextmanager
    def serve_http(
        self, variables: Variables | None = None, command: Sequence[str] = HTTP
    ) -> Iterator[HttpServer]:
        """A server over HTTP, in a process of its own."""
        with run_http(self.home, {**self.variables, **(variables or {})}, command) as server:
            yield server

    @contextmanager
    def serve_stdio(self, variables: Variables | None = None) -> Iterator[Session]:
        """A server on stdio, as a desktop client starts it."""
        with run_stdio(
            self.home, {**self.variables, **(variables or {})}, ("policy-kb-mcp",)
        ) as session:
            yield session

    def run(
        self, *arguments: str, variables: Variables | None = None, program: str = "quinion"
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program on this home to its end."""
        return run_to_end(
            self.home, {**self.variables, **(variables or {})}, *arguments, program=program
        )

    def check(self) -> str:
        """What `quinion policy check` says; nobody else may have the home."""
        ended = self.run("policy", "check")
        assert ended.returncode in {0, 1}, ended.stderr
        return ended.stdout.strip()


AGREE = "Registry and texts agree."
