"""Pages as images, and the boxes of a passage on them."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from mcp.types import CallToolResult, ImageContent
from starlette.datastructures import QueryParams
from starlette.responses import Response

from quinion.console.calls import CallFailed, Calls, find_failure
from quinion.console.rendering import read_number
from quinion.errors import InvalidInput

KEEP_A_WHILE = {"Cache-Control": "private, max-age=600"}


def page_address(server: str, chunk_id: str, page: int) -> str:
    """The address of the image of a page of the document that a chunk is from."""
    return "/evidence?" + urlencode({"server": server, "chunk": chunk_id, "page": page})


async def find_boxes(
    calls: Calls, server: str, chunk_id: str, evidence: Mapping[str, Any]
) -> list[list[float]]:
    """Find the boxes of a passage on its page, each with left, top, width and height as fractions.

    The answer of a search has them if the words of the page are kept in the home. If not, they are
    found in the original once, and then kept.
    """
    page = evidence["page"]
    regions = evidence.get("regions")
    if not regions and chunk_id:
        answer = await calls.fetch(server, "show_evidence", {"chunk_id": chunk_id, "page": page})
        regions = (answer.structured_content or {}).get("regions")
    return [
        [x0, y0, round(x1 - x0, 5), round(y1 - y0, 5)]
        for region in regions or ()
        if region["page"] == page
        for x0, y0, x1, y1 in region["boxes"]
    ]


async def fetch_page(calls: Calls, servers: Mapping[str, str], given: QueryParams) -> Response:
    """Send the image of a page; `servers` are those that have pages.

    Raises:
        InvalidInput: there is no such server.
        CallFailed: the page cannot be shown.
    """
    server = given.get("server", "")
    if server not in servers.values():
        raise InvalidInput(f"There is no server {server[:100]!r} with pages.")
    arguments = {"chunk_id": given.get("chunk", ""), "page": read_number(given, "page", 1)}
    return send_image(await calls.fetch(server, "show_evidence", arguments))


def send_image(answer: CallToolResult) -> Response:
    """Send the image of an answer.

    Raises:
        CallFailed: it has none.
    """
    for part in answer.content:
        if isinstance(part, ImageContent):
            picture = base64.b64decode(part.data)
            return Response(picture, media_type="image/png", headers=KEEP_A_WHILE)
    failure = find_failure(answer.structured_content or {})
    texts = " ".join(getattr(part, "text", "") for part in answer.content)
    message = failure.message if failure else texts.removeprefix("Error: ")
    raise CallFailed(message, "page_not_found")
