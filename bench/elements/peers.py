"""Table detection with other libraries, as JSON on stdout. Does not import quinion.

    PYTHON peers.py TOOL FILE ...

`tables.py` runs it with the interpreter of an environment with these libraries. Boxes are in
points from the top left of the displayed page.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

Found = dict[str, Any]


def find_with_pymupdf(path: str, **options: Any) -> Iterator[Found]:
    import pymupdf

    with pymupdf.open(path) as document:
        for page in document:
            turn = page.rotation_matrix
            for table in page.find_tables(**options).tables:
                box = pymupdf.Rect(table.bbox) * turn
                yield {"page": page.number + 1, "box": list(box), "rows": table.extract()}


def find_with_pymupdf_lines(path: str) -> Iterator[Found]:
    yield from find_with_pymupdf(path, use_layout=False)


def find_with_pdfplumber(path: str) -> Iterator[Found]:
    import pdfplumber  # type: ignore[import-not-found]

    with pdfplumber.open(path) as document:
        for page in document.pages:
            for table in page.find_tables():
                yield {"page": page.page_number, "box": table.bbox, "rows": table.extract()}


def find_with_camelot(path: str, flavor: str) -> Iterator[Found]:
    import camelot  # type: ignore[import-not-found]
    import pymupdf

    with pymupdf.open(path) as document:
        heights = [page.rect.height for page in document]
    for table in camelot.read_pdf(path, pages="all", flavor=flavor, suppress_stdout=True):
        x0, bottom, x1, top = table._bbox
        height = heights[table.page - 1]
        box = [x0, height - top, x1, height - bottom]
        yield {"page": table.page, "box": box, "rows": table.df.values.tolist()}


TOOLS: dict[str, Callable[[str], Iterator[Found]]] = {
    "PyMuPDF find_tables": find_with_pymupdf,
    "PyMuPDF find_tables, lines alone": find_with_pymupdf_lines,
    "pdfplumber": find_with_pdfplumber,
    "camelot, lattice": lambda path: find_with_camelot(path, "lattice"),
    "camelot, stream": lambda path: find_with_camelot(path, "stream"),
}


def main(tool: str, paths: list[str]) -> None:
    warnings.simplefilter("ignore")
    out, sys.stdout = sys.stdout, sys.stderr
    found = {}
    for path in paths:
        found[path] = list(TOOLS[tool](path))
    json.dump(found, out)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
