from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from quinion.ingest.folders.plan import IndexPlan, make_plan
from quinion.ingest.source import Source


def source(path: str, sha256: str) -> Source:
    return Source(Path(path), Path(path), sha256)


def plan(found: dict[str, str], known: dict[str, str], gone: set[str] = frozenset()) -> IndexPlan:  # type: ignore[assignment]
    return make_plan([source(p, h) for p, h in found.items()], known, gone.__contains__)


def paths(sources: list[Source]) -> list[str]:
    return [str(source.path) for source in sources]


def test_known_files_are_duplicates_and_others_are_new() -> None:
    made = plan({"/a": "1", "/b": "2"}, {"/a": "1"})
    assert (paths(made.new), paths(made.duplicates)) == (["/b"], ["/a"])


def test_the_same_bytes_twice_in_a_run_are_indexed_once() -> None:
    made = plan({"/a": "1", "/b": "1"}, {})
    assert (paths(made.new), paths(made.duplicates)) == (["/a"], ["/b"])


def test_another_content_at_a_known_path_is_a_change() -> None:
    made = plan({"/a": "2"}, {"/a": "1"})
    assert (paths(made.changed), made.new, made.stale) == (["/a"], [], [])


def test_a_copy_of_what_another_file_had_before_it_changed_is_new() -> None:
    # In any order: /b has the content that /a is indexed with, and /a changes.
    for found in ({"/a": "2", "/b": "1"}, {"/b": "1", "/a": "2"}):
        made = plan(found, {"/a": "1"})
        assert (paths(made.new), paths(made.changed)) == (["/b"], ["/a"])


def test_a_file_that_became_a_copy_loses_its_own_chunks() -> None:
    made = plan({"/a": "1", "/b": "1"}, {"/a": "1", "/b": "2"})
    assert (paths(made.duplicates), made.stale) == (["/a", "/b"], ["/b"])


def test_a_file_that_moved_keeps_its_chunks() -> None:
    made = plan({"/new": "1"}, {"/old": "1"}, {"/old"})
    assert [(move.old, str(move.source.path)) for move in made.moved] == [("/old", "/new")]


def test_a_copy_elsewhere_of_a_file_that_is_still_there_is_a_duplicate() -> None:
    made = plan({"/new": "1"}, {"/old": "1"})
    assert (paths(made.duplicates), made.moved) == (["/new"], [])


def test_a_file_that_moved_onto_a_known_path_replaces_what_was_there() -> None:
    made = plan({"/b": "1"}, {"/a": "1", "/b": "2"}, {"/a"})
    assert (paths(made.changed), made.stale, made.moved) == (["/b"], ["/a"], [])


DISKS = st.dictionaries(st.sampled_from([f"/{c}" for c in "abcdef"]), st.sampled_from("1234"))


@given(DISKS, DISKS, st.sets(st.sampled_from([f"/{c}" for c in "abcdef"])))
def test_afterwards_each_content_on_the_disk_is_indexed_once_under_a_path_that_has_it(
    disk: dict[str, str], before: dict[str, str], seen: set[str]
) -> None:
    # The index contains the result of an earlier run: each content under one path.
    known = {path: sha for sha, path in {sha: path for path, sha in before.items()}.items()}
    found = {path: sha for path, sha in disk.items() if path in seen}
    made = plan(found, known, set(known) - set(disk))
    after = dict(known)
    for move in made.moved:
        del after[move.old]
        after[str(move.source.path)] = move.source.sha256
    for one in (*made.new, *made.changed):
        after[str(one.path)] = one.sha256
    for path in made.stale:
        del after[path]
    assert sorted(
        [
            *paths(made.new),
            *paths(made.changed),
            *paths(made.duplicates),
            *(str(m.source.path) for m in made.moved),
        ]
    ) == sorted(found)
    assert len(set(after.values())) == len(after)
    for path, sha in found.items():
        assert sha in after.values()
        assert after.get(path, sha) == sha
