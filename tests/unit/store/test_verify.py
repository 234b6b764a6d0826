"""Integrity check and repair: damage is reported and repaired from the records or the mirror.

Tested with a Chroma mirror, where each record has two copies, and without one.
"""

import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quinion.errors import InvalidInput, StoreUnavailable
from quinion.model.record import Record
from quinion.store.base import Selector
from quinion.store.chroma.client import ChromaClient
from quinion.store.chroma.process import open_chroma
from quinion.store.embedded.store import EmbeddedStore
from quinion.store.factory import StorePlace, open_store
from quinion.store.rebuild import rebuild
from tests.unit.store.damage import (
    COLLECTION,
    COUNT,
    KEPT,
    LINES,
    WIDTH,
    ask,
    check,
    chroma_of,
    codes_of,
    copy_home,
    database_of,
    execute,
    fill,
    flip,
    flip_in,
    low_limits,
    make_intact,
    make_record,
    make_vectors,
    place_of,
    truncate,
    vectors_of,
    verify,
)


@pytest.fixture(scope="module", autouse=True)
def _low_limits() -> Iterator[None]:
    with low_limits():
        yield


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("intact") / "home"
    fill(home)
    return home


@pytest.fixture(scope="module")
def answers(intact: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return ask(copy_home(intact, tmp_path_factory.mktemp("asked") / "home"))


@pytest.fixture
def home(intact: Path, tmp_path: Path) -> Path:
    return copy_home(intact, tmp_path / "home")


def find_rows(home: Path, query: str, *values: object) -> list[Any]:
    with closing(sqlite3.connect(database_of(home))) as database:
        return database.execute(query, values).fetchall()


def find_row(home: Path, id_: str) -> list[Any]:
    return find_rows(home, "SELECT * FROM records WHERE id = ?", id_)


def change_chroma(home: Path, change: Callable[[ChromaClient], object]) -> None:
    with closing(open_chroma(home / "chroma")) as chroma:
        change(chroma)


def delete_from_chroma(home: Path, *ids: str) -> None:
    nothing = np.empty((0, 0), np.float32)
    change_chroma(home, lambda chroma: chroma.apply(COLLECTION, "", ids, [], nothing))


def test_an_intact_store_has_no_problems(home: Path) -> None:
    with closing(open_store(place_of(home))) as store:
        assert verify(store) == ([], [])
        assert verify(store, repair=True) == ([], [])
        report = store.check(COLLECTION)
    assert (report.records, report.problems, report.warnings) == (COUNT - 2, (), ())


def test_a_store_in_memory_has_nothing_to_check() -> None:
    with closing(EmbeddedStore(None)) as store:
        with store.transaction() as transaction:
            transaction.upsert(COLLECTION, [make_record(1)], make_vectors(1, 1), "model")
        assert store.check_files() == []
        assert store.check(COLLECTION, repair=True).records == 1
        assert store.check(COLLECTION).problems == ()


# Records, repaired from the mirror.

RECORDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit of a vector is flipped": (
        lambda home: flip(vectors_of(home), 40 * WIDTH + 3, 4),
        "texts: id 40 does not match its checksum",
    ),
    "a bit of a text is flipped": (
        lambda home: flip_in(database_of(home), b"the text of 31."),
        "texts: id 31 does not match its checksum",
    ),
    "a bit of metadata is flipped": (
        lambda home: flip_in(database_of(home), '"half": 1, "name": "näme 77"'.encode()),
        "texts: id 77 does not match its checksum",
    ),
    "metadata is not JSON": (
        lambda home: execute(
            database_of(home), "UPDATE records SET metadata = '{' WHERE id = 'id 9'"
        ),
        "texts: id 9 does not match its checksum",
    ),
    "metadata is JSON of another type": (
        lambda home: execute(
            database_of(home), "UPDATE records SET metadata = '3' WHERE id = 'id 9'"
        ),
        "texts: id 9 does not match its checksum",
    ),
    "a text is not UTF-8": (
        lambda home: execute(
            database_of(home), "UPDATE records SET text = CAST(x'ff41' AS TEXT) WHERE id = 'id 9'"
        ),
        "texts: id 9 does not match its checksum",
    ),
    "a text has become bytes": (
        lambda home: execute(
            database_of(home), "UPDATE records SET text = CAST(text AS BLOB) WHERE id = 'id 650'"
        ),
        "texts: id 650 does not match its checksum",
    ),
    "metadata has become bytes": (
        lambda home: execute(
            database_of(home),
            "UPDATE records SET metadata = CAST(metadata AS BLOB) WHERE id = 'id 650'",
        ),
        "texts: id 650 does not match its checksum",
    ),
    "a checksum is wrong": (
        lambda home: execute(
            database_of(home), "UPDATE records SET checksum = 1 WHERE id = 'id 7'"
        ),
        "texts: id 7 does not match its checksum",
    ),
    "the vectors are truncated": (
        lambda home: truncate(vectors_of(home)),
        "more records do not match their checksums",
    ),
    "the vectors are deleted": (
        lambda home: vectors_of(home).unlink(),
        f"texts: {COUNT - 2 - 10:,} more records do not match their checksums",
    ),
    "the vectors are replaced by zeros": (
        lambda home: vectors_of(home).write_bytes(bytes(COUNT * WIDTH)),
        f"texts: {COUNT - 2 - 10:,} more records do not match their checksums",
    ),
}

