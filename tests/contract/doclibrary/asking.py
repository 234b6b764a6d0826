"""What the tests of this contract ask over and over, and the shapes that it prescribes."""

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.types import CallToolResult, ImageContent, TextContent
from PIL import Image

from quinion.servers.base import as_json
from tests.contract.session import Answer, Session

LARGEST = 1 << 20
"""Python clients of the SDK give up on a larger server-sent event."""

RESULT_KEYS = {
    "type",
    "document_slug",
    "page_number",
    "score",
    "content",
    "element_label",
}
DOCUMENT_KEYS = {
    "slug",
    "title",
    "source_file",
    "total_pages",
    "keywords",
    "date_added",
    "indexed_elements",
}
COUNT_KEYS = {"figures", "tables", "equations", "diagrams", "charts"}
PAGINATION_KEYS = {"page", "page_size", "total_pages", "total_documents"}


@dataclass(frozen=True)
class Shown:
    """An answer with a picture."""

    text: str
    image: Image.Image
    png: bytes


def reply(session: Session, tool: str, **arguments: Any) -> CallToolResult:
    """An answer whole; it is small enough for every client."""
    result = session.start(tool, **arguments).reply()
    assert len(as_json(result)) < LARGEST
    return result


def text_of(result: CallToolResult) -> str:
    """What an answer says that is nothing but text."""
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def say(session: Session, tool: str, **arguments: Any) -> str:
    """What a tool says, if it is no error."""
    text = text_of(reply(session, tool, **arguments))
    assert not text.startswith("Error"), text
    return text


def failed(session: Session, tool: str, **arguments: Any) -> str:
    """What an error says after the contract's `Error: `."""
    return message_of(reply(session, tool, **arguments))


def message_of(result: CallToolResult) -> str:
    """What an error says after the contract's `Error: `."""
    text = text_of(result)
    assert text.startswith("Error: "), text
    assert result.structured_content == {"error": text}
    return text.removeprefix("Error: ")


def show(session: Session, tool: str, **arguments: Any) -> Shown:
    """What a tool shows: exactly a text and a PNG, native content of MCP."""
    result = reply(session, tool, **arguments)
    assert len(result.content) == 2, result.content
    text, picture = result.content
    assert isinstance(text, TextContent)
    assert isinstance(picture, ImageContent)
    assert picture.mime_type == "image/png"
    return Shown(text.text, *open_png(base64.b64decode(picture.data, validate=True)))


def open_png(png: bytes) -> tuple[Image.Image, bytes]:
    """The picture, if it is a whole PNG."""
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    image.load()
    return image, png


def find(session: Session, query: str, **options: Any) -> list[Answer]:
    """The results of a search, of elements alone where `element_type` is given, even as None."""
    visual = "element_type" in options
    tool = "search_visual_elements" if visual else "search_documents"
    data = reply(session, tool, query=query, **options).structured_content
    assert data is not None
    assert set(data) == {"query", "results"}, data
    results: list[Answer] = data["results"]
    for result in results:
        assert set(result) - {"match", "merged", "evidence"} == RESULT_KEYS
        assert (result["element_label"] is None) == (result["type"] == "text")
    scores = [result.get("match", result)["score"] for result in results]
    assert scores == sorted(scores, reverse=True)
    return results


def labels_of(results: list[Answer]) -> list[str]:
    return [result["element_label"] for result in results]


def slugs_of(session: Session) -> set[str]:
    """The slugs of all documents of the library, which are not many."""
    answer = session.call("list_documents_paginated", page_size=100)
    assert answer["pagination"]["total_pages"] <= 1
    return {document["slug"] for document in answer["documents"]}


def add(session: Session, file: Path) -> Answer:
    """Add a document that is not in the library; what is said of it."""
    answer = session.call("add_document", file_path=str(file))
    assert answer.get("status") == "added", answer
    document: Answer = answer["document"]
    assert set(document) == DOCUMENT_KEYS
    return document


def remove(session: Session, slug: str) -> None:
    """Take a document out of the library."""
    assert session.call("remove_document", document_slug=slug)["slug"] == slug


def kept(home: Path) -> list[str]:
    """The originals and pictures that are kept, of all documents."""
    found = [*home.glob("originals/*"), *home.glob("pictures/*/*")]
    return sorted(path.relative_to(home).as_posix() for path in found)
