"""What some models want to read before a text: whether it is a question or a passage.

Models that are trained for search tell a question from the passages that answer it by words in
front of the text. Without them they still give vectors, and find less. Servers pass a text on
as it is, so the words are added here. They are those that the models' cards and users' code give.
"""

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompts:
    """What stands before a text that is indexed, and before one that is searched for."""

    document: str = ""
    query: str = ""

    @property
    def mark(self) -> str:
        """Their part in a fingerprint; empty where there are none."""
        if self == Prompts():
            return ""
        digest = hashlib.sha256(f"{self.document}\0{self.query}".encode()).hexdigest()
        return f"prompts-{digest[:6]}"


_RELEVANT_PASSAGES = Prompts(query="Represent this sentence for searching relevant passages: ")

_FAMILIES = {
    r"nomic-embed-text|modernbert-embed": Prompts("search_document: ", "search_query: "),
    r"mxbai-embed-large": _RELEVANT_PASSAGES,
    r"arctic-embed(2|-[lm]-v2)": Prompts(query="query: "),
    r"arctic-embed": _RELEVANT_PASSAGES,
    r"\bbge-(small|base|large)(?!.*zh)": _RELEVANT_PASSAGES,
    r"\be5-(small|base|large)(?!.*instruct)": Prompts("passage: ", "query: "),
    r"embeddinggemma": Prompts("title: none | text: ", "task: search result | query: "),
    r"qwen3-embedding": Prompts(
        query="Instruct: Given a web search query, retrieve relevant passages that answer the "
        "query\nQuery:"
    ),
}
"""By what a model's name has in it, whoever serves it; the first that fits counts."""


def find_prompts(model: str) -> Prompts:
    """The prompts of the family that the model's name belongs to, or none."""
    for family, prompts in _FAMILIES.items():
        if re.search(family, model, re.IGNORECASE):
            return prompts
    return Prompts()
