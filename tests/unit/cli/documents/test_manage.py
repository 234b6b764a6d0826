"""`quinion document`, and versions of a file in `quinion ingest`."""

import shutil
from pathlib import Path

import pytest

from quinion.cli.documents.ingest import describe_skip, print_report
from quinion.cli.documents.manage import print_table
from tests.documents import PROSE, text_pdf
from tests.unit.cli.conftest import Run

WRONG_USE, FAILED = 2, 1


@pytest.fixture
def letter(filled: Path, files: Path, tmp_path: Path) -> Path:
    """A copy of the ingested letter, at a path of the test's own."""
    return Path(shutil.copy(files / "Letter.pdf", tmp_path / "Letter.pdf"))


def only_id(quinion: Run, ref: str = "A") -> str:
    [document] = quinion("document", "list", "-a", ref, "--json").json
    return str(document["document_id"])


def test_documents_are_listed_with_application_and_title(quinion: Run, filled: Path) -> None:
    ended = quinion("document", "list")
    assert ended.status == 0, ended.err
    for text in (only_id(quinion), "Letter", "other", "A"):
        assert text in ended.out


def test_a_list_of_an_unknown_application_names_those_with_documents(
    quinion: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = quinion("document", "list", "--application-ref", "B")
    assert near.out.startswith("No document of B has been ingested")
    assert "such as A." in near.out
    monkeypatch.setenv("QUINION_HOME", str(tmp_path / "empty"))
    empty = quinion("document", "list", "--application-ref", "B")
    assert empty.out == "There is no document of B. To add some, see: quinion ingest --help\n"


def test_the_type_of_a_stored_file_is_kept_and_the_command_that_changes_it_named(
    quinion: Run, filled: Path, files: Path
) -> None:
    letter = str(files / "Letter.pdf")
    assert "TYPE" not in quinion("ingest", letter, "-a", "A").out
    again = quinion("ingest", letter, "-a", "A", "-t", "elevation")
    assert f"its type is kept. To change it: quinion document reingest {only_id(quinion)}" in (
        again.out
    )


def test_ids_are_listed_whole_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    document = {
        "document_id": "25_01178_REM_a1b2c3",
        "application_ref": "25/01178/REM",
        "title": "Design and Access Statement for the land at Mill Lane",
        "document_type": "design_access_statement",
        "chunk_count": 120,
        "ingested_at": "2026-01-02T03:04:05+00:00",
    }
    print_table([document])
    printed = capsys.readouterr().out
    assert all(len(line) <= 80 for line in printed.splitlines())
    for whole in ("25_01178_REM_a1b2c3", "25/01178/REM", "design_access_statement", "2026-01-02"):
        assert whole in printed


@pytest.mark.slow
def test_a_document_is_shown_with_its_file_and_versions(quinion: Run, letter: Path) -> None:
    quinion("ingest", str(letter), "-a", "C")
    first = only_id(quinion, "C")
    text_pdf(letter, f"A second edition. {PROSE}")
    changed = quinion("ingest", str(letter), "-a", "C")
    assert f"Letter.pdf: the earlier version {first} is kept" in changed.out
    shown = quinion("document", "show", first)
    assert str(letter) in shown.out.replace("│\n│", "")
    [second] = quinion("document", "show", first, "--json").json["versions"]
    assert second in shown.out


@pytest.mark.slow
def test_replace_leaves_one_version(quinion: Run, letter: Path) -> None:
    quinion("ingest", str(letter), "-a", "C")
    first = only_id(quinion, "C")
    text_pdf(letter, f"A second edition. {PROSE}")
    changed = quinion("ingest", str(letter), "-a", "C", "--replace")
    assert f"the earlier version {first} is replaced." in changed.out
    assert only_id(quinion, "C") != first


def test_a_document_is_deleted_after_a_question(quinion: Run, filled: Path, files: Path) -> None:
    document = only_id(quinion)
    refused = quinion("document", "delete", document, typed="n\n")
    assert refused.status == FAILED
    assert f"Delete Letter.pdf of A ({document})?" in refused.err
    deleted = quinion("document", "delete", document, typed="y\n")
    assert deleted.out.strip() == "Deleted Letter.pdf with 1 chunk. Its file stays."
    assert (files / "Letter.pdf").exists()
    assert quinion("document", "list", "--json").json == []
    assert (
        quinion("search", "cycle parking", "-a", "A", "--json").json["document-store"]["results"]
        == []
    )


@pytest.mark.slow
def test_a_document_is_read_again_and_keeps_the_type_that_the_user_gave(
    quinion: Run, letter: Path
) -> None:
    quinion("ingest", str(letter), "-a", "C", "-t", "site_plan")
    first = only_id(quinion, "C")
    again = quinion("document", "reingest", first)
    assert again.out == f"{first}: 1 chunk (text_layer).\n"
    [document] = quinion("document", "list", "-a", "C", "--json").json
    assert document["document_type"] == "site_plan"
    quinion("document", "reingest", first, "--document-type", "elevation")
    [document] = quinion("document", "list", "-a", "C", "--json").json
    assert (document["document_id"], document["document_type"]) == (first, "elevation")


@pytest.mark.slow
def test_a_changed_file_takes_the_place_of_the_document_that_is_read_again(
    quinion: Run, letter: Path
) -> None:
    quinion("ingest", str(letter), "-a", "C")
    first = only_id(quinion, "C")
    text_pdf(letter, f"A second edition. {PROSE}")
    assert quinion("document", "reingest", first).status == 0
    assert only_id(quinion, "C") != first


@pytest.mark.slow
def test_a_document_whose_file_is_gone_is_kept(quinion: Run, letter: Path) -> None:
    quinion("ingest", str(letter), "-a", "C")
    first = only_id(quinion, "C")
    letter.unlink()
    assert "not there any more" in quinion("document", "show", first).out
    again = quinion("document", "reingest", first)
    assert again.status == FAILED
    assert "File not found" in again.err
    assert only_id(quinion, "C") == first


@pytest.mark.parametrize("command", ["show", "delete", "reingest"])
def test_an_unknown_document_is_an_error(quinion: Run, filled: Path, command: str) -> None:
    ended = quinion("document", command, "A_000000")
    assert ended.status == FAILED
    hint = "To see all ids: quinion document list"
    assert ended.err == f"quinion: Document not found: A_000000. {hint}\n"


def test_ids_of_ingested_files_are_whole_on_a_narrow_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    name, document_id = "Coventry_AAP_Final_Report_of_the_Inspector.pdf", "25_01178_REM_a1b2c3"
    known = {"status": "already_ingested", "document_id": document_id}
    done = {
        "status": "success",
        "document_id": document_id,
        "chunks_created": 1234,
        "extraction_method": "text_layer",
    }
    skipped = {"status": "skipped", "reason": "image_based", "image_ratio": 0.9}
    print_report([(name, known), (name, done), (name, skipped)])
    printed = capsys.readouterr().out
    assert all(len(line) <= 80 for line in printed.splitlines())
    assert printed.count(document_id) == 2
    assert "1234 (text_layer)" in printed


def test_the_reason_of_a_skipped_file_is_said_in_words_beside_its_code() -> None:
    assert describe_skip({"reason": "image_based"}) == (
        "a drawing or picture, without text to read (image_based)"
    )