KEYWORDS_DIFFER = "texts: the keyword index does not match the records"
INDEXES: dict[str, tuple[Callable[[Path], object], str]] = {
    "postings are missing": (
        lambda home: execute(
            database_of(home),
            "DELETE FROM metadata_postings WHERE value = (SELECT number FROM metadata_values "
            "WHERE key = 'half' AND value = '1')",
        ),
        "texts: the metadata index does not match the records",
    ),
    "a value of the metadata index is another": (
        lambda home: execute(
            database_of(home),
            "UPDATE metadata_values SET value = '-6' WHERE key = 'n' AND value = '5'",
        ),
        "texts: the metadata index does not match the records",
    ),
    "postings of no value": (
        lambda home: execute(database_of(home), "DELETE FROM metadata_values WHERE key = 'half'"),
        "texts: the metadata index does not match the records",
    ),
    "postings of words are missing": (
        lambda home: execute(database_of(home), "DELETE FROM keyword_postings WHERE term = 'text'"),
        KEYWORDS_DIFFER,
    ),
    "a term is another": (
        lambda home: execute(
            database_of(home), "UPDATE keyword_postings SET term = 'texu' WHERE term = 'text'"
        ),
        KEYWORDS_DIFFER,
    ),
    "postings of words can't be decoded": (
        lambda home: execute(
            database_of(home), "UPDATE keyword_postings SET postings = x'00' WHERE term = 'text'"
        ),
        KEYWORDS_DIFFER,
    ),
    "a posting is of a slot without a record": (
        lambda home: execute(
            database_of(home), "UPDATE keyword_postings SET block = 9 WHERE term = 'text'"
        ),
        KEYWORDS_DIFFER,
    ),
    "the lengths of texts are missing": (
        lambda home: execute(database_of(home), "DELETE FROM keyword_lengths WHERE collection = 1"),
        KEYWORDS_DIFFER,
    ),
    "the lengths of texts can't be decoded": (
        lambda home: execute(
            database_of(home), "UPDATE keyword_lengths SET lengths = 'x' WHERE collection = 1"
        ),
        KEYWORDS_DIFFER,
    ),
    "the codes are deleted": (
        lambda home: codes_of(home).unlink(),
        "texts: the binary codes do not match the vectors",
    ),
    "the codes are truncated": (
        lambda home: truncate(codes_of(home)),
        "texts: the binary codes do not match the vectors",
    ),
    "a bit of a code is flipped": (
        lambda home: flip(codes_of(home), 8 * 100, 2),
        "texts: the binary codes do not match the vectors",
    ),
}

