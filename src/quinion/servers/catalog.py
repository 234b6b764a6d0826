"""The servers that there are. Each is imported when it is wanted: a client waits for it."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from quinion.errors import InvalidInput
from quinion.pipeline.engine import Engine
from quinion.servers.auth import Refusal
from quinion.servers.contract import ContractServer
from quinion.settings import Settings


class Contract(Protocol):
    """What the package of a server offers."""

    def build(self, engine: Engine) -> ContractServer:
        """The server, working on this engine."""
        ...

    def word_refusal(self, refusal: Refusal) -> str:
        """What a client without the right token is told."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A server: its name on the command line, its package, where it listens, and where it
    keeps what it keeps: a folder of its own, or (None) the home."""

    name: str
    port: Callable[[Settings], int]
    folder: Callable[[Settings], Path | None] = lambda _: None

    def settings(self, settings: Settings) -> Settings:
        """The settings as this server has them."""
        return settings.at(self.folder(settings))

    def load(self) -> Contract:
        """The package of the server."""
        module = import_module(f"quinion.servers.{self.name.replace('-', '_')}")
        return cast(Contract, module)


CATALOG = {
    entry.name: entry
    for entry in (
        Entry("document-store", lambda settings: settings.document_store_port),
        Entry("policy-kb", lambda settings: settings.policy_kb_port),
        Entry(
            "docvec",
            lambda settings: settings.docvec_port,
            lambda settings: settings.docvec_db_path,
        ),
        Entry("doclibrary", lambda settings: settings.doclibrary_port),
    )
}


def find_server(name: str) -> Entry:
    """The server of that name.

    Raises:
        InvalidInput: there is none.
    """
    try:
        return CATALOG[name]
    except KeyError:
        raise InvalidInput(
            f"There is no server {name!r}. The servers are: {', '.join(CATALOG)}."
        ) from None
