"""Where sections begin: lines that say so by a label or a number, and by how they are printed.

A label alone is not enough: "Table 2 shows" and "Policy H1 applies" begin lines too. A mark has
to look like a heading, or the list of contents has to name it, or where neither can be known
(after OCR) it has to be written as headings are.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from quinion.chunk.section_chains import Number, best_chain
from quinion.chunk.section_contents import Contents
from quinion.chunk.section_prints import Prints, is_title
from quinion.model.line import Line
from quinion.model.section import Kind


@dataclass(frozen=True, slots=True)
class Mark:
    """The heading of a section, or the beginning of a paragraph.

    It takes the lines from `first` up to `last`. `size` is 0 where it is not known. `inner` is
    a paragraph that is counted anew in the section around it.
    """

    kind: Kind
    first: int
    last: int
    name: str
    title: str
    size: float = 0.0
    left: float = 0.0
    number: Number = ()
    inner: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """What marks are looked for in: the lines that could be one, and what is known of them."""

    lines: Sequence[Line]
    open: Sequence[int]
    prints: Prints
    contents: Contents

    def reads_as_heading(self, mark: Mark, rest: str) -> bool:
        """Whether a line with a label is the heading that it seems to be.

        `rest` is what follows the label on the line.
        """
        line = self.lines[mark.first]
        if not _may_follow_label(rest, mark.title):
            return False
        if self.contents.names(line.text):
            return True
        if line.size is None:
            return not rest or _SEPARATED.match(rest) is not None
        return self.prints.stands_out(line)


_WORDS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty"
).split()
_ROMAN = {"I": 1, "V": 5, "X": 10, "L": 50}
_CODE = r"[A-Z]{1,5}(?:/[A-Z]{1,4})?[ -]?\d{1,3}(?:\.\d{1,2}){0,2}[A-Za-z]?"
_BETWEEN = " :.–—-|"
_SEPARATED = re.compile(r"\s*[:–—-]\s*\S")
_LABELLED: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (Kind.PART, re.compile(r"(?i:part)\s+(\d{1,2}|[IVX]{1,4}|[A-H])(?=\W|$)(.*)")),
    (
        Kind.CHAPTER,
        re.compile(
            rf"(?i:chapter)\s+(\d{{1,2}}|[IVXL]{{1,6}}|(?i:{'|'.join(_WORDS)}))(?=\W|$)(.*)"
        ),
    ),
    (Kind.SECTION, re.compile(r"(?i:section)\s+(\d{1,2}|[IVX]{1,4}|[A-H])(?=[^\w.(]|$)(.*)")),
    (Kind.ANNEX, re.compile(r"(?i:annex(?:e|ure)?)\s+([A-Z]|\d{1,2}|[IVX]{1,5})(?=\W|$)(.*)")),
    (Kind.APPENDIX, re.compile(r"(?i:appendix)\s+([A-Z]|\d{1,2}|[IVX]{1,5})(?=\W|$)(.*)")),
    (Kind.SCHEDULE, re.compile(r"(?i:schedule)\s+([A-Z]|\d{1,2}|[IVX]{1,5})(?=\W|$)(.*)")),
    (
        Kind.POLICY,
        re.compile(
            rf"(?:(?i:strategic|core|development|local plan|site)\s+)?(?i:policy)\s+"
            rf"({_CODE}|\d{{1,3}}[A-Za-z]?|[A-Z]{{1,3}}(?=\s*[:–—-]\s))(?=[^\w(]|$)(.*)"
        ),
    ),
)
_CAPTIONS: tuple[tuple[Kind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(rf"(?i:{word})\s+([A-Z]?\d{{1,3}}(?:[.\-–]\d{{1,3}})*[A-Za-z]?)(?=\W|$)(.*)"))
    for kind, word in (
        (Kind.TABLE, "table"),
        (Kind.FIGURE, r"fig(?:ure|\.)?"),
        (Kind.MAP, "map"),
        (Kind.BOX, "box"),
    )
)
_BARE_POLICY = re.compile(rf"({_CODE})(\s*[:–—]\s*\S.*)")
_MENTION = re.compile(rf"(?i:polic(?:y|ies))\s+({_CODE})(?!\.?\d)")
_CONTINUED = re.compile(r"\bcont(?:inued|['’]?d|\.)", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,2})\.?(?=\s)\s*(\S.*)")
_PLAIN = re.compile(r"(\d{1,3})\.\s+(\S.*)")

# A family of policies without the word `Policy`, as `DM1: …`, has so many members in all.
_FEWEST_BARE = 4
# A numbered heading weighs more in its chain than a paragraph: the same number may be a list's.
_HEADING_WEIGHT = 1.5
# A chain of paragraph numbers with fewer members is a list, or chance.
_SHORTEST_CHAIN = 8
_FEWEST_DOTTED = 3
# Lines of one heading are no further apart than this part of their size.
_LEADING = 0.9
_HEADING_LINES = 4
# Paragraphs of one list begin within so many points from each other.
_ALIGNED = 4.0


def count_of(name: str) -> int:
    """The number that digits, a word or Roman numerals stand for; 0 if they are none."""
    if name.isdigit():
        return int(name)
    if name.casefold() in _WORDS:
        return _WORDS.index(name.casefold()) + 1
    values = [_ROMAN.get(letter, 0) for letter in name.upper()]
    if not all(values):
        return 0
    return sum(
        -value if value < after else value
        for value, after in zip(values, [*values[1:], 0], strict=True)
    )


def find_labelled(page: Page) -> tuple[list[Mark], set[int]]:
    """Parts, chapters, annexes, policies, tables, figures: whatever its label names.

    Also the lines that repeat the heading of one of them, and are none.
    """
    found: list[Mark] = []
    for index in page.open:
        found.extend(_labelled(page, index))
    found.extend(_bare_policies(page, {mark.first for mark in found}))
    for kind in (Kind.PART, Kind.SECTION):
        found = _counted_from_first(found, kind)
    kept = _without_repeats(found)
    return kept, {mark.first for mark in found} - {mark.first for mark in kept}


def _counted_from_first(marks: Sequence[Mark], kind: Kind) -> list[Mark]:
    """Without the marks of a kind, unless the first of them is number 1."""
    if any(mark.kind is kind and mark.name in {"1", "I", "A"} for mark in marks):
        return list(marks)
    return [mark for mark in marks if mark.kind is not kind]


def _labelled(page: Page, index: int) -> Iterator[Mark]:
    text = page.lines[index].text
    for kind, pattern in _LABELLED:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        mark = _mark(page, index, kind, match[1], match[2])
        if page.reads_as_heading(mark, match[2]) and _may_be(page, mark):
            number = (count_of(match[1]),) if kind is Kind.CHAPTER else ()
            yield replace(mark, number=number)
            return
    for kind, pattern in _CAPTIONS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        mark = _mark(page, index, kind, match[1].replace("–", "-"), match[2])
        if _reads_as_caption(page, mark, match[2]):
            yield mark
            return


def _may_be(page: Page, mark: Mark) -> bool:
    """A part is larger than what it is divided into; what is not is a part of a policy."""
    line = page.lines[mark.first]
    return (
        mark.kind is not Kind.PART or page.prints.is_large(line) or page.contents.names(line.text)
    )


def _reads_as_caption(page: Page, mark: Mark, rest: str) -> bool:
    line = page.lines[mark.first]
    if not _may_follow_label(rest, mark.title):
        return False
    if page.prints.stands_out(line) or page.contents.names(line.text):
        return True
    if line.size is not None and page.prints.is_small(line):
        return True
    # In the print of the running text, or none: only with a colon or dash, and not where the
    # sentence of the line above has broken off.
    return _SEPARATED.match(rest) is not None and not _breaks_off(page, mark.first)


def _breaks_off(page: Page, index: int) -> bool:
    if index == 0 or page.lines[index - 1].page_number != page.lines[index].page_number:
        return False
    return page.lines[index - 1].text[-1].isalnum() and not page.prints.stands_out(
        page.lines[index - 1]
    )


def _may_follow_label(rest: str, title: str) -> bool:
    """Whether a title follows the label, and not the rest of a sentence."""
    words = rest.lstrip(_BETWEEN)
    return not words or (not words[0].islower() and words[0] not in ",;)" and is_title(title))


def _bare_policies(page: Page, taken: set[int]) -> Iterator[Mark]:
    """Policies that are headed by their code alone, as `DM1: Housing`."""
    families: dict[str, list[Mark]] = defaultdict(list)
    for index in page.open:
        match = _BARE_POLICY.fullmatch(page.lines[index].text)
        if match is None or index in taken:
            continue
        mark = _mark(page, index, Kind.POLICY, match[1], match[2])
        if page.reads_as_heading(mark, match[2]):
            families[re.sub(r"[\W\d].*", "", match[1])].append(mark)
    chains = [
        [family[place] for place in best_chain([_digits(mark.name) for mark in family])]
        for family in families.values()
    ]
    named = [chain for chain in chains if len(chain) > 1 or page.contents.names(chain[0].title)]
    codes = {mark.name for chain in named for mark in chain}
    if len(codes) >= _FEWEST_BARE and _are_called_policies(page, codes):
        for chain in named:
            yield from chain


def _are_called_policies(page: Page, codes: Set[str]) -> bool:
    """Whether one of the codes is said to be a policy's: `policy DM1`; aims have codes too."""
    said = (match for line in page.lines for match in _MENTION.finditer(line.text))
    return any(match[1] in codes for match in said)


