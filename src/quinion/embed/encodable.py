"""Texts as tokenizers take them."""


def encodable(text: str) -> str:
    """The text without lone surrogates, which damaged files contain and tokenizers refuses."""
    return text.encode(errors="replace").decode()
