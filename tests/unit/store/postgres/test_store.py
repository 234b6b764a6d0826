"""Store in PostgreSQL: lost connections, plans, versions, locks and secrets."""

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quinion.errors import BadSetting, InvalidInput, StoreUnavailable
from quinion.home import store_place
from quinion.lexical.word_query import parse_query
from quinion.model.record import Record
from quinion.settings import Settings
from quinion.store.base import Candidates, Selector, Vectors
from quinion.store.filters import Where
from tests.postgres_server import PostgresServer, needs_postgres
from tests.unit.store.stores import records, vectors

if not needs_postgres.args[0]:
    from psycopg.sql import SQL, Literal

    from quinion.store.postgres import database, rows, schema, transaction, vector_search
    from quinion.store.postgres.filters import Condition
    from quinion.store.postgres.rows import find_collection
    from quinion.store.postgres.schema import VERSION, tables
    from quinion.store.postgres.store import PostgresStore

pytestmark = needs_postgres

MODEL = "model"
COUNT = 10_000
EVERYTHING = Selector.everything("c")
CONNECTIONS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE application_name LIKE 'quinion %' AND pid <> pg_backend_pid()
"""


@pytest.fixture
def opened(url: str) -> Iterator["PostgresStore"]:
    with closing(PostgresStore(url)) as found:
        yield found


def write(some: "PostgresStore", count: int, prefix: str = "id", dimensions: int = 8) -> None:
    with some.transaction() as changes:
        changes.upsert("c", records(count, prefix), vectors(count, dimensions=dimensions), MODEL)


def words(candidates: Candidates) -> Vectors:
    return candidates.words


def test_lost_connections_are_replaced_at_the_next_use(
    opened: "PostgresStore", server: PostgresServer
) -> None:
    write(opened, 3)
    assert opened.count(EVERYTHING) == 3
    server.execute(CONNECTIONS)
    assert opened.count(EVERYTHING) == 3
    write(opened, 4)
    server.execute(CONNECTIONS)
    write(opened, 5)
    assert len(opened.get("c")) == 5


def test_a_connection_that_is_lost_in_a_transaction_loses_all_of_it(
    opened: "PostgresStore", server: PostgresServer
) -> None:
    write(opened, 3)
    with pytest.raises(StoreUnavailable, match="does not answer"):
        with opened.transaction() as changes:
            changes.upsert("c", records(9), vectors(9), MODEL)
            server.execute(CONNECTIONS)
            changes.set_value("key", "value")
    assert (opened.count(EVERYTHING), opened.values()) == (3, {})
    write(opened, 4)
    assert opened.count(EVERYTHING) == 4


def test_a_server_that_is_down_is_an_error_and_then_everything_is_there_again(
    opened: "PostgresStore", server: PostgresServer
) -> None:
    write(opened, 3)
    server.stop()
    try:
        for call in (opened.collections, lambda: write(opened, 4)):
            with pytest.raises(StoreUnavailable, match="Check that it runs"):
                call()
        with pytest.raises(StoreUnavailable, match="QUINION_DATABASE_URL"):
            PostgresStore(server.url)
    finally:
        server.start()
    assert opened.count(EVERYTHING) == 3
    write(opened, 4)


def test_a_statement_that_takes_too_long_is_an_error(
    opened: "PostgresStore", server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "READ_TIMEOUT_S", 0.2)
    write(opened, 3)
    blocker = database.connect(database.parse_url(server.url))
    with closing(blocker), blocker.transaction():
        blocker.execute("LOCK TABLE quinion.collections IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreUnavailable, match="took too long"):
            opened.collections()
    assert opened.collections() == ["c"]


def test_a_read_only_database_is_searched_and_not_written(
    opened: "PostgresStore", url: str, server: PostgresServer
) -> None:
    write(opened, 3)
    opened.close()
    server.execute("ALTER DATABASE postgres SET default_transaction_read_only = on")
    try:
        with closing(PostgresStore(url)) as standby:
            assert standby.count(EVERYTHING) == 3
            with pytest.raises(StoreUnavailable, match="read-only"):
                write(standby, 4)
    finally:
        server.execute("ALTER DATABASE postgres RESET ALL")


def test_a_newer_schema_is_refused(
    opened: "PostgresStore", url: str, server: PostgresServer
) -> None:
    opened.close()
    server.execute(f"UPDATE quinion.schema_version SET version = {VERSION + 1}")
    with pytest.raises(StoreUnavailable, match=f"newer quinion .schema {VERSION + 1}"):
        PostgresStore(url)


def test_an_old_server_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIN_POSTGRES", 99)
    with pytest.raises(StoreUnavailable, match="quinion needs 99 or later"):
        PostgresStore(url)


def test_a_missing_or_old_pgvector_is_named(url: str, server: PostgresServer) -> None:
    server.execute("DROP EXTENSION IF EXISTS vector CASCADE; CREATE ROLE visitor LOGIN")
    try:
        visitor = url.replace("quinion@", "visitor@")
        with pytest.raises(StoreUnavailable, match="CREATE EXTENSION vector"):
            PostgresStore(visitor)
        PostgresStore(url).close()
        server.execute("UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'")
        with pytest.raises(StoreUnavailable, match=r"has pgvector 0\.7\.4"):
            PostgresStore(url)
    finally:
        server.execute("DROP ROLE visitor; DROP EXTENSION IF EXISTS vector CASCADE")


def test_a_password_is_in_no_message(url: str) -> None:
    for address in (
        "postgresql://user:hush8833@127.0.0.1:1/db",
        "postgresql://user:hush8833@127.0.0.1:port/db",
        "postgresql://user:hush8833@127.0.0.1:1/db?nothing=1",
    ):
        with pytest.raises((StoreUnavailable, BadSetting)) as caught:
            PostgresStore(address)
        shown = [str(caught.value), *map(str, (caught.value.__cause__, caught.value.__context__))]
        assert "hush8833" not in "".join(shown[:2])
        assert "hush8833" not in repr(caught.value)


def test_a_dropped_collection_leaves_no_tables(
    opened: "PostgresStore", server: PostgresServer
) -> None:
    write(opened, 3)
    tables = "SELECT count(*) FROM pg_class WHERE relname ~ '^(records|vectors|postings|lengths)_'"
    before = server.execute(f"{tables} AND relkind = 'r'")
    with opened.transaction() as changes:
        changes.delete(EVERYTHING)
    assert (before, server.execute(f"{tables} AND relkind = 'r'")) == ([(4,)], [(0,)])
    assert server.execute("SELECT * FROM quinion.dropped_collections") == []


def test_a_reader_of_a_dropped_collection_keeps_its_tables(
    opened: "PostgresStore", server: PostgresServer
) -> None:
    write(opened, 3)
    number = server.execute("SELECT number FROM quinion.collections")[0][0]

    def drop() -> None:
        with opened.transaction() as changes:
            changes.delete(EVERYTHING)

    with opened._database.read() as reader, ThreadPoolExecutor(1) as thread:
        reader.execute("SELECT 1 FROM collections")  # takes its snapshot
        thread.submit(drop).result(30)
        assert reader.execute(f"SELECT count(*) FROM records_{number}").fetchone() == (3,)
    write(opened, 1, "new")  # the next transaction drops them
    left = f"SELECT to_regclass('quinion.records_{number}')"
    assert server.execute(left) == [(None,)]


def test_a_connection_that_is_lost_after_the_commit_is_no_error_of_it(
    opened: "PostgresStore", server: PostgresServer
) -> None:
    write(opened, 3)
    server.execute("INSERT INTO quinion.dropped_collections VALUES (99, pg_current_xact_id())")
    server.execute(CONNECTIONS)
    opened._drop_tables()
    with opened.transaction() as changes:
        changes.delete(EVERYTHING)
    assert server.execute("SELECT number FROM quinion.dropped_collections") == []


def test_damage_is_found_and_repaired(opened: "PostgresStore", server: PostgresServer) -> None:
    write(opened, 5)
    number = server.execute("SELECT number FROM quinion.collections")[0][0]
    for damage in (
        f"DELETE FROM quinion.postings_{number} WHERE term = '3'",
        f"UPDATE quinion.records_{number} SET filterable = '{{}}' WHERE id = 'id 2'",
        f"INSERT INTO quinion.vectors_{number} SELECT 99, vector FROM quinion.vectors_{number} "
        "LIMIT 1",
        "UPDATE quinion.collections SET records = 7",
    ):
        assert opened.check("c").problems == ()
        server.execute(damage)
        [problem] = opened.check("c").problems
        assert problem.startswith("c: ")
        report = opened.check("c", repair=True)
        assert (report.problems, report.repaired) == ((), (problem,))
    server.execute(f"DELETE FROM quinion.vectors_{number} WHERE slot = 0")
    assert "ingest them again" in opened.check("c", repair=True).problems[0]


def test_another_analysis_of_texts_is_rebuilt_when_the_store_is_opened(
    opened: "PostgresStore", url: str, server: PostgresServer
) -> None:
    write(opened, 3)
    query = parse_query("id 2")
    server.execute("UPDATE quinion.collections SET analysis = analysis + 1")
    with pytest.raises(StoreUnavailable, match="Another version"):
        opened.search_words("c", query, vectors(1), 5, words)
    with pytest.raises(StoreUnavailable, match="Another version"):
        write(opened, 4)
    assert len(opened.search_vectors("c", vectors(1), 5)) == 3
    opened.close()
    server.execute("UPDATE quinion.collections SET analysis = 0, version = 99")
    server.execute("DELETE FROM quinion.postings_1; DELETE FROM quinion.lengths_1")
    with closing(PostgresStore(url)) as again:
        assert again.search_words("c", query, vectors(1), 1, words)[0].record.id == "id 2"
        assert again.check("c").problems == ()


def test_backups_name_the_tools_of_postgresql(opened: "PostgresStore", tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="pg_dump"):
        opened.copy_to(tmp_path)


def explain(opened: "PostgresStore", where: Where | None, statement: str) -> str:
    """Return the plan of a search of the collection `c`."""
    with opened._database.read() as reader:
        found = find_collection(reader, "c")
        assert found is not None
        names = {"dimensions": Literal(found.dimensions), **tables(found.number)}
        condition = Condition(where)
        query = SQL("EXPLAIN {}").format(
            getattr(rows if statement == "_SLOTS" else vector_search, statement).format(
                condition=condition.sql, candidates=vector_search._FILTERED.format(**names), **names
            )
        )
        if statement == "_INDEXED":
            reader.execute(vector_search._USE_INDEX, ("100",))
        values = {"vector": vectors(1, dimensions=found.dimensions)[0], "limit": 16}
        values |= {"slot_limit": 2_001, **condition.parameters}
        return "\n".join(line for (line,) in reader.execute(query, values).fetchall())


@pytest.mark.slow
def test_plans_use_the_indexes(opened: "PostgresStore", server: PostgresServer) -> None:
    some = [
        Record(f"id {n}", f"text {n}", {"document": n // 20, "type": f"t{n % 4}", "day": n % 90})
        for n in range(COUNT)
    ]
    with opened.transaction() as changes:
        changes.upsert("c", some, vectors(COUNT, dimensions=32), MODEL)
    for _ in range(2):  # without statistics, and with them
        for where in (None, {"type": "t1"}, {"day": {"$gte": 20, "$lt": 60}}):
            plan = explain(opened, where, "_INDEXED")
            assert re.search(r"Index Scan using vectors_\d+_vector_idx", plan), plan
            assert "Sort" not in plan, plan
            assert "Seq Scan" not in plan, plan
        server.execute("VACUUM ANALYZE")
    plan = explain(opened, {"document": 77}, "_SLOTS")
    assert re.search(r"Bitmap Index Scan on records_\d+_filterable_idx", plan), plan


def test_the_index_on_vectors_is_created_when_a_collection_is_large(
    opened: "PostgresStore", server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction, "INDEX_FROM", 50)
    indexed = "SELECT indexed, (SELECT count(*) FROM pg_indexes WHERE indexdef LIKE '%hnsw%') "
    for count, expected in ((49, (False, 0)), (50, (True, 1)), (60, (True, 1))):
        write(opened, count)
        assert server.execute(f"{indexed} FROM quinion.collections") == [expected]
    [hit] = opened.search_vectors("c", vectors(60)[7], 1)
    assert hit.record.id == "id 7"
    with opened.transaction() as changes:
        wide = np.zeros((60, 4_001), np.float32)
        changes.upsert("wide", records(60), wide, MODEL)
    assert len(opened.search_vectors("wide", wide[:1], 3)) == 3


def test_the_breadth_of_a_search_grows_with_the_collection() -> None:
    chosen = [vector_search.choose_breadth(count, 16) for count in (100, 100_000, 10**6, 10**9)]
    assert chosen == [100, 316, 1_000, 1_000]


def test_modules_of_the_store_are_imported_with_an_address_only() -> None:
    script = (
        "import sys, quinion.engine, quinion.servers.policy_kb, quinion.cli.main;"
        "others = ('psycopg', 'store.postgres', 'obstore', 'store.bucket', 'procrastinate');"
        "print([name for name in sys.modules if any(one in name for one in others)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_standby_needs_a_database_and_is_in_no_message(tmp_path: Path) -> None:
    standby = {"QUINION_DATABASE_READ_URL": "postgresql://user:hush8833@localhost/x"}
    with pytest.raises(BadSetting, match=r"QUINION_DATABASE_READ_URL.*QUINION_DATABASE_URL"):
        Settings.from_environment({"QUINION_HOME": str(tmp_path), **standby})
    both = {"QUINION_DATABASE_URL": "postgresql://localhost/x", **standby}
    settings = Settings.from_environment({"QUINION_HOME": str(tmp_path), **both})
    place = store_place(settings)
    assert place.standby == standby["QUINION_DATABASE_READ_URL"]
    assert "hush8833" not in repr((place, settings))


def test_the_original_files_of_a_store_in_a_database_are_in_the_home(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        {"QUINION_HOME": str(tmp_path), "QUINION_DATABASE_URL": "postgresql://localhost/x"}
    )
    place = store_place(settings)
    assert place.database == "postgresql://localhost/x"
    assert (place.folder, place.is_in_memory, place.target) == (None, False, None)
    assert "localhost" not in repr((place, settings))