def _digits(name: str) -> Number:
    return tuple(int(number) for number in re.findall(r"\d+", name))


def _without_repeats(marks: Sequence[Mark]) -> list[Mark]:
    """One mark for a name: the largest, or the first of these.

    Repeats are headings of continued boxes and tables, and lists that name policies.
    """
    best: dict[tuple[Kind, str], Mark] = {}
    for mark in marks:
        key = (mark.kind, mark.name.replace(" ", "").casefold())
        if key not in best or (mark.size > best[key].size and not _CONTINUED.search(mark.title)):
            best[key] = mark
    return sorted(best.values(), key=lambda mark: mark.first)


def find_numbered(page: Page, taken: set[int]) -> list[Mark]:
    """Numbered headings (`9. Transport`, `3.2 Foundations`) and paragraphs (`5.12`, `116.`)."""
    dotted = _find_outline(page, taken)
    paragraphs = [mark for mark in dotted if mark.kind is Kind.PARA]
    if len(paragraphs) < _FEWEST_DOTTED:
        dotted = [mark for mark in dotted if mark.kind is not Kind.PARA]
        paragraphs = []
    plain = _find_plain(page, taken | {mark.first for mark in dotted})
    if len(plain) > 2 * len(paragraphs):
        dotted = [mark for mark in dotted if mark.kind is not Kind.PARA] + plain
    return sorted(dotted, key=lambda mark: mark.first)