QUICK = {
    "a bit of a text is flipped",
    "a checksum is wrong",
    "the vectors are truncated",
    "postings are missing",
    "postings of words are missing",
    "the codes are deleted",
}
"""Cases that are always tested."""


def each(cases: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(*case, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, case in cases.items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "named"), each(RECORDS))
def test_a_damaged_record_is_named_and_repaired_from_the_mirror(
    damage: Callable[[Path], object], named: str, home: Path, answers: list[Any]
) -> None:
    damage(home)
    with closing(open_store(place_of(home))) as store:
        problems, repaired = verify(store)
        assert named in "\n".join(problems)
        assert not repaired
        assert verify(store)[0] == problems  # a check changes nothing
        problems, repaired = verify(store, repair=True)
        assert not problems
        assert named in "\n".join(repaired)
        assert verify(store) == ([], [])
    assert ask(home) == answers


@pytest.mark.parametrize(("damage", "named"), each(INDEXES))
@pytest.mark.parametrize("mirrored", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_damaged_index_is_named_and_repaired_from_the_records(
    damage: Callable[[Path], object],
    named: str,
    mirrored: bool,
    home: Path,
    answers: list[Any],
) -> None:
    damage(home)
    with closing(open_store(place_of(home, mirrored=mirrored))) as store:
        assert verify(store) == ([named], [])
        assert verify(store, repair=True) == ([], [named])
        assert verify(store) == ([], [])
    assert ask(home) == answers


@pytest.mark.parametrize(("damage", "named"), each(RECORDS))
def test_without_a_mirror_damaged_records_are_named_and_stay(
    damage: Callable[[Path], object], named: str, home: Path
) -> None:
    damage(home)
    with closing(sqlite3.connect(database_of(home))) as database:
        query = "SELECT id, slot, text, metadata, checksum FROM records"
        database.text_factory = bytes
        before = database.execute(query).fetchall()
        with closing(open_store(place_of(home, mirrored=False))) as store:
            problems, _ = verify(store)
            assert named in "\n".join(problems)
            assert verify(store, repair=True) == (problems, [])
        assert database.execute(query).fetchall() == before


@pytest.mark.slow
def test_records_without_an_intact_copy_are_reported_and_the_rest_is_repaired(home: Path) -> None:
    flip_in(database_of(home), b"the text of 31.")
    flip_in(database_of(home), b"the text of 77.")
    delete_from_chroma(home, "id 31")
    before = find_row(home, "id 31")
    lost, repaired = (f"texts: id {n} does not match its checksum" for n in (31, 77))
    with closing(open_store(place_of(home))) as store:
        assert verify(store) == ([lost, repaired], [])
        assert verify(store, repair=True) == ([lost], [repaired])
        assert verify(store) == ([lost], [])
        assert store.get(COLLECTION, ids=["id 77"]) == [make_record(77)]
    assert find_row(home, "id 31") == before


@pytest.mark.slow
def test_a_copy_in_the_mirror_that_is_damaged_too_repairs_nothing(home: Path) -> None:
    flip_in(database_of(home), b"the text of 31.")
    execute(
        chroma_of(home),
        "UPDATE embedding_metadata SET string_value = 'x' WHERE string_value LIKE '%of 31.'",
    )
    before = find_row(home, "id 31")
    named = "texts: id 31 does not match its checksum"
    with closing(open_store(place_of(home))) as store:
        assert verify(store, repair=True) == ([named], [])
    assert find_row(home, "id 31") == before


@pytest.mark.slow
def test_a_damaged_mirror_is_a_warning_and_is_repaired(home: Path, answers: list[Any]) -> None:
    execute(
        chroma_of(home),
        "UPDATE embedding_metadata SET string_value = 'x' WHERE string_value LIKE '%of 77.'",
    )
    delete_from_chroma(home, "id 5")
    with closing(open_store(place_of(home))) as store:
        report = store.check(COLLECTION)
        assert not report.problems
        [warning] = report.warnings
        assert "the Chroma mirror lacks 2 records or has other versions" in warning
        assert "quinion verify --repair" in warning
        assert not store.check(COLLECTION, repair=True).warnings
        assert not store.check(COLLECTION).warnings
    assert ask(home) == answers


def test_a_change_of_metadata_does_not_hide_that_the_vector_is_damaged(home: Path) -> None:
    flip(vectors_of(home), 40 * WIDTH + 3, 4)
    with closing(open_store(place_of(home, mirrored=False))) as store:
        with store.transaction() as transaction:
            selector = Selector.by_ids(COLLECTION, ["id 40", "id 41"])
            assert transaction.update_metadata(selector, {"half": 7}) == 2
        assert verify(store)[0] == ["texts: id 40 does not match its checksum"]


def test_a_slot_that_the_index_has_lost_and_a_record_has_is_not_overwritten(
    home: Path, answers: list[Any]
) -> None:
    # The posting list of the value that every record has loses its record at slot 40.
    execute(
        database_of(home),
        "UPDATE metadata_postings "
        "SET slots = CAST(substr(slots, 1, 80) || substr(slots, 83) AS BLOB) "
        "WHERE value = (SELECT number FROM metadata_values WHERE key = '' AND collection = 1)",
    )
    with closing(open_store(place_of(home, mirrored=False))) as store:
        new = [make_record(COUNT + n) for n in range(20)]
        with store.transaction() as transaction:
            transaction.upsert(COLLECTION, new, make_vectors(20, 3), "model")
        assert verify(store)[0] == ["texts: the metadata index does not match the records"]
        assert store.check(COLLECTION, repair=True).problems == ()
        with store.transaction() as transaction:
            transaction.delete(Selector.by_ids(COLLECTION, [one.id for one in new]))
    assert ask(home) == answers


def test_the_vectors_of_a_collection_that_is_not_listed_any_more_stay(
    home: Path, answers: list[Any]
) -> None:
    """Its records are still there: it was damaged, not dropped."""
    row = find_rows(home, "SELECT * FROM collections WHERE number = 1")[0]
    execute(database_of(home), "DELETE FROM collections WHERE number = 1")
    before = vectors_of(home).read_bytes()
    with closing(EmbeddedStore(home / "store")) as store:
        assert store.get(COLLECTION) == []
    assert vectors_of(home).read_bytes() == before
    with closing(sqlite3.connect(database_of(home))) as database, database:
        database.execute(f"INSERT INTO collections VALUES ({', '.join('?' * len(row))})", row)
    assert ask(home) == answers


def test_the_vectors_of_a_dropped_collection_are_deleted_at_the_next_start(home: Path) -> None:
    """The process died before it deleted them."""
    before = vectors_of(home).read_bytes()
    with closing(EmbeddedStore(home / "store")) as store:
        with store.transaction() as transaction:
            transaction.delete(Selector.everything(COLLECTION))
    vectors_of(home).write_bytes(before)
    with closing(EmbeddedStore(home / "store")):
        assert not vectors_of(home).exists()


# A search on damaged files.


@pytest.mark.parametrize("damage", [truncate, Path.unlink])
def test_a_search_reports_missing_vectors(damage: Callable[[Path], object], home: Path) -> None:
    damage(vectors_of(home))
    with closing(EmbeddedStore(home / "store")) as store:
        with pytest.raises(StoreUnavailable, match=r"vectors: it is damaged.*verify --repair"):
            store.search_vectors(COLLECTION, make_vectors(1, 2), 3)
        assert store.get(COLLECTION, ids=["id 5"]) == [make_record(5)]


@pytest.mark.parametrize("damage", [truncate, Path.unlink])
def test_missing_codes_are_written_again_by_a_search(
    damage: Callable[[Path], object], home: Path, answers: list[Any]
) -> None:
    damage(codes_of(home))
    assert ask(home) == answers
    assert check(home, mirrored=False) == ([], [])


def test_an_undecodable_record_is_an_error_with_advice(home: Path) -> None:
    execute(database_of(home), "UPDATE records SET metadata = '{' WHERE id = 'id 9'")
    with closing(EmbeddedStore(home / "store")) as store:
        with pytest.raises(StoreUnavailable, match=r"id 9 is damaged.*quinion verify --repair"):
            store.get(COLLECTION)
        assert store.get(COLLECTION, ids=["id 5"]) == [make_record(5)]


# A database that SQLite reports as damaged.


def find_problems(home: Path) -> list[str]:
    """Return the reported file problems, from an error or a list."""
    try:
        with closing(open_store(place_of(home))) as store:
            return store.check_files()
    except StoreUnavailable as error:
        return [error.message]


def scribble(home: Path) -> None:
    """Overwrite a page in the middle of the database."""
    with database_of(home).open("r+b") as file:
        file.seek(40 * 4096)
        file.write(b"\xaa" * 4096)


def lose_index(home: Path) -> None:
    """Corrupt an index of SQLite so that it does not match its table."""
    with closing(sqlite3.connect(database_of(home))) as database, database:
        database.execute("PRAGMA writable_schema=ON")
        [(root,)] = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'records_by_slot'"
        )
        other = "name = 'sqlite_autoindex_metadata_values_1'"
        [(page,)] = database.execute(f"SELECT rootpage FROM sqlite_master WHERE {other}")
        statement = "UPDATE sqlite_master SET rootpage = ? WHERE name = ?"
        database.execute(statement, (page, "records_by_slot"))
        database.execute(f"UPDATE sqlite_master SET rootpage = ? WHERE {other}", (root,))


