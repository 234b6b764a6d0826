"""A copy of a policy with sixty edits at random, and what a comparison has to find.

A copy is made from the lines of a document with paragraphs numbered in one chain. Words, numbers
and obligations are changed; paragraphs are added, removed, moved, exchanged, split and merged. Then
all paragraphs are numbered anew, so that most are renumbered. Twelve edits of print (hyphens,
quotation marks, line breaks) come on top, which are no change.
"""

import random
import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from quinion.chunk.sections.split import find_sections
from quinion.compare.differences import OBLIGATIONS
from quinion.model.comparison import Change, Comparison, Flag, SectionText
from quinion.model.line import Line
from quinion.model.section import Kind

EDITS = {
    "word": 14,
    "number": 6,
    "obligation": 8,
    "add": 6,
    "remove": 6,
    "move": 6,
    "exchange": 2,
    "split": 6,
    "merge": 6,
}
PRINT_EDITS = 12
_CONFUSED = dict(zip("eliohasutc", "c1l0bo5nfe", strict=True))

Found = tuple[Change, tuple[str, ...], tuple[str, ...]]

_WORDS = [
    "harbour",
    "lantern",
    "meadow",
    "orchard",
    "quarry",
    "viaduct",
    "timber",
    "gravel",
    "canal",
    "hamlet",
    "beacon",
    "cellar",
    "chimney",
    "furnace",
    "granary",
    "kiln",
    "lodge",
    "mill",
    "parish",
    "quay",
    "reservoir",
    "spire",
    "tannery",
    "weir",
]


@dataclass
class Block:
    """Lines of one paragraph or of what is between paragraphs.

    `origins` are the references that its text had in the original.
    """

    lines: list[Line]
    number: int | None = None
    origins: tuple[str, ...] = ()
    chapter: str = ""
    moved: bool = False
    reworded: bool = False
    flags: set[Flag] = field(default_factory=set)

    @property
    def text(self) -> str:
        """The text without its number."""
        text = " ".join(line.text for line in self.lines)
        return re.sub(r"^\d+\. ", "", text)

    def rewrite(self, text: str) -> None:
        first = self.lines[0]
        rows = textwrap.wrap(f"0. {text}", 85, break_long_words=False, break_on_hyphens=False)
        self.lines = [replace(first, text=row) for row in rows]


@dataclass(frozen=True)
class Copy:
    """The edited lines, what a comparison has to find, and the words that were changed."""

    lines: list[Line]
    rows: set[Found]
    reworded: dict[tuple[str, ...], set[Flag]]


def sections_of(lines: Sequence[Line]) -> list[SectionText]:
    return [SectionText(s.ref, s.path, s.pages, s.text) for s in find_sections(lines)]


def found_by(comparison: Comparison) -> set[Found]:
    """The rows of a comparison that are about a change, by their references."""
    return {
        (row.change, tuple(one.ref for one in row.before), tuple(one.ref for one in row.after))
        for row in comparison.changed
    }


def misread(sections: Sequence[SectionText], share: float, seed: int) -> list[SectionText]:
    """Copy sections with a wrong letter in this share of the longer words, as OCR reads them."""
    chance = random.Random(seed)

    def read(match: re.Match[str]) -> str:
        word = match[0]
        places = [place for place, letter in enumerate(word) if place and letter in _CONFUSED]
        if chance.random() > share or not places:
            return word
        place = chance.choice(places)
        return word[:place] + _CONFUSED[word[place]] + word[place + 1 :]

    return [replace(one, text=re.sub(r"[A-Za-z]{5,}", read, one.text)) for one in sections]


def edit(lines: Sequence[Line], seed: int) -> Copy:
    """Copy a document with the edits above."""
    blocks = list(_blocks(lines))
    chance = random.Random(seed)
    editor = _Editor(blocks, chance)
    for name, count in EDITS.items():
        for _ in range(count):
            getattr(editor, name)()
    for _ in range(PRINT_EDITS):
        editor.print()
    return editor.copy()


