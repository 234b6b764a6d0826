"""Tokenizer of the local model: text to token ids.

Importing this module imports `tokenizers`, so import it only where a model is used.
"""

from tokenizers import Tokenizer

from quinion.embed.encodable import encodable
from quinion.embed.local.weights import PreparedModel, load_error

MAX_TOKENS = 256
"""Token limit of one text, the two special tokens included: the limit of sentence-transformers."""


class ModelTokenizer:
    """The tokenizer of all-MiniLM-L6-v2. Thread-safe.

    Texts are tokenized one by one: the batch methods of `tokenizers` start threads, which print
    warnings in forked processes, and tokenizing is less than one percent of the work.
    """

    def __init__(self, model: PreparedModel) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(model.tokenizer.read_bytes())
        except (OSError, ValueError) as error:
            raise load_error(model.folder, error) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def ids(self, text: str) -> list[int]:
        """Return the token ids for the network, at most `MAX_TOKENS`."""
        return self._tokenizer.encode(encodable(text)).ids

    def count(self, text: str) -> int:
        """Count the tokens of the text before truncation, without special tokens."""
        kept = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        return sum(len(part) for part in (kept, *kept.overflowing))
