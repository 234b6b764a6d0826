"""`quinion migrate`: copy a home's store and policy registry into PostgreSQL, or back."""

from contextlib import ExitStack, closing
from dataclasses import asdict

from pydantic import ValidationError

from quinion.cli.options import print_result
from quinion.cli.progress import Bars
from quinion.daemon.client import stop_engine
from quinion.errors import InvalidInput
from quinion.home import check_restored, hold_home, store_place
from quinion.servers.policy_kb import REGISTRY_FILE
from quinion.settings import Settings
from quinion.store.factory import open_store
from quinion.store.migrate import MigrationReport, copy_policies, finish, migrate
from quinion.store.policies import open_storage


def run(settings: Settings, to: str | None, from_: str | None, *, as_json: bool) -> int:
    """Copy into the database `to`, or from the database `from_` into the home."""
    url = to or from_
    if not url or (to and from_):
        raise InvalidInput("Give the address of the database: either --to or --from.")
    home = settings.model_copy(update={"database_url": None, "read_url": None})
    database = _with_database(home, url)
    places = (home, database) if to else (database, home)
    stop_engine(settings.home)
    with hold_home(home):
        check_restored(settings.home)
        report = _migrate(*places)
    lines = [f"{name}: {count:,} records" for name, count in report.collections.items()]
    lines.append(f"Policies: {report.policies:,}. All records were compared with the original.")
    lines.append(
        "Next: set QUINION_DATABASE_URL to this address. Keep the home: it has the original files."
        if to
        else "Next: unset QUINION_DATABASE_URL. The database is unchanged."
    )
    print_result(as_json, asdict(report), "\n".join(lines))
    return 0


def _with_database(home: Settings, url: str) -> Settings:
    try:
        return Settings.model_validate({**home.dump(), "database_url": url})
    except ValidationError:
        # Without the cause: it may contain the password.
        raise InvalidInput(
            "This is not the address of a database. Write it like "
            "postgresql://user:password@host:5432/database."
        ) from None


def _migrate(source: Settings, target: Settings) -> MigrationReport:
    """Copy records and policies. A registry in Redis stays there."""
    with ExitStack() as stack:
        bars = stack.enter_context(Bars())
        old, new = (
            stack.enter_context(closing(open_store(store_place(one)))) for one in (source, target)
        )
        task = bars.add_task("Copying", total=1)

        def show(name: str, done: int, total: int) -> None:
            bars.update(task, description=f"Copying {name}", completed=done, total=total)

        report = migrate(old, new, show)
        if not source.redis_url:
            path = source.home / REGISTRY_FILE
            ours, theirs = (
                stack.enter_context(closing(open_storage(path, None, one.database)))
                for one in (source, target)
            )
            report.policies = copy_policies(ours, theirs)
        finish(new)
    return report
