"""Migration of a home of quinion 0.1, in any state."""

import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Selector, Vectors
from quinion.store.embedded.legacy import adopt_ledger
from quinion.store.embedded.schema import VERSION
from quinion.store.embedded.store import EmbeddedStore
from tests import home_v1
from tests.crash.layer import why_not

ROOT = Path(__file__).parents[4]
CHUNKS = "application_docs"
DOCUMENT = "25_00284_F_e6b889"
"""A document of five chunks."""
OTHER = "25_00284_F_e2f379"
"""One of two."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return home_v1.unpack(tmp_path_factory.mktemp("unpacked") / "home")


@pytest.fixture
def home(unpacked: Path, tmp_path: Path) -> Path:
    return shutil.copytree(unpacked, tmp_path / "home")


def name_ledger(chroma: str) -> str:
    """Return the folder name that quinion 0.1 derived from the location of Chroma."""
    return hashlib.blake2b(chroma.encode(), digest_size=4).hexdigest()


def adopt(home: Path) -> None:
    adopt_ledger(home, home / "store", str(home / "chroma"))


def read(folder: Path) -> dict[str, Any]:
    with closing(EmbeddedStore(folder)) as store:
        for name in store.collections():
            assert not store.check(name).problems
        return home_v1.read_content(store)


def adopt_and_read(home: Path) -> dict[str, Any]:
    adopt(home)
    return read(home / "store")


def execute(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


def ledger_of(home: Path) -> Path:
    return home / home_v1.LEDGER / "ledger.db"


def list_files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.endswith(("-wal", "-shm"))
    }


# Location of the ledger.


def test_every_record_and_vector_is_kept(home: Path) -> None:
    originals = {path.name: path.read_bytes() for path in (home / "library/originals").iterdir()}
    assert adopt_and_read(home) == home_v1.expected_content()
    assert {p.name: p.read_bytes() for p in (home / "library/originals").iterdir()} == originals
    registry = home_v1.EXPECTED["policies"], home_v1.EXPECTED["revisions"]
    assert home_v1.read_registry(home) == registry


def test_a_home_that_was_not_moved_is_known_by_the_name_of_its_ledger(home: Path) -> None:
    """There is a second ledger, of another Chroma, that is not the one to be adopted."""
    shutil.copytree(home / home_v1.LEDGER, home / "ledger" / name_ledger("elsewhere"))
    (home / home_v1.LEDGER).rename(home / "ledger" / name_ledger(str(home / "chroma")))
    execute(
        home / "ledger" / name_ledger("elsewhere") / "ledger.db",
        "UPDATE records SET text = 'of another Chroma'",
    )
    chroma = home / "chroma"
    adopt_ledger(home, chroma / "store", str(chroma))  # as if CHROMA_PERSIST_DIR named it
    assert read(chroma / "store") == home_v1.expected_content()
    assert [path.name for path in (home / "ledger").iterdir()] == [name_ledger("elsewhere")]
    assert (home / "marks.db").exists()  # the other one may still need it


@pytest.mark.parametrize("name", ["0088f9ac", "ffffffff", "of a copy"])
def test_the_ledger_is_found_under_any_name(home: Path, name: str) -> None:
    (home / home_v1.LEDGER).rename(home / "ledger" / name)
    assert adopt_and_read(home) == home_v1.expected_content()


def test_a_ledger_that_a_backup_restored_is_found(home: Path) -> None:
    (home / home_v1.LEDGER).rename(home / "aside")
    (home / "ledger").rmdir()
    (home / "aside").rename(home / "ledger")
    assert adopt_and_read(home) == home_v1.expected_content()


def test_the_ledger_of_a_chroma_elsewhere_becomes_its_store(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "volume"
    (home / "chroma").rename(elsewhere)
    (home / home_v1.LEDGER).rename(home / "ledger" / name_ledger(str(elsewhere)))
    adopt_ledger(home, elsewhere / "store", str(elsewhere))
    assert read(elsewhere / "store") == home_v1.expected_content()
    assert not (home / "store").exists()
    assert not (home / "ledger").exists()


def test_the_ledger_moves_with_a_chroma_elsewhere_that_was_moved(
    home: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved"
    (home / "chroma").rename(moved)
    adopt_ledger(home, moved / "store", str(moved))
    assert read(moved / "store") == home_v1.expected_content()


def test_a_home_that_is_used_with_another_chroma_keeps_its_own_ledger(
    home: Path, tmp_path: Path
) -> None:
    (home / home_v1.LEDGER).rename(home / "ledger" / name_ledger(str(home / "chroma")))
    other = tmp_path / "of another program"
    shutil.copytree(home / "chroma", other)
    adopt_ledger(home, other / "store", str(other))
    assert not (other / "store").exists()
    assert adopt_and_read(home) == home_v1.expected_content()


def test_a_new_home_has_nothing_to_adopt(tmp_path: Path) -> None:
    adopt(tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_a_store_that_is_there_is_left_alone(home: Path) -> None:
    adopt(home)
    before = list_files(home / "store")
    shutil.copytree(home / "store", home / "ledger" / "12345678")
    adopt(home)
    assert list_files(home / "store") == before
    assert (home / "ledger" / "12345678").exists()


# Leftovers of the old layout.


def test_small_files_are_copied_before_anything_is_changed(home: Path) -> None:
    before = {name: (home / name).read_bytes() for name in ("journal.db", "marks.db")}
    adopt(home)
    [backup] = (home / "backups").iterdir()
    assert {path.name for path in backup.iterdir()} == {"journal.db", "marks.db", "policies.db"}
    for name, content in before.items():
        with closing(sqlite3.connect(":memory:")) as was:
            was.deserialize(content[:18] + b"\1\1" + content[20:])  # not as a log of writes
            with closing(sqlite3.connect(backup / name)) as copy:
                assert list(copy.iterdump()) == list(was.iterdump())


def test_nothing_of_the_old_layout_is_left(home: Path) -> None:
    adopt(home)
    assert {path.name for path in home.iterdir()} == {
        *("backups", "chroma", "library", "policies.db", "store")
    }
    assert not list((home / "store").glob("*.rows"))
    with closing(sqlite3.connect(home / "store" / "store.db")) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_marks_and_remarks_are_key_values(home: Path) -> None:
    with closing(sqlite3.connect(home / "library" / "remarks.db")) as database, database:
        database.execute(
            "CREATE TABLE marks (store TEXT, key TEXT, mark TEXT, PRIMARY KEY (store, key))"
        )
        row = ("vision-1", "latex 0a1b", '{"latex": "x"}')
        database.execute("INSERT INTO marks VALUES (?, ?, ?)", row)
    execute(
        home / "marks.db",
        "INSERT INTO marks VALUES (?, 'busy LOCAL_PLAN rev_LOCAL_PLAN_2024_03', 'busy')",
        home_v1.OLD_CHROMA,
    )
    adopt(home)
    with closing(EmbeddedStore(home / "store")) as store:
        assert store.values() == {
            "policy followed LOCAL_PLAN rev_LOCAL_PLAN_2019_06": "2019 20190601 20240229",
            "policy followed LOCAL_PLAN rev_LOCAL_PLAN_2024_03": "2024 20240301 99991231",
            "policy busy LOCAL_PLAN rev_LOCAL_PLAN_2024_03": "busy",
            "remark vision-1 latex 0a1b": '{"latex": "x"}',
        }
    assert not (home / "library" / "remarks.db").exists()


@pytest.mark.parametrize("place", ["0", "zzz"])
def test_the_marks_of_the_ledger_itself_prevail(home: Path, place: str) -> None:
    """Marks of another store say what its chunks carry."""
    key = "followed LOCAL_PLAN rev_LOCAL_PLAN_2019_06"
    execute(home / "marks.db", "INSERT INTO marks VALUES (?, ?, 'other dates')", place, key)
    adopt(home)
    with closing(EmbeddedStore(home / "store")) as store:
        assert store.values(f"policy {key}") == {f"policy {key}": "2019 20190601 20240229"}


def test_unreplicated_changes_are_in_the_outbox(home: Path) -> None:
    execute(
        ledger_of(home),
        "INSERT INTO owed (collection, id, change) SELECT number, 'x', 1 FROM collections "
        "WHERE name = 'policy_docs'",
    )
    adopt(home)
    with closing(EmbeddedStore(home / "store", mirrored=True)) as store:
        assert store.outbox.count() == {"policy_docs": 1}
        assert [*store.outbox.read("policy_docs")] == ["x"]


def test_an_empty_journal_is_fine(home: Path) -> None:
    (home / "journal.db").write_bytes(b"")
    assert adopt_and_read(home) == home_v1.expected_content()


# Unfinished operations.


def begin(home: Path, traces: list[Any], backup: str = "", place: str = "") -> None:
    """Record an intent, as quinion 0.1 did."""
    execute(
        home / "journal.db",
        "INSERT INTO intents (store, traces, backup) VALUES (?, ?, ?)",
        *(place or home_v1.OLD_CHROMA, json.dumps(traces), backup),
    )


def without(*documents: str) -> dict[str, Any]:
    """Return the expected content without the chunks of these documents."""
    content = home_v1.expected_content()
    records = content[CHUNKS]["records"]
    for document in documents:
        for id_ in [id_ for id_ in records if id_.startswith(document)]:
            del records[id_]
    content[CHUNKS]["count"] = len(records)
    return content


def test_an_ingestion_that_was_not_finished_is_undone(home: Path) -> None:
    traces = [[CHUNKS, [["document_id", DOCUMENT]], []], ["document_registry", [], [DOCUMENT]]]
    begin(home, traces)
    expected = without(DOCUMENT)
    del expected["document_registry"]["records"][DOCUMENT]
    expected["document_registry"]["count"] -= 1
    assert adopt_and_read(home) == expected
    assert not (home / "journal.db").exists()


def test_undone_changes_are_deleted_from_the_mirror(home: Path) -> None:
    begin(home, [[CHUNKS, [["document_id", OTHER]], []]])
    adopt(home)
    with closing(EmbeddedStore(home / "store", mirrored=True)) as store:
        ids = [*store.outbox.read(CHUNKS)]
        assert [id_[: len(OTHER)] for id_ in ids] == [OTHER, OTHER]
        assert store.get(CHUNKS, ids=ids) == []


def test_a_collection_with_an_unfinished_removal_is_removed(home: Path) -> None:
    begin(home, [["docvec-chunks.documents", [], []], ["docvec-files.documents", [], []]])
    expected = home_v1.expected_content()
    for name in ("docvec-chunks.documents", "docvec-files.documents"):
        del expected[name]
    assert adopt_and_read(home) == expected


def test_an_intent_of_another_store_is_not_carried_out(home: Path) -> None:
    begin(home, [[CHUNKS, [["document_id", DOCUMENT]], []]], place="/elsewhere/chroma")
    assert adopt_and_read(home) == home_v1.expected_content()


def save_aside(home: Path, name: str, parts: list[tuple[str, list[Record], Vectors]]) -> str:
    """Put records aside, as quinion 0.1 did while it replaced them; return the file's old path."""
    described = json.dumps(
        [[name, [[r.id, r.text, dict(r.metadata)] for r in records]] for name, records, _ in parts]
    )
    (home / "replacing").mkdir(exist_ok=True)
    with (home / "replacing" / name).open("wb") as file:
        np.savez(file, np.frombuffer(described.encode(), np.uint8), *(part[2] for part in parts))
    return f"{home_v1.EXPECTED['made_by']['home']}/replacing/{name}"


