"""`quinion search`: passages by meaning, with the page to cite."""

import json

import anyio
import typer
from rich.console import Console
from rich.text import Text

from quinion.cli.client import Answer, call, connect
from quinion.cli.report import fail
from quinion.servers import document_store
from quinion.settings import Settings


def run(
    settings: Settings,
    query: str,
    application_ref: str | None,
    document_types: list[str] | None,
    limit: int,
    *,
    as_json: bool,
) -> int:
    """Search; 1 when it failed."""
    arguments: Answer = {"query": query, "max_results": limit}
    if application_ref is not None:
        arguments["application_ref"] = application_ref
    if document_types:
        arguments["document_types"] = document_types
    answer = anyio.run(_search, settings, arguments)
    if as_json:
        typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    elif answer["status"] == "error":
        fail(answer["message"])
    else:
        _print_results(answer)
    return int(answer["status"] == "error")


async def _search(settings: Settings, arguments: Answer) -> Answer:
    async with connect(settings, document_store.NAME) as client:
        return await call(client, "search_application_docs", arguments)


def _print_results(answer: Answer) -> None:
    console = Console()
    if not answer["results"]:
        console.print("Nothing was found. Has anything been ingested? See `quinion ingest --help`.")
    for place, result in enumerate(answer["results"], 1):
        metadata = result["metadata"]
        console.print(
            Text.assemble(
                (f"{place}. {metadata['source_file']}", "bold"),
                f", page {metadata['page_numbers'].replace(',', ', ')}",
                (f"   {result['relevance_score']:.2f}", "cyan"),
                (f"   {metadata['application_ref']} · {metadata['document_type']}", "dim"),
            )
        )
        console.print(Text("   " + " ".join(result["text"].split())))
