"""Table detection on the ICDAR 2013 European set, compared with other libraries.

    python -m bench.elements.tables CORPUS [PEERS]

CORPUS is the folder of documents to measure with. PEERS is the interpreter of an environment with
pdfplumber, camelot-py and pymupdf; without it, only quinion is measured.

A region counts as found if the box of one table on that page has an IoU of 0.5 or more; each table
counts once. `F1, 0.8` is the same for an IoU of 0.8. The competition compared characters instead.

Cells are compared by adjacency, as in the competition: each non-empty cell with the next non-empty
one to its right and the next one below, as (text, text, direction), ignoring spaces and case. The
relations of a page form one multiset across tables, so a missed table lowers recall and a false
one lowers precision. The figures are sums over all pages.
"""

import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from bench.elements import peers
from quinion.elements.document import find_elements, open_document
from quinion.elements.mupdf_layout import pymupdf
from quinion.model.element import Box, ElementType

FOLDER = "tables/icdar2013"
SAME_BOX = 0.5
EXACT_BOX = 0.8

Relations = Counter[tuple[str, str, str]]


@dataclass(frozen=True)
class Cell:
    text: str
    rows: range
    columns: range


@dataclass(frozen=True)
class Table:
    page: int
    box: Box
    cells: tuple[Cell, ...]


