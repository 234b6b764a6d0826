"""`quinion search`: semantic search with the page or lines to cite.

Searches both the Document Store and DocVec, unless an option applies to only one of them.
"""

import json
import re

import anyio
import typer
from rich.console import Console
from rich.text import Text

from quinion.cli.report import fail
from quinion.cli.server_client import Answer, call, connect
from quinion.errors import InvalidInput
from quinion.servers import document_store, docvec
from quinion.servers.docvec.filters import FIELDS, NUMBER_FIELDS
from quinion.settings import Settings

_OPERATORS = {
    ">=": "$gte",
    "<=": "$lte",
    "!=": "$ne",
    "=": "$eq",
    ">": "$gt",
    "<": "$lt",
    "~": "$contains",
}
_CONDITION = re.compile(r"\s*(\w+)\s*(>=|<=|!=|=|>|<|~)\s*(.*?)\s*", re.DOTALL)


def run(
    settings: Settings,
    query: str,
    *,
    application_ref: str | None,
    document_types: list[str] | None,
    filters: list[str] | None,
    budget: int | None,
    limit: int,
    as_json: bool,
) -> int:
    """Search and print the results; return 1 on failure."""
    of_documents = bool(application_ref or document_types)
    of_files = bool(filters) or budget is not None
    if of_documents and of_files:
        raise InvalidInput(
            "--application-ref and --document-type apply to the Document Store, --filter and "
            "--budget to indexed folders. Use options of only one of them."
        )
    answers: dict[str, Answer] = {}
    if not of_files:
        arguments: Answer = {"query": query, "max_results": limit}
        if application_ref is not None:
            arguments["application_ref"] = application_ref
        if document_types:
            arguments["document_types"] = document_types
        answers[document_store.NAME] = anyio.run(
            _call, settings, document_store.NAME, "search_application_docs", arguments
        )
    if not of_documents:
        answers[docvec.NAME] = anyio.run(
            _call, settings, docvec.NAME, *_files_request(query, filters, budget, limit)
        )
    failures = [text for text in map(_failure, answers.values()) if text]
    if as_json:
        typer.echo(json.dumps(answers, indent=2, ensure_ascii=False))
    else:
        _print_results(answers, limit)
        for text in failures:
            fail(text)
    return int(bool(failures))


async def _call(settings: Settings, server: str, tool: str, arguments: Answer) -> Answer:
    async with connect(settings, server) as client:
        return await call(client, tool, arguments)


def _files_request(
    query: str, filters: list[str] | None, budget: int | None, limit: int
) -> tuple[str, Answer]:
    if budget is not None:
        if filters:
            raise InvalidInput("--budget and --filter cannot be used together.")
        return "search_with_budget", {"query": query, "max_tokens": budget}
    # The tool accepts at most 50.
    arguments: Answer = {"query": query, "n_results": min(limit, 50)}
    if not filters:
        return "search", arguments
    return "search_with_filters", {**arguments, "filters": {"$and": _read_conditions(filters)}}


def _read_conditions(filters: list[str]) -> list[Answer]:
    conditions: list[Answer] = []
    for text in filters:
        match = _CONDITION.fullmatch(text)
        if not match or match[1] not in FIELDS:
            raise InvalidInput(
                f"{text!r} is not a valid filter. Write FIELD, one of {' '.join(_OPERATORS)}, and "
                f'a value, e.g. "page_number>=10" or "source_file~config". Fields: '
                f"{', '.join(sorted(FIELDS))}."
            )
        field, operator, value = match.groups()
        if field in NUMBER_FIELDS and not re.fullmatch(r"-?\d{1,15}", value):
            raise InvalidInput(f"{field} must be an integer, got {value!r}.")
        read: str | int = int(value) if field in NUMBER_FIELDS else value
        conditions.append({field: {_OPERATORS[operator]: read}})
    return conditions


def _failure(answer: Answer) -> str:
    if answer.get("status") == "error":
        return str(answer["message"])
    if answer.get("success") is False:
        reason = answer["details"].get("reason")
        return f"{answer['error']}: {reason}" if reason else str(answer["error"])
    return ""


def _print_results(answers: dict[str, Answer], limit: int) -> None:
    found = [
        *map(_of_document, answers.get(document_store.NAME, {}).get("results", [])),
        *map(_of_file, (answers.get(docvec.NAME, {}).get("data") or {}).get("results", [])),
    ]
    console = Console()
    if not found:
        console.print(
            "No results. To add documents, see `quinion index --help` and `quinion ingest --help`."
        )
    found.sort(key=lambda result: -result[0])
    for place, (score, title, where, text) in enumerate(found[:limit], 1):
        console.print(
            Text.assemble(
                (f"{place}. {title}", "bold"),
                f", {where}" if where else "",
                (f"   {score:.2f}", "cyan"),
            )
        )
        console.print(Text("   " + " ".join(text.split())))


def _of_document(result: Answer) -> tuple[float, str, str, str]:
    metadata = result["metadata"]
    where = (
        f"page {metadata['page_numbers'].replace(',', ', ')}"
        f"   {metadata['application_ref']} · {metadata['document_type']}"
    )
    return result["relevance_score"], metadata["source_file"], where, result["text"]


def _of_file(result: Answer) -> tuple[float, str, str, str]:
    metadata = result["metadata"]
    parts = [
        f"page {metadata['page_number']}" if "page_number" in metadata else "",
        f"lines {metadata['start_line']}-{metadata['end_line']}"
        if "start_line" in metadata
        else "",
        f"slide {metadata['slide']}" if "slide" in metadata else "",
        f"sheet {metadata['sheet']}, rows {metadata['start_row']}-{metadata['end_row']}"
        if "sheet" in metadata
        else "",
        f"message “{metadata['message']}”" if "message" in metadata else "",
        metadata.get("header_path", ""),
        ".".join(filter(None, (metadata.get("class_name"), metadata.get("function_name")))),
    ]
    where = "   ".join(part for part in parts if part)
    return result["score"], metadata["source_file"], where, result["content"]