@pytest.mark.slow
@pytest.mark.parametrize("damage", [scribble, lose_index])
def test_a_page_that_is_damaged_is_named_and_not_repaired_in_place(
    damage: Callable[[Path], None], home: Path, answers: list[Any]
) -> None:
    damage(home)
    problems = find_problems(home)
    assert problems
    assert all("quinion rebuild" in line for line in problems)
    report = make_intact(home)
    assert (report.records, report.lost) == (KEPT, [])
    assert check(home) == ([], [])
    assert ask(home) == answers


# Rebuilding.


def delete_database(home: Path) -> None:
    database_of(home).unlink()


def truncate_database(home: Path) -> None:
    truncate(database_of(home))


def replace_database(home: Path) -> None:
    database_of(home).write_bytes(b"no database at all" * 100)


def empty_database(home: Path) -> None:
    database_of(home).write_bytes(b"")


LOST = [delete_database, truncate_database, replace_database, empty_database]


@pytest.mark.parametrize(
    "damage",
    [
        truncate_database,
        *(pytest.param(one, marks=pytest.mark.slow) for one in LOST if one != truncate_database),
    ],
)
def test_a_store_whose_database_is_lost_is_rebuilt_from_the_mirror(
    damage: Callable[[Path], None], home: Path, answers: list[Any]
) -> None:
    damage(home)
    with pytest.raises(StoreUnavailable, match="quinion rebuild"):
        problems, _ = check(home)
        raise StoreUnavailable("\n".join(problems))  # it opens; the message has advice
    report = rebuild(place_of(home))
    assert (report.records, report.lost, report.problems) == (KEPT, [], [])
    aside = report.aside[0]
    assert aside.name.startswith("store.damaged-")
    assert (aside / "1.vectors").stat().st_size
    assert check(home) == ([], [])
    assert ask(home)[:-1] == answers[:-1]


