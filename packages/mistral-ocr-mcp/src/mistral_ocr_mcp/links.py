"""Image references in Markdown: parses them and replaces their destinations.

Text in code blocks or backticks and escaped text is not a reference. The API does not escape
ids, so a destination may also be a known id that contains spaces or brackets. Limits: reference
definitions (`[id]: address`) and HTML images are not changed.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote


@dataclass(frozen=True)
class Missing:
    """An image that there is no file of: its reference becomes its alternative text, or this."""

    name: str


Redirect = Callable[[str], "str | Missing | None"]
"""Returns the new destination for an old one; None keeps it."""

_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`\n]*$)|~{3,})", re.MULTILINE)
_TICKS = re.compile(r"`+")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_MARKS = re.compile(r"\\.|`+|!\[", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[\[\]]", re.DOTALL)
_ANGLED = re.compile(r"<((?:\\.|[^<>\\\n])*)>")
_BARE = re.compile(r"(?:\\.|[^\s()\\])*")
_TITLE = re.compile(r"(\s+(?:\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)))?\s*\)")
_SPECIAL = re.compile(r"[\\`*\[\]<>!]")
_MAX_DEPTH = 32


def rewrite_images(markdown: str, known: Iterable[str], redirect: Redirect) -> str:
    """Rewrite the destinations of image references; `known` are the ids of the images."""
    ids = sorted(set(known), key=len, reverse=True)
    return "".join(
        part if is_code else _rewrite(part, ids, redirect) for part, is_code in _blocks(markdown)
    )


def _blocks(markdown: str) -> Iterator[tuple[str, bool]]:
    """Split the text into parts, each with a flag: whether it is a fenced code block."""
    position = 0
    while (opening := _FENCE.search(markdown, position)) is not None:
        start = opening.start()
        yield markdown[position:start], False
        mark = opening[1]
        closing = re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE)
        found = closing.search(markdown, opening.end())
        position = found.end() if found else len(markdown)
        yield markdown[start:position], True
    yield markdown[position:], False


def _rewrite(text: str, ids: list[str], redirect: Redirect) -> str:
    parts: list[str] = []
    copied = position = 0
    while (mark := _MARKS.search(text, position)) is not None:
        position = mark.end()
        if mark[0].startswith("`"):
            position = _end_of_code(text, mark)
        elif mark[0] == "![":
            spot = _find_destination(text, position, ids)
            if spot is None:
                continue
            start, position, destination = spot
            target = redirect(destination)
            if isinstance(target, Missing):
                position = _end_of_reference(text, position)
                alternative = _alternative(text, mark.end())
                parts += [text[copied : mark.start()], alternative or _escape(target.name)]
                copied = position
            elif target is not None:
                parts += [text[copied:start], target]
                copied = position
    return "".join([*parts, text[copied:]])


def _end_of_code(text: str, opening: "re.Match[str]") -> int:
    for ticks in _TICKS.finditer(text, opening.end()):
        if len(ticks[0]) == len(opening[0]):
            return ticks.end()
    return opening.end()


def _find_destination(text: str, position: int, ids: list[str]) -> tuple[int, int, str] | None:
    """Find the destination of the image whose `![` ends at `position`: start, end and value."""
    start = _end_of_brackets(text, position)
    if start is None or text[start : start + 1] != "(":
        return None
    start += 1
    while text[start : start + 1] in (" ", "\t", "\n"):
        start += 1
    for image_id in ids:
        end = start + len(image_id)
        if image_id and text.startswith(image_id, start) and _TITLE.match(text, end):
            return start, end, image_id
    angled = _ANGLED.match(text, start)
    end = angled.end() if angled else _end_of_bare(text, start)
    if _TITLE.match(text, end) is None:
        return None
    written = angled[1] if angled else text[start:end]
    return start, end, _find_id(_ESCAPE.sub(r"\1", written), ids)


def _end_of_reference(text: str, end: int) -> int:
    """The end of a reference whose destination ends at `end`: after its title and parenthesis."""
    closing = _TITLE.match(text, end)
    assert closing is not None
    return closing.end()


def _alternative(text: str, position: int) -> str:
    """The alternative text of the image whose `![` ends at `position`."""
    end = _end_of_brackets(text, position)
    assert end is not None
    return text[position : end - 1].strip()


def _escape(name: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", " ".join(name.split()))


def _end_of_brackets(text: str, position: int) -> int | None:
    depth = 1
    for mark in _BRACKETS.finditer(text, position):
        if mark[0] in "[]":
            depth += 1 if mark[0] == "[" else -1
        if depth == 0:
            return mark.end()
        if depth > _MAX_DEPTH:
            return None
    return None


def _end_of_bare(text: str, position: int) -> int:
    """The end of a destination without angle brackets; parentheses in it are balanced."""
    depth = 0
    while True:
        run = _BARE.match(text, position)
        assert run is not None
        position = run.end()
        mark = text[position : position + 1]
        if mark == "(" and depth < _MAX_DEPTH:
            depth += 1
        elif mark == ")" and depth:
            depth -= 1
        else:
            return position
        position += 1


def _find_id(destination: str, ids: list[str]) -> str:
    """Decode a percent-encoded id, if the result is a known id."""
    decoded = unquote(destination)
    return decoded if destination not in ids and decoded in ids else destination
