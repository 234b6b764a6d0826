"""`delete_chunks`, `delete_file`, `clear_index` and what `get_index_stats` says afterwards."""

from pathlib import Path
from typing import Any

import pytest

from tests.contract.docvec.asking import (
    CHUNKS_KEYS,
    CLEARED_KEYS,
    DELETED_FILE_KEYS,
    chunks_of,
    counts,
    done,
    failed,
    find,
    index,
    index_all,
    indexed,
    stats,
    write,
)
from tests.contract.docvec.documents import CODE, MARKDOWN, TEXT
from tests.contract.session import Answer, Session

SAFETY = "Safety check: Set confirm=True to delete all documents"


def delete_chunks(session: Session, ids: list[str]) -> Answer:
    data = done(session.call("delete_chunks", ids=ids))
    assert set(data) == CHUNKS_KEYS
    assert data["deleted_count"] == len(data["deleted_ids"])
    return data


def delete_file(session: Session, file: Path | str) -> int:
    data = done(session.call("delete_file", source_file=str(file)))
    assert set(data) == DELETED_FILE_KEYS
    assert data["source_file"] == str(file)
    count: int = data["deleted_count"]
    return count


def contents(chunks: list[Answer]) -> list[tuple[str, str]]:
    return [(chunk["chunk_id"], chunk["content"]) for chunk in chunks]


@pytest.fixture
def handbook(empty: Session, folder: Path) -> Path:
    """A file of four chunks, and beside it another one."""
    write(folder, {"handbook.md": MARKDOWN, "minutes.txt": TEXT})
    assert counts(index_all(empty, folder)) == (2, 0, 0)
    return folder / "handbook.md"


def test_chunks_are_deleted_by_their_ids(session: Session, handbook: Path) -> None:
    before = chunks_of(session, handbook)
    going = [chunk["chunk_id"] for chunk in before[:2]]
    assert delete_chunks(session, going)["deleted_ids"] == going
    assert contents(chunks_of(session, handbook)) == contents(before[2:])
    assert indexed(session) == ["handbook.md", "minutes.txt"]
    # What was deleted is not there to be deleted again.
    assert delete_chunks(session, going) == {"deleted_count": 0, "deleted_ids": []}


def test_no_ids_delete_nothing(session: Session, handbook: Path) -> None:
    before = stats(session)
    assert delete_chunks(session, []) == {"deleted_count": 0, "deleted_ids": []}
    assert stats(session) == before


def test_only_what_was_really_deleted_is_counted(session: Session, handbook: Path) -> None:
    first, second, *_ = (chunk["chunk_id"] for chunk in chunks_of(session, handbook))
    data = delete_chunks(session, [first, "1732360800_0", second, first, "", "x" * 1000])
    assert sorted(data["deleted_ids"]) == sorted([first, second])


def test_a_file_without_chunks_is_no_longer_listed_and_can_be_indexed_anew(
    session: Session, handbook: Path
) -> None:
    before = chunks_of(session, handbook)
    delete_chunks(session, [chunk["chunk_id"] for chunk in before])
    assert indexed(session) == ["minutes.txt"]
    assert index(session, handbook)["chunks_created"] == len(before)
    assert contents(chunks_of(session, handbook)) == contents(before)


def test_a_file_that_lost_some_of_its_chunks_stays_so_until_it_changes(
    session: Session, handbook: Path
) -> None:
    first, *rest = (chunk["chunk_id"] for chunk in chunks_of(session, handbook))
    delete_chunks(session, [first])
    again = index(session, handbook)
    assert (again["chunks_created"], again["chunk_ids"]) == (0, rest)
    handbook.write_text(MARKDOWN + "\nOne more line.\n")
    assert index(session, handbook)["chunks_created"] == len(rest) + 1


@pytest.mark.parametrize("ids", [None, "1732360800_0", 5, {"a": 1}, True])
def test_ids_that_are_no_list(session: Session, ids: Any) -> None:
    answer = session.call("delete_chunks", ids=ids)
    assert failed(answer, "INVALID_INPUT") == "ids must be a list"


