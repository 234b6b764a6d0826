"""Text that tokenizers accept."""


def encodable(text: str) -> str:
    """Replace lone surrogates, which occur in damaged files and which tokenizers reject."""
    return text.encode(errors="replace").decode()
