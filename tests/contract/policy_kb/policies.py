"""Policies for tests, set as real ones are: what stands in each section is known to the letter.

Pages have a running header and a number at the foot. Chapters have large bold headings,
paragraphs are numbered, footnotes stand in small print at the foot of their page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quinion.extract.pdf.mupdf import pymupdf
from tests.documents import Scan, make_pdf

WIDTH, HEIGHT = 595, 842
LEFT, TOP, NOTES_TOP, FOOT = 57, 80, 760, 815
LEADING = 1.3
BODY, CHAPTER, TITLE, SMALL = 10.0, 18.0, 30.0, 7.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of print. `mark` is a raised number: before a note, or after what it is on."""

    text: str
    size: float = BODY
    bold: bool = False
    left: float = LEFT
    mark: str = ""
    space: float = 0.0


@dataclass(frozen=True, slots=True)
class Leaf:
    """A page: what stands on it, and the notes at its foot."""

    rows: Sequence[Row]
    notes: Sequence[Row] = ()


def chapter(title: str) -> list[Row]:
    """The heading of a chapter."""
    return [Row(title, CHAPTER, bold=True, space=8)]


def bold(text: str, left: float = LEFT) -> list[Row]:
    """A line that stands out by its weight alone: a caption, a heading, a policy's name."""
    return [Row(text, bold=True, left=left, space=6)]


def prose(text: str, left: float = LEFT) -> list[Row]:
    """Lines of running text."""
    first, *others = text.splitlines()
    return [Row(first, left=left, space=6), *(Row(line, left=left) for line in others)]


def note(number: int, text: str) -> Row:
    """A footnote."""
    return Row(text, SMALL, mark=str(number))


def typeset(path: Path, header: str, leaves: Sequence[Leaf]) -> Path:
    """Write the pages; the first is a cover and has no header."""
    with pymupdf.open() as document:
        for number, leaf in enumerate(leaves, 1):
            page = document.new_page(width=WIDTH, height=HEIGHT)
            if number > 1 and header:
                _print(page, 40, Row(header, 8))
            _set(page, TOP, leaf.rows)
            _set(page, NOTES_TOP, leaf.notes)
            _print(page, FOOT, Row(str(number), 8, left=WIDTH / 2))
        document.save(path)
    return path


def _set(page: pymupdf.Page, top: float, rows: Sequence[Row]) -> None:
    for row in rows:
        top += row.space + row.size * LEADING
        assert top < FOOT - 10, f"the page is full: {row.text}"
        _print(page, top, row)


def _print(page: pymupdf.Page, base: float, row: Row) -> None:
    left = row.left
    font = "hebo" if row.bold else "helv"
    raised = (base - row.size * 0.35, row.size * 0.6)
    if row.mark and row.size == SMALL:
        page.insert_text((left, raised[0]), row.mark, fontsize=raised[1])
        left += pymupdf.get_text_length(row.mark, fontsize=raised[1]) + 2
    page.insert_text((left, base), row.text, fontsize=row.size, fontname=font)
    if row.mark and row.size != SMALL:
        right = left + pymupdf.get_text_length(row.text, fontname=font, fontsize=row.size)
        page.insert_text((right, raised[0]), row.mark, fontsize=raised[1])


def cover(title: str, edition: str) -> Leaf:
    """The first page."""
    return Leaf([Row(title, TITLE, bold=True), Row(edition, CHAPTER, space=20)])


# A framework: ten paragraphs in each chapter, all of one kind, so that each is predictable. Only
# the last two chapters are printed, as in an extract, because the tests have no use for more.

