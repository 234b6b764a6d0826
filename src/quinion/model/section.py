"""Sections of a document: its chapters, policies, numbered paragraphs, tables and so on."""

from dataclasses import dataclass
from enum import StrEnum

Span = tuple[int, int]
"""Start and end in a text."""


class Kind(StrEnum):
    """What a section is; the value is the word that references to it begin with."""

    FRONT = "Front matter"
    CONTENTS = "Contents"
    PART = "Part"
    CHAPTER = "Chapter"
    ANNEX = "Annex"
    APPENDIX = "Appendix"
    SCHEDULE = "Schedule"
    SECTION = "Section"
    HEADING = "Heading"
    POLICY = "Policy"
    PARA = "Para"
    TABLE = "Table"
    FIGURE = "Figure"
    MAP = "Map"
    BOX = "Box"
    FOOTNOTE = "Footnote"


CAPTIONED = frozenset({Kind.TABLE, Kind.FIGURE, Kind.MAP, Kind.BOX})
"""What stands in the text of another section, under a caption."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section, without the sections inside it: they have their own.

    `ref` is what it is cited by: `Para 116`, `Policy H1`, an unnumbered heading's own text.
    A paragraph whose number occurs in several policies or annexes is `Policy PM1 Para 2`.
    `path` has the references of all sections around it, outermost first, and its own last.
    `spans` are the parts of the document's text that belong to it, `text` is what stands there.
    `pages` are 1-based, ascending, never empty.
    """

    index: int
    kind: Kind
    ref: str
    title: str
    path: tuple[str, ...]
    spans: tuple[Span, ...]
    pages: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class SectionChunk:
    """A part of one section: `text` is exactly `section.text[start:end]`.

    `index` counts through the document. Chunks of a section follow each other and overlap.
    `has_hidden` says that one of the pages has text that cannot be seen on it.
    """

    index: int
    text: str
    ref: str
    path: tuple[str, ...]
    pages: tuple[int, ...]
    section_index: int
    start: int
    end: int
    has_hidden: bool = False
