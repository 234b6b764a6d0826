"""Scenes: the tested operations, each with the home that it starts from.

The state of a home consists of the server's lists, stored texts and search results, and of the
files beside the store. Times are omitted, because they differ from run to run.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from mcp import Client

from quinion.concurrency import in_thread
from quinion.engine import Engine
from quinion.errors import QuinionError
from quinion.ingest.applications.ingestion import ApplicationIngestion
from quinion.ingest.folders.records import IndexCollections
from quinion.ingest.kept_files import ORIGINALS, WORDS
from quinion.ingest.library import records as library_records
from quinion.ingest.source import hash_file
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft, RevisionStatus
from quinion.servers import doclibrary, document_store, docvec, policy_kb
from quinion.servers.base import ContractServer, serving
from quinion.servers.document_store import records as document_records
from quinion.servers.policy_kb import records as policy_records
from quinion.settings import Settings
from quinion.store.blobs import UNLISTED
from tests import home_v1
from tests.crash.layer import Say
from tests.documents import text_pdf

Answer = dict[str, Any]
State = dict[str, Any]

REFERENCE = "26/00001/FUL"
SOURCE = "NPPF"
REVISION = {"source": SOURCE, "revision_id": "rev_NPPF_2024_12"}
IN_FORCE = RevisionDraft("December 2024", date(2024, 12, 12))
SUCCESSOR = RevisionDraft("January 2026", date(2026, 1, 1))
DAYS = ("2025-12-31", "2026-01-01")
DOCVEC_COLLECTIONS = IndexCollections(Settings().docvec_collection)
SLUG = "bats"
CHANGING = frozenset({"ingested_at", "indexed_at", "date_added"})
KEPT_FOLDERS = (ORIGINALS, WORDS)
"""Folder of the home with one file per document."""


def text_about(word: str, paragraphs: int) -> str:
    """Return a text of several chunks about one subject."""
    return "\n".join(
        f"Paragraph {number} tells at some length of the {word}, of what the {word} does by day, "
        f"and of where the {word} sleeps when the night is cold."
        for number in range(paragraphs)
    )


class Stage:
    """One engine with one server and a client; `say` reports to the watching process."""

    def __init__(self, engine: Engine, server: ContractServer, files: Path, say: Say) -> None:
        self.engine = engine
        self.server = server
        self.files = files
        self.say = say

    async def ask(self, tool: str, **arguments: Any) -> Answer:
        async with Client(self.server) as client:
            with serving(command=True):
                result = await client.call_tool(tool, arguments)
        return result.structured_content or {}

    async def read(self, tool: str, **arguments: Any) -> Answer:
        """Make a call that must succeed."""
        answer = await self.ask(tool, **arguments)
        assert not failure(answer), answer
        return answer

    async def records(self, collection: str) -> list[Any]:
        """Return all records of a collection in a form that is comparable and serialisable."""
        return sorted(
            [
                record.id,
                record.text,
                sorted((k, v) for k, v in record.metadata.items() if k not in CHANGING),
            ]
            for record in await self.engine.collections.get(collection)
        )

    def kept(self) -> list[str]:
        home = self.engine.settings.home
        return sorted(
            str(path.relative_to(home))
            for folder in KEPT_FOLDERS
            for path in (home / folder).rglob("*")
            # Uncertain files after a failure are resolved at the next start.
            if path.is_file() and path.suffix != UNLISTED
        )


Step = Callable[[Stage], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Server:
    """A server, and a function that reads its state.

    `has_registry`: it has a second database beside the store, and no transaction spans both.
    """

    name: str
    build: Callable[[Engine], ContractServer]
    look: Step
    has_registry: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """An operation of a server.

    `again` is the error with which the contract answers a repeated call.
    `unpack` writes the initial home if `prepare` does not create it.
    """

    server: Server
    operation: str
    prepare: Step | None
    act: Step
    again: str = ""
    redis: bool = False
    unpack: Callable[[Path], object] | None = None

    @property
    def name(self) -> str:
        place = " on redis" if self.redis else ""
        return f"{self.server.name} {self.operation}{place}"


def failure(answer: Mapping[str, Any]) -> str:
    """Return the error code of an answer, or its message if the contract has no codes; empty if
    there is no error."""
    return str(answer.get("error_type") or answer.get("error_code") or answer.get("error") or "")


async def _worded(work: Awaitable[object]) -> Answer:
    """Wrap the outcome of an operation without a tool in the form of a tool's answer."""
    try:
        await work
    except QuinionError as error:
        return {"status": "error", "error_type": error.code, "message": error.message}
    return {"status": "success"}


