"""What is damaged is named, and mended from the other copy; the answers are as before."""

import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quinion.errors import StoreUnavailable
from quinion.model.record import Record
from quinion.store.chroma import Chroma, Place
from quinion.store.ledger import Ledger
from quinion.store.rebuilding import rebuild
from tests.unit.store.damage import (
    COLLECTION,
    COUNT,
    ask,
    copy_store,
    fill,
    flip,
    flip_in,
    make_well,
    truncate,
    verify,
)
from tests.unit.store.stores import open_store


@pytest.fixture(scope="module", autouse=True)
def _low_limits() -> Iterator[None]:
    """So that a small collection has codes."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in (("CODED", 200), ("EXACT", 100), ("FEW", 100)):
            patch.setattr(f"quinion.store.shelves.{name}", limit)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "store"
    fill(folder)
    return folder


@pytest.fixture(scope="module")
def answers(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return ask(copy_store(whole, tmp_path_factory.mktemp("asked") / "store"))


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    return copy_store(whole, tmp_path / "store")


def database(folder: Path) -> Path:
    return folder / "ledger" / "ledger.db"


def rows(folder: Path) -> Path:
    return folder / "ledger" / "1.rows"


def codes(folder: Path) -> Path:
    return folder / "ledger" / "1.codes"


def chromas(folder: Path) -> Path:
    return folder / "chroma" / "chroma.sqlite3"


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def look(folder: Path) -> tuple[list[str], list[str]]:
    with closing(open_store(folder)) as store:
        return verify(store)


def test_a_store_that_is_well(folder: Path) -> None:
    with closing(open_store(folder)) as store:
        assert verify(store) == ([], [])
        assert verify(store, repair=True) == ([], [])


MENDABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "Chroma's folder is gone": (
        lambda folder: shutil.rmtree(folder / "chroma"),
        f"texts: {COUNT - 12:,} more: Chroma does not have it",
    ),
    "Chroma has lost a record": (
        lambda folder: Chroma(Place(folder / "chroma")).delete(COLLECTION, ["id 5"]),
        "texts: id 5: Chroma does not have it",
    ),
    "Chroma has another text": (
        lambda folder: execute(
            chromas(folder),
            "UPDATE embedding_metadata SET string_value = 'x' WHERE string_value LIKE '%of 77.'",
        ),
        "texts: id 77: Chroma's copy is not what was written",
    ),
    "a bit of a vector is flipped": (
        lambda folder: flip(rows(folder), 40 * 256 + 3, 4),
        "texts: id 40: the ledger's copy is damaged, and Chroma's is whole",
    ),
    "a bit of a text is flipped": (
        lambda folder: flip_in(database(folder), b"the text of 31."),
        "texts: id 31: the ledger's copy is damaged, and Chroma's is whole",
    ),
    "a bit of metadata is flipped": (
        lambda folder: flip_in(database(folder), '"half": 1, "name": "näme 77"'.encode()),
        "texts: id 77: the ledger's copy is damaged, and Chroma's is whole",
    ),
    "a text is none any more": (
        lambda folder: execute(
            database(folder), "UPDATE records SET text = CAST(x'ff41' AS TEXT) WHERE id = 'id 9'"
        ),
        "texts: id 9: the ledger's copy is damaged, and Chroma's is whole",
    ),
    "a checksum is wrong": (
        lambda folder: execute(database(folder), "UPDATE records SET checksum = 1 WHERE number=8"),
        "texts: id 7: its checksum is damaged; its two copies agree",
    ),
    "the ledger has lost a record": (
        lambda folder: execute(database(folder), "DELETE FROM records WHERE id = 'id 700'"),
        "texts: id 700: the ledger does not have it",
    ),
    "a fact is not noted": (
        lambda folder: execute(
            database(folder),
            "DELETE FROM holders WHERE fact = (SELECT number FROM facts WHERE key = 'half' "
            "AND value = '1')",
        ),
        "texts: the facts do not say what the records say",
    ),
    "a fact is another": (
        lambda folder: execute(
            database(folder), "UPDATE facts SET value = '-6' WHERE key = 'n' AND value = '5'"
        ),
        "texts: the facts do not say what the records say",
    ),
    "the codes are gone": (
        lambda folder: codes(folder).unlink(),
        "texts: the codes are not those of the vectors",
    ),
    "a bit of a code is flipped": (
        lambda folder: flip(codes(folder), 8 * 100, 2),
        "texts: the codes are not those of the vectors",
    ),
    "the vectors are cut off": (
        lambda folder: truncate(rows(folder)),
        "the ledger's copy is damaged, and Chroma's is whole",
    ),
    "the vectors are gone": (
        lambda folder: rows(folder).unlink(),
        f"texts: {COUNT - 12:,} more: the ledger's copy is damaged, and Chroma's is whole",
    ),
}


QUICK = {
    "Chroma's folder is gone",
    "a bit of a vector is flipped",
    "a bit of a text is flipped",
    "a fact is not noted",
    "the codes are gone",
    "the vectors are cut off",
}
"""Those that are tried every time."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in MENDABLE],
)
def test_what_can_be_mended_is_named_and_mended(
    name: str, folder: Path, answers: list[Any]
) -> None:
    damage, named = MENDABLE[name]
    damage(folder)
    with closing(open_store(folder)) as store:
        problems, mended = verify(store)
        assert named in "\n".join(problems)
        assert not mended
        assert verify(store)[0] == problems  # to look changes nothing
        problems, mended = verify(store, repair=True)
        assert not problems
        assert named in "\n".join(mended)
        assert verify(store) == ([], [])
    assert ask(folder) == answers


