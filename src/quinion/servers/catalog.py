"""The servers that there are."""

from collections.abc import Callable
from dataclasses import dataclass

from quinion.errors import InvalidInput
from quinion.pipeline.engine import Engine
from quinion.servers import document_store, policy_kb
from quinion.servers.auth import Wording
from quinion.servers.contract import ContractServer
from quinion.settings import Settings


@dataclass(frozen=True, slots=True)
class Entry:
    """A server: its name on the command line, how it is built, and where it listens."""

    name: str
    build: Callable[[Engine], ContractServer]
    wording: Wording
    port: Callable[[Settings], int]


CATALOG = {
    entry.name: entry
    for entry in (
        Entry(
            document_store.NAME,
            document_store.build,
            document_store.word_refusal,
            lambda settings: settings.document_store_port,
        ),
        Entry(
            policy_kb.NAME,
            policy_kb.build,
            policy_kb.word_refusal,
            lambda settings: settings.policy_kb_port,
        ),
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
