"""Search mode as a parameter of tools, and what a search by words adds to their results."""

from typing import Annotated

from pydantic import BaseModel, Field, WithJsonSchema

from quinion.model.record import Hit, Mode
from quinion.settings import Settings

# Inline, because some clients do not follow references in schemas.
InlineMode = Annotated[Mode, WithJsonSchema({"type": "string", "enum": [*map(str, Mode)]})]
SearchMode = Annotated[
    InlineMode | None,
    Field(
        description="Addition: `semantic` compares meaning, `keyword` words, `hybrid` both. Use "
        "hybrid for names, numbers, codes, references and quotations, and to find exact words; "
        "put a phrase that must occur in quotation marks."
    ),
]


class WordMatch(BaseModel):
    """What a search by words found in a result."""

    score: float = Field(
        description="By which results are sorted. In hybrid mode at most 1, and more for what a "
        "reference in the query names."
    )
    words: list[str] = Field(description="Words of the query that the result contains.")

    @classmethod
    def of(cls, hit: Hit) -> "WordMatch | None":
        """Convert the match of a hit, if it has one."""
        return cls(score=hit.match.score, words=list(hit.match.words)) if hit.match else None


OptionalMatch = Annotated[
    WordMatch | None,
    Field(
        exclude_if=lambda match: match is None,
        description="Addition, in the modes keyword and hybrid only.",
    ),
]


def choose_mode(mode: Mode | None, settings: Settings, default: Mode = Mode.SEMANTIC) -> Mode:
    """The mode of a call: its own, or that of the settings, or the default of its server."""
    return mode or settings.search_mode or default
