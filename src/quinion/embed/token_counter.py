"""Token counts with the embedding model's vocabulary, without loading the model.

The vocabulary is BERT's, which most small embedding models share (all-MiniLM, nomic-embed-text,
mxbai-embed-large, bge), so the counts are exact for them. For other vocabularies they are
estimates.

Importing this module imports `tokenizers`, so import it only where texts are counted.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from quinion.embed.encodable import encodable
from quinion.embed.local.weights import find_tokenizer
from quinion.errors import ModelUnavailable

SLICE_CHARACTERS = 1 << 16
"""Characters tokenized at once: during tokenization a token takes some hundred bytes."""


class TokenCounter:
    """Counts tokens and returns their offsets. Thread-safe."""

    def __init__(self, tokenizer: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(tokenizer.read_bytes())
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"The tokenizer {tokenizer} cannot be read: {error}.") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    @classmethod
    def of(cls, model_dir: Path | None = None, cache_dir: Path | None = None) -> "TokenCounter":
        """Open the tokenizer of the model in `cache_dir`, else `model_dir`, else the installed one.

        Raises:
            ModelUnavailable: the model is missing, or its tokenizer cannot be read.
        """
        return cls(find_tokenizer(cache_dir, model_dir))

    def count(self, text: str) -> int:
        """Count the tokens of the text, without the two special tokens."""
        return len(self.starts(text))

    def starts(self, text: str) -> "array[int]":
        """Return the character offset of each token."""
        offsets = array("Q")
        for begin, part in _slices(text):
            encoding = self._tokenizer.encode(encodable(part), add_special_tokens=False)
            offsets.extend(begin + start for start, _ in encoding.offsets)
        return offsets


def _slices(text: str) -> Iterator[tuple[int, str]]:
    """Split the text at word boundaries; yield each part with its offset."""
    start = 0
    while start < len(text):
        end = min(start + SLICE_CHARACTERS, len(text))
        if end < len(text):
            end = _last_gap(text, start, end)
        yield start, text[start:end]
        start = end


def _last_gap(text: str, start: int, end: int) -> int:
    """Return the offset after the last space or line end before `end`, else `end`."""
    gap = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
    return gap + 1 if gap >= start else end
