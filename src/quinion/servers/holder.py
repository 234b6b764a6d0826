"""The process that holds a home, as another process sees it."""

from quinion.errors import HomeInUse
from quinion.settings import Settings
from quinion.store.lock import read_holder

SILENCE_S = 30 * 86_400.0
"""How long a client of the holder may have nothing to say: a desktop may sleep for days."""


def find_address(settings: Settings, server: str, refused: HomeInUse) -> str:
    """Where the holder of the home runs this server.

    Raises:
        HomeInUse: it does not run it over HTTP; this is `refused` again.
    """
    holder = read_holder(settings.home)
    if holder is None or server not in holder.addresses:
        raise refused
    return holder.addresses[server]


def authorization(settings: Settings) -> dict[str, str]:
    """The header that the holder's servers want, if they want any."""
    if settings.api_key is None:
        return {}
    return {"Authorization": f"Bearer {settings.api_key.get_secret_value()}"}