@pytest.mark.parametrize("damage", LOST)
def test_a_lost_database_is_not_taken_for_an_empty_store(
    damage: Callable[[Path], None], home: Path
) -> None:
    """A write would hide that everything else was lost."""
    damage(home)
    before = {path: path.read_bytes() for path in vectors_of(home).parent.glob("*.vectors")}
    with pytest.raises(StoreUnavailable, match="quinion re"):
        with closing(EmbeddedStore(home / "store")) as store, store.transaction() as transaction:
            transaction.upsert(COLLECTION, [make_record(5)], make_vectors(1, 1), "model")
            store.get(COLLECTION)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.slow
def test_a_store_whose_folder_is_gone_is_rebuilt_from_the_mirror(
    home: Path, answers: list[Any]
) -> None:
    shutil.rmtree(home / "store")
    report = rebuild(place_of(home))
    assert (report.records, report.problems) == (KEPT, [])
    assert ask(home)[:-1] == answers[:-1]


def test_a_new_home_is_rebuilt_to_an_empty_store(tmp_path: Path) -> None:
    report = rebuild(place_of(tmp_path / "home"))
    assert (report.records, report.aside, report.lost, report.problems) == (0, [], [], [])


@pytest.mark.slow
def test_intact_records_are_kept_where_the_mirror_is_gone(home: Path) -> None:
    flip_in(database_of(home), b"the text of 31.")
    flip(vectors_of(home), 40 * WIDTH + 3, 4)
    shutil.rmtree(home / "chroma")
    report = rebuild(place_of(home))
    assert report.records == KEPT - 2
    assert [line for line in report.lost if line.startswith("texts: ")] == [
        "texts: id 31",
        "texts: id 40",
    ]
    with closing(open_store(place_of(home))) as store:
        assert verify(store) == ([], [])
        assert store.get(COLLECTION, ids=["id 5", "id 31", "id 40"]) == [make_record(5)]
        assert store.values("a ") == {"a key": "a value"}
        assert store.model(COLLECTION) == "model"