async def _has_worked(answer: Awaitable[Answer]) -> None:
    said = await answer
    assert not failure(said), said


def write_files(folder: Path) -> None:
    """Write the documents that the operations read."""
    folder.mkdir()
    for word, paragraphs in (("otter", 20), ("heron", 30), ("bats", 10), ("moles", 10)):
        text_pdf(folder / f"{word}.pdf", text_about(word, paragraphs))
    notes = folder / "notes"
    notes.mkdir()
    (notes / "long.md").write_text(
        "\n\n".join(f"# Chapter {number}\n\n{text_about('newt', 8)}" for number in range(4))
    )
    (notes / "short.txt").write_text("A short text about toads.\n")


# The Document Store


async def _ingest(stage: Stage, name: str) -> Answer:
    return await stage.ask(
        "ingest_document", file_path=str(stage.files / name), application_ref=REFERENCE
    )


async def _one_document(stage: Stage) -> None:
    await _has_worked(_ingest(stage, "heron.pdf"))


async def _delete_document(stage: Stage) -> Answer:
    sha256 = await in_thread(hash_file, stage.files / "heron.pdf")
    id_ = next(document_records.possible_ids(REFERENCE, sha256))
    ingestion = ApplicationIngestion(stage.engine, document_records)
    return await _worded(ingestion.delete(id_))


async def _look_at_documents(stage: Stage) -> State:
    found = await stage.read("search_application_docs", query="the otter by day", max_results=3)
    return {
        "listed": await stage.records(document_records.REGISTRY),
        "stored": await stage.records(document_records.CHUNKS),
        "found": [hit["chunk_id"] for hit in found["results"]],
        "kept": stage.kept(),
    }


# The Policy KB


async def _register(stage: Stage) -> None:
    knowledge = policy_kb.open_knowledge(stage.engine)
    await knowledge.create_policy(
        PolicyDraft(SOURCE, "A Framework", PolicyCategory.NATIONAL_POLICY)
    )
    await knowledge.create_revision(SOURCE, IN_FORCE)


async def _register_and_ingest(stage: Stage) -> None:
    await _register(stage)
    await _has_worked(_ingest_revision(stage))


async def _ingest_revision(stage: Stage, name: str = "otter.pdf") -> Answer:
    file = str(stage.files / name)
    return await stage.ask("ingest_policy_revision", **REVISION, file_path=file)


async def _reindex(stage: Stage) -> Answer:
    return await _ingest_revision(stage, "heron.pdf")


async def _remove_revision(stage: Stage) -> Answer:
    return await stage.ask("remove_policy_revision", **REVISION)


async def _supersede(stage: Stage) -> Answer:
    return await _worded(policy_kb.open_knowledge(stage.engine).create_revision(SOURCE, SUCCESSOR))


async def _look_at_policies(stage: Stage) -> State:
    found = {
        day: await stage.read(
            "search_policy", query="the animal by day", effective_date=day, n_results=3
        )
        for day in DAYS
    }
    listed = await stage.read("list_policy_revisions", source=SOURCE)
    return {
        "listed": [
            # A revision whose ingestion failed has no text; its entry has the reason.
            {**one, "status": one["status"] == RevisionStatus.ACTIVE}
            for one in listed["revisions"]
        ],
        "stored": await stage.records(policy_records.CHUNKS),
        "found": {day: [hit["text"] for hit in answer["results"]] for day, answer in found.items()},
        "kept": stage.kept(),
    }


# DocVec


async def _index(stage: Stage) -> Answer:
    return await stage.ask("index_directory", dir_path=str(stage.files / "notes"))


async def _index_first(stage: Stage) -> None:
    await _has_worked(_index(stage))


async def _add_notes(stage: Stage) -> None:
    await _index_first(stage)
    notes = stage.files / "notes"
    (notes / "new.md").write_text("# New\n\n" + text_about("vole", 12))
    (notes / "other.txt").write_text("Another text, about a vole.\n")


async def _change_note(stage: Stage) -> None:
    await _index_first(stage)
    (stage.files / "notes" / "long.md").write_text("# Changed\n\n" + text_about("vole", 20))


async def _move_note(stage: Stage) -> None:
    await _index_first(stage)
    notes = stage.files / "notes"
    (notes / "long.md").rename(notes / "moved.md")


async def _delete_note(stage: Stage) -> Answer:
    return await stage.ask("delete_file", source_file=str(stage.files / "notes" / "long.md"))


