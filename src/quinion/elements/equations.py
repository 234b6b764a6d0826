"""Find numbered equations, and display formulas without a number. Pure.

A number in brackets at the end of a line, with mathematics before it at the same level, is an
equation's number. From there the equation grows by rows that touch it from above and below, like
parts of fractions and sums, unless they are sentences.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from quinion.elements.page_layout import PageLayout, RegionKind, TextRow, bounding_box
from quinion.model.element import Box

NUMBER = r"(?:[A-Z]{1,2}[.\-–]?)?\d{1,3}(?:\s?[.\-–—]\s?\d{1,3}){0,3}\s?[a-z]?[′']{0,2}"
_AT_END = re.compile(rf"[(\[]\s?({NUMBER})\s?[)\]]\s*[.,;]?$")
_NAMED_AT_END = re.compile(rf"((?:Equation|Eqn?\.)\s*\(?({NUMBER})\)?)\s*[.:]?$", re.IGNORECASE)
_YEAR = re.compile(r"(?:1[89]|20)\d\d[a-z]?")
_RELATION = re.compile(r"[=<>≤≥≈≠∈→←≡∝≃∼⇔≪≫¼]")
_STEPS = re.compile(r"(\d+)([a-z]?)")
_WORD = re.compile(r"[A-Za-z]{4,}")
_FUNCTIONS = frozenset({"arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "sign", "where"})
# Regions in which a number in brackets at the end of a row is a year or a reference.
_ELSEWHERE = (
    RegionKind.HEADER,
    RegionKind.FOOTER,
    RegionKind.FOOTNOTE,
    RegionKind.HEADING,
    RegionKind.PICTURE,
)
# Maximum height of an equation, in points.
MAX_HEIGHT = 130.0
# A row with so many words is a sentence.
SENTENCE = 5
# Minimum share of mathematical letters in an equation.
MATH = 0.12
# Minimum share in a row that is certainly part of an equation.
PART = 0.4


@dataclass(frozen=True, slots=True)
class Equation:
    """An equation; `label` is its number as written, with brackets, or empty."""

    label: str
    box: Box
    text: str


def find_equations(layout: PageLayout, occupied: Sequence[Box]) -> list[Equation]:
    """Find the equations of a page outside of the occupied boxes."""
    rows = [row for row in layout.rows if not any(box.holds(row.box.centre) for box in occupied)]
    numbered = [(row, label) for row in rows if (label := _label(layout, row, rows)) is not None]
    found = [_gather(layout, row, label, rows, numbered) for row, label in numbered]
    equations = [equation for equation in found if equation is not None]
    if layout.from_ocr:
        equations = _correct_numbers(equations)
    return equations + list(_unnumbered(layout, rows, [equation.box for equation in equations]))


def _label(layout: PageLayout, row: TextRow, rows: Sequence[TextRow]) -> str | None:
    if row.mono:
        return None
    match = _AT_END.search(row.text) or _NAMED_AT_END.search(row.text)
    if match is None or _YEAR.fullmatch(match[match.lastindex or 1]):
        return None
    if _has_right_neighbour(row, rows):
        return None
    region = layout.region_at(row.box)
    stands_alone = match[0] == row.text
    if region is not None and region.kind in _ELSEWHERE and not stands_alone:
        return None
    if match.re is _NAMED_AT_END:
        return match[1]
    # OCR reads dashes as long ones, with spaces around them.
    return match[0].rstrip(" .,;").replace("—", "-").replace(" ", "")


def _has_right_neighbour(row: TextRow, rows: Iterable[TextRow]) -> bool:
    return any(
        other is not row
        and abs(other.box.centre[1] - row.box.centre[1]) < row.size / 2
        and -1 < other.box.x0 - row.box.x1 < 1.5 * row.size
        for other in rows
    )


def _gather(
    layout: PageLayout,
    number: TextRow,
    label: str,
    rows: Sequence[TextRow],
    numbered: Sequence[tuple[TextRow, str]],
) -> Equation | None:
    left = _left_edge(layout, number)
    others = [row for row, _ in numbered if row is not number]
    box, parts = number.box, [number]
    near = [
        row
        for row in rows
        if row is not number
        and row.box.x0 >= left
        and row.box.x1 <= number.box.x1 + 3
        and not row.mono
        and not _is_sentence(row)
        and row not in others
    ]
    changed = True
    while changed:
        changed = False
        for row in near:
            if row in parts or not _touches(row, box):
                continue
            if any(_is_nearer(row, other, number) for other in others):
                continue
            parts.append(row)
            box |= row.box
            changed = True
    box = _with_region(layout, box, others)
    if box.height > MAX_HEIGHT:
        return None
    text = " ".join(row.text for row in sorted(parts, key=lambda row: (row.box.x0, row.box.y0)))
    return Equation(label, box, text) if _is_mathematics(layout, parts, text, label) else None


def _with_region(layout: PageLayout, box: Box, others: Iterable[TextRow]) -> Box:
    """Extend a box to the layout model's formula region, unless that contains another number."""
    region = layout.region_at(box)
    if region is None or region.kind is not RegionKind.FORMULA:
        return box
    combined = box | region.box
    return box if any(combined.holds(row.box.centre) for row in others) else combined


