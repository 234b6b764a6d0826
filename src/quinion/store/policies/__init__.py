"""Policy registry, in SQLite inside the home, in Redis or in PostgreSQL."""

from pathlib import Path

from quinion.errors import ExtraMissing
from quinion.store.policies.base import PolicyStorage
from quinion.store.policies.policy_registry import PolicyRegistry
from quinion.store.policies.sqlite import SqliteStorage

__all__ = ["PolicyRegistry", "open_registry", "open_storage"]


def open_registry(
    path: Path, redis_url: str | None = None, database_url: str | None = None
) -> PolicyRegistry:
    """Open the registry; see `open_storage`."""
    return PolicyRegistry(open_storage(path, redis_url, database_url))


def open_storage(
    path: Path, redis_url: str | None = None, database_url: str | None = None
) -> PolicyStorage:
    """Open the storage of a registry: in Redis or in PostgreSQL if there is an address, Redis
    first, else in the file at `path`.

    A server that does not answer is reported at the first use, not here.

    Raises:
        ExtraMissing: there is an address, but the package for it is not installed.
        BadSetting: the address is invalid.
        RegistryUnavailable: the file cannot be opened.
    """
    if not redis_url:
        return _open_database(database_url) if database_url else SqliteStorage(path)
    # Imported here because the import is slow, and few users have Redis.
    try:
        from quinion.store.policies.redis import RedisStorage  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            f"REDIS_URL is set, but the Redis client cannot be imported: {error}. "
            "Run: pip install 'redis>=8.1,<9'"
        ) from error
    return RedisStorage(redis_url)


def _open_database(url: str) -> PolicyStorage:
    try:
        from quinion.store.policies.postgres import PostgresStorage  # noqa: PLC0415
    except ImportError as error:
        raise ExtraMissing(
            "QUINION_DATABASE_URL is set, but the client of PostgreSQL cannot be imported: "
            f"{error}. Run: pip install 'psycopg[binary]>=3.3,<4'"
        ) from error
    return PostgresStorage(url)
