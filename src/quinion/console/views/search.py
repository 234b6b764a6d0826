"""Search: one box over all servers, the hits, and the chosen hit in the text of its page."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams

from quinion.concurrency import together
from quinion.console.calls import Answer, CallFailed, Calls
from quinion.console.passages import Passage, merge_results
from quinion.console.rendering import View, read_number
from quinion.console.views.evidence import find_boxes, page_address
from quinion.console.views.library import picture_address
from quinion.console.views.marking import cut_around, cut_snippet, mark_words
from quinion.errors import InvalidInput, QuinionError
from quinion.model.dates import parse_date
from quinion.model.document_type import DocumentType
from quinion.model.marked_text import flow
from quinion.model.record import Mode
from quinion.servers import doclibrary, document_store, docvec, policy_kb

KINDS = {
    "documents": document_store.NAME,
    "policies": policy_kb.NAME,
    "folders": docvec.NAME,
    "library": doclibrary.NAME,
}
FILTERS = {
    "documents": ("application", "type"),
    "policies": ("policy", "date"),
    "folders": ("folder",),
    "library": ("document",),
}
"""Filters of each kind, by their names in the address."""
SHOWN, MOST_SHOWN = 10, 50


@dataclass(frozen=True, slots=True)
class Query:
    """What an address asks for. `filters` has those of the chosen kind only."""

    text: str
    mode: Mode
    kind: str
    filters: Mapping[str, str]
    limit: int
    hit: int

    @classmethod
    def of(cls, given: QueryParams, default: Mode) -> "Query":
        """Parse the parameters of an address.

        Raises:
            InvalidInput: one of them has an invalid value.
        """
        kind, mode = given.get("kind", ""), given.get("mode") or default
        if kind and kind not in KINDS:
            raise InvalidInput(f"There is no kind {kind!r}. The kinds are: {', '.join(KINDS)}.")
        if mode not in set(Mode):
            raise InvalidInput(f"There is no mode {mode!r}. The modes are: {', '.join(Mode)}.")
        names = FILTERS.get(kind, ())
        filters = {name: value for name in names if (value := given.get(name, "").strip())}
        if day := filters.get("date"):
            parse_date(day)
        limit = read_number(given, "limit", SHOWN, MOST_SHOWN)
        hit = read_number(given, "hit", 1, MOST_SHOWN)
        return cls(given.get("q", "").strip(), Mode(mode), kind, filters, limit, hit)

    @property
    def address(self) -> str:
        """The address of this search, without the part of a page that it shows."""
        values = {"q": self.text, "kind": self.kind, "mode": str(self.mode), **self.filters}
        limit = {"limit": self.limit} if self.limit != SHOWN else {}
        return "/?" + urlencode({**{k: v for k, v in values.items() if v}, **limit})


async def show_search(calls: Calls, given: QueryParams, default: Mode) -> View:
    """Show the search box, and the hits if there is a query."""
    query = Query.of(given, default)
    answers, failures = await _ask(calls, query) if query.text else ({}, [])
    passages = merge_results(answers)[: query.limit]
    hits = [_describe(passage, query, place) for place, passage in enumerate(passages, 1)]
    chosen = min(query.hit, len(hits))
    return View(
        "search.html",
        f"{query.text} · Search" if query.text else "Search",
        {
            "query": query.text,
            "mode": query.mode,
            "kind": query.kind,
            "filters": {
                name: query.filters.get(name, "") for names in FILTERS.values() for name in names
            },
            "modes": list(Mode),
            "kinds": [
                {"name": kind, "address": replace(query, kind=kind, filters={}).address}
                for kind in ("", *KINDS)
            ],
            "types": list_types(),
            "policies": await _list_policies(calls) if query.kind == "policies" else [],
            "hits": hits,
            "chosen": chosen,
            "passage": await _show_passage(calls, passages[chosen - 1], query) if chosen else None,
            "failures": failures,
            "hints": [answer["hint"] for answer in answers.values() if answer.get("hint")],
            "more": replace(query, limit=MOST_SHOWN).address
            if len(hits) == query.limit < MOST_SHOWN
            else None,
        },
    )


async def _ask(calls: Calls, query: Query) -> tuple[dict[str, Answer], list[str]]:
    """Search the servers of the chosen kind, or all; also return the messages of failed ones."""
    answers: dict[str, Answer] = {}
    failures: list[str] = []

    async def ask(kind: str) -> None:
        server = KINDS[kind]
        tool, arguments = _request(kind, query)
        try:
            how = {"query": query.text, "mode": str(query.mode), "merge": True}
            answers[server] = await calls.call(server, tool, {**arguments, **how})
        except QuinionError as error:
            failures.append(f"{kind.capitalize()}: {error.message}")

    kinds = [query.kind] if query.kind else list(KINDS)
    await together(*(lambda kind=kind: ask(kind) for kind in kinds))
    return {server: answers[server] for server in KINDS.values() if server in answers}, failures


def _request(kind: str, query: Query) -> tuple[str, Answer]:
    """Return the tool that searches a kind, and the arguments that it alone has."""
    given, limit = query.filters, query.limit
    if kind == "documents":
        types = [given["type"]] if "type" in given else None
        return "search_application_docs", {
            "application_ref": given.get("application"),
            "document_types": types,
            "max_results": limit,
        }
    if kind == "policies":
        sources = [given["policy"]] if "policy" in given else None
        return "search_policy", {
            "sources": sources,
            "effective_date": given.get("date"),
            "n_results": limit,
        }
    if kind == "library":
        return "search_documents", {"document_slug": given.get("document"), "limit": limit}
    if folder := given.get("folder"):
        within = {"source_file": {"$contains": folder}}
        return "search_with_filters", {"filters": within, "n_results": limit}
    return "search", {"n_results": limit}


def _describe(passage: Passage, query: Query, number: int) -> Answer:
    kind = next(kind for kind, server in KINDS.items() if server == passage.server)
    snippet = cut_snippet(mark_words(" ".join(passage.text.split()), query.text))
    return {
        "number": number,
        "kind": kind,
        "title": _title(passage),
        "place": _describe_place(passage),
        "score": round(passage.score, 3),
        "text": [asdict(piece) for piece in snippet],
        "also": passage.others,
        "document": passage.document,
        "page": passage.page,
        "label": passage.label,
        "address": f"{query.address}&hit={number}",
        "open": _document_address(passage),
    }


def _document_address(passage: Passage) -> str:
    """The address of the document, at the page or section of a hit."""
    if passage.server == document_store.NAME:
        return f"/documents/{quote(passage.document, safe='')}?page={passage.page}"
    if passage.server == policy_kb.NAME:
        source, _, revision = passage.document.partition("/")
        named = urlencode({"revision": revision, "section": passage.label})
        return f"/policies/{quote(source, safe='')}?{named}#section"
    if passage.server == doclibrary.NAME:
        return f"/library/{quote(passage.document, safe='')}/page/{passage.page}"
    return "/folders?" + urlencode({"folder": str(PurePath(passage.document).parent)})


def list_types() -> list[tuple[str, str]]:
    """The known types of documents with their names for people."""
    return [(kind, kind.replace("_", " ").capitalize()) for kind in DocumentType]


def _title(passage: Passage) -> str:
    """The title of a passage: of a file its name, whose folder is part of the place."""
    return PurePath(passage.title).name if passage.server == docvec.NAME else passage.title


def _describe_place(passage: Passage) -> str:
    place = passage.place.replace("   ", " · ").replace("_", " ")
    if passage.server != docvec.NAME:
        return place
    return " · ".join(filter(None, (place, str(PurePath(passage.title).parent))))


async def _show_passage(calls: Calls, passage: Passage, query: Query) -> Answer:
    """Describe the chosen hit: its passage, and the text of the page around it where there is one.

    If its place on the page is known, also the image of the page with the boxes of the passage.
    """
    before, text, after = "", passage.text, ""
    image, boxes = "", []
    if evidence := passage.evidence:
        image = page_address(passage.server, passage.chunk_id, evidence["page"])
        boxes = await find_boxes(calls, passage.server, passage.chunk_id, evidence)
    try:
        if passage.server == document_store.NAME:
            arguments = {"document_id": passage.document, "pages": str(passage.page)}
            page = await calls.call(document_store.NAME, "get_document_text", arguments)
            before, text, after = cut_around(flow(page["text"]), flow(passage.text))
        elif passage.server == policy_kb.NAME:
            source, _, revision = passage.document.partition("/")
            section = {"source": source, "revision_id": revision, "section_ref": passage.label}
            answer = await calls.call(policy_kb.NAME, "get_policy_section", section)
            before, text, after = cut_around(flow(answer["text"]), flow(passage.text))
        elif passage.server == doclibrary.NAME:
            image = picture_address(passage.document, passage.page or 1)
    except CallFailed:  # it was deleted meanwhile, or its section cannot be named alone
        before, text, after = "", passage.text, ""
    return {
        "title": _title(passage),
        "place": _describe_place(passage),
        "open": _document_address(passage),
        "before": before,
        "text": [asdict(piece) for piece in mark_words(text, query.text)],
        "after": after,
        "image": image,
        "boxes": boxes,
    }


async def _list_policies(calls: Calls) -> list[tuple[str, str]]:
    answer = await calls.call(policy_kb.NAME, "list_policy_documents", {})
    return [(one["source"], f"{one['source']}: {one['title']}") for one in answer["policies"]]
