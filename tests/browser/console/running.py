"""An engine that serves the console, for the browser."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.contract.process import SCRIPTS, STOPPING_S, Home, run_to_end

PORTS = {
    f"{name}_PORT": "0"
    for name in ("DOCUMENT_STORE", "POLICY_KB", "DOCVEC", "DOCLIBRARY", "QUINION_CONSOLE")
}


@dataclass
class Running:
    """An engine with a console."""

    home: Home
    address: str
    process: "subprocess.Popen[str]"
    port: str

    def key(self) -> str:
        """A new address with a key."""
        made = run_to_end(
            self.home, {**PORTS, "BROWSER": "true"}, "open", "--json", program="quinion"
        )
        assert made.returncode == 0, made.stderr
        return made.stdout.split('"')[3]


@contextmanager
def serve(home: Home, port: str = "0", **variables: str) -> Iterator[Running]:
    """Start `quinion serve` on a home."""
    environment = home.environment({**PORTS, "QUINION_CONSOLE_PORT": port, **variables})
    with (
        (home.files / "server.log").open("a") as log,
        subprocess.Popen(
            [SCRIPTS / "quinion", "serve", "console"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[1].partition("/?")[0]
            yield Running(home, address, process, address.rpartition(":")[2])
        finally:
            process.terminate()
            process.wait(STOPPING_S)


def run_command(home: Home, *arguments: str) -> None:
    """Run a command of quinion on a home, however long it takes on a busy machine."""
    command = [str(SCRIPTS / "quinion"), *arguments]
    done = subprocess.run(
        command, env=home.environment({}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr + done.stdout
