"""Tokens: the terms under which a text is indexed, and searched.

Words are folded (case, accents, width) and stemmed. References and codes (`PINS/Y1945/429/7`,
`E4217`, `snake_case`) are one term, and each of their parts is another. A number with a unit
(`2.4m`) is also the number and the unit. Every step takes linear time, whatever the text.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import Stemmer  # type: ignore[import-not-found]

ANALYSIS = 1
"""Version of the analysis. An index that was made with another one is made again."""
MAX_TERM_CHARACTERS = 64
"""Longer words are cut off, and longer references have only their parts."""

# Combining marks are neither letters nor spaces. Normalizing a long run of them is quadratic. Two
# characters are normalized to whole sentences.
_EXPENSIVE = re.compile(r"[^\w\s]{33,}|[\ufdfa\ufdfb]")
_INVISIBLE = re.compile("[\u0300-\u036f\u00ad\u200b-\u200f\u2060\ufeff]")
_PUNCTUATION = str.maketrans({"’": "'", "‐": "-", "–": "-", "−": "-", "⁄": "/"})
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_TOKEN = re.compile(r"\w+(?:[-./:&']\w+)*")
_WORD = re.compile(r"[^\W_]+")
_JOINT = re.compile(r"[-./:&'_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
_QUANTITY = re.compile(r"(\d+(?:\.\d+)*)([^\W\d_]{1,4})")
_CAMEL = re.compile(r"[a-z][A-Z]")
_CAMEL_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

# The original algorithm: unlike "english", it does not change between releases of the library.
_stemmer = Stemmer.Stemmer("porter")


def find_terms(text: str) -> list[str]:
    """Find the terms of a text, in order, with repetitions."""
    return list(chain.from_iterable(map(analyse, find_tokens(text))))


def find_tokens(text: str) -> list[str]:
    """Split a text into words, numbers, references and codes, with accents removed."""
    tokens: list[str] = _TOKEN.findall(_fold(text))
    return [token.removesuffix("'s") for token in tokens]


def find_words(text: str) -> list[str]:
    """Find the words of a text as they are, without stemming; references are split."""
    return [word.casefold() for word in _WORD.findall(_fold(text))]


def analyse(token: str) -> tuple[str, ...]:
    """The terms of a token: a reference or code as a whole, if it is one, and its parts."""
    return _analyse(token) if len(token) <= MAX_TERM_CHARACTERS else find_parts(token)


def find_parts(token: str) -> tuple[str, ...]:
    """The terms that any text with this token has, also as a part of a longer reference."""
    return _split(token)[1]


@lru_cache(100_000)
def stem(word: str) -> str:
    """Stem of a folded English word; other words are returned unchanged."""
    if not (word.isascii() and word.isalpha()):
        return word
    stemmed: str = _stemmer.stemWord(word)
    return stemmed or word


def _fold(text: str) -> str:
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", _EXPENSIVE.sub(" ", text))
        text = unicodedata.normalize("NFC", _INVISIBLE.sub("", decomposed))
        text = text.translate(_PUNCTUATION)
    return _THOUSANDS.sub("", text)


def _split(token: str) -> tuple[str, tuple[str, ...]]:
    """Split a token into the term for all of it, or an empty one, and the terms of its parts."""
    folded = token.casefold()
    if _NUMBER.fullmatch(folded):
        return "", (folded[:MAX_TERM_CHARACTERS],)
    is_code = len(token) <= MAX_TERM_CHARACTERS
    if quantity := _QUANTITY.fullmatch(folded):
        return folded if is_code else "", (quantity[1][:MAX_TERM_CHARACTERS], quantity[2])
    parts = tuple(_find_part_terms(token))
    is_code = is_code and bool(_JOINT.search(token)) and _is_reference(token)
    return folded if is_code and parts else "", parts


@lru_cache(100_000)
def _analyse(token: str) -> tuple[str, ...]:
    whole, parts = _split(token)
    return (whole, *parts) if whole else parts


def _is_reference(token: str) -> bool:
    """Whether the parts of a token belong together: not in `well-being` or `and/or`."""
    return any(character.isdigit() or character in "_.&" for character in token)


def _find_part_terms(token: str) -> Iterator[str]:
    for part in _JOINT.split(token):
        if part:
            yield stem(part[:MAX_TERM_CHARACTERS].casefold())
        if _CAMEL.search(part):
            for piece in _CAMEL_PART.findall(part):
                yield stem(piece[:MAX_TERM_CHARACTERS].casefold())