def test_a_replacement_that_was_not_finished_is_undone(unpacked: Path, home: Path) -> None:
    """The new chunks are there in part, and the old ones come back from their file."""
    intact = unpacked.parent / "intact"
    if not intact.exists():
        shutil.copytree(unpacked, intact)
        adopt(intact)
    with closing(EmbeddedStore(intact / "store")) as store:
        old, vectors = store.get_with_vectors(Selector.by_values(CHUNKS, document_id=DOCUMENT))
    assert len(old) == 5
    nothing: Vectors = np.empty((0, 384), np.float32)
    path = save_aside(home, "aa.npz", [(CHUNKS, old, vectors), (CHUNKS, [], nothing)])
    first = old[0].id
    begin(home, [[CHUNKS, [["document_id", DOCUMENT]], []], [CHUNKS, [], [first, "new"]]], path)
    # One chunk has its new text with a valid checksum; the others are already deleted.
    new = Record(first, "a new text", old[0].metadata)
    with closing(EmbeddedStore(home.parent / "scratch")) as scratch:
        with scratch.transaction() as transaction:
            transaction.upsert("c", [new], vectors[:1], "")
    with closing(sqlite3.connect(home.parent / "scratch" / "store.db")) as database:
        [(checksum,)] = database.execute("SELECT checksum FROM records")
    execute(
        ledger_of(home),
        "UPDATE records SET text = 'a new text', checksum = ? WHERE id = ?",
        *(checksum, first),
    )
    assert adopt_and_read(home) == home_v1.expected_content()
    assert not (home / "replacing").exists()


