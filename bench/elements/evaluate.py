"""Accuracy of element detection against manual labels.

    python -m bench.elements.evaluate CORPUS [--as-scans] [WORD ...]

CORPUS is the folder of documents to measure with. Words select the documents whose paths contain
one of them. With --as-scans, pages with a text layer are measured as 200 dpi images without one.

A label counts as found if an element of that page has the same label, in any spelling. A box counts
if its IoU with the labelled one is 0.5 or more. Elements without a label on the page are measured
separately, by their box alone; types are measured separately too.
"""

import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.elements.labels import Label, LabelledPage, find_beside, is_generated_label, read_labels
from quinion.model.element import Element, fold_label

SAME_BOX = 0.5
AS_SCANS = "--as-scans"


@dataclass
class Score:
    """Counts for a set of pages: labelled elements by label, unlabelled ones by box."""

    pages: set[tuple[str, int]] = field(default_factory=set)
    wanted: int = 0
    found: int = 0
    false: int = 0
    boxes: int = 0
    types: int = 0
    nameless_wanted: int = 0
    nameless_found: int = 0
    nameless_false: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, page: LabelledPage, elements: Sequence[Element]) -> None:
        self.pages.add((page.path, page.number))
        where = f"{Path(page.path).name} p. {page.number}"
        left = [element for element in elements if not is_generated_label(element)]
        for label in page.labels:
            if label.label is None:
                continue
            self.wanted += 1
            same = [one for one in left if fold_label(one.label) == fold_label(label.label)]
            best = max(same, key=lambda one: one.box.iou(label.box), default=None)
            if best is None:
                self.wrong.append(f"{where}: {label.label} is missing")
                continue
            left.remove(best)
            self._compare(best, label, where)
        self.false += len(left)
        self.wrong += [f"{where}: {element.label} is a false positive" for element in left]
        self._add_nameless(page, elements)

    def _compare(self, element: Element, label: Label, where: str) -> None:
        self.found += 1
        self.types += element.type is label.type
        iou = element.box.iou(label.box)
        self.boxes += iou >= SAME_BOX
        if iou < SAME_BOX:
            self.wrong.append(f"{where}: box of {label.label} has IoU {iou:.2f}")

    def _add_nameless(self, page: LabelledPage, elements: Sequence[Element]) -> None:
        left = [element for element in elements if is_generated_label(element)]
        for label in page.labels:
            if label.label is not None:
                continue
            self.nameless_wanted += 1
            best = max(left, key=lambda one: one.box.iou(label.box), default=None)
            if best is not None and best.box.iou(label.box) >= SAME_BOX:
                self.nameless_found += 1
                left.remove(best)
        self.nameless_false += len(left)


def main(corpus: Path, words: Sequence[str], as_scans: bool) -> None:
    pages = [
        page
        for page in read_labels()
        if (not words or any(word in f"{page.path} p{page.number}" for word in words))
        and not (as_scans and page.is_scan)
    ]
    by_document: dict[str, Score] = defaultdict(Score)
    by_group: dict[str, Score] = defaultdict(Score)
    start = time.process_time()
    for page, elements in find_beside(corpus, pages, as_pixels=as_scans):
        group = "scans" if page.is_scan else "pictures" if as_scans else "text layer"
        part = "held out" if page.held_out else "tuned on"
        name = _document(page.path)
        for score in (
            by_document[f"{name} ({part})"],
            by_group[f"**{group}, {part}**"],
            by_group[f"**{group}, all**"],
        ):
            score.add(page, elements)
    spent = time.process_time() - start
    print("| pages of | pages | labels | recall | precision | boxes | types | without a label |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, score in [*by_document.items(), *sorted(by_group.items())]:
        print(_row(name, score))
    print(f"\n{spent / max(1, len(pages)):.2f} CPU-seconds for each page, OCR not counted.\n")
    for line in _unique(line for score in by_document.values() for line in score.wrong):
        print(f"- {line}")


def _document(path: str) -> str:
    # Each page of a scanned book is a separate file.
    parts = Path(path)
    return f"{parts.parent.name}/" if parts.suffix == ".png" else parts.name


def _row(name: str, score: Score) -> str:
    nameless = f"{score.nameless_found} of {score.nameless_wanted}, {score.nameless_false} more"
    cells = (
        name,
        len(score.pages),
        score.wanted,
        _share(score.found, score.wanted),
        _share(score.found, score.found + score.false),
        _share(score.boxes, score.found),
        _share(score.types, score.found),
        nameless,
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


def _unique(lines: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(lines))


if __name__ == "__main__":
    if len(sys.argv) < 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python -m bench.elements.evaluate CORPUS [--as-scans] [WORD ...]")
    given = sys.argv[2:]
    main(Path(sys.argv[1]), [word for word in given if word != AS_SCANS], AS_SCANS in given)
