"""Results of tools as the servers return them, and pages as images, for tests of the MCP App.

A page is white with black bars for its lines of text. `BOXES` are those of the passage.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import Any

from PIL import Image, ImageDraw

Answer = dict[str, Any]
Box = tuple[float, float, float, float]

SIZE = (1000, 1400)
BOXES: list[Box] = [(0.1, 0.5, 0.9, 0.52), (0.1, 0.53, 0.9, 0.55), (0.1, 0.56, 0.4, 0.58)]
PAGE_COUNT = 5
PASSAGE_PAGE = 3
QUERY = "how much cycle parking is there?"
TEXT = """3.3 Cycle parking: the development provides 200 covered and
secure spaces for bicycles.

They are lit."""


def as_result(data: Answer, *content: Answer, is_error: bool = False) -> Answer:
    """A result with data, as text and structured, followed by other content."""
    text = {"type": "text", "text": json.dumps(data)}
    return {"content": [text, *content], "structuredContent": data, "isError": is_error}


def evidence(chunk_id: str, boxes: Sequence[Box] = BOXES, page: int = PASSAGE_PAGE) -> Answer:
    """Where a result lies."""
    return {
        "uri": f"document://one/page/{page}?chunk={chunk_id}",
        "page": page,
        "page_count": PAGE_COUNT,
        "regions": [{"page": page, "boxes": boxes}],
    }


def chunk(number: int, text: str = TEXT, title: str = "", **more: Any) -> Answer:
    """A result of the Document Store."""
    return {
        "chunk_id": f"chunk_{number}",
        "text": text,
        "relevance_score": 0.9 - number / 10,
        "metadata": {
            "title": title or f"Report {number}",
            "source_file": f"Report_{number}.pdf",
            "page_numbers": str(PASSAGE_PAGE),
        },
        "evidence": evidence(f"chunk_{number}"),
        **more,
    }


def found(*results: Answer, query: str = QUERY, **more: Any) -> Answer:
    """An answer of the Document Store."""
    return as_result(
        {
            "status": "success",
            "query": query,
            "results_count": len(results),
            "results": results,
            **more,
        }
    )


def figure(number: int, box: Box, **more: Any) -> Answer:
    """A result of doclibrary; only the address in its evidence names the element."""
    return {
        "type": "figure",
        "document_slug": "survey",
        "page_number": PASSAGE_PAGE,
        "score": 0.8,
        "content": f"Figure {number} is a map.",
        "element_label": f"Figure {number}",
        "evidence": evidence(f"figure_{number}", [box]),
        **more,
    }


def show_page(
    arguments: Mapping[str, Any],
    boxes: Sequence[Box] = BOXES,
    note: str | None = None,
    *,
    hidden: bool = False,
) -> Answer:
    """Answer a call of `show_evidence`."""
    page = arguments.get("page", PASSAGE_PAGE)
    data = {
        "document": "Report",
        "document_id": "one",
        "chunk_id": arguments["chunk_id"],
        "page": page,
        "page_count": PAGE_COUNT,
        "regions": [{"page": PASSAGE_PAGE, "boxes": boxes}] if boxes else [],
        "hidden_text": hidden,
        "note": note,
    }
    return as_result(data, {"type": "image", "data": draw_page(), "mimeType": "image/png"})


@cache
def draw_page() -> str:
    """A page as a PNG image in base64."""
    width, height = SIZE
    page = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(page)
    for line in range(10, 90, 3):
        bar = (0.1 * width, (line + 0.5) / 100 * height, 0.9 * width, (line + 1.5) / 100 * height)
        draw.rectangle(bar, fill="black")
    file = BytesIO()
    page.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
