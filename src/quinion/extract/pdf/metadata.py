"""Read the title and the keywords of a PDF. Runs in worker processes."""

import re
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from pathlib import Path

from quinion.extract.document import Options
from quinion.extract.pdf.lines import read_lined_pages
from quinion.extract.pdf.reader import open_pdf

MAX_TITLE_CHARACTERS = 200
MAX_TITLE_LINES = 6
MAX_KEYWORDS = 20
MAX_KEYWORD_CHARACTERS = 50
SAME_SIZE = 0.95
"""Text of this share of the largest font size counts as the largest size too."""
# Useless values that programs write as a title: file names, program names, placeholders.
_NO_TITLE = re.compile(
    r"(untitled\b.*|title|document\d*|microsoft (word|powerpoint|excel)\b.*|powerpoint presentation"
    r"|.*\.(docx?|pdf|indd|qxd|tex|dvi|pptx?|xlsx?|fm|pmd|rtf|odt)|[\W\d_]*|print|full page fax.*)",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class PdfMetadata:
    """Title and keywords; the title is empty if neither the file nor its first page has one."""

    title: str
    keywords: tuple[str, ...]


def describe(path: Path, options: Options) -> PdfMetadata:
    """Read the PDF's metadata; if it has no title, find one on the first page.

    Raises:
        ExtractionFailed: the file is damaged or encrypted.
    """
    with open_pdf(path) as file:
        data = file.metadata
    title = _clean(data.get("title") or "")
    if not title or _NO_TITLE.fullmatch(title):
        title = _find_title(path, options)
    return PdfMetadata(
        title[:MAX_TITLE_CHARACTERS], tuple(_split_keywords(data.get("keywords") or ""))
    )


def _find_title(path: Path, options: Options) -> str:
    """Find the text in the largest font size on the first page.

    A scan has no font sizes, and several lines of one size are running text.
    """
    [page] = read_lined_pages(path, 1, 1, replace(options, ocr=False))
    sizes = {
        line.text: line.size
        for line in page.lines
        if line.size and _LETTERS.search(line.text) and "=" not in line.text
    }
    if not sizes:
        return ""
    limit = SAME_SIZE * max(sizes.values())
    if len(sizes) > 1 and min(sizes.values()) >= limit:
        return ""
    # The first consecutive lines of that size; too many of them are running text.
    large = dropwhile(lambda text: sizes[text] < limit, sizes)
    lines = list(takewhile(lambda text: sizes[text] >= limit, large))
    return _clean(" ".join(lines)) if len(lines) <= MAX_TITLE_LINES else ""


def _split_keywords(text: str) -> list[str]:
    words = [_clean(word) for word in re.split(r"[,;\n]", text)]
    return [word[:MAX_KEYWORD_CHARACTERS] for word in dict.fromkeys(words) if word][:MAX_KEYWORDS]


def _clean(text: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(printable.split())
