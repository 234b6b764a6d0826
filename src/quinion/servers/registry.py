"""The servers that there are. Each is imported when it is wanted: a client waits for it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from quinion.errors import InvalidInput
from quinion.settings import Settings

if TYPE_CHECKING:
    # For the types alone: a relay on stdio has the catalog, and none of these.
    from quinion.engine import Engine
    from quinion.servers.auth import Refusal
    from quinion.servers.base import ContractServer

COMMON = (
    "chroma_dir",
    "chroma_in_memory",
    "chroma_url",
    "embedding_engine",
    "enable_ocr",
    "image_ratio_threshold",
    "mirror",
    "model_dir",
    "read_roots",
)
"""The settings that decide what any server does."""


class Contract(Protocol):
    """What the package of a server offers."""

    def build(self, engine: "Engine") -> "ContractServer":
        """The server, working on this engine."""
        ...

    def word_refusal(self, refusal: "Refusal") -> str:
        """What a client without the right token is told."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A server: its name on the command line, its package, and where it listens.

    `folder` is where it keeps what it keeps: a folder of its own, or (None) the home. `own` are
    the settings that no other server has. `partition` names a part of the home that it has to
    itself: with another one it is another server, beside this one in the same engine.
    """

    name: str
    port: Callable[[Settings], int]
    folder: Callable[[Settings], Path | None] = lambda _: None
    own: tuple[str, ...] = ()
    partition: Callable[[Settings], str] = lambda _: ""

    def settings(self, settings: Settings) -> Settings:
        """The settings as this server has them."""
        return settings.at(self.folder(settings))

    def load(self) -> Contract:
        """The package of the server."""
        module = import_module(f"quinion.servers.{self.name.replace('-', '_')}")
        return cast(Contract, module)

    def differing(self, one: Settings, other: Settings) -> list[str]:
        """The variables that would have this server do something else."""
        return differing((*COMMON, *self.own), one, other)


CATALOG = {
    entry.name: entry
    for entry in (
        Entry("document-store", lambda settings: settings.document_store_port),
        Entry(
            "policy-kb",
            lambda settings: settings.policy_kb_port,
            own=("redis_url",),
        ),
        Entry(
            "docvec",
            lambda settings: settings.docvec_port,
            lambda settings: settings.docvec_db_path,
            own=(
                "docvec_chunk_size",
                "docvec_backend",
                "docvec_host",
                "docvec_model",
                "docvec_api_key",
                "docvec_timeout",
            ),
            partition=lambda settings: settings.docvec_collection,
        ),
        Entry(
            "doclibrary",
            lambda settings: settings.doclibrary_port,
            own=("vision_url", "vision_model", "vision_api_key"),
        ),
    )
}


def differing(fields: Iterable[str], one: Settings, other: Settings) -> list[str]:
    """The variables of those fields that differ."""
    return [
        Settings.variable(name) for name in fields if getattr(one, name) != getattr(other, name)
    ]


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
