"""Pictures of the console for the documentation, made by `make picture` in Chromium.

It fills an empty home with documents of `samples/`, two revisions of a policy, a document of the
library and a folder, serves the console, and takes each view light and dark.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, ViewportSize

from tests.browser.chromium import launch
from tests.browser.console.running import Running, run_command, serve
from tests.contract.doclibrary.documents import survey
from tests.contract.policy_kb.policies import framework
from tests.contract.process import Home
from tests.documents import PROSE, Blank, Scan, make_pdf

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "console"
REF = "26/00001/FUL"
QUERY = "how is the canal towpath reached?"
SIZES: dict[str, ViewportSize] = {
    "": {"width": 1280, "height": 800},
    "-phone": {"width": 390, "height": 844},
}
COLOURS = 48
"""Few, because the pictures are part of the repository."""


def views(page: Page, address: str) -> Iterator[tuple[str, str]]:
    """Yield the name and path of each view."""
    yield "start", "/"
    yield "search", f"/?q={quote(QUERY)}"
    yield "documents", "/documents"
    yield "document", _first_link(page, address, "/documents", "table.list a:text('Site notice')")
    yield "policies", "/policies"
    yield "policy", "/policies/NPPF?section=Chapter+11"
    yield "comparison", "/policies/NPPF/compare"
    yield "library", "/library"
    gallery = _first_link(page, address, "/library", "table.list a")
    yield "gallery", gallery
    yield "page", f"{gallery}/page/1"
    yield "folders", "/folders"
    yield "health", "/engine"


def _first_link(page: Page, address: str, path: str, selector: str) -> str:
    page.goto(f"{address}{path}")
    link = page.locator(selector).first.get_attribute("href")
    assert link is not None
    return link


@contextmanager
def open_filled_console() -> Iterator[Running]:
    """Serve the console of a home with something of each kind."""
    with TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home", Path(folder), mirrored=False)
        scan = make_pdf(
            Path(folder) / "Site notice.pdf", [Scan(PROSE), Blank(), Scan(PROSE, blur=1.6)]
        )
        notes = Path(folder) / "notes"
        notes.mkdir()
        for name in ("meeting", "towpath", "hedges"):
            (notes / f"{name}.md").write_text(f"# {name.title()}\n\nNotes about the {name}.\n")
        revisions = [
            f"NPPF@{day}={framework(Path(folder) / f'{year}.pdf', year)}"
            for year, day in (("2023", "2023-09-05"), ("2024", "2024-12-12"))
        ]
        for command in (
            ["ingest", str(scan), "-a", "26/00002/HH"],
            ["ingest", str(ROOT / "samples"), "-a", REF],
            ["policy", "seed", *revisions],
            ["library", "add", str(survey(Path(folder) / "survey.pdf"))],
            ["index", str(notes)],
        ):
            run_command(home, *command)
        (notes / "hedges.md").write_text("# Hedges\n\nChanged.\n")
        (notes / "meeting.md").unlink()
        with serve(home) as running:
            yield running


def main(target: Path, names: list[str]) -> None:
    """Write the pictures, of the named views or of all."""
    target.mkdir(parents=True, exist_ok=True)
    with open_filled_console() as running, launch() as browser:
        for scheme in ("light", "dark"):
            for suffix, viewport in SIZES.items():
                context = browser.new_context(viewport=viewport, color_scheme=scheme)
                page = context.new_page()
                page.goto(running.key())
                page.wait_for_url(f"{running.address}/")
                for name, path in list(views(page, running.address)):
                    if names and name not in names:
                        continue
                    page.goto(f"{running.address}{path}")
                    page.wait_for_load_state("networkidle")
                    picture = Image.open(BytesIO(page.screenshot())).convert("RGB")
                    small = picture.quantize(COLOURS, dither=Image.Dither.NONE)
                    small.save(target / f"{name}{suffix}-{scheme}.png", optimize=True)
                context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER, sys.argv[2:])
