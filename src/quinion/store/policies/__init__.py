"""Policy registry, in SQLite inside the home or in Redis."""

from pathlib import Path

from quinion.errors import ExtraMissing
from quinion.store.policies.policy_registry import PolicyRegistry
from quinion.store.policies.sqlite import SqliteStorage

__all__ = ["PolicyRegistry", "open_registry"]


def open_registry(path: Path, redis_url: str | None = None) -> PolicyRegistry:
    """Open the registry in Redis if there is an address, else in the file at `path`.

    A Redis server that does not answer is reported at the first use, not here.

    Raises:
        ExtraMissing: there is an address, but the package for Redis is not installed.
        BadSetting: the address is no Redis address.
        RegistryUnavailable: the file cannot be opened.
    """
    if not redis_url:
        return PolicyRegistry(SqliteStorage(path))
    # Imported here because the import is slow, and few users have Redis.
    try:
        from quinion.store.policies.redis import RedisStorage  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            f"REDIS_URL is set, but the Redis client cannot be imported: {error}. "
            "Run: pip install 'redis>=8.1,<9'"
        ) from error
    return PolicyRegistry(RedisStorage(redis_url))
