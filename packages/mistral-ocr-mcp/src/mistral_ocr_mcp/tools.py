"""The two tools: parameters, execution and response models.

Docstrings of tools and models are part of what clients see.
"""

import os
from collections.abc import Callable
from contextlib import closing
from typing import Annotated, Any

import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from mistral_ocr_mcp.ocr import Ocr, Page
from mistral_ocr_mcp.output import CONTENT, Output, join
from mistral_ocr_mcp.progress import Report, reporting
from mistral_ocr_mcp.sandbox import Folder, Sandbox
from mistral_ocr_mcp.settings import Settings
from mistral_ocr_mcp.source import CONTENT_TYPES, open_source
from mistral_ocr_mcp.spool import Spool

MAX_PATH = 4096

FilePath = Annotated[
    str,
    Field(
        max_length=MAX_PATH,
        description=f"Absolute path of the input file: {', '.join(CONTENT_TYPES)}.",
    ),
]
OutputDir = Annotated[
    str,
    Field(
        max_length=MAX_PATH,
        description="Absolute path of an existing folder, at or below the directory that this "
        "server may write to. The output gets a folder of its own inside.",
    ),
]


class Extracted(BaseModel):
    """What `extract_markdown` returns."""

    content: str = Field(description="The document as Markdown.")


class Skipped(BaseModel):
    """An image that was not saved."""

    id: str
    reason: str


class Saved(BaseModel):
    """What `extract_markdown_with_images` returns."""

    output_directory: str = Field(description="Absolute path of the folder that was made.")
    markdown_file: str = Field(description="Absolute path of the Markdown file in it.")
    images: list[str] = Field(description="Names of the image files in it.")
    skipped_images: list[Skipped] = Field(
        default_factory=list, description="Images that the API announced but sent no data for."
    )


def make_tools(settings: Settings, sandbox: Sandbox) -> list[Tool]:
    """Make the tools of a server with these settings."""

    async def extract_markdown(
        file_path: FilePath, ctx: Context[Any, Any]
    ) -> Annotated[CallToolResult, Extracted]:
        """Extract the text of a PDF or image file as Markdown. Images are not saved."""
        with (
            open_source(file_path, settings.read_roots) as source,
            closing(Spool(_open_nothing, os.devnull)) as spool,
        ):
            async with reporting(ctx) as report:
                pages = await Ocr(settings, spool, report).read(source, with_images=False)
        text = join(pages)
        return _result(Extracted(content=text), text)

    async def extract_markdown_with_images(
        file_path: FilePath, output_dir: OutputDir, ctx: Context[Any, Any]
    ) -> Annotated[CallToolResult, Saved]:
        """Extract a PDF or image file into a new folder inside `output_dir`: `content.md`, and
        the document's images as files that it shows. Returns paths, not contents."""
        with (
            open_source(file_path, settings.read_roots) as source,
            sandbox.open_folder(output_dir) as folder,
            closing(Spool(folder.open_unnamed, folder.path)) as spool,
        ):
            async with reporting(ctx) as report:
                pages = await Ocr(settings, spool, report).read(source, with_images=True)
                saved = await _save(folder, source.stem, pages, spool, report)
        return _result(saved, saved.model_dump_json(indent=2))

    return [
        _make_tool(extract_markdown, "Extract Markdown", read_only=True),
        _make_tool(extract_markdown_with_images, "Extract Markdown with images", read_only=False),
    ]


async def _save(
    folder: Folder, stem: str, pages: list[Page], spool: Spool, report: Report
) -> Saved:
    in_thread = anyio.to_thread.run_sync
    images = [image for page in pages for image in page.images]
    with folder.draft() as draft:
        output = Output(draft, spool)
        for number, image in enumerate(images, 1):
            await in_thread(output.save_image, image)
            await report(f"Image {number} of {len(images)} is saved")
        await in_thread(output.save_markdown, pages)
        target = await in_thread(draft.publish, stem)
    return Saved(
        output_directory=str(target),
        markdown_file=str(target / CONTENT),
        images=output.images,
        skipped_images=[Skipped(id=name, reason=reason) for name, reason in output.skipped],
    )


def _open_nothing() -> Any:
    return open(os.devnull, "w+b")  # noqa: PTH123 - the spool closes it


def _result(answer: BaseModel, text: str) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content=answer.model_dump(mode="json"),
    )


def _make_tool(function: Callable[..., Any], title: str, *, read_only: bool) -> Tool:
    tool = Tool.from_function(
        function,
        title=title,
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=read_only,
            destructive_hint=False,
            idempotent_hint=read_only,
            open_world_hint=True,
        ),
    )
    tool.parameters["additionalProperties"] = False
    return tool
