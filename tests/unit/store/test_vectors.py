import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quinion.errors import BadSetting, StoreUnavailable
from quinion.model.record import Record
from quinion.store.apart import ApartChroma
from quinion.store.chroma import Chroma, Place
from quinion.store.filters import all_of
from quinion.store.journal import Trace
from quinion.store.ledger import Ledger
from quinion.store.proof import Proof
from quinion.store.vectors import VectorStore
from tests.unit.store.stores import open_store


def unit(*numbers: float) -> "np.typing.NDArray[np.float32]":
    vector = np.array(numbers, np.float32)
    return vector / np.linalg.norm(vector)


@pytest.fixture
def store(tmp_path: Path) -> VectorStore:
    store = open_store(tmp_path, "model-a")
    records = [
        Record(f"{owner}_{place}", f"{owner} {place}", {"owner": owner, "place": place})
        for owner in ("x", "y")
        for place in range(2)
    ]
    vectors = np.stack([unit(1, 0), unit(1, 1), unit(0, 1), unit(-1, 0)])
    store.upsert("things", records, vectors)
    return store


def test_hits_are_best_first_with_the_score_of_the_specs(store: VectorStore) -> None:
    hits = store.query("things", unit(1, 0), 4)
    assert [hit.record.id for hit in hits] == ["x_0", "x_1", "y_0", "y_1"]
    # For unit vectors squared distance is 2 - 2 cos, so the score is the cosine, floored at 0.
    assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0, 0], abs=1e-6)


def test_a_filter_narrows_what_is_found(store: VectorStore) -> None:
    hits = store.query("things", unit(1, 0), 4, all_of({"owner": "y"}, {"place": {"$gte": 1}}))
    assert [hit.record.id for hit in hits] == ["y_1"]


def test_what_is_hidden_is_not_found_until_it_is_revealed(store: VectorStore) -> None:
    trace = Trace.of("things", owner="x")
    store.hidden.add([trace])
    assert [hit.record.id for hit in store.query("things", unit(1, 0), 4)] == ["y_0", "y_1"]
    store.hidden.remove([trace])
    assert len(store.query("things", unit(1, 0), 4)) == 4


def test_a_trace_deletes_what_it_names_and_nothing_else(store: VectorStore) -> None:
    store.delete(Trace.of("things", owner="x"))
    store.delete(Trace.at("things", "y_0"))
    store.delete(Trace.at("things", "was never there"))
    assert [record.id for record in store.get("things")] == ["y_1"]


def test_upserting_an_id_again_replaces_it(store: VectorStore) -> None:
    store.upsert("things", [Record("x_0", "new", {"owner": "z"})], unit(0, -1)[None])
    [record] = store.get("things", ids=["x_0"])
    assert (record.text, record.metadata["owner"]) == ("new", "z")
    assert store.count("things") == 4


def test_another_embedding_model_on_the_same_collection_is_refused(
    store: VectorStore, tmp_path: Path
) -> None:
    store.close()
    other = open_store(tmp_path, "model-b")
    with pytest.raises(BadSetting, match=r"model-a.*model-b"):
        other.query("things", unit(1, 0), 1)


def test_a_collection_may_have_a_model_of_its_own(store: VectorStore) -> None:
    store.declare("others", "model-c")
    store.upsert("others", [Record("a", "a", {"k": 1})], unit(1, 0, 0)[None])
    store.declare("others", "model-d")
    with pytest.raises(BadSetting, match=r"model-c.*model-d"):
        store.query("others", unit(1, 0, 0), 1)
    with pytest.raises(BadSetting, match=r"model-c.*model-d"):
        store.upsert("others", [Record("b", "b", {"k": 1})], unit(1, 0, 0)[None])
    assert store.count("others") == 1  # what needs no vectors can be done
    store.delete(Trace("others"))
    store.upsert("others", [Record("b", "b", {"k": 1})], unit(1, 0, 0)[None])


def test_a_collection_whose_model_is_not_known_yet_can_be_counted_and_gets_its_mark_later(
    store: VectorStore, tmp_path: Path
) -> None:
    store.declare("others", None)
    assert store.count("others") == 0
    store.declare("others", "model-c")
    store.upsert("others", [Record("a", "a", {"k": 1})], unit(1, 0)[None])
    store.close()
    again = open_store(tmp_path, "model-a")
    again.declare("others", None)
    assert again.count("others") == 1
    again.declare("others", "model-d")
    with pytest.raises(BadSetting, match=r"model-c.*model-d"):
        again.query("others", unit(1, 0), 1)


