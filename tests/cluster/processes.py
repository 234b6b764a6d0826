"""Workers and servers of a small cluster as processes."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from tests.contract.process import SCRIPTS

STOPPING_S = 30.0


class Process:
    """A `quinion` process that can be killed and started again."""

    def __init__(
        self, folder: Path, name: str, command: list[str], variables: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self.port = 0
        self._command = [str(SCRIPTS / "quinion"), *command]
        home = folder / name
        home.mkdir(exist_ok=True)
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "QUINION_HOME": str(home / "home"),
            **variables,
        }
        self.start()

    def start(self) -> None:
        log: IO[bytes]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it as a supervisor does; return its exit status."""
        self.process.terminate()
        return self.process.wait(STOPPING_S)