CHAPTERS = {
    "Introduction": "the purposes of planning",
    "Delivering homes": "affordable homes for families",
    "Building a strong economy": "workshops and small factories",
    "Town centres": "shops and markets in town centres",
    "Healthy communities": "schools, clinics and playing fields",
    "Communications": "broadband cables and telephone masts",
    "Making good use of land": "derelict sites and empty yards",
    "Well-designed places": "the height and shape of buildings",
    "Flooding and the coast": "flood water, drains and sea walls",
    "Green belt": "the boundaries of the green belt",
    "Sustainable transport": "cycle lanes and footpaths",
    "The natural environment": "bats, newts and other protected animals",
}
ACTIONS = [
    "are surveyed before a plan is written",
    "are shown on a map that everybody can read",
    "are protected from careless change",
    "are paid for by those who profit from them",
    "are discussed with the people who live nearby",
    "are counted once in every five years",
    "are planned together with neighbouring districts",
    "are improved wherever an opportunity arises",
    "are given great weight in every decision",
    "are inspected after the work has ended",
]
PRINTED_CHAPTERS = (11, 12)
PRINTED_PARAGRAPHS = range(101, 121)
FIRST_CHAPTER_PAGE = 3
FRAMEWORK_PAGES = 4
FRAMEWORK_CHUNKS = 2 + len(PRINTED_CHAPTERS) + len(PRINTED_PARAGRAPHS)
"""The cover and the contents are one chunk each."""


def framework(path: Path, edition: str) -> Path:
    """A national framework, of which each paragraph names the edition that it is from."""
    leaves = [cover("National Framework", edition), _contents(list(CHAPTERS))]
    for number in PRINTED_CHAPTERS:
        rows = chapter(f"{number}. {list(CHAPTERS)[number - 1]}")
        for paragraph in _paragraphs_of(number):
            rows += prose(framework_paragraph(paragraph, edition))
        leaves.append(Leaf(rows))
    return typeset(path, "", leaves)