def _find_outline(page: Page, taken: set[int]) -> list[Mark]:
    """Numbered headings and paragraphs with dotted numbers: they count each other."""
    marks: list[Mark] = []
    for index in page.open:
        match = _NUMBERED.fullmatch(page.lines[index].text)
        if match and index not in taken:
            number = tuple(int(part) for part in match[1].split("."))
            marks.extend(_outlined(page, index, number, match[2]))
    weights = [1.0 if mark.kind is Kind.PARA else _HEADING_WEIGHT for mark in marks]
    return [marks[place] for place in best_chain([mark.number for mark in marks], weights)]


def _outlined(page: Page, index: int, number: Number, rest: str) -> Iterator[Mark]:
    line = page.lines[index]
    name = ".".join(str(part) for part in number)
    whole = _mark(page, index, Kind.SECTION, name, rest)
    whole = _with_next_line(page, replace(whole, number=number))
    named = page.contents.names(whole.title) or page.contents.names(line.text)
    if is_title(whole.title) and (page.prints.is_large(line) or named):
        yield whole if len(number) > 1 else replace(whole, kind=Kind.CHAPTER)
    elif len(number) > 1 and is_title(whole.title) and page.prints.stands_out(line):
        yield whole
    elif len(number) > 1 and not page.prints.is_large(line) and not page.prints.is_small(line):
        yield replace(whole, kind=Kind.PARA, last=index, title="")


def _with_next_line(page: Page, mark: Mark) -> Mark:
    """Where no print shows that a title has two lines, the list of contents does."""
    line, below = page.lines[mark.first], mark.last + 1
    if line.size is not None or below == len(page.lines) or page.contents.names(mark.title):
        return mark
    title = f"{mark.title} {page.lines[below].text}"
    return replace(mark, last=below, title=title) if page.contents.names(title) else mark


def _find_plain(page: Page, taken: set[int]) -> list[Mark]:
    """Paragraphs that are counted through the whole document: `116.`.

    Where there are many lists that begin with 1, the numbers belong to these.
    """
    marks = _plain_candidates(page, taken)
    chain = best_chain([mark.number for mark in marks])
    restarts = sum(mark.number == (1,) for mark in marks)
    if len(chain) < max(_SHORTEST_CHAIN, 2 * restarts):
        return []
    return [marks[place] for place in chain]


def _plain_candidates(page: Page, taken: set[int]) -> list[Mark]:
    marks = []
    for index in page.open:
        line = page.lines[index]
        match = _PLAIN.fullmatch(line.text)
        if match and index not in taken and _is_running_text(page, line):
            mark = _mark(page, index, Kind.PARA, match[1], "")
            marks.append(replace(mark, last=index, number=(int(match[1]),)))
    return marks


def _is_running_text(page: Page, line: Line) -> bool:
    return not page.prints.is_large(line) and not page.prints.is_small(line)


def find_inner(page: Page, marks: Sequence[Mark]) -> list[Mark]:
    """Paragraphs that are counted anew in each policy, annex or chapter.

    They are told from lists by opening the section: nothing but headings is before the first.
    """
    around = [mark for mark in marks if mark.kind not in _WITHIN]
    candidates = {mark.first: mark for mark in _plain_candidates(page, {m.first for m in marks})}
    place_of = {index: place for place, index in enumerate(page.open)}
    found: list[Mark] = []
    ends = [mark.first for mark in around[1:]] + [len(page.lines)]
    for here, end in zip(around, ends, strict=False):
        place = place_of[here.last] + 1
        while place < len(page.open) and page.prints.stands_out(page.lines[page.open[place]]):
            place += 1
        if place < len(page.open) and page.open[place] < end:
            found.extend(_count_on(candidates, page.open[place], end))
    return found


