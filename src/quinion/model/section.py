"""Sections of a document: chapters, policies, numbered paragraphs, tables and so on."""

from dataclasses import dataclass, replace
from enum import StrEnum

from quinion.model.page import PageSpan, cut_spans, without_spaces

Span = tuple[int, int]
"""Start and end offset in a text."""


class Kind(StrEnum):
    """Kind of a section; the value is the first word of references to it."""

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
    PAGE = "Page"


CAPTIONED = frozenset({Kind.TABLE, Kind.FIGURE, Kind.MAP, Kind.BOX})
"""Kinds that appear inside another section, with a caption."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section, without its subsections, which are separate sections.

    `ref` is its citation: `Para 116`, `Policy H1`, or the text of an unnumbered heading. A
    paragraph whose number occurs in several policies or annexes is `Policy PM1 Para 2`. `path` has
    the references of all enclosing sections, outermost first, and its own last. `spans` are its
    parts of the document's text, and `text` is their content. `pages` are 1-based, ascending,
    never empty. `is_heading` is true if the text is only its heading.
    """

    index: int
    kind: Kind
    ref: str
    title: str
    path: tuple[str, ...]
    spans: tuple[Span, ...]
    pages: tuple[int, ...]
    text: str
    is_heading: bool = False


@dataclass(frozen=True, slots=True)
class SectionChunk:
    """Chunk of one section: `text` is exactly `section.text[start:end]`.

    `index` is the position in the document. Consecutive chunks of a section overlap. `below` is the
    text after a bare heading, with which it is embedded and found, and `below_pages` its pages.
    `has_hidden` is true if one of the pages has invisible text. `page_spans` are the parts of pages
    that its text and the text below it consist of.
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
    below: str = ""
    below_pages: tuple[int, ...] = ()
    page_spans: tuple[PageSpan, ...] = ()

    def without_below(self) -> "SectionChunk":
        """The chunk alone, without the text below it."""
        own = cut_spans(self.page_spans, 0, len(without_spaces(self.text)))
        return replace(self, below="", below_pages=(), page_spans=tuple(own))

    @property
    def found_text(self) -> str:
        """The text that is embedded, stored and returned by a search."""
        return f"{self.text}\n{self.below}" if self.below else self.text
