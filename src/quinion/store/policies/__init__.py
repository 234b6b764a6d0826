"""The policy registry: in SQLite inside the home, or in Redis."""

from pathlib import Path

from quinion.errors import ExtraMissing
from quinion.store.policies.policy_registry import PolicyRegistry
from quinion.store.policies.sqlite import SqliteStorage

__all__ = ["PolicyRegistry", "open_registry"]


def open_registry(path: Path, redis_url: str | None = None) -> PolicyRegistry:
    """The registry in Redis where an address is given, else in the file at `path`.

    Redis that does not answer is met at the first use, not here.

    Raises:
        ExtraMissing: an address is given, and the package for Redis is not installed.
        BadSetting: the address is not one of Redis.
        RegistryUnavailable: the file cannot be opened.
    """
    if not redis_url:
        return PolicyRegistry(SqliteStorage(path))
    # Imported here because it is slow to import, and few have it configured or installed.
    try:
        from quinion.store.policies.redis import RedisStorage  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            f"REDIS_URL is set, but Redis cannot be spoken to: {error}. "
            "Run: pip install 'quinion[redis]'"
        ) from error
    return PolicyRegistry(RedisStorage(redis_url))
