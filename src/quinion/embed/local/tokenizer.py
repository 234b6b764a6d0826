"""Texts as the local model's network takes them: lists of ids.

Importing this module imports tokenizers, so it is imported only where a model is about to be used.
"""

from tokenizers import Tokenizer

from quinion.embed.encodable import encodable
from quinion.embed.local.weights import PreparedModel, load_error

MAX_TOKENS = 256
"""Of one text, with the two that the model puts around it: sentence-transformers' limit for it."""


class ModelTokenizer:
    """The tokenizer of all-MiniLM-L6-v2. Thread-safe.

    Texts are tokenized one by one: the batch methods of `tokenizers` start threads of their own,
    which print warnings in forked processes, and tokenizing is less than one percent of the work.
    """

    def __init__(self, model: PreparedModel) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(model.tokenizer.read_bytes())
        except (OSError, ValueError) as error:
            raise load_error(model.folder, error) from error
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def ids(self, text: str) -> list[int]:
        """The ids that the network is given, `MAX_TOKENS` at most."""
        return self._tokenizer.encode(encodable(text)).ids

    def count(self, text: str) -> int:
        """How many tokens the text itself has, before truncation."""
        kept = self._tokenizer.encode(encodable(text), add_special_tokens=False)
        return sum(len(part) for part in (kept, *kept.overflowing))
