"""`quinion search`: search of all servers by meaning and words, with the page or lines to cite.

Documents, policies, indexed files and the library are searched, unless an option applies to one
of them only.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

import anyio
import typer

from quinion.cli.documents.last_search import remember
from quinion.cli.documents.search_results import print_results
from quinion.cli.report import fail
from quinion.cli.server_client import Answer, call, connect
from quinion.console.passages import merge_results
from quinion.errors import InvalidInput
from quinion.model.dates import parse_date
from quinion.model.record import Mode
from quinion.search.query import check_query
from quinion.servers import doclibrary, document_store, docvec, policy_kb
from quinion.servers.docvec.filters import FIELDS, NUMBER_FIELDS
from quinion.servers.search_mode import choose_mode
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


SEARCHED = (document_store.NAME, policy_kb.NAME, docvec.NAME, doclibrary.NAME)
"""Servers that can be searched, in the order of the answers."""

Request = tuple[str, Answer]
"""A tool and its arguments."""


def run(
    settings: Settings,
    query: str,
    *,
    application_ref: str | None,
    document_types: list[str] | None,
    filters: list[str] | None,
    budget: int | None,
    day: str | None,
    policies: list[str] | None,
    servers: list[str] | None,
    limit: int,
    mode: Mode | None,
    merge: bool,
    as_json: bool,
) -> int:
    """Search and print the results; return 1 on failure."""
    check_query(query)
    options = {
        document_store.NAME: (
            "--application-ref, --document-type",
            application_ref,
            document_types,
        ),
        docvec.NAME: ("--filter, --budget", filters, budget),
        policy_kb.NAME: ("--date, --policy", day, policies),
    }
    requests: dict[str, Request] = {
        document_store.NAME: _documents_request(query, application_ref, document_types, limit),
        policy_kb.NAME: _policies_request(query, day, policies, limit),
        docvec.NAME: _files_request(query, filters, budget, limit),
        doclibrary.NAME: ("search_documents", {"query": query, "limit": min(limit, 50)}),
    }
    asked = _choose_servers(options, servers or [])
    how = {"mode": str(choose_mode(mode, settings, Mode.HYBRID)), "merge": merge}
    for name in asked:
        requests[name][1].update(how)
    answers = anyio.run(_call, settings, {name: requests[name] for name in asked})
    failures = [text for text in map(_failure, answers.values()) if text]
    if as_json:
        typer.echo(json.dumps(answers, indent=2, ensure_ascii=False))
        return int(bool(failures))
    if passages := merge_results(answers)[:limit]:
        print_results(passages)
        remember(settings.home, passages)
        for warning in _list_warnings(answers):
            typer.echo(warning, err=True)
    elif not failures:
        _print_nothing(answers)
    for text in failures:
        fail(text)
    return int(bool(failures))


def _choose_servers(
    options: Mapping[str, tuple[str, object, object]], servers: Sequence[str]
) -> list[str]:
    """Choose the servers that are named, or to which the given options apply; else all."""
    if unknown := sorted(set(servers) - set(SEARCHED)):
        raise InvalidInput(
            f"{', '.join(unknown)} cannot be searched. The servers are: {', '.join(SEARCHED)}."
        )
    meant = [name for name, (_, *values) in options.items() if any(_is_given(v) for v in values)]
    if len(meant) > 1:
        named = "; ".join(f"{options[name][0]} apply to {name}" for name in meant)
        raise InvalidInput(f"{named}. Use options of only one server.")
    if meant and servers and set(servers) != set(meant):
        raise InvalidInput(f"{options[meant[0]][0]} apply to {meant[0]} only, not to --server.")
    return [name for name in SEARCHED if name in (meant or servers or SEARCHED)]


def _is_given(value: object) -> bool:
    return value is not None and value != []


async def _call(settings: Settings, requests: Mapping[str, Request]) -> dict[str, Answer]:
    """Call the tools one after the other; all share the engine that the first call opens."""
    answers = {}
    async with AsyncExitStack() as stack:
        for name, (tool, arguments) in requests.items():
            client = await stack.enter_async_context(connect(settings, name))
            answers[name] = await call(client, tool, arguments)
    return answers


def _documents_request(
    query: str, application_ref: str | None, document_types: list[str] | None, limit: int
) -> Request:
    arguments: Answer = {"query": query, "max_results": limit}
    if application_ref is not None:
        arguments["application_ref"] = application_ref
    if document_types:
        arguments["document_types"] = document_types
    return "search_application_docs", arguments


def _policies_request(
    query: str, day: str | None, policies: list[str] | None, limit: int
) -> Request:
    arguments: Answer = {"query": query, "n_results": limit}
    if day is not None:
        arguments["effective_date"] = parse_date(day).isoformat()
    if policies:
        arguments["sources"] = policies
    return "search_policy", arguments


def _files_request(
    query: str, filters: list[str] | None, budget: int | None, limit: int
) -> Request:
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
    if "status" not in answer and "success" not in answer and "error" in answer:  # the library
        return str(answer["error"]).removeprefix("Error: ")
    return ""


def _list_warnings(answers: Mapping[str, Answer]) -> list[str]:
    return [answer["warning"] for answer in answers.values() if answer.get("warning")]


def _print_nothing(answers: Mapping[str, Answer]) -> None:
    """Say that nothing was found, with the hint of a server or how to add documents."""
    hints = [answer["hint"] for answer in answers.values() if answer.get("hint")]
    hints += _list_warnings(answers)
    adding = "To add documents, see `quinion index --help` and `quinion ingest --help`."
    typer.echo(f"No results. {' '.join(hints) or adding}")
