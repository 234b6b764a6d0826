"""Does a text run, or is it only labels? Pure.

A drawing, a map or a photograph has words too: street names, room names, a title block.
What it lacks is lines of words.
"""

# A line of so many words is more than a label.
LINE_WORDS = 5
# A page with so many words on such lines is written text.
PROSE_WORDS = 25


def has_running_text(text: str) -> bool:
    """Whether a page with this text is there to be read rather than looked at."""
    on_lines = 0
    for line in text.splitlines():
        words = sum(_is_word(word) for word in line.split())
        if words >= LINE_WORDS:
            on_lines += words
    return on_lines >= PROSE_WORDS


def _is_word(token: str) -> bool:
    return sum(letter.isalnum() for letter in token) > 1
