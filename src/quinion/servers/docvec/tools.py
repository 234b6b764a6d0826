"""The nine tools of the DocVec contract.

Docstrings of the tools are their descriptions over MCP.
"""

from typing import Annotated, Any

from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult
from pydantic import BaseModel, BeforeValidator, Field
from pydantic.config import JsonDict

from quinion.errors import InvalidInput
from quinion.ingest.folders.folder_index import FolderIndex
from quinion.ingest.folders.indexer import Indexer, RunResult
from quinion.ingest.foreign_text import describe_foreign
from quinion.ingest.progress import Progress
from quinion.servers.base import (
    Name,
    PathText,
    QueryText,
    make_tool,
    report_to,
)
from quinion.servers.client_cwd import expand
from quinion.servers.docvec.answers import (
    BudgetAnswer,
    ClearAnswer,
    Cleared,
    DeleteChunksAnswer,
    DeletedChunks,
    DeletedFile,
    DeleteFileAnswer,
    FileError,
    IndexDirectoryAnswer,
    IndexedDirectory,
    IndexedFile,
    IndexFileAnswer,
    SearchAnswer,
    SkippedFile,
    StatsAnswer,
)
from quinion.servers.docvec.citations import FileCitations
from quinion.servers.docvec.failures import (
    ConfirmationRequired,
    answer,
    answer_about,
    deletion_failure,
    folder_file_failure,
    search_failure,
)
from quinion.servers.docvec.index_contents import describe
from quinion.servers.docvec.search import (
    MAX_RESULTS,
    add_citations,
    search_chunks,
    search_within,
)
from quinion.servers.evidence.citations import Images
from quinion.servers.invisible_text import warn, warn_of_files
from quinion.servers.response_size import how_many_fit
from quinion.servers.search_mode import Merge, SearchMode

MAX_IDS = 10_000


FILTERS: JsonDict = {
    name: {"anyOf": [{"type": kind}, {"type": "object"}]}
    for name, kind in (
        ("source_file", "string"),
        ("file_format", "string"),
        ("page_number", "integer"),
        ("header_level", "integer"),
    )
}
"""The properties of the contract's schema; an object has operators, as in its examples."""


class Confirmation(BaseModel):
    """What a person is asked before everything is deleted."""

    delete_everything: bool = Field(description="Delete all chunks of all files from the index?")


def _check_list(ids: object) -> object:
    if not isinstance(ids, list):
        raise InvalidInput("ids must be a list")
    return ids


def _check_true(confirm: object) -> object:
    # Pydantic would accept "yes" and 1; the contract wants an explicit true.
    return confirm is True


Ids = Annotated[
    list[Name],
    BeforeValidator(_check_list),
    Field(max_length=MAX_IDS, description="Ids of the chunks to delete."),
]
Limit = Annotated[
    int,
    Field(
        ge=1,
        # A larger number is answered with as many as the maximum.
        json_schema_extra={"maximum": MAX_RESULTS},
        description="How many results at the most (1-50).",
    ),
]
Query = Annotated[QueryText, Field(description="What to look for, in natural language.")]


