"""Codes: what they find against comparing each by hand, and the searches that rely on them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.model.record import Record
from quinion.store.codes import Codes
from quinion.store.ledger import Ledger
from quinion.store.rows import Vectors

DIMENSIONS = 128


def make_vectors(count: int, seed: int) -> Vectors:
    """Unit vectors in clusters, as texts give them."""
    dice = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(40, DIMENSIONS))
    vectors = centres[dice.integers(0, 40, count)] + 0.7 * dice.normal(size=(count, DIMENSIONS))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors.astype(np.float32)


@given(
    seed=st.integers(0, 1000),
    size=st.integers(1, 300),
    share=st.sampled_from([0.05, 0.5, 1.0]),
    count=st.integers(1, 50),
)
def test_those_are_found_that_differ_least(seed: int, size: int, share: float, count: int) -> None:
    vectors = make_vectors(size, seed)
    dice = np.random.default_rng(seed)
    places = dice.permutation(2 * size)[:size]
    centre = vectors.mean(axis=0)
    codes = Codes(None, centre)
    for part in np.array_split(np.arange(size), 3):
        if len(part):
            codes.write(places[part], vectors[part])
    mask = np.zeros(2 * size, np.bool_)
    mask[places] = dice.random(size) < share
    vector = make_vectors(1, seed + 1)[0]
    differences = ((vectors > centre) != (vector > centre)).sum(axis=1)
    meant = mask[places]
    found = codes.near(vector, mask, count)
    assert set(found) <= set(places[meant])
    assert (np.diff(found) > 0).all()
    if len(found) < meant.sum():
        assert len(found) >= count
        farthest = differences[np.isin(places, found)].max()
        assert set(found) == set(places[meant & (differences <= farthest)])


@pytest.fixture
def low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes for as few vectors as a test has."""
    for name, limit in {"CODED": 500, "EXACT": 600, "FEW": 300, "LEAST_LOOKED_AT": 300}.items():
        monkeypatch.setattr(f"quinion.store.shelves.{name}", limit)


COUNT = 4_000
VECTORS = make_vectors(COUNT, 1)
QUESTIONS = make_vectors(30, 2)


def write(ledger: Ledger) -> None:
    for start in range(0, COUNT, 400):
        records = [Record(f"{n}", "text", {"half": n % 2}) for n in range(start, start + 400)]
        ledger.upsert("things", records, VECTORS[start : start + 400])


def ask(ledger: Ledger, half: int | None = None) -> list[list[str]]:
    mask = None if half is None else ledger.candidates("things", {"half": half})
    answers = []
    for vector in QUESTIONS:
        places, _ = ledger.nearest("things", vector, 10, mask)
        records = ledger.at("things", places.tolist())
        answers.append([records[place].id for place in places.tolist()])
    return answers


def recall(answers: list[list[str]], meant: np.ndarray) -> float:
    found = 0
    for vector, answer in zip(QUESTIONS, answers, strict=True):
        order = np.argsort(-(VECTORS[meant] @ vector))[:10]
        found += len({str(n) for n in meant[order]} & set(answer))
    return found / (10 * len(QUESTIONS))


@pytest.mark.usefixtures("low_limits")
def test_nearly_all_of_the_nearest_are_found_among_many(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    write(ledger)
    assert list(tmp_path.glob("*.codes"))
    assert recall(ask(ledger), np.arange(COUNT)) >= 0.98
    assert recall(ask(ledger, half=1), np.arange(1, COUNT, 2)) >= 0.98
    assert all(int(id_) % 2 for answer in ask(ledger, half=1) for id_ in answer)


@pytest.mark.usefixtures("low_limits")
def test_codes_are_found_again_and_made_again(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    write(ledger)
    answers = ask(ledger)
    ledger.close()
    [file] = tmp_path.glob("*.codes")
    whole = file.read_bytes()
    for left in (len(whole), len(whole) // 3, 0):
        file.write_bytes(whole[:left])
        again = Ledger(tmp_path)
        assert ask(again) == answers
        again.close()
    file.unlink()
    assert ask(Ledger(tmp_path)) == answers
    used = COUNT * DIMENSIONS // 64 * 8  # the last places are nobody's
    assert file.read_bytes()[:used] == whole[:used]


@pytest.mark.usefixtures("low_limits")
def test_what_was_removed_or_moved_is_not_found_where_it_was(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    write(ledger)
    nearest = [answer[0] for answer in ask(ledger)]
    ledger.delete("things", nearest)
    assert not {id_ for answer in ask(ledger) for id_ in answer} & set(nearest)
    moved = Record("new", "text", {"half": 0})
    ledger.upsert("things", [moved], QUESTIONS[:1])
    assert ask(ledger)[0][0] == "new"
    ledger.drop("things")
    assert not list(tmp_path.glob("*.codes"))


@pytest.mark.usefixtures("low_limits")
def test_a_write_that_failed_leaves_no_codes_without_their_centre(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    records = [Record(f"{n}", "text", {}) for n in range(COUNT)]
    with pytest.raises(TypeError):
        unwritable = [*records[1:], Record("0", "text", {"half": object()})]  # type: ignore[dict-item]
        ledger.upsert("things", unwritable, VECTORS)
    assert ledger.count("things") == 0
    ledger.upsert("things", records, VECTORS)
    answers = ask(ledger)
    ledger.close()
    assert ask(Ledger(tmp_path)) == answers
    assert recall(answers, np.arange(COUNT)) >= 0.98
