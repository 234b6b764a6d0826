"""Contact sheet: fifty crops with their labels in one image, for visual inspection.

    python -m bench.elements.sheet CORPUS OUT.jpg

CORPUS is the folder of documents to measure with. The crops show elements detected on labelled
pages, taken from all documents in turn.
"""

import io
import sys
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path

from PIL import Image, ImageDraw

from bench.elements.labels import LabelledPage, find_beside, read_labels
from quinion.extract.page_image import PictureLimits, render_page
from quinion.model.element import Element

COUNT = 50
EACH = 2
COLUMNS = 10
WIDTH, HEIGHT = 240, 200
CAPTION = 26
MARGIN = 5
QUALITY = 70


def main(corpus: Path, out: Path) -> None:
    chosen = choose(corpus)
    rows = -(-len(chosen) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * WIDTH, rows * HEIGHT), "#c8c8c8")
    for place, (path, element) in enumerate(chosen):
        tile = draw_tile(corpus / path, element)
        sheet.paste(tile, ((place % COLUMNS) * WIDTH + 1, (place // COLUMNS) * HEIGHT + 1))
    sheet.save(out, quality=QUALITY, optimize=True)
    print(f"{len(chosen)} crops, {out.stat().st_size / 1000:.0f} kB")


def choose(corpus: Path) -> list[tuple[str, Element]]:
    """Choose elements from all documents in turn, with a maximum per page."""
    by_document: dict[str, list[LabelledPage]] = defaultdict(list)
    for page in read_labels():
        if page.labels:
            by_document[page.path].append(page)
    in_turn = [
        page for group in zip_longest(*by_document.values()) for page in group if page is not None
    ]
    chosen: list[tuple[str, Element]] = []
    for page, elements in find_beside(corpus, in_turn):
        chosen += [(page.path, element) for element in elements[:EACH]]
        if len(chosen) >= COUNT:
            break
    return chosen[:COUNT]


def draw_tile(path: Path, element: Element) -> Image.Image:
    tile = Image.new("RGB", (WIDTH - 2, HEIGHT - 2), "white")
    picture = Image.open(
        io.BytesIO(render_page(path, element.page, box=element.box, limits=PictureLimits(dpi=150)))
    )
    picture.thumbnail((WIDTH - 2 * MARGIN, HEIGHT - CAPTION - 2 * MARGIN))
    tile.paste(picture.convert("RGB"), ((WIDTH - picture.width) // 2, MARGIN))
    draw = ImageDraw.Draw(tile)
    draw.text((MARGIN, HEIGHT - CAPTION), f"{element.label} · {element.type}", fill="black")
    draw.text((MARGIN, HEIGHT - CAPTION + 11), f"{path.name[:30]} p. {element.page}", fill="#666")
    return tile


if __name__ == "__main__":
    if len(sys.argv) != 3 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m bench.elements.sheet CORPUS OUT.jpg")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