# Several ledgers.


def add_ledger(home: Path, name: str) -> Path:
    return shutil.copytree(home / home_v1.LEDGER, home / "ledger" / name)


def test_an_empty_ledger_beside_a_full_one_is_ignored(home: Path) -> None:
    """Searching a moved home made one."""
    empty = add_ledger(home, name_ledger(str(home / "chroma"))) / "ledger.db"
    for table in ("records", "collections", "free", "facts", "holders"):
        execute(empty, f"DELETE FROM {table}")
    assert adopt_and_read(home) == home_v1.expected_content()


def test_several_ledgers_are_refused_and_nothing_is_changed(home: Path) -> None:
    other = add_ledger(home, name_ledger(str(home / "chroma")))
    before = list_files(home)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="several ledgers") as refused:
            adopt(home)
        assert f"{home / home_v1.LEDGER} (" in refused.value.message
        assert f"{other} (" in refused.value.message
        assert list_files(home) == before
    other.rename(home.parent / "out of the home")
    assert adopt_and_read(home) == home_v1.expected_content()


def test_a_damaged_ledger_is_an_error_with_advice(home: Path) -> None:
    ledger_of(home).write_bytes(b"no database" * 1_000)
    before = list_files(home)
    with pytest.raises(StoreUnavailable, match=r"damaged.*quinion restore.*quinion import chroma"):
        adopt(home)
    assert list_files(home) == before