_WITHIN = frozenset({Kind.TABLE, Kind.FIGURE, Kind.MAP, Kind.BOX, Kind.HEADING})


def _count_on(candidates: dict[int, Mark], start: int, end: int) -> Iterator[Mark]:
    first = candidates.get(start)
    if first is None or first.number != (1,):
        return
    expected = 1
    for index in range(start, end):
        mark = candidates.get(index)
        if (
            mark is not None
            and mark.number == (expected,)
            and abs(mark.left - first.left) < _ALIGNED
        ):
            yield replace(mark, inner=True)
            expected += 1


def find_headings(page: Page, marks: Sequence[Mark], repeats: Set[int]) -> list[Mark]:
    """Headings without a number.

    One that is no larger than the running text counts only where the text is not numbered, or
    where a mark comes right after it: a bold line in the middle of a paragraph is no heading.
    """
    taken = {index for mark in marks for index in range(mark.first, mark.last + 1)} | repeats
    firsts = {mark.first for mark in marks}
    numbered = any(mark.kind is Kind.PARA for mark in marks)
    places = {index: place for place, index in enumerate(page.open)}
    found: list[Mark] = []
    for index in reversed(page.open):
        if index in taken or not page.prints.stands_out(page.lines[index]):
            continue
        if index > page.open[0] and _same_heading(page, page.open[places[index] - 1], index):
            continue  # the line above it is where this heading begins
        mark = _mark(page, index, Kind.HEADING, "", page.lines[index].text)
        if any(line in taken for line in range(mark.first, mark.last + 1)):
            continue
        if not is_title(mark.title) or page.lines[index].page_number == 1:
            continue
        after = places[mark.last] + 1
        follower = page.open[after] if after < len(page.open) else None
        if page.prints.is_large(page.lines[index]):
            found.append(mark)
        elif follower is not None and (
            follower in firsts
            or (found and found[-1].first == follower)
            or (not numbered and _stands_apart(page, index))
        ):
            found.append(mark)
    return found[::-1]


def _stands_apart(page: Page, index: int) -> bool:
    """Whether there is white space above the line, or it opens its page."""
    line = page.lines[index]
    before = page.lines[index - 1] if index else None
    if before is None or before.page_number != line.page_number:
        return True
    if line.box is None or before.box is None or line.size is None:
        return False
    return line.box[1] - before.box[3] > line.size * 0.3 or line.box[1] < before.box[1]


def _mark(page: Page, index: int, kind: Kind, name: str, rest: str) -> Mark:
    """The mark that begins with a line, and what goes on in the same print below it."""
    line = page.lines[index]
    last = index
    title = rest.lstrip(_BETWEEN) if kind is not Kind.HEADING else rest
    if page.prints.stands_out(line) or page.prints.is_small(line):
        for below in range(index + 1, min(index + _HEADING_LINES, len(page.lines))):
            if not _same_heading(page, last, below):
                break
            last = below
            title = f"{title} {page.lines[below].text}".strip()
    if not title and kind in _TITLED_BELOW and last + 1 < len(page.lines):
        below = page.lines[last + 1]
        if page.prints.stands_out(below) and is_title(below.text) and _same_column(line, below):
            last, title = last + 1, below.text
    left = 0.0 if line.box is None else line.box[0]
    return Mark(kind, index, last, name, title, line.size or 0.0, left)


_TITLED_BELOW = frozenset({Kind.POLICY, Kind.CHAPTER, Kind.ANNEX, Kind.APPENDIX})


def _same_column(above: Line, below: Line) -> bool:
    if above.page_number != below.page_number or above.box is None or below.box is None:
        return False
    return abs(above.box[0] - below.box[0]) < _ALIGNED


def _same_heading(page: Page, above: int, below: int) -> bool:
    """Whether the line below goes on with the heading above."""
    one, other = page.lines[above], page.lines[below]
    if one.page_number != other.page_number or one.size is None or other.size is None:
        return False
    if abs(one.size - other.size) > 0.2 or one.bold != other.bold:  # noqa: PLR2004
        return False
    if one.box is None or other.box is None or _begins_anew(page, below):
        return False
    return -one.size < other.box[1] - one.box[3] < one.size * _LEADING - one.size * 0.4


def _begins_anew(page: Page, index: int) -> bool:
    text = page.lines[index].text
    return (
        _NUMBERED.fullmatch(text) is not None
        or _BARE_POLICY.fullmatch(text) is not None
        or any(pattern.fullmatch(text) for _, pattern in (*_LABELLED, *_CAPTIONS))
    )
