"""Tokens as the embedding model's vocabulary has them, without the model.

The vocabulary is that of BERT, which most small embedding models share (all-MiniLM,
nomic-embed-text, mxbai-embed-large, bge): what is counted here is what they see. For a model
with another vocabulary it is an estimate.

Importing this module imports tokenizers, so it is imported where texts are about to be counted.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from quinion.embed.encodable import encodable
from quinion.embed.local.weights import find_tokenizer
from quinion.errors import ModelUnavailable

SLICE_CHARACTERS = 1 << 16
"""What is tokenized in one go: a token takes some hundred bytes while it is looked at."""


class TokenCounter:
    """Counts tokens, and says where they begin. Thread-safe."""

    def __init__(self, tokenizer: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(tokenizer.read_bytes())
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"The tokenizer {tokenizer} cannot be read: {error}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @classmethod
    def of(cls, model_dir: Path | None = None, cache_dir: Path | None = None) -> "TokenCounter":
        """The counter of the model that is ready in `cache_dir`, of that in `model_dir`, else of
        the installed one.

        Raises:
            ModelUnavailable: there is no model, or its tokenizer cannot be read.
        """
        return cls(find_tokenizer(cache_dir, model_dir))

    def count(self, text: str) -> int:
        """How many tokens the text has, without the two that the model puts around it."""
        return len(self.starts(text))

    def starts(self, text: str) -> "array[int]":
        """The offset in the text at which each of its tokens begins."""
        offsets = array("Q")
        for begin, part in _slices(text):
            encoding = self._tokenizer.encode(encodable(part), add_special_tokens=False)
            offsets.extend(begin + start for start, _ in encoding.offsets)
        return offsets


def _slices(text: str) -> Iterator[tuple[int, str]]:
    """The text in parts that end where a word does, and where each begins."""
    start = 0
    while start < len(text):
        end = min(start + SLICE_CHARACTERS, len(text))
        if end < len(text):
            end = _last_gap(text, start, end)
        yield start, text[start:end]
        start = end


def _last_gap(text: str, start: int, end: int) -> int:
    """Just after the last blank or line end before `end`; `end` where there is none."""
    gap = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
    return gap + 1 if gap >= start else end