def test_only_the_records_of_a_damaged_page_are_lost_and_each_is_named(home: Path) -> None:
    """Those before it and those behind it are read from the same damaged table."""
    page = database_of(home).read_bytes().index(b"the text of 700.") // 4096
    with database_of(home).open("r+b") as file:
        file.seek(page * 4096)
        file.write(b"\xaa" * 4096)
    report = rebuild(place_of(home, mirrored=False))
    named = [line for line in report.lost if line.startswith("texts: id ")]
    assert "texts: id 700" in named
    assert len(named) < 60  # as many as fit on a page
    assert report.records == KEPT - len(named)
    assert check(home, mirrored=False) == ([], [])


@pytest.mark.slow
def test_a_damaged_record_is_taken_from_the_mirror_by_a_rebuild(
    home: Path, answers: list[Any]
) -> None:
    flip_in(database_of(home), b"the text of 31.")
    report = rebuild(place_of(home))
    assert (report.records, report.lost, report.problems) == (KEPT, [], [])
    assert check(home) == ([], [])
    assert ask(home) == answers


@pytest.mark.slow
def test_data_without_an_intact_copy_is_reported_as_lost(home: Path) -> None:
    flip_in(database_of(home), b"the text of 31.")
    delete_from_chroma(home, "id 31")
    report = rebuild(place_of(home))
    assert (report.records, report.lost) == (KEPT - 1, ["texts: id 31"])
    assert (report.aside[0] / "store.db").exists()  # it still has the rest of the record
    assert check(home) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("id = 'id 65 '", "id 65 "),
        ("checksum = 'x'", "id 650"),
    ],
)
def test_a_record_that_cannot_be_repaired_in_place_is_not_lost_by_a_rebuild(
    change: str, named: str, home: Path, answers: list[Any]
) -> None:
    execute(database_of(home), f"UPDATE records SET {change} WHERE id = 'id 650'")
    assert check(home)[0] == [f"texts: {named} does not match its checksum"]
    assert make_intact(home).lost == []
    assert check(home) == ([], [])
    assert ask(home) == answers