def cut_chroma(folder: Path) -> None:
    truncate(chromas(folder))


def empty_chroma(folder: Path) -> None:
    chromas(folder).write_bytes(b"no database at all" * 100)


def cut_ledger(folder: Path) -> None:
    truncate(database(folder))


def empty_ledger(folder: Path) -> None:
    database(folder).write_bytes(b"no database at all" * 100)


@pytest.mark.parametrize("damage", [cut_chroma, empty_chroma, cut_ledger, empty_ledger])
def test_what_cannot_be_opened_is_made_anew(
    damage: Callable[[Path], None], folder: Path, answers: list[Any]
) -> None:
    damage(folder)
    with pytest.raises(StoreUnavailable, match="quinion rebuild"):
        problems, _ = look(folder)
        raise StoreUnavailable("\n".join(problems))  # opened, but not whole
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert (done.records, done.lost, done.problems) == (COUNT - 1, [], [])
    assert [path.name.partition(".")[0] for path in done.aside] == [
        "chroma" if "chroma" in damage.__name__ else "ledger"
    ]
    assert all(path.exists() for path in done.aside)
    assert look(folder) == ([], [])
    assert ask(folder) == answers


def test_a_ledger_that_is_gone_is_made_anew_from_chroma(folder: Path, answers: list[Any]) -> None:
    shutil.rmtree(folder / "ledger")
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert (done.records, done.aside, done.lost) == (COUNT - 1, [], [])
    assert ask(folder) == answers


@pytest.mark.slow
@pytest.mark.parametrize("part", ["header.bin", "data_level0.bin", "index_metadata.pickle"])
def test_a_damaged_graph_of_chromas_is_no_loss(part: str, folder: Path, answers: list[Any]) -> None:
    """Some of these end the process that reads them."""
    for path in (folder / "chroma").glob(f"*/{part}"):
        for place in range(0, path.stat().st_size, 97):
            flip(path, place, 6)
    assert make_well(folder) == []
    assert ask(folder) == answers


def run(folder: Path, statement: str) -> int:
    """In a process of its own, which may die; how it ended."""
    program = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tests.unit.store.damage import fill\n"
        "from tests.unit.store.stores import open_store\n"
        "from quinion.store.vectors import VectorStore\n"
        f"folder = Path(sys.argv[1])\n{statement}"
    )
    command = [sys.executable, "-c", program, str(folder)]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode


def test_a_chroma_that_ends_processes_does_not_end_ours(tmp_path: Path, answers: list[Any]) -> None:
    # Killed, and not closed: Chroma has yet to add to its graph what was written last.
    dying = "lambda self: (self.catch_up('texts'), os._exit(0))"
    run(tmp_path, f"VectorStore.close = {dying}\nfill(folder)")
    for header in (tmp_path / "chroma").glob("*/header.bin"):
        truncate(header)
    with closing(open_store(tmp_path)) as store:
        with pytest.raises(StoreUnavailable, match="quinion rebuild"):
            store.agree([COLLECTION])
        assert store.get(COLLECTION, ids=["id 5"])[0].text == "the text of 5."
    assert make_well(tmp_path) == []
    assert ask(tmp_path)[-2:] == answers[-2:]


def test_a_rebuild_of_what_is_well_changes_no_answer(folder: Path, answers: list[Any]) -> None:
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert (done.records, done.lost, done.problems) == (COUNT - 1, [], [])
    assert ask(folder) == answers


def test_what_has_no_whole_copy_is_named_and_not_touched(folder: Path) -> None:
    flip_in(database(folder), b"the text of 31.")
    chroma = Chroma(Place(folder / "chroma"))
    chroma.delete(COLLECTION, ["id 31"])
    chroma.close()
    named = "texts: id 31: the ledger's copy is damaged, and Chroma has no whole one"
    before = database(folder).read_bytes()
    with closing(open_store(folder)) as store:
        assert verify(store) == ([named], [])
        assert verify(store, repair=True) == ([named], [])
    assert database(folder).read_bytes() == before
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert done.lost == ["texts: id 31"]
    assert len(done.aside) == 1  # the ledger, which still has what is left of it
    assert look(folder) == ([], [])


