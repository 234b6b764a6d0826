"""Spelling variants: the stems of the words that differ from a word by one letter."""

from quinion.lexical.tokens import MAX_TERM_CHARACTERS, stem

MIN_CHARACTERS = 4
"""Shorter words have too many neighbours, most of them other words."""
MAX_SIMILAR = 5
"""Terms of the index that stand in for a word that it lacks."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def has_variants(word: str) -> bool:
    """Whether a word may be misspelt or incomplete: numbers and codes are exact."""
    return MIN_CHARACTERS <= len(word) <= MAX_TERM_CHARACTERS and word.isalpha()


def find_variants(word: str) -> set[str]:
    """Stems of the words with one letter more, less, other, or swapped with the next."""
    splits = [(word[:place], word[place:]) for place in range(len(word) + 1)]
    shorter = {start + end[1:] for start, end in splits if end}
    swapped = {start + end[1] + end[0] + end[2:] for start, end in splits if len(end) > 1}
    changed = {start + letter + end[1:] for start, end in splits if end for letter in _LETTERS}
    longer = {start + letter + end for start, end in splits for letter in _LETTERS}
    return {stem(variant) for variant in shorter | swapped | changed | longer} - {stem(word)}
