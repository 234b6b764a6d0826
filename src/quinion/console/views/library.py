"""Library: documents, a gallery of their figures, tables and equations, and their pages."""

from urllib.parse import quote, urlencode

from starlette.datastructures import QueryParams
from starlette.responses import Response

from quinion.console.calls import Answer, CallFailed, Calls
from quinion.console.rendering import View, read_number
from quinion.console.views.evidence import send_image
from quinion.model.element import ElementType
from quinion.servers import doclibrary

SHOWN_DOCUMENTS, SHOWN_ELEMENTS = 30, 24


async def show_list(calls: Calls, given: QueryParams) -> View:
    """Show a part of the documents of the library."""
    part = read_number(given, "part", 1)
    answer = await _call(
        calls, "list_documents_paginated", page=part, page_size=SHOWN_DOCUMENTS, sort_by="title"
    )
    last = answer["pagination"]["total_pages"]
    documents = [{**one, "address": _address(one["slug"])} for one in answer["documents"]]
    return View(
        "library.html",
        "Library",
        {
            "documents": documents,
            "part": part,
            "before": f"/library?part={part - 1}" if part > 1 else None,
            "after": f"/library?part={part + 1}" if part < last else None,
        },
    )


async def show(calls: Calls, slug: str, given: QueryParams) -> View:
    """Show a document's figures, tables and equations, as far as they are on one part.

    Raises:
        CallFailed: there is no such document.
    """
    kind, part = given.get("type", ""), read_number(given, "part", 1)
    document = await _call(calls, "get_document_info", document_slug=slug)
    elements = [
        one for one in await _list_elements(calls, slug) if kind in {"", one["element_type"]}
    ]
    first = (part - 1) * SHOWN_ELEMENTS
    address = _address(slug)

    def link(number: int) -> str:
        return f"{address}?" + urlencode({**({"type": kind} if kind else {}), "part": number})

    return View(
        "gallery.html",
        document["title"],
        {
            "document": {**document, "address": address},
            "type": kind,
            "types": [
                {"name": str(one), "address": f"{address}?type={one}", "count": count}
                for one in ElementType
                if (count := document["indexed_elements"].get(f"{one}s", 0))
            ],
            "elements": [_describe(slug, one) for one in elements[first : first + SHOWN_ELEMENTS]],
            "before": link(part - 1) if part > 1 else None,
            "after": link(part + 1) if len(elements) > first + SHOWN_ELEMENTS else None,
        },
    )


async def show_page(calls: Calls, slug: str, number: int) -> View:
    """Show a page of a document as an image.

    Raises:
        CallFailed: there is no such document.
    """
    document = await _call(calls, "get_document_info", document_slug=slug)
    address, last = _address(slug), document["total_pages"]
    return View(
        "page.html",
        f"Page {number} of {document['title']}",
        {
            "document": {**document, "address": address},
            "page": number,
            "image": picture_address(slug, number),
            "before": f"{address}/page/{number - 1}" if number > 1 else None,
            "after": f"{address}/page/{number + 1}" if number < last else None,
        },
    )


async def fetch_picture(calls: Calls, given: QueryParams) -> Response:
    """Send the PNG image of a page of the library, or of an element if a label is given.

    Raises:
        CallFailed: there is no such document, page or element.
    """
    label = given.get("label")
    tool = "get_page_image" if label is None else "get_element_image"
    arguments = {
        "document_slug": given.get("document", ""),
        "element_label": label,
        "page_number": read_number(given, "page", 1),
    }
    return send_image(await calls.fetch(doclibrary.NAME, tool, arguments))


async def fetch_csv(calls: Calls, given: QueryParams) -> Response:
    """Send the rows of a table as CSV.

    Raises:
        CallFailed: there is no such element, or its rows could not be read.
    """
    details = await _call(
        calls,
        "get_element_details",
        document_slug=given.get("document", ""),
        element_label=given.get("label", ""),
        page_number=read_number(given, "page", 1),
    )
    if not details["table_csv"]:
        raise CallFailed(f"{details['element_label']} has no rows.", "element_not_found")
    name = quote(f"{details['document_slug']} {details['element_label']}.csv", safe="")
    return Response(
        details["table_csv"],
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )


def picture_address(slug: str, page: int, label: str | None = None) -> str:
    """The address of the image of a page or an element."""
    given = {"document": slug, "page": page, **({"label": label} if label else {})}
    return "/library/picture?" + urlencode(given)


def _describe(slug: str, element: Answer) -> Answer:
    label, page = element["element_label"], element["page_number"]
    named = urlencode({"document": slug, "page": page, "label": label})
    return {
        "type": element["element_type"],
        "label": label,
        "page": page,
        "caption": element["caption"],
        "description": element["description"],
        "latex": element["latex"],
        "image": picture_address(slug, page, label or None),
        "csv": f"/library/table?{named}" if element["table_csv"] else None,
        "address": f"{_address(slug)}/page/{page}",
    }


async def _list_elements(calls: Calls, slug: str) -> list[Answer]:
    elements: list[Answer] = []
    following: int | None = 0
    while following is not None:
        answer = await _call(calls, "list_elements", document_slug=slug, from_element=following)
        elements += answer["elements"]
        following = answer["next_element"]
    return elements


def _address(slug: str) -> str:
    return f"/library/{quote(slug, safe='')}"


async def _call(calls: Calls, tool: str, **arguments: object) -> Answer:
    try:
        return await calls.call(doclibrary.NAME, tool, arguments)
    except CallFailed as error:
        # The contract's errors have no codes; those of calls for one document concern it.
        code = "document_not_found" if "document_slug" in arguments else error.code
        raise CallFailed(error.message, code) from error
