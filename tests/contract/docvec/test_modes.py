"""`mode` of the three searches: an addition to the contract."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.contract.docvec.asking import done, failed, files_found, find, index_all, write
from tests.contract.local import LocalServer
from tests.contract.search_modes import check_modes
from tests.contract.session import Session

FILES = {
    "errors.md": "# Errors\n\nThe client raises E4217 when the token has expired.\n",
    "guide.md": "# Guide\n\nGardens are watered in summer.\n\n## Frost\n\nCover the pipes.\n",
    "bees.md": "# Bees\n\nBees are counted in June by the warden.\n",
    "copy.md": "# Bees\n\nBees are counted in June by the warden.\n\n## Hives\n\nOf wood.\n",
    "load_settings.py": "def read_all(path):\n    return open(path).read()\n",
}


@pytest.fixture(scope="module")
def session(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("library")
    write(folder, FILES)
    with server.session() as session:
        index_all(session, folder)
        yield session


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("E4217", "errors.md"),
        ("frost", "guide.md"),
        ("load settings", "load_settings.py"),
        ("read_all", "load_settings.py"),
        ('"are watered in summer"', "guide.md"),
    ],
)
def test_an_exact_term_comes_first_in_the_modes_keyword_and_hybrid(
    session: Session, query: str, file: str
) -> None:
    check_modes(
        partial(find, session),
        query,
        lambda result: Path(result["metadata"]["source_file"]).name == file,
        "score",
    )


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_all_searches_have_the_modes(session: Session, mode: str) -> None:
    first = find(session, "E4217", mode=mode)[0]
    assert find(session, "E4217", mode=mode, filters={"file_format": "markdown"})[0] == first
    assert "E4217" not in str(find(session, "E4217", mode=mode, filters={"file_format": "code"}))
    within = done(session.call("search_with_budget", query="E4217", mode=mode, max_tokens=500))
    assert within["results"][0] == first


def test_merged_results_have_each_text_once_in_all_searches(session: Session) -> None:
    query = "bees counted by the warden"
    plain = find(session, query, n_results=50)
    text = "# Bees\n\nBees are counted in June by the warden."
    first, second = (one["chunk_id"] for one in plain if one["content"] == text)
    budget = done(session.call("search_with_budget", query=query, merge=True))
    for merged in (
        find(session, query, n_results=50, merge=True),
        find(session, query, merge=True, filters={"file_format": "markdown"}),
        budget["results"],
    ):
        assert merged[0]["content"] == text
        assert merged[0]["merged"] == {"chunk_ids": [first], "same_text": [second]}
        assert second not in {one["chunk_id"] for one in merged}
        assert {**merged[0], "merged": None} == {**plain[0], "merged": None}


def test_nothing_is_found_by_a_word_that_no_chunk_has(session: Session) -> None:
    assert find(session, "xylophone", mode="keyword") == []
    assert files_found(session, "xylophone", mode="hybrid")


def test_another_mode_is_refused(session: Session) -> None:
    answer = session.call("search", query="frost", mode="fuzzy")
    assert "'semantic', 'keyword' or 'hybrid'" in failed(answer, "INVALID_INPUT")