class _Editor:
    def __init__(self, blocks: list[Block], chance: random.Random) -> None:
        self.blocks = blocks
        self.chance = chance
        whole = Counter(block.origins for block in blocks)
        self.free = [b for b in blocks if b.number and whole[b.origins] == 1]
        self.removed: set[str] = set()

    def take(self, suits: Callable[[Block], bool] = lambda block: True) -> Block:
        """Take a paragraph that no edit has been made to; its neighbours stay as they are."""
        able = [block for block in self.free if suits(block)]
        chosen = self.chance.choice(able)
        assert chosen.number is not None
        self.free = [b for b in self.free if abs((b.number or 0) - chosen.number) > 1]
        return chosen

    def word(self) -> None:
        flagged = "|".join(OBLIGATIONS)
        pattern = re.compile(rf"(?<=[a-z] )(?!(?:{flagged})\b)[a-z]{{6,}}(?= [a-z])")
        block = self.take(lambda block: bool(pattern.search(block.text)))
        self.change(block, pattern, lambda _: self.chance.choice(_WORDS), set())

    def number(self) -> None:
        pattern = re.compile(r"(?<=[a-z] )\d{1,3}(?= [a-z])")
        block = self.take(lambda block: bool(pattern.search(block.text)))
        self.change(block, pattern, lambda old: str(int(old) + 7), {Flag.NUMBER})

    def obligation(self) -> None:
        pattern = re.compile(r"\b(?:should|must)(?= [a-z])")
        block = self.take(lambda block: bool(pattern.search(block.text)))
        new = self.chance.choice(["may", "{} not"])
        self.change(block, pattern, new.format, {Flag.OBLIGATION})

    def change(
        self, block: Block, pattern: re.Pattern[str], new: Callable[[str], str], flags: set[Flag]
    ) -> None:
        match = self.chance.choice(list(pattern.finditer(block.text)))
        text = block.text
        block.rewrite(text[: match.start()] + new(match[0]) + text[match.end() :])
        block.reworded, block.flags = True, flags

    def print(self) -> None:
        edits = [
            (r"(?<=[a-z]{3})-(?=[a-z]{3})", " "),
            (r"(?<=[a-z]{4}), (?=[a-z]{3})", " "),
            (r" (?=[a-z]{5} )", " ‘"),
            (r"(?<= [a-z]{4})(?=[a-z]{4} )", "-\n"),
            (r"(?<=[a-z]{4}); (?=[a-z])", ", "),
        ]
        able = [one for one in edits if any(re.search(one[0], block.text) for block in self.free)]
        pattern, new = self.chance.choice(able)
        block = self.take(lambda block: bool(re.search(pattern, block.text)))
        block.rewrite(re.sub(pattern, new, block.text, count=1))

    def add(self) -> None:
        after = self.take()
        words = [self.chance.choice(_WORDS) for _ in range(30)]
        block = Block([after.lines[-1]], 0)
        block.rewrite(f"The {' '.join(words[:15])}. The {' '.join(words[15:])}.")
        self.blocks.insert(self.blocks.index(after) + 1, block)

    def remove(self) -> None:
        block = self.take()
        self.blocks.remove(block)
        self.removed.update(block.origins)

    def move(self) -> None:
        block = self.take(lambda block: len(block.text.split()) > 12)
        after = self.take(lambda other: other.chapter != block.chapter)
        self.blocks.remove(block)
        block.lines = [replace(after.lines[-1], text=line.text) for line in block.lines]
        self.blocks.insert(self.blocks.index(after) + 1, block)
        block.moved = True

    def exchange(self) -> None:
        def follows(block: Block) -> bool:
            here = self.blocks.index(block)
            return here + 1 < len(self.blocks) and self.blocks[here + 1] in self.free

        block = self.take(follows)
        here = self.blocks.index(block)
        self.blocks[here : here + 2] = self.blocks[here + 1], block

    def split(self) -> None:
        stop = re.compile(r"(?<=[a-z])\. (?=[A-Z])")

        def halves(block: Block) -> list[int]:
            return [
                match.end()
                for match in stop.finditer(block.text)
                if min(
                    len(block.text[: match.end()].split()), len(block.text[match.end() :].split())
                )
                >= 12
            ]

        block = self.take(lambda block: bool(halves(block)))
        place, text = self.chance.choice(halves(block)), block.text
        second = Block([block.lines[-1]], 0, block.origins, block.chapter)
        second.rewrite(text[place:])
        block.rewrite(text[:place].strip())
        self.blocks.insert(self.blocks.index(block) + 1, second)

    def merge(self) -> None:
        def suits(block: Block) -> bool:
            here = self.blocks.index(block)
            after = self.blocks[here + 1 : here + 2]
            texts = [block.text, *(one.text for one in after)]
            return (
                bool(after) and after[0] in self.free and min(len(t.split()) for t in texts) >= 12
            )

        block = self.take(suits)
        second = self.blocks.pop(self.blocks.index(block) + 1)
        block.rewrite(f"{block.text} {second.text}")
        block.origins += second.origins

    def copy(self) -> Copy:
        number = 0
        for block in self.blocks:
            if block.number is not None and _starts(block):
                number += 1
                first = block.lines[0]
                text = re.sub(r"^\d+\. ", f"{number}. ", first.text)
                block.lines[0] = replace(first, text=text)
                block.number = number
        return Copy([line for block in self.blocks for line in block.lines], *self.expected())

    def expected(self) -> tuple[set[Found], dict[tuple[str, ...], set[Flag]]]:
        rows: set[Found] = {(Change.REMOVED, (ref,), ()) for ref in self.removed}
        reworded = {}
        paragraphs = [b for b in self.blocks if b.number is not None and _starts(b)]
        parts: dict[tuple[str, ...], list[str]] = {}
        for block in paragraphs:
            ref = f"Para {block.number}"
            if not block.origins:
                rows.add((Change.ADDED, (), (ref,)))
                continue
            parts.setdefault(block.origins, []).append(ref)
            if block.reworded:
                reworded[block.origins] = block.flags
        moved = {block.origins for block in paragraphs if block.moved}
        for origins, refs in parts.items():
            change = _change(origins, refs, origins in moved, origins in reworded)
            if change is not Change.UNCHANGED:
                rows.add((change, origins, tuple(refs)))
        return rows, reworded


def _change(origins: tuple[str, ...], refs: list[str], moved: bool, reworded: bool) -> Change:
    if len(refs) > 1:
        return Change.SPLIT
    if len(origins) > 1:
        return Change.MERGED
    if moved:
        return Change.MOVED
    if list(origins) != refs:
        return Change.RENUMBERED
    return Change.REWORDED if reworded else Change.UNCHANGED


def _starts(block: Block) -> bool:
    return re.match(r"\d+\. ", block.lines[0].text) is not None


def _blocks(lines: Sequence[Line]) -> Iterator[Block]:
    """Cut the lines into paragraphs and what is between them."""
    starts, offset = {}, 0
    for index, line in enumerate(lines):
        starts[offset] = index
        offset += len(line.text) + 1
    owner = {
        starts[offset]: section
        for section in find_sections(lines)
        for span in section.spans
        for offset in range(*span)
        if offset in starts
    }
    for section, group in groupby(range(len(lines)), owner.get):
        block = Block([lines[index] for index in group])
        if section is not None and section.kind is Kind.PARA:
            block.number = int(section.ref.rpartition(" ")[2])
            block.origins, block.chapter = (section.ref,), section.path[0]
        yield block