def main(corpus: Path, interpreter: str | None) -> None:
    paths = sorted((corpus / FOLDER).glob("*.pdf"))
    truth = {path: read_truth(path) for path in paths}
    print(
        "| | regions: recall | precision | F1 | F1, 0.8 "
        "| cells: recall | precision | F1 | s per page |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    pages = sum(count_pages(path) for path in paths)
    start = time.perf_counter()
    ours = {path: find_ours(path) for path in paths}
    print(row("quinion", truth, ours, (time.perf_counter() - start) / pages), flush=True)
    for tool in peers.TOOLS if interpreter else ():
        start = time.perf_counter()
        found = find_theirs(str(interpreter), tool, paths)
        print(row(tool, truth, found, (time.perf_counter() - start) / pages), flush=True)


def count_pages(path: Path) -> int:
    with open_document(path) as document:
        return int(document.page_count)


def read_truth(path: Path) -> list[Table]:
    regions = ElementTree.parse(path.with_name(f"{path.stem}-reg.xml")).getroot()
    structure = ElementTree.parse(path.with_name(f"{path.stem}-str.xml")).getroot()
    cells: dict[tuple[int, int, int], tuple[Cell, ...]] = {}
    for order, (number, table) in enumerate(_tables(structure)):
        for region in table.iter("region"):
            key = (number, int(region.get("page", 0)), order)
            cells[key] = tuple(map(_cell, region.iter("cell")))
    by_page: dict[int, list[tuple[Cell, ...]]] = defaultdict(list)
    for (_, page, _), group in cells.items():
        by_page[page].append(group)
    with open_document(path) as document:
        boxes = [
            (int(region.get("page", 0)), _box(region, document))
            for _, table in _tables(regions)
            for region in table.iter("region")
        ]
    # The assignment of cells to boxes does not matter: relations are compared by page.
    result = []
    for page, box in boxes:
        groups = by_page.get(page, [])
        result.append(Table(page, box, groups.pop(0) if groups else ()))
    return result


def _tables(root: ElementTree.Element) -> list[tuple[int, ElementTree.Element]]:
    return [(number, table) for number, table in enumerate(root.iter("table"))]


def _box(region: ElementTree.Element, document: pymupdf.Document) -> Box:
    found = region.find("bounding-box")
    assert found is not None
    page = document[int(region.get("page", 0)) - 1]
    x1, y1, x2, y2 = (float(found.get(side, 0)) for side in ("x1", "y1", "x2", "y2"))
    # Coordinates are those of the displayed page, from its bottom left.
    height = page.rect.height
    return Box(x1, height - y2, x2, height - y1)


def _cell(cell: ElementTree.Element) -> Cell:
    content = cell.find("content")
    row, column = int(cell.get("start-row", 0)), int(cell.get("start-col", 0))
    return Cell(
        (content.text or "") if content is not None else "",
        range(row, int(cell.get("end-row") or row) + 1),
        range(column, int(cell.get("end-col") or column) + 1),
    )


def find_ours(path: Path) -> list[Table]:
    return [
        Table(element.page, element.box, _cells(element.table or ()))
        for page in find_elements(path, 1, count_pages(path))
        for element in page.elements
        if element.type is ElementType.TABLE
    ]


def find_theirs(interpreter: str, tool: str, paths: Sequence[Path]) -> dict[Path, list[Table]]:
    command = [interpreter, peers.__file__, tool, *map(str, paths)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    found = json.loads(done.stdout)
    return {
        path: [
            Table(table["page"], Box(*table["box"]), _cells(table["rows"]))
            for table in found[str(path)]
        ]
        for path in paths
    }


def _cells(rows: Iterable[Iterable[str | None]]) -> tuple[Cell, ...]:
    return tuple(
        Cell(text or "", range(y, y + 1), range(x, x + 1))
        for y, cells in enumerate(rows)
        for x, text in enumerate(cells)
    )


def row(
    name: str,
    truth: dict[Path, list[Table]],
    found: dict[Path, list[Table]],
    seconds: float,
) -> str:
    wanted = sum(map(len, truth.values()))
    given = sum(map(len, found.values()))
    same, exact = (
        sum(count_regions(truth[path], found[path], least) for path in truth)
        for least in (SAME_BOX, EXACT_BOX)
    )
    right = all_true = all_found = 0
    for path, tables in truth.items():
        for page in {table.page for table in (*tables, *found[path])}:
            true, ours = (
                sum((relate(one.cells) for one in some if one.page == page), Relations())
                for some in (tables, found[path])
            )
            right += (true & ours).total()
            all_true += true.total()
            all_found += ours.total()
    regions = [*rates(same, wanted, given), rates(exact, wanted, given)[-1]]
    cells = [*regions, *rates(right, all_true, all_found), f"{seconds:.2f}"]
    return "| " + " | ".join([name, *cells]) + " |"


def rates(right: int, wanted: int, given: int) -> list[str]:
    recall, precision = right / max(1, wanted), right / max(1, given)
    both = 2 * recall * precision / max(1e-9, recall + precision)
    return [f"{rate:.3f}" for rate in (recall, precision, both)]


def count_regions(truth: Sequence[Table], found: Sequence[Table], least: float) -> int:
    left = list(found)
    count = 0
    for table in truth:
        near = [other for other in left if other.page == table.page]
        best = max(near, key=lambda other: other.box.iou(table.box), default=None)
        if best is not None and best.box.iou(table.box) >= least:
            left.remove(best)
            count += 1
    return count


def relate(cells: Sequence[Cell]) -> Relations:
    """Relate each cell to its next neighbours to the right, in each of its rows, and below."""
    full = [(cell, text) for cell in cells if (text := "".join(cell.text.split()).casefold())]
    relations: Relations = Relations()
    for cell, text in full:
        right = {
            min(beside, key=lambda pair: pair[0].columns.start)
            for y in cell.rows
            if (beside := [pair for pair in full if _is_right(pair[0], cell, y)])
        }
        below = {
            min(under, key=lambda pair: pair[0].rows.start)
            for x in cell.columns
            if (under := [pair for pair in full if _is_below(pair[0], cell, x)])
        }
        relations.update((text, other, "right") for _, other in right)
        relations.update((text, other, "below") for _, other in below)
    return relations


def _is_right(other: Cell, cell: Cell, y: int) -> bool:
    return y in other.rows and other.columns.start >= cell.columns.stop


def _is_below(other: Cell, cell: Cell, x: int) -> bool:
    return x in other.columns and other.rows.start >= cell.rows.stop


if __name__ == "__main__":
    if len(sys.argv) not in {2, 3} or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m bench.elements.tables CORPUS [PYTHON-WITH-PEERS]")
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) == 3 else None)
