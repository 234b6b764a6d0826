"""Document types: classify a file by its name, else by its text, else as `other`.

Patterns match complete words only. `_`, `-`, `.`, case and `CamelCase` are normalized first, so
`FRA.pdf` is a flood risk assessment and `Infrastructure_Plan.pdf` is not. The name of a document
that has no type of the contract (`… SPD Adoption Statement.pdf`) makes it `other`, because a wrong
type is worse than none.
"""

import re

from quinion.classify.content import classify_text
from quinion.classify.names import FILE_NAMES, OTHER_DOCUMENTS, RENDERINGS
from quinion.model.document_type import DocumentType


def classify(file_name: str, text: str) -> DocumentType:
    """Classify a document by its name, else by its text, else as `other`."""
    return classify_name(file_name) or classify_text(text) or DocumentType.OTHER


def classify_name(file_name: str) -> DocumentType | None:
    """Return the first type whose pattern matches the file name; None if the name is no evidence.

    It is `other` if the name is that of another kind of document.
    """
    name = fold_name(file_name)
    if OTHER_DOCUMENTS.search(name):
        return DocumentType.OTHER
    return next((kind for kind, pattern in FILE_NAMES.items() if pattern.search(name)), None)


def is_rendering(file_name: str) -> bool:
    """Return whether the file name indicates a rendering of the proposed building."""
    return RENDERINGS.search(fold_name(file_name)) is not None


def fold_name(file_name: str) -> str:
    """Split a file name into lower-case words, without its extension."""
    stem = file_name.rsplit(".", 1)[0]
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", " ", stem)
    return re.sub(r"[\s_.\-]+", " ", re.sub(r"['’]", "", split)).lower().strip()