@pytest.mark.parametrize("ids", [[1], [None], [["a"]], ["x" * 1001], ["x"] * 10_001])
def test_a_list_of_what_are_no_ids(session: Session, ids: Any) -> None:
    assert "ids" in failed(session.call("delete_chunks", ids=ids), "INVALID_INPUT")


def test_a_file_is_deleted_with_all_its_chunks(session: Session, handbook: Path) -> None:
    chunks = len(chunks_of(session, handbook))
    assert delete_file(session, handbook) == chunks
    assert indexed(session) == ["minutes.txt"]
    assert find(session, "authentication", filters={"source_file": str(handbook)}) == []
    assert handbook.read_text() == MARKDOWN
    assert delete_file(session, handbook) == 0
    assert index(session, handbook)["chunks_created"] == chunks


def test_a_file_that_is_not_indexed(session: Session, handbook: Path) -> None:
    before = stats(session)
    for path in ("/Users/harrison/docs/not_indexed.md", handbook.parent, "\0", "x" * 4000):
        assert delete_file(session, path) == 0
    assert stats(session) == before


def test_a_file_may_be_named_in_another_way(session: Session, handbook: Path) -> None:
    assert delete_file(session, f"{handbook.parent}/../{handbook.parent.name}//handbook.md") == 4


@pytest.mark.parametrize("path", ["", " ", "\t\n"])
def test_no_file_at_all(session: Session, path: str) -> None:
    answer = session.call("delete_file", source_file=path)
    assert failed(answer, "INVALID_INPUT") == "source_file cannot be empty"


def test_everything_is_deleted_when_that_is_confirmed(session: Session, handbook: Path) -> None:
    chunks = stats(session)["total_chunks"]
    data = done(session.call("clear_index", confirm=True))
    assert set(data) == CLEARED_KEYS
    assert data["deleted_count"] == chunks
    assert stats(session)["source_files"] == []
    assert find(session, "anything", n_results=50) == []
    assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 0}
    assert counts(index_all(session, handbook.parent)) == (2, 0, 0)


@pytest.mark.parametrize("confirm", [False, None, "yes", "true", "True", 1, [True]])
def test_nothing_is_deleted_unless_confirm_is_true_itself(
    session: Session, handbook: Path, confirm: Any
) -> None:
    before = stats(session)
    answer = session.call("clear_index", confirm=confirm)
    assert failed(answer, "CONFIRMATION_REQUIRED") == SAFETY
    assert stats(session) == before


def test_confirm_cannot_be_left_out(session: Session, handbook: Path) -> None:
    assert "confirm" in failed(session.call("clear_index"), "INVALID_INPUT")
    assert len(indexed(session)) == 2


def test_the_statistics_of_an_empty_index(empty: Session) -> None:
    data = stats(empty)
    assert (data["total_chunks"], data["unique_files"], data["source_files"]) == (0, 0, [])


def test_the_statistics_count_chunks_and_list_files(empty: Session, folder: Path) -> None:
    write(folder, {"b.md": MARKDOWN, "a.py": CODE, "sub/c.txt": TEXT})
    chunks = index_all(empty, folder)["total_chunks"]
    data = stats(empty)
    assert (data["total_chunks"], data["unique_files"]) == (chunks, 3)
    assert data["source_files"] == [str(folder / name) for name in ("a.py", "b.md", "sub/c.txt")]


def test_the_list_of_files_can_begin_anywhere(session: Session, handbook: Path) -> None:
    whole = stats(session)
    part = done(session.call("get_index_stats", from_file=1))
    assert part["source_files"] == whole["source_files"][1:]
    assert (part["unique_files"], part["next_file"]) == (2, None)
    assert done(session.call("get_index_stats", from_file=9))["source_files"] == []
    assert "from_file" in failed(session.call("get_index_stats", from_file=-1), "INVALID_INPUT")
