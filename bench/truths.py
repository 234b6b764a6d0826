"""Scanned pages with ground-truth text, and word accuracy against it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Truths:
    """Image files of one kind, and a function that reads the ground truth of each."""

    title: str
    paths: Sequence[Path]
    read: Callable[[Path], str]


def find_truths(corpus: Path) -> list[Truths]:
    """List the ground-truth sets of the corpus."""
    scans = corpus / "scans"
    modern = [
        truth.with_name(truth.name.replace(".truth.hocr", ".png"))
        for truth in scans.glob("scribe/*.truth.hocr")
    ]
    return [
        Truths("old books", sorted(scans.glob("oldbooks/*.png")), read_plain),
        Truths("modern print", sorted(modern), read_hocr),
        Truths("receipts", sorted(scans.glob("sroie/*.jpg")), read_receipt),
        Truths("Tesseract's own", sorted(scans.glob("tesseract/*.tif")), read_plain),
    ]


def read_plain(path: Path) -> str:
    return path.with_suffix(".txt").read_text()


def read_hocr(path: Path) -> str:
    truth = ElementTree.parse(path.with_suffix(".truth.hocr"))
    lines = [node for node in truth.iter() if node.get("class") == "ocr_line"]
    return "\n".join(" ".join("".join(word.itertext()) for word in line) for line in lines)


def read_receipt(path: Path) -> str:
    rows = path.with_suffix(".csv").read_text().splitlines()
    return "\n".join(row.split(",", 8)[8] for row in rows if row)


def word_accuracy(text: str, truth: str) -> float:
    """1 − word edit distance ÷ true words."""
    read, true = split_alike(text, truth)
    return 1 - edit_distance(read, true) / len(true)


def words_found(text: str, truth: str) -> float:
    """Return the share of true words that occur anywhere in the text."""
    read, true = split_alike(text, truth)
    return (Counter(read) & Counter(true)).total() / len(true)


def words_right(text: str, truth: str) -> float:
    """Return the share of the words read that occur anywhere in the truth: the precision."""
    read, true = split_alike(text, truth)
    return (Counter(read) & Counter(true)).total() / len(read) if read else 0.0


def split_alike(text: str, truth: str) -> tuple[list[str], list[str]]:
    """Split both into words; upper-case the text if the ground truth is all upper case."""
    read, true = words(text), words(truth)
    if all(word == word.upper() for word in true):  # the receipts' ground truth is upper case
        read = [word.upper() for word in read]
    return read, true


def words(text: str) -> list[str]:
    """Split into words, joining hyphenated line ends and normalising quotation marks."""
    joined = re.sub(r"(?<=\w)-\s*\n\s*", "", text)
    return joined.translate(str.maketrans("‘’“”", "''\"\"")).split()


def edit_distance(read: Sequence[str], true: Sequence[str]) -> int:
    row = list(range(len(true) + 1))
    for count, word in enumerate(read, 1):
        diagonal, row[0] = row[0], count
        for place, expected in enumerate(true, 1):
            step = min(row[place] + 1, row[place - 1] + 1, diagonal + (word != expected))
            diagonal, row[place] = row[place], step
    return row[-1]
