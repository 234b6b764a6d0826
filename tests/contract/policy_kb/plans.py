"""Two revisions of a plan, whose changes are known, and a chapter too long for one answer."""

from pathlib import Path

from tests.contract.policy_kb.policies import (
    ACTIONS,
    CHAPTERS,
    Leaf,
    chapter,
    cover,
    prose,
    typeset,
)

OLD_HOMES = [
    "Councils should plan for homes within 10 minutes of a station, if land allows.",
    "Gardens keep the rain from the sewers, and are kept wherever roads are widened.",
    "Caravans stand on level pitches with water, drains and a lamp at every gate.",
]
NEW_HOMES = [
    "A survey of empty houses comes before every plan, and is printed for all to read.",
    OLD_HOMES[0].replace("should", "must").replace("10", "15"),
    OLD_HOMES[1],
]
ROADS = [
    f"Planning policies should ensure that {subject} {action}."
    for subject, action in zip(CHAPTERS.values(), ACTIONS, strict=False)
]
LONG = 100


def plan(path: Path, homes: list[str], roads: list[str]) -> Path:
    """A plan with two chapters, whose paragraphs are numbered in one chain."""
    leaves = [cover("Plan", "A town")]
    number = 100
    for title, texts in (("11. Homes", homes), ("12. Roads", roads)):
        rows = chapter(title)
        for text in texts:
            number += 1
            rows += prose(f"{number}. {text}")
        leaves.append(Leaf(rows))
    return typeset(path, "", leaves)


def long_chapter(path: Path, word: str) -> Path:
    """A chapter that is too long for one answer: each of its letters takes six bytes there."""
    leaves = [cover("Lanes", "A town")]
    subjects = [f"{one} {other}" for one in CHAPTERS.values() for other in ACTIONS] * 2
    for first in range(101, 101 + LONG, 5):
        rows = chapter("11. Lanes") if first == 101 else []
        for number in range(first, first + 5):
            filling = [f"{'é' * 50} {subjects[number + line]}"[:80] for line in range(8)]
            rows += prose("\n".join([f"{number}. {subjects[number - 101]} {word}", *filling]))
        leaves.append(Leaf(rows))
    return typeset(path, "", leaves)
