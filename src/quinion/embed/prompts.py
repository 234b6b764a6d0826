"""Prompts that search models expect before a query or a document.

Models trained for search distinguish a query from a passage by a prefix. Without it they still
return vectors, but find less. Servers do not add the prefix, so it is added here. The prefixes are
those of the models' cards and of their users' code.
"""

import hashlib
import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompts:
    """Prefixes of indexed texts and of queries."""

    document: str = ""
    query: str = ""

    @property
    def mark(self) -> str:
        """The prompts' part of a fingerprint; empty without prompts."""
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
"""Prompts by a pattern in the model's name, on any server; the first match counts."""


def find_prompts(model: str) -> Prompts:
    """Return the prompts of the model's family, empty if it is unknown."""
    for family, prompts in _FAMILIES.items():
        if re.search(family, model, re.IGNORECASE):
            return prompts
    return Prompts()
