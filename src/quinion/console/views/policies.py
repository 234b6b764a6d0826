"""Policies: revisions on a time line, their sections, and what changed between two of them."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import quote, urlencode

from pydantic import TypeAdapter
from starlette.datastructures import QueryParams

from quinion.console.calls import Answer, CallFailed, Calls
from quinion.console.rendering import View
from quinion.model.comparison import Change, Comparison, Row, SectionText
from quinion.model.dates import parse_date
from quinion.model.marked_text import Piece, flow, mark_after, mark_before
from quinion.servers import policy_kb

WIDTH = 1000
"""Width of a time line in units of its drawing."""
MARGIN_DAYS = 200
SHOWN_ROWS = 60
"""Changed sections on one page of a comparison."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A revision on the time line: where it begins, and how long it is."""

    revision: Answer
    start: float
    width: float
    is_open: bool


async def show_list(calls: Calls) -> View:
    """Show all policies with their revisions."""
    answer = await calls.call(policy_kb.NAME, "list_policy_documents", {})
    policies = []
    for policy in answer["policies"]:
        revisions = await _list_revisions(calls, policy["source"])
        policies.append(
            {
                **policy,
                "address": f"/policies/{quote(policy['source'], safe='')}",
                "revisions": revisions,
                "line": _draw(revisions),
            }
        )
    policies.sort(key=lambda policy: not policy["revisions"])
    return View("policies.html", "Policies", {"policies": policies})


async def show(calls: Calls, source: str, given: QueryParams) -> View:
    """Show a policy: the revision that is named or was in force on a day, and one of its sections.

    Raises:
        CallFailed: there is no such policy, revision or section.
        InvalidDate: the day is not YYYY-MM-DD.
    """
    day, named, ref = (given.get(name, "").strip() for name in ("date", "revision", "section"))
    if day:
        parse_date(day)
    policies = (await calls.call(policy_kb.NAME, "list_policy_documents", {}))["policies"]
    revisions = await _list_revisions(calls, source)
    outline, missing = None, ""
    try:
        arguments = {"source": source, "revision": named or day or None}
        outline = await calls.call(policy_kb.NAME, "outline_policy_revision", arguments)
    except CallFailed as error:
        missing = error.message
    section = None
    if outline and ref:
        arguments = {"source": source, "section_ref": ref, "revision_id": outline["revision_id"]}
        try:
            section = await calls.call(policy_kb.NAME, "get_policy_section", arguments)
            section["text"] = flow(section["text"])
        except CallFailed as error:
            missing = error.message
    address = f"/policies/{quote(source, safe='')}"
    title = next((one["title"] for one in policies if one["source"] == source), source)
    return View(
        "policy.html",
        title,
        {
            "policy": {"source": source, "title": title, "address": address},
            "revisions": revisions,
            "line": _draw(revisions),
            "date": day,
            "today": datetime.now(UTC).date().isoformat(),
            "outline": outline,
            "missing": missing,
            "section": section,
            "ready": [one for one in revisions if one["chunk_count"]],
        },
    )


async def show_comparison(calls: Calls, source: str, given: QueryParams, part: int) -> View:
    """Show what changed between two revisions, side by side.

    Raises:
        CallFailed: a revision is not there, has no text, or both are the same.
    """
    before, after = (given.get(name, "").strip() or None for name in ("before", "after"))
    answer = await _compare(calls, source, before, after)
    comparison = Comparison(TypeAdapter(tuple[Row, ...]).validate_python(answer["rows"]))
    kinds = [kind for kind in Change if kind is not Change.UNCHANGED]
    only = given.get("change", "")
    changed = [row for row in comparison.changed if only in {"", str(row.change)}]
    first = (part - 1) * SHOWN_ROWS
    sides = {side: answer[side]["revision_id"] for side in ("before", "after")}
    address = f"/policies/{quote(source, safe='')}"

    def link(**values: object) -> str:
        chosen = {**sides, **({"change": only} if only else {}), **values}
        return f"{address}/compare?" + urlencode({k: v for k, v in chosen.items() if v})

    return View(
        "comparison.html",
        f"What changed in {source}",
        {
            "policy": {"source": source, "address": address},
            "before": answer["before"],
            "after": answer["after"],
            "revisions": [
                one for one in await _list_revisions(calls, source) if one["chunk_count"]
            ],
            "changed_share": comparison.changed_share,
            "kinds": [
                {"name": str(kind), "count": comparison.counts[kind], "address": link(change=kind)}
                for kind in kinds
            ],
            "only": only,
            "all": link(change=""),
            "rows": list(map(_describe_row, changed[first : first + SHOWN_ROWS])),
            "row_count": len(changed),
            "previous": link(part=part - 1) if part > 1 else None,
            "next": link(part=part + 1) if len(changed) > first + SHOWN_ROWS else None,
        },
    )


