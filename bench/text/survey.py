"""Which documents all sides can be measured on.

    python -m bench.text.survey FOLDER LONGEST

The peers have no OCR, so a document with a page that would need it is left out on all sides, and
so is one that images cover (a drawing, a map, a scan), which our server looks at more closely, and
one with more than LONGEST pages. Prints JSON; it is a process of its own so that the measuring
one stays small.
"""

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from quinion.errors import ExtractionFailed
from quinion.extract.document import Options, inspect, read_pages
from quinion.extract.scans.scan_decision import has_layer
from quinion.settings import Settings


@dataclass(frozen=True)
class Document:
    file: str
    page_count: int
    left_out: str
    """Why; empty if it is measured."""


def survey(folder: Path, longest: int) -> list[Document]:
    """Every PDF below the folder."""
    return [look_at(file, longest) for file in sorted(folder.rglob("*.pdf"))]


def look_at(file: Path, longest: int) -> Document:
    options = Options(ocr=False)
    try:
        inspection = inspect(file, options)
        if inspection.page_count > longest:
            return Document(str(file), inspection.page_count, "because they are long")
        pages = read_pages(file, 1, inspection.page_count, options)
        bare = sum(not has_layer(page.text) for page in pages)
    except ExtractionFailed as error:
        return Document(str(file), 0, str(error))
    if inspection.image_ratio > Settings().image_ratio_threshold:
        return Document(str(file), inspection.page_count, "because images cover them")
    return Document(
        str(file), inspection.page_count, "because of pages without text" if bare else ""
    )


if __name__ == "__main__":
    found = survey(Path(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps([asdict(document) for document in found]))