def _left_edge(layout: PageLayout, number: TextRow) -> float:
    """The left edge of the number's column."""
    middle = (layout.frame.x0 + layout.frame.x1) / 2
    columns = [
        region.box
        for region in layout.regions
        if region.kind in (RegionKind.TEXT, RegionKind.FORMULA, RegionKind.LIST_ITEM)
        and region.box.x1 > number.box.x0 - 1
        and region.box.x0 < number.box.x0
    ]
    if columns:
        return min(box.x0 for box in columns) - 3
    if number.box.x1 < middle or not _is_two_columned(layout):
        return layout.frame.x0
    return middle - 6


def _is_two_columned(layout: PageLayout) -> bool:
    texts = [region.box for region in layout.regions_of(RegionKind.TEXT)]
    return sum(box.width < 0.45 * layout.frame.width for box in texts) > len(texts) / 2


def _touches(row: TextRow, box: Box) -> bool:
    common = min(row.box.y1, box.y1) - max(row.box.y0, box.y0)
    # Parts of fractions and matrices overlap less than lines of text do.
    is_part = row.math > PART and box.x0 < row.box.centre[0] < box.x1
    return common > (-1.0 if is_part else 1.5)


def _is_nearer(row: TextRow, other: TextRow, number: TextRow) -> bool:
    middle = row.box.centre[1]
    return abs(middle - other.box.centre[1]) < abs(middle - number.box.centre[1])


def _is_sentence(row: TextRow) -> bool:
    return len([word for word in _WORD.findall(row.text) if word not in _FUNCTIONS]) >= SENTENCE


def _is_mathematics(layout: PageLayout, parts: Sequence[TextRow], text: str, label: str) -> bool:
    formula = text.replace(label, "", 1)
    if len([word for word in _WORD.findall(formula) if word not in _FUNCTIONS]) > 2 * SENTENCE:
        return False
    if not formula.strip():
        return False
    if layout.from_ocr:
        # A separate number at the end of a line is enough, because OCR often misreads signs.
        # A plain integer is not: it may be an amount in brackets.
        alone = parts[0].text.replace(" ", "").replace("—", "-").strip(".,;") == label
        return bool(_RELATION.search(formula)) or (alone and not label.strip("()[]").isdigit())
    region = layout.region_at(bounding_box(row.box for row in parts))
    if region is not None and region.kind is RegionKind.FORMULA:
        return True
    letters = sum(len(row.text) for row in parts)
    math = sum(row.math * len(row.text) for row in parts) / max(1, letters)
    return bool(_RELATION.search(formula)) and math > MATH / 2


def _correct_numbers(equations: Sequence[Equation]) -> list[Equation]:
    """Correct equation numbers that OCR has misread.

    Numbers ascend. OCR reads 3 as 8, so a number out of order is replaced if exactly one choice of
    its eights as threes restores the order.
    """
    corrected = list(equations)
    for index in range(1, len(corrected) - 1):
        before, here, after = (corrected[index + step].label for step in (-1, 0, 1))
        if _order(before) < _order(here) < _order(after):
            continue
        choices = [
            label
            for label in _possible_labels(here)
            if _order(before) < _order(label) < _order(after)
        ]
        if len(choices) == 1:
            corrected[index] = replace(corrected[index], label=choices[0])
    return corrected


def _possible_labels(label: str) -> list[str]:
    ways = ["83" if letter == "8" else letter for letter in label]
    return ["".join(letters) for letters in product(*ways)]


def _order(label: str) -> list[tuple[int, str]]:
    return [(int(digits), suffix) for digits, suffix in _STEPS.findall(label)]


def _unnumbered(
    layout: PageLayout, rows: Sequence[TextRow], occupied: Sequence[Box]
) -> Iterable[Equation]:
    for region in layout.regions_of(RegionKind.FORMULA):
        inside = [row for row in rows if region.box.holds(row.box.centre)]
        if any(region.box.overlap(box) > 0 for box in occupied) or not inside:
            continue
        text = " ".join(row.text for row in inside)
        if any(row.mono for row in inside) or not _RELATION.search(text):
            continue
        yield Equation("", region.box, text)
