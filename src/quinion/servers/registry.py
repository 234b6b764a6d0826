"""Catalog of the servers. Each is imported on demand to keep startup fast."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from quinion.errors import InvalidInput
from quinion.settings import Settings

if TYPE_CHECKING:
    # Types only: a stdio relay imports the catalog but none of these modules.
    from quinion.engine import Engine
    from quinion.servers.auth import Refusal
    from quinion.servers.base import ContractServer

COMMON = (
    "blobs_url",
    "chroma_dir",
    "chroma_in_memory",
    "chroma_url",
    "database_url",
    "read_url",
    "embedding_engine",
    "enable_ocr",
    "image_ratio_threshold",
    "keep_originals",
    "mirror",
    "model_dir",
    "ocr_engine",
    "ocr_languages",
    "read_roots",
    "search_mode",
)
"""Settings that change the behaviour of every server."""


class Contract(Protocol):
    """Interface of a server package."""

    def build(self, engine: "Engine") -> "ContractServer":
        """Build the server on this engine."""
        ...

    def word_refusal(self, refusal: "Refusal") -> str:
        """Return the 401 message for this refusal."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """Catalog entry of a server: command-line name, package, port and settings.

    `folder` is the server's data folder, or None for the home. `own` lists the settings that
    only this server has. `partition` names the server's private part of the home; the same
    server with another partition runs beside it in the same engine.
    """

    name: str
    port: Callable[[Settings], int]
    folder: Callable[[Settings], Path | None] = lambda _: None
    own: tuple[str, ...] = ()
    partition: Callable[[Settings], str] = lambda _: ""

    def settings(self, settings: Settings) -> Settings:
        """Return the settings with this server's data folder applied."""
        return settings.at(self.folder(settings))

    def load(self) -> Contract:
        """Import the package of the server."""
        module = import_module(f"quinion.servers.{self.name.replace('-', '_')}")
        return cast(Contract, module)

    def differing(self, one: Settings, other: Settings) -> list[str]:
        """List the variables whose values differ and change this server's behaviour."""
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

OTHERS = ("mistral-ocr",)
"""Servers of separate distributions, for messages; they have no entry."""


def differing(fields: Iterable[str], one: Settings, other: Settings) -> list[str]:
    """List the variables of the fields whose values differ."""
    return [
        Settings.variable(name) for name in fields if getattr(one, name) != getattr(other, name)
    ]


def find_server(name: str) -> Entry:
    """Look up a server by name.

    Raises:
        InvalidInput: there is no server of that name.
    """
    try:
        return CATALOG[name]
    except KeyError:
        raise InvalidInput(
            f"There is no server {name!r}. The servers are: {', '.join([*CATALOG, *OTHERS])}."
        ) from None