def test_a_whole_collection_is_hidden_and_deleted_and_another_is_not(store: VectorStore) -> None:
    store.upsert("others", [Record("a", "a", {"k": 1})], unit(1, 0)[None])
    store.hidden.add([Trace("things")])
    assert store.query("things", unit(1, 0), 4) == []
    store.delete(Trace("things"))
    store.hidden.remove([Trace("things")])
    assert (store.count("things"), store.count("others")) == (0, 1)
    store.delete(Trace("was never there"))


def test_a_part_of_a_text_is_found_by_a_filter(store: VectorStore) -> None:
    records = [Record(f"n{n}", "n", {"path": f"/notes/{n}.md"}) for n in range(200)]
    store.upsert("notes", records, np.stack([unit(1, n / 100) for n in range(200)]))
    hits = store.query("notes", unit(1, 0), 3, {"path": {"$contains": "/19"}})
    assert [hit.record.id for hit in hits] == ["n19", "n190", "n191"]
    both = all_of({"path": {"$not_contains": "1"}}, {"path": {"$contains": "9"}})
    assert [hit.record.id for hit in store.query("notes", unit(1, 0), 2, both)] == ["n9", "n29"]
    assert store.query("notes", unit(1, 0), 3, {"path": {"$contains": "nowhere"}}) == []


def test_a_server_that_does_not_answer_is_an_error_that_names_it() -> None:
    nowhere = Chroma(Place(url="http://127.0.0.1:9"))
    store = VectorStore(nowhere, Ledger(None), lambda: "model-a")
    with pytest.raises(StoreUnavailable, match=r"http://127\.0\.0\.1:9"):
        store.count("texts")


def test_memory_keeps_nothing_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store(None)
    store.upsert("memory", [Record("a", "a", {"k": 1})], unit(1, 0)[None])
    assert store.count("memory") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(autouse=True)
def _forget_chroma_clients() -> Iterator[None]:
    """Chroma shares one engine per folder within a process; tests want a new one each."""
    yield
    from chromadb.api.shared_system_client import SharedSystemClient

    SharedSystemClient.clear_system_cache()