def framework_paragraph(number: int, edition: str) -> str:
    """The text of a paragraph, line by line as it is printed."""
    subject = list(CHAPTERS.values())[(number - 1) // len(ACTIONS)]
    action = ACTIONS[(number - 1) % len(ACTIONS)]
    return (
        f"{number}. Planning policies should ensure that {subject}\n"
        f"{action}: {subject}, in the {edition} edition."
    )


def framework_page(number: int) -> int:
    """The page on which a paragraph is printed."""
    return FIRST_CHAPTER_PAGE + (number - PRINTED_PARAGRAPHS[0]) // len(ACTIONS)


def framework_chapter(number: int, edition: str) -> str:
    """The text of a chapter, with everything inside it."""
    paragraphs = [framework_paragraph(paragraph, edition) for paragraph in _paragraphs_of(number)]
    return "\n\n".join([f"{number}. {list(CHAPTERS)[number - 1]}", *paragraphs])


def _paragraphs_of(chapter_number: int) -> range:
    last = chapter_number * len(ACTIONS)
    return range(last - len(ACTIONS) + 1, last + 1)


def _contents(titles: Sequence[str]) -> Leaf:
    entries = [
        f"{place}. {title} {'.' * 40} {place + FIRST_CHAPTER_PAGE - 1}"
        for place, title in enumerate(titles, 1)
    ]
    return Leaf([*chapter("Contents"), *(Row(entry, space=4) for entry in entries)])


# A guidance note, with everything that stands between paragraphs in such documents.

MENTIONS = "4.2 Nothing in this chapter matters more than Chapter 5, or than Table 5-2 in it."
TABLE = (
    "Table 5-2: Widths of cycle tracks\n"
    "Flow Desirable Minimum\n"
    "up to 200 3.0 m 2.0 m\n"
    "over 200 4.0 m 3.0 m"
)
FIGURE = "Figure 5.1: A stepped track"
FOOTNOTE = "1 As measured by the survey of the year 2019, which counted every Tuesday."
LONG_LINES = [
    f"sentence number {n} of the long paragraph is about bends and kerbs in lane {n * 7};"
    for n in range(1, 31)
]
LONG = "5.3 The long paragraph has thirty sentences:\n" + "\n".join(LONG_LINES)


def guidance(path: Path) -> Path:
    """Guidance with three chapters, a table, a figure, a footnote, and a paragraph on two pages."""
    contents = [
        "Introduction",
        "Planning of routes",
        "Networks",
        "Junctions",
        "Geometry",
        "Markings",
    ]
    long = prose(LONG)
    leaves = [
        cover("Cycle Infrastructure", "July 2020"),
        _contents(contents),
        Leaf(
            [
                *chapter("4 Junctions"),
                *prose("4.1 Most collisions happen at junctions,\nand most of those at night."),
                *prose(MENTIONS),
                *prose("4.3 Signals give cyclists a head start of four seconds."),
            ]
        ),
        Leaf(
            [
                *chapter("5 Geometry"),
                replace(prose("5.1 The width of a track follows from its flow.")[0], mark="1"),
                *bold("Table 5-2: Widths of cycle tracks"),
                *bold("Flow Desirable Minimum"),
                *prose("up to 200 3.0 m 2.0 m"),
                *prose("over 200 4.0 m 3.0 m"),
                *prose("5.2 Gradients are kept below three in a hundred."),
                *bold(FIGURE),
                *long[:16],
            ],
            [note(1, FOOTNOTE[2:])],
        ),
        Leaf([*long[16:], *prose("5.4 Headroom is never less than two metres and a half.")]),
        Leaf(
            [
                *chapter("6 Markings"),
                *prose("6.1 Symbols are repeated behind every side road."),
                *prose("6.2 Colour is used sparingly, and never as an excuse."),
                *prose("6.3 Studs may be used where there is no lighting."),
            ]
        ),
    ]
    return typeset(path, "Cycle Infrastructure Design", leaves)


# A local plan: policies in boxes between dotted paragraphs.

POLICY_H1 = (
    "Policy H1: Affordable housing\n"
    "On sites of ten homes or more, thirty in a hundred are to be affordable.\n"
    "Where that cannot be paid for, the applicant opens the books.\n"
    "Rural exceptions\n"
    "At the edge of villages, all homes are to be affordable."
)
POLICY_H2 = (
    "Policy H2: Homes for older people\n"
    "One home in ten is built without steps, and near to a bus stop."
)


def local_plan(path: Path) -> Path:
    """A local plan with two policies in boxes, and an annex."""
    h1_title, h1_first, h1_second, h1_head, h1_last = POLICY_H1.splitlines()
    h2_title, h2_first = POLICY_H2.splitlines()
    leaves = [
        cover("Local Plan", "2011-2031"),
        Leaf(
            [
                *chapter("5 Housing"),
                *prose("5.1 The district needs twenty thousand homes by the end of the plan."),
                *prose("5.2 Many who work here cannot pay for a home; Policy H1 is the answer."),
                *bold(h1_title, left=75),
                *prose(f"{h1_first}\n{h1_second}", left=75),
                *bold(h1_head, left=75),
                *prose(h1_last, left=75),
            ]
        ),
        Leaf(
            [
                *prose("5.3 The number of people over eighty will double, as Annex A shows."),
                *bold(h2_title, left=75),
                *prose(h2_first, left=75),
                *prose("5.4 The council keeps a list of those who want to build for themselves."),
            ]
        ),
        Leaf(
            [
                *chapter("6 Transport"),
                *prose("6.1 A new railway station is planned at the northern edge of the town."),
                *prose("6.2 Buses run from six in the morning until midnight."),
            ]
        ),
        Leaf([*chapter("Annex A: Forecasts"), *prose("In 2031 the district has 200,000 people.")]),
    ]
    return typeset(path, "Local Plan Part 1", leaves)


def leaflet(path: Path, name: str, paragraphs: int = 3) -> Path:
    """A page, after its cover, that says whose text it is in each of its numbered paragraphs.

    It makes a chunk of each, one of the chapter's heading and one of the cover. Fewer than three
    paragraphs are not taken for numbered ones.
    """
    rows = chapter("1 Hedges")
    for number in range(1, paragraphs + 1):
        rows += prose(leaflet_paragraph(number, name))
    return typeset(path, "", [cover("Leaflet", name), Leaf(rows)])


def leaflet_paragraph(number: int, name: str) -> str:
    """The text of a paragraph of a leaflet."""
    return f"1.{number} In the text of {name}, hedges {ACTIONS[number % len(ACTIONS)]}."


def scanned(path: Path, pages: int, paragraphs: int = 2) -> Path:
    """Pages that are pictures of text, no two alike. Each takes OCR a second or so."""
    chapters = list(CHAPTERS.values())
    texts = (
        "\n".join(
            f"Planning policies should ensure that {chapters[page]}\n{action} everywhere."
            for action in ACTIONS[:paragraphs]
        )
        for page in range(pages)
    )
    return make_pdf(path, [Scan(text) for text in texts])
