"""`quinion search` over all servers, run in this process."""

from pathlib import Path

import pytest

from quinion.cli.documents.search_results import print_results
from quinion.console.passages import Passage, merge_results
from tests.contract.policy_kb.policies import leaflet
from tests.unit.cli.conftest import Run

FAILED, WRONG_USE = 1, 2
WORDS = "The development provides two hundred covered cycle parking spaces near the gate"


def document(text: str, score: float, name: str = "Letter.pdf", title: str = "Letter") -> object:
    metadata = {
        "document_id": "A_1a2b3c",
        "source_file": name,
        "title": title,
        "page_numbers": "1,2",
        "application_ref": "A",
        "document_type": "other",
    }
    return {"chunk_id": "1", "relevance_score": score, "text": text, "metadata": metadata}


def figure(text: str, score: float) -> object:
    return {"document_slug": "letter", "page_number": 1, "score": score, "content": text}


def test_a_passage_of_two_servers_is_one_result_that_names_both() -> None:
    answers = {
        "document-store": {"results": [document(f"{WORDS} and the yard.", 0.6)]},
        "doclibrary": {"results": [figure(WORDS, 0.7), figure("Quite another text.", 0.1)]},
    }
    first, second = merge_results(answers)
    assert (first.server, first.score) == ("doclibrary", 0.7)
    assert first.others == ["Letter.pdf, pages 1, 2   A · other (document-store)"]
    assert (second.text, second.others) == ("Quite another text.", [])


def test_overlapping_chunks_of_one_server_are_two_results() -> None:
    results = [document(WORDS, 0.6), document(f"{WORDS} again", 0.5)]
    assert len(merge_results({"document-store": {"results": results}})) == 2


def test_a_result_names_those_that_were_left_out_for_their_text() -> None:
    result = {**document(WORDS, 0.6), "merged": {"chunk_ids": ["a_1"], "same_text": ["b_1"]}}  # type: ignore[dict-item]
    [passage] = merge_results({"document-store": {"results": [result]}})
    assert passage.others == ["b_1 (document-store)"]


def test_a_title_that_says_more_than_the_file_name_is_shown() -> None:
    results = [document(WORDS, 0.6, "DOC_0017.pdf", "Framework Travel Plan")]
    [passage] = merge_results({"document-store": {"results": results}})
    assert passage.source == "DOC_0017.pdf, pages 1, 2   Framework Travel Plan · A · other"


def test_a_title_that_is_the_file_name_is_not_shown_twice() -> None:
    results = [document(WORDS, 0.6, "Travel_Plan.pdf", "Travel Plan")]
    [passage] = merge_results({"document-store": {"results": results}})
    assert passage.source == "Travel_Plan.pdf, pages 1, 2   A · other"


def test_details_stand_in_the_first_line_if_they_fit_and_scores_nowhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    short, long = "A/1 · other", "Framework Travel Plan · 25/01178/REM · transport_assessment"
    for details in (short, long):
        print_results([Passage("document-store", 1.93, "a.pdf", f"page 2   {details}", "text")])
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == [f"1. a.pdf, page 2   {short}", "   text", "1. a.pdf, page 2", *lines[3:]]
    assert lines[3].startswith("   Framework")
    assert "1.93" not in "".join(lines)


def test_long_texts_wrap_with_a_hanging_indent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    print_results([Passage("docvec", 0.5, "notes.md", "lines 1-9", "word " * 60, ["a copy"])])
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("1. notes.md, lines 1-9")
    assert len(lines) > 4
    assert all(line.startswith("   word") and len(line) <= 60 for line in lines[:-1])
    assert lines[-1].rstrip() == "   also: a copy"


@pytest.fixture
def policy(quinion: Run, filled: Path, tmp_path: Path) -> str:
    """The filled home with a policy that was in force in 2023 alone."""
    assert (
        quinion("policy", "create", "NPPF", "--title", "T", "--category", "national_policy").status
        == 0
    )
    file = leaflet(tmp_path / "policy.pdf", "A")
    ended = quinion(
        *("policy", "revise", "NPPF", "--label", "L", "--from", "2023-01-01"),
        *("--to", "2023-12-31", "--file", str(file)),
    )
    assert ended.status == 0, ended.err
    return "NPPF"


@pytest.mark.slow
def test_all_servers_are_searched_and_options_narrow_the_search(quinion: Run, policy: str) -> None:
    everywhere = quinion("search", "hedges and cycle parking", "--json").json
    assert list(everywhere) == ["document-store", "policy-kb", "docvec", "doclibrary"]
    assert everywhere["policy-kb"]["results_count"] > 0
    shown = quinion("search", "cycle parking", "-n", "50")
    assert shown.status == 0, shown.err
    assert "also: " in shown.out  # the letter is in the Document Store and in the library
    assert "NPPF" in shown.out
    for options, found in (
        (("--date", "2023-06-01"), True),
        (("--date", "2024-06-01"), False),
        (("--policy", "NPPF"), True),
    ):
        only = quinion("search", "hedges", "--json", *options).json
        assert list(only) == ["policy-kb"]
        assert bool(only["policy-kb"]["results"]) is found
    chosen = quinion("search", "hedges", "--json", "-s", "docvec", "-s", "doclibrary").json
    assert list(chosen) == ["docvec", "doclibrary"]


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_query_is_one_error(quinion: Run, home: Path, query: str) -> None:
    ended = quinion("search", query)
    assert (ended.status, ended.out) == (WRONG_USE, "")
    assert ended.err.splitlines() == [
        "quinion: The query is empty. Say in a few words what to look for."
    ]
    assert not home.exists()


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--server", "mistral-ocr"), "cannot be searched"),
        (("--date", "yesterday"), "YYYY-MM-DD"),
        (("--policy", "NPPF", "--application-ref", "X"), "only one server"),
        (("--policy", "NPPF", "--server", "docvec"), "policy-kb only"),
    ],
)
def test_options_that_cannot_be_meant_are_wrong_use(
    quinion: Run, home: Path, options: tuple[str, ...], word: str
) -> None:
    ended = quinion("search", "anything", *options)
    assert ended.status == WRONG_USE
    assert word in ended.err
    assert not home.exists()


def test_an_unknown_application_is_answered_with_the_nearest(quinion: Run, filled: Path) -> None:
    ended = quinion("search", "anything", "--application-ref", "a")
    assert ended.status == 0
    assert ended.out.startswith("No results. No document of a has been ingested.")
    assert "The nearest known: A." in ended.out


def test_a_limit_below_one_is_one_clear_error(quinion: Run, filled: Path) -> None:
    ended = quinion("search", "parking", "--limit", "0")
    assert ended.status == WRONG_USE
    assert "--limit" in ended.err
    assert "called with" not in ended.err


def test_an_unknown_policy_is_named_where_nothing_is_found(quinion: Run, filled: Path) -> None:
    ended = quinion("search", "parking", "--policy", "NOPE")
    assert ended.status == 0, ended.err
    assert ended.out == "No results. Not registered: 'NOPE'. Check the source.\n"