def test_records_are_read_and_filtered_whichever_way(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quinion.store.chroma.PAGE", 7)
    monkeypatch.setattr("quinion.store.chroma.MOST_IDS", 5)
    for name in ("CODED", "EXACT", "FEW"):
        monkeypatch.setattr(f"quinion.store.shelves.{name}", 10)
    records = [Record(f"n{n}", "n", {"path": f"/{n % 2}/{n}", "all": "x"}) for n in range(60)]
    vectors = np.stack([unit(1, n / 30) for n in range(60)])
    store.upsert("many", records, vectors)
    assert {record.id for record in store.get("many")} == {record.id for record in records}
    found, with_vectors = store.get_with_vectors(Trace.of("many", all="x"))
    assert (len(found), with_vectors.shape) == (60, (60, 2))
    assert store.count_traced(Trace.of("many", all="x")) == store.count_traced(Trace("many")) == 60
    for condition, expected in (
        ({"path": {"$contains": "/1/"}}, ["n1", "n3", "n5"]),
        ({"path": {"$contains": "/1/5"}}, ["n5", "n51", "n53"]),
        ({"path": {"$not_contains": "/0/"}}, ["n1", "n3", "n5"]),
        (None, ["n0", "n1", "n2"]),
    ):
        hits = store.query("many", unit(1, 0), 3, condition)
        assert [hit.record.id for hit in hits] == expected


@pytest.mark.slow
def test_a_collection_beyond_what_chroma_can_bind_is_read_whole(store: VectorStore) -> None:
    count = 33_000  # its database binds 32,766 values
    records = [Record(str(n), "n", {"path": f"/{n}"}) for n in range(count)]
    vectors = np.random.default_rng(1).normal(size=(count, 2)).astype(np.float32)
    store.upsert("large", records, vectors)
    assert len(store.get("large")) == count
    [hit] = store.query("large", unit(1, 0), 1, {"path": {"$contains": "/32999"}})
    assert hit.record.id == "32999"


def in_another_process(folder: Path, statement: str) -> None:
    """Do something to the store of a folder in a process of its own, and end it."""
    program = f"""
import numpy as np
from pathlib import Path
from quinion.model.record import Record
from quinion.store.chroma import Chroma, Place
from tests.unit.store.stores import open_store
folder = Path({str(folder)!r})
records = [Record(str(n), f"text {{n}}", {{"n": n}}) for n in range(50)]
vectors = np.random.default_rng(1).normal(size=(50, 8)).astype("float32")
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
{statement}
"""
    subprocess.run([sys.executable, "-c", program], check=True)


FILL = """
store = open_store(folder)
store.upsert("texts", records, vectors)
store.catch_up("texts")
"""


def test_what_chroma_has_lost_is_made_again_from_the_ledger(tmp_path: Path) -> None:
    in_another_process(tmp_path, FILL)
    shutil.rmtree(tmp_path / "chroma")
    store = open_store(tmp_path)
    assert store.count("texts") == 50
    store.agree(["texts"])
    assert store.prover.verify("texts") == Proof(50)
    theirs, vectors = Chroma(Place(tmp_path / "chroma")).get("texts", ["7", "31"])
    assert [record.text for record in theirs] == ["text 7", "text 31"]
    [hit] = store.query("texts", vectors[0], 1)
    assert (hit.record.id, round(hit.score, 5)) == ("7", 1)
    # Which model they come from is not forgotten either.
    store.close()
    with pytest.raises(BadSetting, match=r"model.*another"):
        open_store(tmp_path, "another").query("texts", vectors[0], 1)


def test_what_the_ledger_knows_is_read_without_chroma(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_another_process(tmp_path, FILL)

    def fail(self: ApartChroma, *_: object) -> None:
        raise StoreUnavailable("it does not answer")

    monkeypatch.setattr(ApartChroma, "_ask", fail)
    store = open_store(tmp_path)
    vector = np.ones(8, np.float32) / 8**0.5
    assert len(store.query("texts", vector, 5, {"n": {"$gte": 10}})) == 5
    assert len(store.get("texts")) == store.count("texts") == 50
    with pytest.raises(StoreUnavailable):
        store.upsert("texts", [Record("new", "new", {})], vector[None])
    with pytest.raises(StoreUnavailable):
        store.count("others")  # only Chroma knows whether there are any
    assert store.count("texts") == 50
    store.close()


def test_what_another_program_wrote_is_taken_in(tmp_path: Path) -> None:
    in_another_process(tmp_path, FILL)
    in_another_process(
        tmp_path,
        "Chroma(Place(folder / 'chroma')).upsert('texts', "
        "[Record('new', 'a new text', {'n': 99})], vectors[:1])",
    )
    store = open_store(tmp_path)
    assert store.count("texts") in (50, 51)  # it does not wait for Chroma
    store.agree(["texts"])
    assert store.count("texts") == 51
    assert [record.id for record in store.get("texts", where={"n": {"$gt": 48}})] == ["49", "new"]


def test_what_a_dead_process_wrote_to_one_of_the_two_is_found_by_comparing(tmp_path: Path) -> None:
    """As many in both, but not the same."""
    in_another_process(tmp_path, FILL)
    in_another_process(
        tmp_path,
        "chroma = Chroma(Place(folder / 'chroma'))\n"
        "chroma.delete('texts', ['3'])\n"
        "chroma.upsert('texts', [Record('new', 'a new text', {'n': 99})], vectors[:1])",
    )
    store = open_store(tmp_path)
    store.reconcile("texts")
    assert {record.id for record in store.get("texts")} == {*map(str, range(50)), "new"}
    assert store.prover.verify("texts") == Proof(51)
    assert len(Chroma(Place(tmp_path / "chroma")).ids("texts")) == 51


def test_lost_vectors_are_named(tmp_path: Path) -> None:
    in_another_process(tmp_path, FILL)
    # Where Chroma keeps new vectors until it writes its index anew.
    with closing(sqlite3.connect(tmp_path / "chroma" / "chroma.sqlite3")) as database, database:
        database.execute("DELETE FROM embeddings_queue WHERE id IN ('7', '31', '32')")
    store = open_store(tmp_path)
    lost = tuple(f"texts: {id_}: Chroma can't read it" for id_ in ("31", "32", "7"))
    assert store.prover.verify("texts") == Proof(50, lost)
    assert store.prover.verify("others") == Proof(0)
    assert store.prover.verify("texts", repair=True) == Proof(50, (), lost)
    assert store.prover.verify("texts") == Proof(50)


def test_a_chroma_that_could_not_be_opened_is_opened_later(tmp_path: Path) -> None:
    (tmp_path / "chroma").write_text("in the way")
    store = open_store(tmp_path)
    with pytest.raises(StoreUnavailable, match="failed"):
        store.agree(["texts"])
    (tmp_path / "chroma").unlink()
    store.upsert("texts", [Record("a", "a", {"n": 1})], unit(1, 0)[None])
    assert store.prover.verify("texts").problems == ()
    store.close()
