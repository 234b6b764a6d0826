"""`quinion policy diff`: what changed between two revisions of a policy."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quinion.cli.options import Json, print_json
from quinion.cli.policy.calls import Source, call_tool
from quinion.errors import InvalidInput

if TYPE_CHECKING:
    from quinion.cli.server_client import Answer
    from quinion.model.comparison import Comparison


def diff(
    source: Source,
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="[A]",
            help="Revision ID, or YYYY-MM-DD for the one in force. Default: the second newest.",
        ),
    ] = None,
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]", help="Revision to compare A with. Default: the newest, also a draft."
        ),
    ] = None,
    section: Annotated[
        str | None, typer.Option(help="Only this section, e.g. `Para 116` or `Chapter 9`.")
    ] = None,
    side_by_side: Annotated[
        bool, typer.Option("--side-by-side", help="Show both texts in two columns.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained HTML page to this file.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what changed between two revisions of a policy, section by section.

    Example: quinion policy diff NPPF 2023-09-05 2024-12-12 --section "Para 116"
    """
    if html is not None and not html.absolute().parent.is_dir():
        raise InvalidInput(f"{html.absolute().parent} is not a folder. Create it, or name another.")
    answer = _compare(source, a, b, section)
    comparison = _to_comparison(answer)
    if html is not None:
        _write_page(html, answer, comparison)
    if json:
        print_json(_dump(answer, comparison))
    elif html is not None:
        typer.echo(f"Wrote {html}: {len(comparison.changed)} changed sections.")
    else:
        _print(answer, comparison, side_by_side=side_by_side)


def _compare(source: str, a: str | None, b: str | None, section: str | None) -> "Answer":
    """Return the comparison, with the rows of all parts of the answer."""
    arguments: Answer = {"source": source, "before": a, "after": b, "section_ref": section}
    answer = call_tool("compare_policy_revisions", arguments)
    rows, following = answer["rows"], answer["next_row"]
    # The default must not change between two parts.
    arguments |= {side: answer[side]["revision_id"] for side in ("before", "after")}
    while following is not None:
        part = call_tool("compare_policy_revisions", {**arguments, "from_row": following})
        rows, following = [*rows, *part["rows"]], part["next_row"]
    return {**answer, "rows": rows}


def _to_comparison(answer: "Answer") -> "Comparison":
    from pydantic import TypeAdapter

    from quinion.model.comparison import Comparison, Row

    return Comparison(TypeAdapter(tuple[Row, ...]).validate_python(answer["rows"]))


def _dump(answer: "Answer", comparison: "Comparison") -> dict[str, Any]:
    return {
        "source": answer["source"],
        "before": answer["before"],
        "after": answer["after"],
        "counts": comparison.counts,
        "reworded": comparison.reworded,
        "changed_share": comparison.changed_share,
        "rows": [asdict(row) | {"flags": row.flags} for row in comparison.rows],
    }


def _print(answer: "Answer", comparison: "Comparison", *, side_by_side: bool) -> None:
    from rich.console import Console

    from quinion.cli.policy.diff_text import format_rows, format_summary

    console = Console()
    console.print(format_summary(answer["before"], answer["after"], comparison))
    for part in format_rows(comparison, side_by_side=side_by_side):
        console.print(part)


def _write_page(file: Path, answer: "Answer", comparison: "Comparison") -> None:
    """Write the page under a temporary name, then rename it: it is complete or absent."""
    from quinion.cli.policy.diff_page import write_page

    scratch = file.with_name(f".writing-{file.name}")
    try:
        scratch.write_text(write_page(answer, comparison), encoding="utf-8")
        scratch.replace(file)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror}.") from error
    finally:
        scratch.unlink(missing_ok=True)
