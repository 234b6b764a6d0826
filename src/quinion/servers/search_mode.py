"""Search mode and merging as parameters of tools, and what they add to the results."""

from operator import not_
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
Merge = Annotated[
    bool,
    Field(
        description="Addition: join neighbouring chunks that overlap to one result, leave out "
        "results with the same text and page numbers, and join a heading to the text below it."
    ),
]


class WordMatch(BaseModel):
    """What a search by words found in a result."""

    score: float = Field(
        description="By which results are sorted. In hybrid mode at most 1, and more for what a "
        "reference in the query names, and for a text that has a short query word for word."
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


class MergedChunks(BaseModel):
    """What a merged result is made of."""

    chunk_ids: list[str] = Field(description="Ids of its chunks, in order.")
    page_numbers: Annotated[list[int], Field(exclude_if=not_)] = []
    same_text: Annotated[
        list[str],
        Field(exclude_if=not_, description="Ids of results left out, which have the same text."),
    ] = []

    @classmethod
    def of(cls, hit: Hit) -> "MergedChunks | None":
        """Convert the chunks of a merged hit."""
        if hit.merged is None:
            return None
        return cls(
            chunk_ids=list(hit.merged.ids),
            page_numbers=list(hit.merged.pages),
            same_text=list(hit.merged.same_text),
        )


OptionalMerged = Annotated[
    MergedChunks | None,
    Field(
        exclude_if=lambda merged: merged is None,
        description="Addition, with `merge` only: the chunks whose text this is. The id and the "
        "score of the result are those of the best.",
    ),
]


def choose_mode(mode: Mode | None, settings: Settings, default: Mode = Mode.SEMANTIC) -> Mode:
    """The mode of a call: its own, or that of the settings, or the default of its server."""
    return mode or settings.search_mode or default
