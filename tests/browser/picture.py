"""Pictures of the MCP App for the documentation, made by `make picture` from a real search.

It ingests `samples/` into an empty home, searches as a client does, and shows the results and the
page of the first one in Chromium: `docs/evidence-light.png` and `docs/evidence-dark.png`.
"""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from mcp import Client, StdioServerParameters
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, expect

from tests.browser.chromium import launch
from tests.browser.host import APPS, Answer, HostPage, dump

SCRIPTS = Path(sys.executable).parent
ROOT = Path(__file__).parents[2]
PICTURES = {theme: ROOT / "docs" / f"evidence-{theme}.png" for theme in ("light", "dark")}
REFERENCE = "26/00001/FUL"
QUERY = "how is the canal towpath reached?"
SIZE = (500, 640)
SCALE = 2
GAP = 12
RADIUS = 12
GROUNDS = {"light": "#ffffff", "dark": "#0d1117"}
BORDERS = {"light": "#d8d6d0", "dark": "#3d3c39"}
COLOURS = 64
"""Few, because the pictures are part of the repository."""


def search() -> tuple[Answer, Answer]:
    """Search the samples in a new home; return the results, and the page of the first one."""
    with TemporaryDirectory() as home:
        environment = {**os.environ, "QUINION_HOME": home, "QUINION_MIRROR": "off"}
        try:
            return anyio.run(_search, environment)
        finally:
            subprocess.run([SCRIPTS / "quinion", "stop"], env=environment, check=True)


async def _search(environment: dict[str, str]) -> tuple[Answer, Answer]:
    server = StdioServerParameters(command=str(SCRIPTS / "document-store-mcp"), env=environment)
    async with Client(server, extensions=[APPS]) as client:
        for sample in sorted((ROOT / "samples").glob("*.pdf")):
            file = {"file_path": str(sample), "application_ref": REFERENCE}
            await client.call_tool("ingest_document", file)
        arguments = {"query": QUERY, "mode": "hybrid", "max_results": 4}
        found = dump(await client.call_tool("search_application_docs", arguments))
        first = found["structuredContent"]["results"][0]["chunk_id"]
        return found, dump(await client.call_tool("show_evidence", {"chunk_id": first}))


def draw(browser: Browser, theme: str, found: Answer, shown: Answer) -> Image.Image:
    """Draw the list and the page beside each other."""
    width, height = SIZE
    page = browser.new_context(
        viewport={"width": width, "height": height}, device_scale_factor=SCALE
    ).new_page()
    host = HostPage(page, lambda *_: shown)
    host.open(theme=theme, containerDimensions={"width": width, "height": height})
    page.add_style_tag(content=f"iframe {{ height: {height}px !important; }}")
    host.show(found, query=QUERY)
    expect(host.app.locator(".card").first).to_be_visible()
    panes = [page.screenshot()]
    host.app.locator("[data-hit='0']").click()
    expect(host.app.locator(".box").first).to_be_visible()
    expect(host.app.locator("#page")).to_have_css("opacity", "1")
    panes.append(page.screenshot())
    pictures = [Image.open(BytesIO(pane)).convert("RGB") for pane in panes]
    gap = GAP * SCALE
    wide, high = pictures[0].size
    whole = Image.new("RGB", (2 * wide + gap, high), GROUNDS[theme])
    for number, picture in enumerate(pictures):
        mask = Image.new("L", picture.size)
        frame = (0, 0, wide - 1, high - 1)
        ImageDraw.Draw(mask).rounded_rectangle(frame, RADIUS * SCALE, fill=255)
        ImageDraw.Draw(picture).rounded_rectangle(
            frame, RADIUS * SCALE, outline=BORDERS[theme], width=SCALE
        )
        whole.paste(picture, (number * (wide + gap), 0), mask)
    return whole.quantize(COLOURS, dither=Image.Dither.NONE)


def main() -> None:
    """Write the pictures."""
    found, shown = search()
    with launch() as browser:
        for theme, path in PICTURES.items():
            draw(browser, theme, found, shown).save(path, optimize=True)


if __name__ == "__main__":
    main()
