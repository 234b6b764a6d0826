"""Validation of search queries."""

from quinion.errors import InvalidInput


def check_query(query: str) -> None:
    """Reject an empty query.

    Raises:
        InvalidInput: it is empty or only white space.
    """
    if not query.strip():
        raise InvalidInput("The query is empty. Say in a few words what to look for.")
