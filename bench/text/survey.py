"""Selection of the documents that all sides can ingest.

    python -m bench.text.survey FOLDER LONGEST

The peers have no OCR, so documents with a page that needs OCR are excluded. So are documents
covered by images (drawings, maps, scans), which quinion inspects more closely, and documents with
more than LONGEST pages. Prints JSON. It runs in a separate process to keep the measuring process
small.
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
    """Reason for exclusion; empty if the document is measured."""


def survey(folder: Path, longest: int) -> list[Document]:
    """Check every PDF below the folder."""
    return [check(file, longest) for file in sorted(folder.rglob("*.pdf"))]


def check(file: Path, longest: int) -> Document:
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
