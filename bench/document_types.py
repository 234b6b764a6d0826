"""Accuracy of document types on real documents labelled by hand.

    python -m bench.document_types CORPUS

CORPUS is the folder of documents to measure with. `document_types.tsv` has the labels, with the
hash of each file; a file that is missing or differs is skipped and named. The rules were tuned on
one half of the documents, those whose hash is even; the other half was held out. Each document is
classified by its name and text, as in an ingest, and again by its text alone, as if a portal had
replaced its name by a number.
"""

import csv
import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from quinion.chunk.recursive import join_pages
from quinion.classify.classifier import classify
from quinion.extract.document import Options, inspect, read_pages
from quinion.model.document_type import DocumentType

LABELS = Path(__file__).with_name("document_types.tsv")
# More pages than the text that is searched fills, without OCR of a whole book.
MOST_PAGES = 40
NUMBER = "00123456.pdf"


@dataclass(frozen=True)
class Labelled:
    """A document with its label and its types: with its own name, and without."""

    file: str
    is_held_out: bool
    label: DocumentType
    with_name: DocumentType
    by_text: DocumentType


def main(corpus: Path) -> None:
    documents = [*classify_all(corpus)]
    report("name and text", documents, lambda document: document.with_name)
    report("text alone", documents, lambda document: document.by_text)


def classify_all(corpus: Path) -> Sequence[Labelled]:
    documents = []
    with LABELS.open(newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            path = corpus / row["file"]
            if not path.is_file() or hash_of(path) != row["sha256"]:
                print(f"skipped, missing or changed: {row['file']}", file=sys.stderr)
                continue
            text = read(path)
            documents.append(
                Labelled(
                    row["file"],
                    int(row["sha256"], 16) % 2 == 1,
                    DocumentType(row["type"]),
                    classify(path.name, text),
                    classify(NUMBER, text),
                )
            )
    return documents


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(path: Path) -> str:
    options = Options()
    last = min(MOST_PAGES, inspect(path, options).page_count)
    return join_pages(list(islice(read_pages(path, 1, last, options), MOST_PAGES)))


def report(
    what: str, documents: Sequence[Labelled], found: Callable[[Labelled], DocumentType]
) -> None:
    print(f"\n| {what} | half | documents | right | precision | recall |")
    print("|---|---|---:|---:|---:|---:|")
    for is_held_out, half in ((False, "tuned"), (True, "held out")):
        part = [document for document in documents if document.is_held_out is is_held_out]
        for kind in DocumentType:
            labelled = [document for document in part if document.label is kind]
            named = [document for document in part if found(document) is kind]
            right = sum(document.label is kind for document in named)
            if labelled or named:
                print(
                    f"| {kind} | {half} | {len(labelled)} | {right} "
                    f"| {share(right, len(named))} | {share(right, len(labelled))} |"
                )
    wrong = [document for document in documents if found(document) is not document.label]
    for document in wrong:
        print(f"{document.file}: {found(document)}, not {document.label}")
    print(f"{len(documents) - len(wrong)} of {len(documents)} right")


def share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "–"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m bench.document_types CORPUS (the folder with the documents)")
    main(Path(sys.argv[1]))
