"""Sections and lines of a policy that the tests make, for comparisons."""

import random
import textwrap

from quinion.model.comparison import SectionText
from quinion.model.line import Line

_SUBJECTS = [
    "A planning policy",
    "The local authority",
    "Each proposal for new homes",
    "A plan for the area",
    "The design of a building",
    "Any scheme near a river",
    "A new road",
    "Development in the countryside",
    "An application for a shop",
    "The setting of a listed building",
    "A travel plan",
    "Every flood scheme",
]
_VERBS = ["should", "must", "should normally", "will", "may", "can"]
_DEEDS = [
    "protect",
    "improve",
    "take account of",
    "be based on",
    "avoid harm to",
    "make use of",
    "set out",
    "support",
    "give weight to",
    "be measured against",
    "provide for",
    "keep clear of",
]
_THINGS = [
    "green space",
    "older housing",
    "well-designed streets",
    "local employment",
    "the historic centre",
    "bus routes",
    "safe crossings",
    "flood storage",
    "clean water",
    "woodland",
    "small workshops",
    "open land",
    "community halls",
    "rural services",
    "good daylight",
    "energy networks",
    "schools",
    "wildlife corridors",
]
_REASONS = [
    "where the need is proven",
    "unless the cost is too high",
    "within 5 years of adoption",
    "over at least 15 hectares of land",
    "in line with national guidance",
    "for people of all ages",
    "before work begins on site",
    "as far as is practical",
    "with 20 months of evidence",
    "in places that are not well served",
    "during the whole plan period",
    "without delay",
]


def section(ref: str, text: str, *outer: str) -> SectionText:
    """Make a section inside the outer ones."""
    return SectionText(ref, (*outer, ref), (1,), text)


def policy_lines(chapters: int = 12, paragraphs: int = 24, seed: int = 1) -> list[Line]:
    """Make the lines of a policy with chapters and paragraphs that are numbered in one chain."""
    chance = random.Random(seed)
    lines = [Line(1, "A Policy for Places", (57, 60, 300, 84), 24.0)]
    number = 0
    for chapter in range(1, chapters + 1):
        page = chapter + 1
        title = f"{chapter}. {chance.choice(_DEEDS).capitalize()} {chance.choice(_THINGS)}"
        lines.append(Line(page, title, (57, 60, 300, 78), 18.0, bold=True))
        for place in range(paragraphs):
            number += 1
            top = 90.0 + 20 * place
            text = " ".join(_sentence(chance) for _ in range(chance.randint(2, 5)))
            for row in textwrap.wrap(f"{number}. {text}", 85, break_on_hyphens=False):
                lines.append(Line(page, row, (57, top, 500, top + 11), 11.0))
                top += 12
    return lines


def _sentence(chance: random.Random) -> str:
    first, second = chance.sample(_THINGS, 2)
    return (
        f"{chance.choice(_SUBJECTS)} {chance.choice(_VERBS)} {chance.choice(_DEEDS)} {first}, "
        f"and {chance.choice(_DEEDS)} {second} {chance.choice(_REASONS)}."
    )
