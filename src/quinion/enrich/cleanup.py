"""Cleanup of a model's answer: extracts the description or the LaTeX, limited in length.

Models wrap answers in JSON, code fences, dollar signs and pleasantries, regardless of the prompt.
All of that is removed.
"""

import json
import re
import unicodedata
from typing import Any

MAX_ANSWER = 16_000
"""Characters of an answer that are read."""
MAX_DESCRIPTION = 1_500
MAX_LATEX = 2_000

_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*\n(.*?)```", re.DOTALL)
_DISPLAYED = re.compile(r"\$\$(.+?)\$\$|\\\[(.+?)\\\]", re.DOTALL)
_INLINE = re.compile(r"\$([^$]+)\$|\\\((.+)\\\)", re.DOTALL)
_COMMENT = re.compile(r"(?<!\\)%.*")
_NUMBER = re.compile(r"\\(tag\*?|label)\s*\{[^{}]*\}")
_NAMES = re.compile(r"\\(text\w*|mathrm|mathsf|mbox|operatorname\*?)\s*\{[^{}]*\}|\\[a-zA-Z]+")
_PROSE = re.compile(r"([A-Za-z]{2,}[\s,]+){3}[A-Za-z]{2,}")
_OBJECT = re.compile(r'\{\s*"')
_ESCAPED_COMMAND = re.compile(r"\\\\[a-zA-Z]")
_LONE_BACKSLASH = re.compile(r'\\(?!")')


def clean_description(answer: str) -> str:
    """Return the description on one line; empty if there is none."""
    line = _single_line(_json_value(_unwrap(answer), "description"))
    if len(line) <= MAX_DESCRIPTION:
        return line
    return line[:MAX_DESCRIPTION].rsplit(" ", 1)[0] + " …"


def clean_latex(answer: str) -> str:
    """Return the LaTeX on one line; empty if the answer is too long or not LaTeX."""
    text = _unwrap(answer)
    if _OBJECT.match(text):
        text = _json_value(_fix_escapes(text), "latex").strip()
    if found := _DISPLAYED.search(text) or _INLINE.fullmatch(text):
        text = next(filter(None, found.groups()))
    line = _single_line(_NUMBER.sub("", _COMMENT.sub("", text)))
    if len(line) > MAX_LATEX or _PROSE.search(_NAMES.sub(" ; ", line)):
        return ""
    return line


def _unwrap(answer: str) -> str:
    text = _THOUGHTS.sub("", answer[:MAX_ANSWER]).strip()
    fenced = _FENCED.search(text)
    return fenced[1].strip() if fenced else text


def _json_value(text: str, key: str) -> str:
    """Return the value of the key if the text is a JSON object, else the text."""
    try:
        found: Any = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text
    if not isinstance(found, dict):
        return text
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _fix_escapes(text: str) -> str:
    r"""Escape the backslashes of LaTeX in JSON.

    Many models write `{"latex": "\frac…"}`, which JSON reads as a form feed and `rac`.
    """
    if _ESCAPED_COMMAND.search(text):
        return text
    return _LONE_BACKSLASH.sub(r"\\\\", text)


def _single_line(text: str) -> str:
    """Remove line breaks, control characters, and characters that hide or reverse text."""
    shown = (
        character if unicodedata.category(character)[0] not in "CZ" else _blank(character)
        for character in text
    )
    return " ".join("".join(shown).split())


def _blank(character: str) -> str:
    return " " if character.isspace() else ""