# Interruptions.


def test_a_migration_that_was_interrupted_is_completed(home: Path) -> None:
    ledger = home / home_v1.LEDGER
    (ledger / "ledger.db").rename(ledger / "store.db")
    for number in (1, 3):
        (ledger / f"{number}.rows").rename(ledger / f"{number}.vectors")
    assert adopt_and_read(home) == home_v1.expected_content()


def test_a_migration_that_was_interrupted_before_its_last_step_is_completed(
    unpacked: Path, home: Path
) -> None:
    adopt(home)
    (home / "ledger").mkdir()
    (home / "store").rename(home / "ledger" / "0088f9ac")
    for name in ("journal.db", "marks.db"):
        shutil.copy(unpacked / name, home)
    assert adopt_and_read(home) == home_v1.expected_content()
    assert {path.name for path in home.iterdir()} == {
        *("backups", "chroma", "library", "policies.db", "store")
    }


def test_a_copy_to_another_file_system_that_was_interrupted_is_begun_again(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    (volume / "store.migrating").mkdir()
    (volume / "store.migrating" / "1.vectors").write_bytes(b"a half")
    (home / home_v1.LEDGER).rename(home / "ledger" / name_ledger(str(volume)))
    rename = Path.rename

    def refuse(source: Path, target: Path) -> Path:
        if source.parent == home / "ledger" and Path(target).parent == volume:
            raise OSError(18, "Invalid cross-device link")
        return rename(source, target)

    monkeypatch.setattr(Path, "rename", refuse)
    adopt_ledger(home, volume / "store", str(volume))
    assert read(volume / "store") == home_v1.expected_content()
    assert [path.name for path in volume.iterdir()] == ["store"]
    assert not (home / "ledger").exists()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(bool(why_not()), reason=why_not())
def test_a_migration_that_is_killed_anywhere_is_completed_by_the_next(tmp_path: Path) -> None:
    """Runs in a separate process, because it must be single-threaded."""
    command = [sys.executable, "-m", "tests.unit.store.embedded.killing_migration", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    result = json.loads(ended.stdout.splitlines()[-1])
    assert result["killed"] >= 12
    assert result["wrong"] == []
