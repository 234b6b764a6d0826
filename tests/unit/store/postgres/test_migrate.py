"""Migration of a home into PostgreSQL and back."""

import json
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from quinion.cli.maintenance.migrate import run
from quinion.errors import InvalidInput, StoreUnavailable
from quinion.home import store_place
from quinion.model.policy import PolicyCategory, PolicyDraft, RevisionDraft
from quinion.servers.policy_kb import REGISTRY_FILE
from quinion.settings import Settings
from quinion.store.base import VectorStore
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import open_store
from quinion.store.migrate import check_migrated, copy_policies, finish, migrate
from quinion.store.policies import open_registry, open_storage
from tests.postgres_server import PostgresServer, needs_postgres
from tests.store_conformance.adapter import check_intact, contents
from tests.store_conformance.transactions import fill
from tests.unit.store.stores import records, vectors, write

if not needs_postgres.args[0]:
    from quinion.store.postgres.store import PostgresStore

pytestmark = needs_postgres

COUNT = 1_200


class Interrupted(Exception):
    pass


def ignore(*_: object) -> None:
    pass


def interrupt(_: str, done: int, total: int) -> None:
    """Fail between two transactions of one collection."""
    if 0 < done < total:
        raise Interrupted


def make(folder: Path) -> EmbeddedStore:
    store = EmbeddedStore(folder)
    fill(store)
    write(store, "many", records(COUNT, kind="x"), vectors(COUNT))
    return store


def test_a_store_is_the_same_in_the_database_and_when_it_is_back(url: str, tmp_path: Path) -> None:
    with closing(make(tmp_path / "one")) as one, closing(PostgresStore(url)) as database:
        done = migrate(one, database, ignore)
        finish(database)
        assert done.collections["many"] == COUNT
        assert contents(database) == contents(one)
        check_intact(database)
        with closing(EmbeddedStore(tmp_path / "two")) as two:
            migrate(database, two, ignore)
            finish(two)
            assert contents(two) == contents(one)


def test_an_interrupted_migration_is_continued_and_not_opened_meanwhile(
    url: str, tmp_path: Path, server: PostgresServer
) -> None:
    with closing(make(tmp_path)) as one, closing(PostgresStore(url)) as database:
        with pytest.raises(Interrupted):
            migrate(one, database, interrupt)
        copied = [record.id for record in database.get("many")]
        assert 0 < len(copied) < COUNT
        with pytest.raises(StoreUnavailable, match="Run quinion migrate again"):
            check_migrated(database)
        [(number,)] = server.execute("SELECT number FROM quinion.collections WHERE name = 'many'")
        touched = f"SELECT count(*) FROM quinion.records_{number} WHERE xmin::text <> %s"
        [(before,)] = server.execute(f"SELECT max(xmin::text) FROM quinion.records_{number}")
        migrate(one, database, ignore)
        assert server.execute(touched.replace("%s", f"'{before}'")) == [(COUNT - len(copied),)]
        finish(database)
        check_migrated(database)
        assert contents(database) == contents(one)


def test_a_target_with_documents_is_refused(url: str, tmp_path: Path) -> None:
    with closing(make(tmp_path / "one")) as one, closing(make(tmp_path / "two")) as two:
        before = contents(two)
        with pytest.raises(InvalidInput, match="already has documents"):
            migrate(one, two, ignore)
        assert contents(two) == before


def test_a_difference_is_found_and_the_mark_stays(url: str, tmp_path: Path) -> None:
    with closing(make(tmp_path)) as one, closing(PostgresStore(url)) as database:
        with pytest.raises(Interrupted):
            migrate(one, database, interrupt)
        damage(database)
        with pytest.raises(StoreUnavailable, match="differs from the original"):
            migrate(one, database, ignore)
        with pytest.raises(StoreUnavailable, match="interrupted"):
            check_migrated(database)


def damage(store: VectorStore) -> None:
    with store.transaction() as changes:
        changes.upsert("many", records(1, kind="another"), vectors(1), "model")


def test_policies_are_the_same_in_the_database_and_when_they_are_back(
    url: str, tmp_path: Path
) -> None:
    path, again = tmp_path / "one.db", tmp_path / "two.db"
    with closing(open_registry(path)) as registry:
        registry.create_policy(PolicyDraft("A", "Title", PolicyCategory.LOCAL_PLAN, "For\0all"))
        registry.create_policy(PolicyDraft("B", "Empty", PolicyCategory.LOCAL_PLAN))
        for year in (2022, 2023, 2024):
            registry.create_revision("A", RevisionDraft(str(year), date(year, 1, 1)))
        expected = registry.list_policies(), registry.list_all_revisions()
    for _ in range(2):  # a repetition changes nothing
        with closing(open_storage(path)) as one, closing(open_storage(path, None, url)) as database:
            assert copy_policies(one, database) == 2
    with closing(open_storage(path, None, url)) as database, closing(open_storage(again)) as two:
        copy_policies(database, two)
    with closing(open_registry(again)) as registry:
        assert (registry.list_policies(), registry.list_all_revisions()) == expected


def test_the_command_copies_store_and_policies(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here, there = (
        Settings.from_environment({"QUINION_HOME": str(tmp_path / name), "QUINION_MIRROR": "off"})
        for name in ("here", "there")
    )
    with closing(open_store(store_place(here))) as store:
        fill(store)
        expected = contents(store)
    with closing(open_registry(here.home / REGISTRY_FILE)) as registry:
        registry.create_policy(PolicyDraft("A", "Title", PolicyCategory.LOCAL_PLAN))
    assert run(here, url, None, as_json=False) == 0
    assert "Policies: 1. All records were compared" in capsys.readouterr().out
    assert run(there, None, url, as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["collections"] == {
        "chunks": 6,
        "registry": 2,
        "lines": 1,
    }
    with closing(open_store(store_place(there))) as store:
        assert contents(store) == expected
    with closing(open_registry(there.home / REGISTRY_FILE)) as registry:
        assert [policy.source for policy in registry.list_policies()] == ["A"]
    with pytest.raises(InvalidInput, match="already has documents"):
        run(here, None, url, as_json=True)


@pytest.mark.parametrize(
    ("to", "from_"),
    [(None, None), ("postgresql://a/b", "postgresql://a/b"), ("mysql://user:hush88@host/db", None)],
)
def test_the_command_refuses_what_is_no_address(
    tmp_path: Path, to: str | None, from_: str | None
) -> None:
    settings = Settings.from_environment({"QUINION_HOME": str(tmp_path)})
    with pytest.raises(InvalidInput, match="address of") as caught:
        run(settings, to, from_, as_json=True)
    assert "hush88" not in f"{caught.value} {caught.value.__cause__}"