def test_where_both_are_damaged_nothing_is_moved(folder: Path) -> None:
    empty_ledger(folder)
    empty_chroma(folder)
    before = sorted(path.name for path in folder.rglob("*"))
    with pytest.raises(StoreUnavailable, match="quinion restore"):
        rebuild(folder / "ledger", Place(folder / "chroma"))
    assert sorted(path.name for path in folder.rglob("*")) == before


def misread_in_chroma(folder: Path) -> None:
    """Turn over the bit that says how long a number is in a row of record 1193: Chroma does not
    find the record then."""
    content = chromas(folder).read_bytes()
    row = re.search(rb"\x02\x15!\0\0\0..name" + "näme 1193".encode(), content, re.DOTALL)
    assert row
    flip(chromas(folder), row.start())


def test_what_a_damaged_chroma_does_not_show_is_not_lost_in_silence(folder: Path) -> None:
    misread_in_chroma(folder)
    database(folder).unlink()
    with pytest.raises(StoreUnavailable, match="quinion rebuild"):
        look(folder)
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert done.records == COUNT - 2
    assert [line.partition(" (")[0] for line in done.lost] == [
        "texts: id 1193: Chroma can't read it",
        "what Chroma does not show, if anything",
    ]
    assert [path.name.partition(".")[0] for path in done.aside] == ["chroma"]
    assert look(folder) == ([], [])


def test_a_ledger_is_not_made_from_a_chroma_that_shows_something_else(folder: Path) -> None:
    """A bit in its index of ids: Chroma reads all that it finds, and finds one for another."""
    entry = re.search(rb"[0-9a-f]{12}id 1193", chromas(folder).read_bytes())
    assert entry
    flip(chromas(folder), entry.end() - 1)
    database(folder).unlink()
    with pytest.raises(StoreUnavailable, match="the ledger does not have all of it"):
        look(folder)


@pytest.mark.parametrize("part", ["header.bin", "data_level0.bin"])
def test_a_collection_without_its_graph_is_not_lost_in_silence(part: str, folder: Path) -> None:
    [listed] = (folder / "chroma").glob("*/index_metadata.pickle")  # the other graph is too small
    truncate(listed.with_name(part))
    database(folder).unlink()
    with pytest.raises(StoreUnavailable, match="quinion rebuild"):
        look(folder)
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    [lost] = done.lost
    assert lost.startswith("what Chroma does not show, if anything (The process of")
    assert done.records == 1  # of the collection that is whole
    assert [path.name.partition(".")[0] for path in done.aside] == ["chroma"]
    assert look(folder) == ([], [])


def test_where_both_are_damaged_each_has_what_the_other_lacks(
    folder: Path, answers: list[Any]
) -> None:
    misread_in_chroma(folder)
    flip(rows(folder), 0)
    assert make_well(folder) == []
    assert ask(folder) == answers


def test_what_only_chroma_has_survives_a_rebuild(folder: Path) -> None:
    chroma = Chroma(Place(folder / "chroma"))
    chroma.upsert(
        COLLECTION, [Record("new", "of another program", {"n": 9})], np.ones((1, 64), "f4")
    )
    chroma.upsert("foreign", [Record("x", "x", {"n": 9})], np.ones((1, 3), "f4"))
    chroma.close()
    done = rebuild(folder / "ledger", Place(folder / "chroma"))
    assert (done.records, done.others) == (COUNT, ["foreign"])
    with closing(open_store(folder)) as store:
        assert [record.text for record in store.get(COLLECTION, ids=["new"])] == [
            "of another program"
        ]


def test_a_change_of_metadata_does_not_hide_that_the_vector_is_damaged(folder: Path) -> None:
    flip(rows(folder), 40 * 256 + 3, 4)
    with closing(Ledger(folder / "ledger")) as ledger:
        ledger.set_metadata(COLLECTION, ["id 40", "id 41"], {"half": 7})
    assert [line for line in look(folder)[0] if "ledger's copy" in line] == [
        "texts: id 40: the ledger's copy is damaged, and Chroma's is whole"
    ]


def test_a_record_whose_id_is_damaged_is_not_lost(folder: Path, answers: list[Any]) -> None:
    execute(database(folder), "UPDATE records SET id = 'id 65 ' WHERE id = 'id 650'")
    assert make_well(folder) == []
    assert ask(folder) == answers


@pytest.mark.parametrize("column", ["text", "metadata"])
def test_a_text_that_sqlite_takes_for_bytes_is_damage(
    folder: Path, answers: list[Any], column: str
) -> None:
    statement = f"UPDATE records SET {column} = CAST({column} AS BLOB) WHERE id = 'id 650'"
    execute(database(folder), statement)
    problems, _ = look(folder)
    assert any("id 650" in line for line in problems)
    assert make_well(folder) == []
    assert ask(folder) == answers