async def _delete_chunks(stage: Stage) -> Answer:
    """Delete all chunks except one of a file with several."""
    chunks = await stage.engine.collections.get(DOCVEC_COLLECTIONS.chunks)
    ids = [one.id for one in chunks if one.metadata["chunk_index"]]
    return await stage.ask("delete_chunks", ids=ids)


async def _clear(stage: Stage) -> Answer:
    return await stage.ask("clear_index", confirm=True)


async def _look_at_index(stage: Stage) -> State:
    found = await stage.read("search", query="the vole by day", n_results=3)
    return {
        "listed": await stage.records(DOCVEC_COLLECTIONS.files),
        "stored": await stage.records(DOCVEC_COLLECTIONS.chunks),
        "found": [hit["content"] for hit in found["data"]["results"]],
        "kept": stage.kept(),
    }


# doclibrary


async def _add(stage: Stage, name: str) -> Answer:
    return await stage.ask("add_document", file_path=str(stage.files / name))


async def _one_in_library(stage: Stage) -> None:
    await _has_worked(_add(stage, "moles.pdf"))


async def _two_in_library(stage: Stage) -> None:
    await _one_in_library(stage)
    await _has_worked(_add(stage, f"{SLUG}.pdf"))
    await stage.ask("get_page_image", document_slug=SLUG, page_number=1)


async def _add_bats(stage: Stage) -> Answer:
    return await _add(stage, f"{SLUG}.pdf")


async def _remove_bats(stage: Stage) -> Answer:
    return await stage.ask("remove_document", document_slug=SLUG)


async def _look_at_library(stage: Stage) -> State:
    await stage.read("list_documents")  # the first list deletes leftovers of a dead process
    found = await stage.read("search_documents", query="the bats by day", limit=3)
    return {
        "listed": await stage.records(library_records.DOCUMENTS),
        "stored": await stage.records(library_records.CONTENT),
        "found": [hit["content"] for hit in found["results"]],
        "kept": stage.kept(),
    }


async def _ingest_otter(stage: Stage) -> Answer:
    return await _ingest(stage, "otter.pdf")


# A home of quinion 0.1, which is migrated when it is opened


async def _count(stage: Stage) -> Answer:
    """Make any call; the tested operation is the opening of the home."""
    return {"collections": await in_thread(stage.engine.store.collections)}


async def _look_at_home(stage: Stage) -> State:
    content = await in_thread(home_v1.read_content, stage.engine.store)
    return {
        "listed": list(home_v1.read_registry(stage.engine.settings.home)),
        "stored": sorted([name, one] for name, one in content.items()),
        "found": await home_v1.ask(stage.engine),
        "kept": stage.kept(),
    }


DOCUMENTS = Server("document-store", document_store.build, _look_at_documents)
POLICIES = Server("policy-kb", policy_kb.build, _look_at_policies, has_registry=True)
INDEX = Server("docvec", docvec.build, _look_at_index)
LIBRARY = Server("doclibrary", doclibrary.build, _look_at_library)
HOME = Server("all", document_store.build, _look_at_home)

_WITH_ONE_REGISTRY = (
    Scene(DOCUMENTS, "ingest", _one_document, _ingest_otter),
    Scene(DOCUMENTS, "delete", _one_document, _delete_document, "document_not_found"),
    Scene(INDEX, "index new files", _add_notes, _index),
    Scene(INDEX, "index a changed file", _change_note, _index),
    Scene(INDEX, "index a moved file", _move_note, _index),
    Scene(INDEX, "delete a file", _index_first, _delete_note),
    Scene(INDEX, "delete chunks", _index_first, _delete_chunks),
    Scene(INDEX, "clear", _index_first, _clear),
    Scene(LIBRARY, "add", _one_in_library, _add_bats),
    Scene(LIBRARY, "remove", _two_in_library, _remove_bats, f"Error: Document '{SLUG}' not found."),
)
_WITH_TWO = (
    Scene(POLICIES, "ingest", _register, _ingest_revision),
    Scene(POLICIES, "reindex", _register_and_ingest, _reindex),
    Scene(POLICIES, "supersede", _register_and_ingest, _supersede, "revision_overlap"),
    Scene(POLICIES, "remove", _register_and_ingest, _remove_revision),
)
SCENES = {
    scene.name: scene
    for scene in (
        Scene(HOME, "migrate from 0.1", None, _count, unpack=home_v1.unpack),
        *_WITH_ONE_REGISTRY,
        *_WITH_TWO,
        *(replace(scene, redis=True) for scene in _WITH_TWO),
    )
}
