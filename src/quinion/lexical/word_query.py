"""Word query: what a search query asks of the keyword index.

Operators of other search engines (`AND`, `NEAR`, `*`, `:`) have no meaning here. Only quotation
marks do: a text must contain the phrase between them, word for word.
"""

import re
from dataclasses import dataclass
from itertools import islice

from quinion.lexical.stop_words import STOP_WORDS
from quinion.lexical.tokens import analyse, find_parts, find_tokens, find_words

MAX_WORDS = 100
"""Number of distinct words that are searched for; further ones are ignored."""

_QUOTED = re.compile(r'["“”„]([^"“”„]+)["“”„]')


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query as it was written, but folded, and its terms."""

    word: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """A quoted phrase: its words, and the terms that each text with it has."""

    words: tuple[str, ...]
    terms: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Whether the text contains the phrase, word for word."""
        return f" {' '.join(self.words)} " in f" {' '.join(find_words(text))} "


@dataclass(frozen=True, slots=True)
class WordQuery:
    """Words and phrases of a query. `content_words` is the number without stop words."""

    words: tuple[QueryWord, ...]
    phrases: tuple[Phrase, ...]
    content_words: int


def parse_query(query: str) -> WordQuery:
    """Parse a search query; of only stop words, these are searched for."""
    tokens = [token for token in dict.fromkeys(find_tokens(query)) if analyse(token)]
    content = [token for token in tokens if token.casefold() not in STOP_WORDS]
    words = {
        token.casefold(): QueryWord(token.casefold(), tuple(dict.fromkeys(analyse(token))))
        for token in (content or tokens)[:MAX_WORDS]
    }
    quoted = (match[1] for match in islice(_QUOTED.finditer(query), MAX_WORDS))
    phrases = tuple(phrase for text in quoted if (phrase := _read_phrase(text)).words)
    return WordQuery(tuple(words.values()), phrases, len(content))


def _read_phrase(text: str) -> Phrase:
    terms = (term for token in find_tokens(text) for term in find_parts(token))
    return Phrase(tuple(find_words(text)), tuple(dict.fromkeys(terms)))