@pytest.mark.slow
def test_deleted_records_in_the_mirror_are_not_restored(home: Path) -> None:
    with closing(EmbeddedStore(home / "store", mirrored=True)) as store:  # and no replicator
        with store.transaction() as transaction:
            transaction.delete(Selector.by_ids(COLLECTION, ["id 5", "id 6"]))
            transaction.delete(Selector.everything(LINES))
    flip_in(database_of(home), b"the text of 31.")
    report = rebuild(place_of(home))
    assert (report.records, report.lost) == (KEPT - 3, [])
    with closing(open_store(place_of(home))) as store:
        assert store.get(COLLECTION, ids=["id 5", "id 6"]) == []
        assert store.get(COLLECTION, ids=["id 31"]) == [make_record(31)]
        assert store.get(LINES) == []
        assert verify(store) == ([], [])
    with closing(open_chroma(home / "chroma")) as chroma:
        assert chroma.fetch(COLLECTION, ["id 5", "id 6", "id 7"]).keys() == {"id 7"}
        assert chroma.count(LINES) == 0


@pytest.mark.slow
def test_changes_missing_from_the_mirror_are_kept(home: Path) -> None:
    new = Record("id 7", "another text", {"n": 7})
    with closing(EmbeddedStore(home / "store", mirrored=True)) as store:
        with store.transaction() as transaction:
            transaction.upsert(COLLECTION, [new], make_vectors(1, 3), "model")
    flip_in(database_of(home), b"the text of 31.")
    report = rebuild(place_of(home))
    assert (report.records, report.lost) == (KEPT, [])
    with closing(open_store(place_of(home))) as store:
        assert store.get(COLLECTION, ids=["id 7", "id 31"]) == [new, make_record(31)]
        assert verify(store) == ([], [])


@pytest.mark.parametrize("mirror", ["damaged", "deleted", "off"])
def test_where_nothing_can_be_rebuilt_nothing_is_moved(mirror: str, home: Path) -> None:
    replace_database(home)
    if mirror == "damaged":
        chroma_of(home).write_bytes(b"no database at all" * 100)
    elif mirror == "deleted":
        shutil.rmtree(home / "chroma")
    before = read_all(home)
    with pytest.raises(StoreUnavailable, match="quinion restore"):
        rebuild(place_of(home, mirrored=mirror != "off"))
    assert read_all(home) == before


def read_all(home: Path) -> dict[Path, bytes]:
    """Read all files except locks and SQLite's temporary files."""
    found = (path for path in home.rglob("*") if path.is_file())
    passing = ("-wal", "-shm", ".lock")
    return {path: path.read_bytes() for path in found if not path.name.endswith(passing)}


def test_a_store_in_memory_cannot_be_rebuilt(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="in memory"):
        rebuild(StorePlace(tmp_path, None))


@pytest.mark.slow
def test_a_rebuild_of_an_intact_store_rebuilds_indexes_and_mirror(
    home: Path, answers: list[Any]
) -> None:
    INDEXES["postings are missing"][0](home)
    codes_of(home).unlink()
    delete_from_chroma(home, "id 5")
    report = rebuild(place_of(home))
    assert (report.records, report.lost, report.problems) == (KEPT, [], [])
    [aside] = report.aside
    assert aside.parent == home / "chroma"
    assert (aside / "chroma.sqlite3").exists()
    assert check(home) == ([], [])
    assert ask(home) == answers
    with closing(open_chroma(home / "chroma")) as chroma:
        assert chroma.count(COLLECTION) == COUNT - 2
        assert chroma.fetch(COLLECTION, ["id 5"])["id 5"][0] == make_record(5)


def test_a_rebuild_without_a_mirror_leaves_chroma_alone(home: Path, answers: list[Any]) -> None:
    INDEXES["postings are missing"][0](home)
    before = chroma_of(home).read_bytes()
    report = rebuild(place_of(home, mirrored=False))
    assert (report.records, report.aside, report.lost, report.problems) == (KEPT, [], [], [])
    assert ask(home) == answers
    assert chroma_of(home).read_bytes() == before


