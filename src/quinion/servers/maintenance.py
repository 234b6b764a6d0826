"""Maintenance tools for the command line: `verify` and `back_up`.

The integrity of the store is checked here for every server. Each server's own `check` module
verifies that its records are consistent.

An archive is always written inside the home, so a client cannot choose where files are written.
The command moves it from there.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from pydantic import BaseModel

from quinion.concurrency import in_thread
from quinion.engine import Engine
from quinion.errors import StoreUnavailable
from quinion.servers.base import make_tool, report_to
from quinion.servers.response_size import how_many_fit

FindProblems = Callable[[], Awaitable[list[str]]]
Repair = Callable[[], Awaitable[list[str]]]
NameCollections = Callable[[], Awaitable[Sequence[str]]]
NameOriginals = Callable[[], Awaitable[Mapping[str, str]]]
"""Returns the documents whose originals may be kept: their names by the hash of the file."""


class Verified(BaseModel):
    """Result of a check: record count, problems, mirror warnings and repairs."""

    records: int
    problems: list[str]
    warnings: list[str] = []
    repaired: list[str] = []


async def _nothing() -> list[str]:
    return []


async def _no_originals() -> Mapping[str, str]:
    return {}


def make_verify_tool(
    engine: Engine,
    collections: NameCollections,
    find_problems: FindProblems,
    repair_own: Repair = _nothing,
    name_originals: NameOriginals = _no_originals,
) -> Tool:
    """Create the tool for a server with these collections.

    `repair_own` repairs inconsistencies between the server's records and lists its repairs.
    A damaged copy of an original is deleted: the file that it was copied from may still be there.
    """

    async def verify(ctx: Context, repair: bool = False) -> Verified:
        """Check that the data is intact and consistent; with `repair`, repair what is possible."""
        report = report_to(ctx)
        found = Verified(records=0, problems=await in_thread(engine.store.check_files))
        names = await collections()
        can_repair = repair and not found.problems
        for done, collection in enumerate(names):
            await report(done, len(names), collection)
            checked = await in_thread(engine.store.check, collection, repair=can_repair)
            found.records += checked.records
            found.problems += checked.problems
            found.warnings += checked.warnings
            found.repaired += checked.repaired
        problems = await find_problems()
        if repair and problems and not found.problems:  # with store problems, the cause is unclear
            _check_not_lost(found, problems)
            found.repaired += await repair_own()
            problems = await find_problems()
        found.problems += problems
        for sha256, document in (await name_originals()).items():
            if await in_thread(engine.kept.is_damaged, sha256):
                damage = f"{document}: the kept copy of its file is damaged"
                if repair:
                    await in_thread(engine.kept.originals.drop, sha256)
                    found.repaired.append(f"{damage}, and is deleted. Ingest the file again")
                else:
                    found.problems.append(damage)
        for lines in (found.problems, found.warnings, found.repaired):
            del lines[how_many_fit(lines) :]
        return found

    return make_tool(verify, title="Verify", read_only=False)


def _check_not_lost(found: Verified, problems: Sequence[str]) -> None:
    """Refuse to adjust other data to a store that was lost.

    Raises:
        StoreUnavailable: the store is empty, but other data refers to records in it.
    """
    if not found.records:
        raise StoreUnavailable(
            f"The store has no records, but {problems[0]}. It looks lost rather than empty, so "
            "nothing was changed. Restore a backup with quinion restore, or import from Chroma "
            "with quinion import chroma"
        )


def fixed_collections(*collections: str) -> NameCollections:
    """Return a function that always names these collections."""

    async def name() -> Sequence[str]:
        return collections

    return name


class BackedUp(BaseModel):
    """Path of the archive."""

    path: str


def make_backup_tool(engine: Engine) -> Tool:
    """Create the tool. Only one server per home needs to offer it."""

    async def back_up() -> BackedUp:
        """Write a backup of the entire home into one file inside the home."""
        return BackedUp(path=str(await engine.back_up()))

    return make_tool(back_up, title="Back up", read_only=False)