def make_tools(index: FolderIndex, citations: FileCitations) -> list[Tool]:
    """Make the tools of an index."""
    indexer = Indexer(index)

    async def index_file(
        file_path: Annotated[
            PathText, Field(description="Path of the document: .md, .pdf, .txt or .py.")
        ],
        ctx: Context,
    ) -> IndexFileAnswer:
        """Index one document, so that it can be searched.

        Content that is indexed already is not indexed again, at whatever path it was. A file
        that has changed replaces its own earlier chunks.
        """
        work = _index_file(index, indexer, file_path, report_to(ctx))
        return IndexFileAnswer(await answer_about(file_path, work))

    async def index_directory(
        dir_path: Annotated[PathText, Field(description="Folder to look for documents in.")],
        ctx: Context,
        recursive: Annotated[bool, Field(description="Look into its subfolders as well.")] = True,
    ) -> IndexDirectoryAnswer:
        """Index all documents of a folder: .md, .pdf, .txt and .py; hidden ones are passed over.

        Call it again whenever files have changed: only those are read again. A file that
        cannot be indexed is listed in `errors`, and the others are indexed.
        """
        work = _index_directory(indexer, dir_path, recursive, report_to(ctx))
        return IndexDirectoryAnswer(await answer_about(dir_path, work))

    async def search(
        query: Query,
        n_results: Limit = 5,
        mode: SearchMode = None,
        merge: Merge = False,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search the indexed documents by meaning, best match first.

        Set `mode` to hybrid for names, numbers, codes and quotations: it compares the words, too.

        Each result has its content, a score from 0 to 1, and in its metadata the source file
        and the page, lines or heading to cite. Results from PDFs have their place on the page in
        `evidence`; set `images` to look at it, or to show it to the user.
        """
        work = search_chunks(index, query, n_results, None, mode, merge=merge)
        found = SearchAnswer(await answer(work, search_failure))
        return await add_citations(found, citations, images)

    async def search_with_filters(
        query: Query,
        filters: Annotated[
            Annotated[dict[str, Any], Field(json_schema_extra={"properties": FILTERS})] | None,
            Field(
                description="Conditions on the metadata of chunks, all of which must hold: "
                '{"file_format": "markdown", "header_level": 2}, '
                '{"page_number": {"$gte": 10, "$lte": 20}}, '
                '{"source_file": {"$contains": "config"}}. Operators: $eq, $ne, $gt, $gte, $lt, '
                "$lte, $in, $nin, $contains, $not_contains, $and, $or."
            ),
        ] = None,
        n_results: Limit = 5,
        mode: SearchMode = None,
        merge: Merge = False,
        images: Images = 0,
    ) -> Annotated[CallToolResult, SearchAnswer]:
        """Search only the chunks that meet conditions on their metadata.

        Fields: source_file, file_format (markdown, pdf, text, code; also docx, pptx, html, epub,
        xlsx, csv, eml), chunk_index, token_count, doc_hash; header_path, header_level;
        page_number, page_position (start, middle, end); class_name, function_name, start_line,
        end_line; slide; sheet, start_row, end_row; message.
        """
        work = search_chunks(index, query, n_results, filters, mode, merge=merge)
        found = SearchAnswer(await answer(work, search_failure))
        return await add_citations(found, citations, images)

    async def search_with_budget(
        query: Query,
        max_tokens: Annotated[
            int, Field(ge=1, description="How many tokens the results may have together.")
        ] = 3000,
        mode: SearchMode = None,
        merge: Merge = False,
        images: Images = 0,
    ) -> Annotated[CallToolResult, BudgetAnswer]:
        """Search, and return the best results that fit into a number of tokens.

        The fifty best are looked at; one that does not fit is passed over for smaller ones.
        """
        work = search_within(index, query, max_tokens, mode, merge=merge)
        found = BudgetAnswer(await answer(work, search_failure))
        return await add_citations(found, citations, images)

    async def delete_chunks(ids: Ids) -> DeleteChunksAnswer:
        """Delete single chunks by their ids. Ids that are not in the index are ignored."""
        return DeleteChunksAnswer(await answer(_delete_chunks(index, ids), deletion_failure("IDs")))

    async def delete_file(
        source_file: Annotated[
            PathText, Field(description="Path of the file, as search results give it.")
        ],
    ) -> DeleteFileAnswer:
        """Delete all chunks of a file from the index. The file itself is not touched."""
        work = _delete_file(index, source_file)
        return DeleteFileAnswer(await answer(work, deletion_failure("file")))

    async def ask(confirm: bool, ctx: Context) -> Confirmation | Elicit[Confirmation]:
        """Ask the user for confirmation if the client supports elicitation."""
        if not confirm or not _can_ask(ctx):
            return Confirmation(delete_everything=confirm)
        return Elicit(
            f"Delete all {await index.count():,} chunks of the index "
            f"{index.names.name!r}? This can't be undone.",
            Confirmation,
        )

    async def clear_index(
        confirm: Annotated[
            bool,
            BeforeValidator(_check_true),
            Field(description="Safety gate: must be true to proceed."),
        ],
        consent: Annotated[ElicitationResult[Confirmation], Resolve(ask)],
    ) -> ClearAnswer:
        """Delete everything from the index. This cannot be undone: `confirm` must be true.

        Where the client can ask its user, the user is asked as well.
        """
        return ClearAnswer(
            await answer(_clear(index, confirm, consent), deletion_failure("collection"))
        )

    async def get_index_stats(
        from_file: Annotated[
            int, Field(ge=0, description="Go on from here: `next_file` of the last answer.")
        ] = 0,
    ) -> StatsAnswer:
        """Say what is indexed: how many chunks, which files, and which of them have vanished.

        A very long list comes in parts: when `next_file` is not null, call again with it as
        `from_file`. The counts are always those of the whole index.
        """
        return StatsAnswer(await answer(describe(index, from_file), search_failure))

    return [
        make_tool(index_file, title="Index a file", read_only=False),
        make_tool(index_directory, title="Index a folder", read_only=False),
        make_tool(search, title="Search", read_only=True),
        make_tool(search_with_filters, title="Search with filters", read_only=True),
        make_tool(search_with_budget, title="Search within a token budget", read_only=True),
        make_tool(delete_chunks, title="Delete chunks", read_only=False, destructive=True),
        make_tool(delete_file, title="Delete a file", read_only=False, destructive=True),
        make_tool(clear_index, title="Clear the index", read_only=False, destructive=True),
        make_tool(get_index_stats, title="Index statistics", read_only=True),
    ]


async def _index_file(
    index: FolderIndex, indexer: Indexer, path: str, progress: Progress
) -> IndexedFile:
    source, run = await indexer.index_file(expand(path), progress)
    chunks = await index.resources.collections.get(
        index.names.chunks, where={"doc_hash": source.sha256}
    )
    chunks.sort(key=lambda chunk: int(chunk.metadata["chunk_index"]))
    ids = [chunk.id for chunk in chunks]
    fitting = how_many_fit(ids)
    return IndexedFile(
        doc_hash=source.sha256,
        chunks_created=run.total_chunks,
        chunk_ids=ids[:fitting],
        total_tokens=sum(int(chunk.metadata["token_count"]) for chunk in chunks),
        file_format=str(chunks[0].metadata["file_format"]) if chunks else "",
        duplicate_of=str(chunks[0].metadata["source_file"]) if chunks and not run.indexed else None,
        chunk_ids_omitted=len(ids) - fitting,
        warnings=[*warn(run.hidden.get(str(source.path), {})), *_warn_of_foreign(run)],
    )


async def _index_directory(
    indexer: Indexer, path: str, recursive: bool, progress: Progress
) -> IndexedDirectory:
    run = await indexer.index_directory(expand(path), recursive=recursive, progress=progress)
    warnings = [*warn_of_files(run.hidden), *_warn_of_foreign(run)]
    errors = [_file_error(run, position) for position in range(len(run.errors))]
    shown_errors = errors[: max(0, how_many_fit([*warnings, *errors]) - len(warnings))]
    skipped = [SkippedFile(file_path=path, reason=str(why)) for path, why in run.skipped]
    before = [*warnings, *shown_errors]
    skipped = skipped[: max(0, how_many_fit([*before, *skipped]) - len(before))]
    before += skipped
    fitting = how_many_fit([*before, *run.indexed.items()]) - len(before)
    shown = dict(list(run.indexed.items())[: max(0, fitting)])
    return IndexedDirectory(
        new_documents=len(run.indexed),
        duplicates_skipped=run.duplicates,
        errors=shown_errors,
        total_chunks=run.total_chunks,
        chunk_ids=shown,
        updated_documents=run.updated,
        moved_documents=run.moved,
        errors_omitted=len(errors) - len(shown_errors),
        chunk_ids_omitted=len(run.indexed) - len(shown),
        skipped_files=skipped,
        warnings=warnings,
    )


def _warn_of_foreign(run: RunResult) -> list[str]:
    return [describe_foreign(run.foreign)] if run.foreign else []


def _file_error(run: RunResult, position: int) -> FileError:
    path, error = run.errors[position]
    failed = folder_file_failure(path, error)
    return FileError(
        file_path=path, error=failed.error, error_code=failed.error_code, reason=error.message
    )


async def _delete_chunks(index: FolderIndex, ids: list[str]) -> DeletedChunks:
    deleted = await index.delete_chunks(ids)
    return DeletedChunks(deleted_count=len(deleted), deleted_ids=deleted)


async def _delete_file(index: FolderIndex, path: str) -> DeletedFile:
    if not path.strip():
        raise InvalidInput("source_file cannot be empty")
    deleted = await index.delete_file(path) or await index.delete_file(expand(path))
    return DeletedFile(deleted_count=deleted, source_file=path)


async def _clear(
    index: FolderIndex, confirm: bool, consent: ElicitationResult[Confirmation]
) -> Cleared:
    if not confirm:
        raise ConfirmationRequired("Safety check: Set confirm=True to delete all documents")
    if not isinstance(consent, AcceptedElicitation) or not consent.data.delete_everything:
        raise ConfirmationRequired("The user did not confirm. Nothing was deleted.")
    return Cleared(deleted_count=await index.clear())


def _can_ask(ctx: Context) -> bool:
    client = ctx.client_capabilities
    asking = client.elicitation if client is not None else None
    # A client that declares no mode supports forms; one that declares only URLs does not.
    return asking is not None and (asking.form is not None or asking.url is None)
