"""MCP resources, prompt and completions: the indexed files and their paths."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Annotated

from mcp.types import Resource
from pydantic import Field

from quinion.ingest.folders.folder_index import FolderIndex
from quinion.model.record import Record
from quinion.servers.base import ContractServer, PathText, QueryText
from quinion.servers.completions import complete_by
from quinion.servers.docvec import prompts
from quinion.servers.docvec.answers import Stats
from quinion.servers.docvec.citations import PAGE, FileCitations
from quinion.servers.docvec.index_contents import describe, read_file
from quinion.servers.evidence.show import name_places, read_page
from quinion.servers.resources import MAX_LISTED, add_continuation, fill_uri

FILES = "docvec://files"
FILE = "docvec://file/{path}{?from_chunk}"


def add_resources(server: ContractServer, index: FolderIndex, citations: FileCitations) -> None:
    """Register the resources, the prompt and their completions."""

    @server.resource(
        FILES,
        title="Indexed files",
        description="What is indexed, as `get_index_stats` says it.",
        mime_type="application/json",
    )
    async def files() -> Stats:
        return await describe(index)

    @server.resource(
        FILE,
        title="Text of an indexed file",
        description="The text of a file as its chunks have it. The path is percent-encoded, its "
        "slashes too. When it is too long for one answer, the last line says where it goes on.",
        mime_type="text/plain",
    )
    async def file(path: str, from_chunk: Annotated[int, Field(ge=0)] = 0) -> str:
        text, next_chunk = await read_file(index, path, from_chunk)
        following = None
        if next_chunk is not None:
            following = fill_uri(FILE, path=path, from_chunk=next_chunk)
        return add_continuation(text, following)

    @server.resource(
        PAGE,
        title="Page of an indexed PDF",
        description="A page as an image, with the passage of a chunk marked. The path is "
        "percent-encoded, its slashes too.",
        mime_type="image/png",
    )
    async def page(path: str, number: str, chunk: str | None = None) -> bytes:
        return await read_page(citations, path, number, chunk)

    @server.prompt(title="Answer from a folder within a budget")
    def answer_from_folder(
        folder: Annotated[PathText, Field(description="The folder to answer from.")],
        question: Annotated[QueryText, Field(description="What is to be answered.")],
        max_tokens: Annotated[
            int, Field(ge=1, description="How many tokens may be read; 3000 if left out.")
        ] = 3000,
    ) -> str:
        """Index a folder, and answer a question from it with citations, within a token budget."""
        return prompts.answer_from(folder, question, max_tokens)

    _add_names(server, index)


def _add_names(server: ContractServer, index: FolderIndex) -> None:
    """List the newest files, and complete paths and folders."""

    async def newest() -> list[Resource]:
        lines = await index.resources.collections.get(index.names.files)
        lines.sort(key=lambda line: str(line.metadata["indexed_at"]), reverse=True)
        return [_listed(line) for line in lines[:MAX_LISTED]]

    async def find_names(argument: str, chosen: Mapping[str, str]) -> Iterable[str]:
        if argument == "path":
            return sorted(await index.known())
        if argument in {"number", "chunk"} and (path := chosen.get("path")):
            where = index.names.chunks_of(path).where
            chunks = await index.resources.collections.get(index.names.chunks, where=where)
            return name_places(chunks, argument)
        if argument == "folder":
            return sorted({str(PurePath(path).parent) for path in await index.known()})
        return []

    server.add_listing(newest)
    complete_by(server, find_names)


def _listed(line: Record) -> Resource:
    return Resource(
        uri=fill_uri(FILE, path=line.id),
        name=line.id,
        title=PurePath(line.id).name,
        description=f"{line.metadata['file_format']}, in {PurePath(line.id).parent}",
        mime_type="text/plain",
    )