def test_a_store_of_a_newer_quinion_is_not_rebuilt(home: Path) -> None:
    statements = "PRAGMA user_version=99", "ALTER TABLE collections RENAME TO sets"
    execute_all(database_of(home), *statements)
    before = database_of(home).read_bytes(), chroma_of(home).read_bytes()
    with pytest.raises(StoreUnavailable, match=r"newer quinion \(schema 99"):
        rebuild(place_of(home))
    assert (database_of(home).read_bytes(), chroma_of(home).read_bytes()) == before


def execute_all(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in statements:
            database.execute(statement)


def test_a_rebuild_that_was_interrupted_before_its_last_step_is_completed(
    home: Path, answers: list[Any]
) -> None:
    """The damaged store is aside, and the rebuilt one not in its place yet."""
    (home / "store").rename(home / "store.rebuilt")
    with closing(open_store(place_of(home))) as store:
        assert verify(store) == ([], [])
    assert ask(home) == answers


@pytest.mark.slow
def test_a_rebuild_that_was_interrupted_in_the_middle_is_begun_again(
    home: Path, answers: list[Any]
) -> None:
    flip_in(database_of(home), b"the text of 31.")
    with closing(EmbeddedStore(home / "store.rebuilt")) as half:
        with half.transaction() as transaction:
            transaction.upsert(COLLECTION, [make_record(1)], make_vectors(1, 1), "model")
    assert check(home, mirrored=False)[0] == ["texts: id 31 does not match its checksum"]
    report = rebuild(place_of(home))
    assert (report.records, report.lost) == (KEPT, [])
    assert ask(home) == answers
    assert not (home / "store.rebuilt").exists()


# A damaged mirror as well.


def misread_in_chroma(home: Path) -> None:
    """Flip the bit that says how long a number is in a row of record 1193: Chroma does not find
    the record then."""
    content = chroma_of(home).read_bytes()
    row = re.search(rb"\x02\x15!\0\0\0..name" + "näme 1193".encode(), content, re.DOTALL)
    assert row
    flip(chroma_of(home), row.start())


@pytest.mark.slow
def test_records_missing_from_a_damaged_mirror_are_reported(home: Path) -> None:
    misread_in_chroma(home)
    database_of(home).unlink()
    report = rebuild(place_of(home))
    assert (report.records, report.lost) == (KEPT - 1, ["texts: id 1193"])
    assert check(home) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("part", ["header.bin", "data_level0.bin"])
def test_a_collection_without_its_graph_is_not_lost_in_silence(part: str, home: Path) -> None:
    [listed] = (home / "chroma").glob("*/index_metadata.pickle")  # the other graph is too small
    truncate(listed.with_name(part))
    database_of(home).unlink()
    report = rebuild(place_of(home))
    named = [line for line in report.lost if line.startswith("texts: id ")]
    in_doubt = any("that neither copy shows, if any (Chroma" in line for line in report.lost)
    assert report.lost
    assert in_doubt or report.records + len(named) == KEPT
    with closing(open_store(place_of(home))) as store:
        assert store.count(Selector.everything(LINES)) == 1  # its graph is intact
        assert verify(store) == ([], [])


@pytest.mark.slow
def test_damaged_copies_complement_each_other(home: Path, answers: list[Any]) -> None:
    misread_in_chroma(home)
    flip(vectors_of(home), 0)
    assert make_intact(home).lost == []
    assert ask(home) == answers


@pytest.mark.slow
@pytest.mark.parametrize("part", ["header.bin", "data_level0.bin", "index_metadata.pickle"])
def test_a_damaged_graph_of_chroma_costs_no_answer(
    part: str, home: Path, answers: list[Any]
) -> None:
    """Some of these end the process that reads them."""
    for path in (home / "chroma").glob(f"*/{part}"):
        for place in range(0, path.stat().st_size, 97):
            flip(path, place, 6)
    assert ask(home) == answers
    with closing(open_store(place_of(home))) as store:
        assert verify(store, repair=True) == ([], [])
    assert ask(home) == answers