async def _compare(calls: Calls, source: str, before: str | None, after: str | None) -> Answer:
    """Return the comparison with the rows of all parts of the answer."""
    tool = "compare_policy_revisions"
    arguments: Answer = {"source": source, "before": before, "after": after}
    answer = await calls.call(policy_kb.NAME, tool, arguments)
    # The default must not change between two parts.
    arguments |= {side: answer[side]["revision_id"] for side in ("before", "after")}
    rows, following = answer["rows"], answer["next_row"]
    while following is not None:
        part = await calls.call(policy_kb.NAME, tool, {**arguments, "from_row": following})
        rows, following = [*rows, *part["rows"]], part["next_row"]
    return {**answer, "rows": rows}


async def _list_revisions(calls: Calls, source: str) -> list[Answer]:
    revisions: list[Answer] = []
    following: int | None = 0
    while following is not None:
        arguments = {"source": source, "from_revision": following}
        answer = await calls.call(policy_kb.NAME, "list_policy_revisions", arguments)
        revisions += answer["revisions"]
        following = answer["next_revision"]
    return revisions


def _describe_row(row: Row) -> Answer:
    return {
        "refs": row.refs,
        "change": str(row.change),
        "reworded": row.is_reworded and row.change is not Change.REWORDED,
        "flags": [str(flag) for flag in row.flags],
        "before": _describe_side(row.before, mark_before(row) if row.before else []),
        "after": _describe_side(row.after, mark_after(row) if row.after else []),
    }


def _describe_side(sections: Sequence[SectionText], pieces: Iterable[Piece]) -> Answer | None:
    if not sections:
        return None
    return {
        "refs": ", ".join(one.ref for one in sections),
        "pages": sorted({page for one in sections for page in one.pages}),
        "pieces": [asdict(piece) for piece in pieces],
    }


def _draw(revisions: Sequence[Answer]) -> Answer:
    """Place the revisions on a time line, oldest first, with the years below it."""
    if not revisions:
        return {"bars": [], "years": [], "now": 0.0, "width": WIDTH}
    today = datetime.now(UTC).date()
    starts = [date.fromisoformat(one["effective_from"]) for one in revisions]
    ends = [_end(one) for one in revisions]
    first = min(starts).toordinal() - MARGIN_DAYS // 2
    last = max(today.toordinal(), *(end.toordinal() for end in (*starts, *ends) if end))
    last += MARGIN_DAYS

    def place(day: int) -> float:
        return round((min(day, last) - first) / (last - first) * WIDTH, 1)

    bars = [
        Bar(
            one,
            place(start.toordinal()),
            max(place(end.toordinal() + 1 if end else last) - place(start.toordinal()), 4.0),
            end is None,
        )
        for one, start, end in zip(revisions, starts, ends, strict=True)
    ]
    bars.sort(key=lambda bar: bar.start)
    years = range(date.fromordinal(first).year + 1, date.fromordinal(last).year + 1)
    step = max(1, len(years) // 8)
    return {
        "bars": [asdict(bar) for bar in bars],
        "years": [
            {"year": year, "place": place(date(year, 1, 1).toordinal())} for year in years[::step]
        ],
        "now": place(today.toordinal()),
        "width": WIDTH,
    }


def _end(revision: dict[str, Any]) -> date | None:
    """The last day of a revision; None for one without an end, or a draft."""
    end = revision["effective_to"]
    return date.fromisoformat(end) if end else None
