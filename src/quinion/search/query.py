"""What a query must be."""

from quinion.errors import InvalidInput


def check_query(query: str) -> None:
    """Refuse a query without a word in it.

    Raises:
        InvalidInput: it is empty or only white space.
    """
    if not query.strip():
        raise InvalidInput("The query is empty. Say in a few words what to look for.")
