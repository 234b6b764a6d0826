"""`index_directory`: what of a folder is indexed, and that the rest does not stop it."""

import os
import re
from pathlib import Path

import pytest

from tests.contract.docvec.asking import (
    counts,
    done,
    failed,
    find,
    index_all,
    indexed,
    stats,
    write,
)
from tests.contract.docvec.documents import CODE, MARKDOWN, PAGES, TEXT
from tests.contract.session import Session
from tests.documents import Blank, make_pdf, text_pdf, truncated_pdf


def test_every_supported_file_is_indexed_and_the_answer_counts_them(
    empty: Session, folder: Path
) -> None:
    write(folder, {"README.md": MARKDOWN, "sub/API.md": "# API\n\nNone yet.\n"})
    write(folder, {"sub/deeper/client.py": CODE, "minutes.TXT": TEXT, "style.css": "p {}"})
    text_pdf(folder / "report.pdf", *PAGES)
    data = index_all(empty, folder)
    assert counts(data) == (5, 0, 0)
    names = {"README.md", "sub/API.md", "sub/deeper/client.py", "minutes.TXT", "report.pdf"}
    assert set(data["chunk_ids"]) == {str(folder / name) for name in names}
    assert data["total_chunks"] == sum(map(len, data["chunk_ids"].values()))
    assert data["total_chunks"] == stats(empty)["total_chunks"]
    assert (data["updated_documents"], data["moved_documents"]) == (0, 0)
    for file, ids in data["chunk_ids"].items():
        found = find(empty, "anything", filters={"source_file": file}, n_results=50)
        assert {result["chunk_id"] for result in found} == set(ids)


def test_one_bad_file_costs_its_own_error_and_nothing_else(empty: Session, folder: Path) -> None:
    write(folder, {"a.md": "# A\n\nGood.\n", "z.txt": "Good as well.\n"})
    write(folder, {"binary.txt": bytes(range(256)) * 40})
    corrupted = truncated_pdf(folder / "corrupted.pdf")
    (folder / "broken.md").symlink_to(folder / "nothing.md")
    (folder / "loop.txt").symlink_to(folder / "loop.txt")
    os.mkfifo(folder / "pipe.py")
    data = index_all(empty, folder)
    assert counts(data) == (2, 0, 5)
    errors = {Path(error["file_path"]).name: error for error in data["errors"]}
    assert list(errors) == sorted(errors)
    # The contract's own example.
    assert errors["corrupted.pdf"]["file_path"] == str(corrupted)
    assert errors["corrupted.pdf"]["error"] == "Failed to extract content from PDF"
    assert errors["binary.txt"]["error"] == "Failed to extract content from text"
    for name in ("broken.md", "loop.txt", "pipe.py"):
        assert errors[name]["error"] == f"File not found: {folder / name}"
        assert errors[name]["error_code"] == "FILE_NOT_FOUND"
    for name in ("corrupted.pdf", "binary.txt"):
        assert errors[name]["error_code"] == "EXTRACTION_FAILED"
    assert all(error["reason"] for error in errors.values())
    assert indexed(empty) == ["a.md", "z.txt"]


def test_files_without_text_are_skipped_with_a_reason_and_are_no_errors(
    empty: Session, folder: Path
) -> None:
    write(
        folder, {"a.md": "# A\n\nGood.\n", "empty.py": "", "blank.md": " \n\n", "b.txt": "\ufeff"}
    )
    data = index_all(empty, folder)
    assert counts(data) == (1, 0, 0)
    assert data["skipped_files"] == [
        {"file_path": str(folder / name), "reason": f"{name} is empty: there is no text in it."}
        for name in ("b.txt", "blank.md", "empty.py")
    ]
    assert indexed(empty) == ["a.md"]
    # A file that has become empty leaves the index.
    write(folder, {"a.md": ""})
    data = index_all(empty, folder)
    assert data["skipped_files"][0]["file_path"] == str(folder / "a.md")
    assert (counts(data), indexed(empty)) == ((0, 0, 0), [])
    # A caller that names one file wants to know.
    answer = empty.call("index_file", file_path=str(folder / "a.md"))
    assert failed(answer, "EXTRACTION_FAILED") == "Failed to extract content"


def test_a_pdf_without_text_is_an_error(empty: Session, folder: Path) -> None:
    make_pdf(folder / "blank.pdf", [Blank()])
    data = index_all(empty, folder)
    assert [error["error"] for error in data["errors"]] == ["Failed to extract content from PDF"]
    assert "skipped_files" not in data


def test_a_file_whose_name_is_not_text_is_said_to_be_renamed(empty: Session, folder: Path) -> None:
    write(folder, {"a.md": "# A\n\nGood.\n"})
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("Good as well.\n")
    data = index_all(empty, folder)
    [error] = data["errors"]
    assert error["file_path"] == str(folder / "caf\ufffd.txt")
    assert error["error_code"] == "EXTRACTION_FAILED"
    assert error["error"] == "Failed to extract content from text"
    assert error["reason"] == f"The name of {error['file_path']} is not text in UTF-8. Rename it."
    assert indexed(empty) == ["a.md"]


def test_hidden_files_and_folders_are_skipped(empty: Session, folder: Path) -> None:
    write(folder, {"seen.md": "Seen.\n", ".hidden.md": "Hidden.\n", ".git/config.txt": "Git.\n"})
    write(folder, {"sub/.venv/lib.py": "x = 1\n", "sub/seen.py": "y = 2\n"})
    assert counts(index_all(empty, folder)) == (2, 0, 0)
    assert indexed(empty) == ["seen.md", "seen.py"]
    # What is named itself is meant.
    assert counts(index_all(empty, folder / ".git")) == (1, 0, 0)


def test_subfolders_are_left_out_when_recursive_is_false(empty: Session, folder: Path) -> None:
    write(folder, {"top.md": "Top.\n", "sub/below.md": "Below.\n"})
    assert counts(index_all(empty, folder, recursive=False)) == (1, 0, 0)
    assert indexed(empty) == ["top.md"]
    assert counts(index_all(empty, folder)) == (1, 1, 0)


def test_links_are_followed_once_and_loops_end(
    empty: Session, folder: Path, tmp_path: Path
) -> None:
    write(folder, {"a.md": "In the folder.\n"})
    elsewhere = write(tmp_path / "elsewhere", {"b.md": "Elsewhere.\n"})
    (folder / "self").symlink_to(folder)
    (folder / "out").symlink_to(elsewhere)
    (elsewhere / "back").symlink_to(folder)
    (folder / "nowhere").symlink_to(tmp_path / "nothing")
    (folder / "same.md").symlink_to(folder / "a.md")
    data = index_all(empty, folder)
    assert counts(data) == (2, 1, 0)
    assert set(data["chunk_ids"]) == {str(folder / "a.md"), str(folder / "out" / "b.md")}


def test_an_empty_folder_is_no_error(empty: Session, folder: Path) -> None:
    assert counts(index_all(empty, folder)) == (0, 0, 0)


def test_a_folder_that_is_not_there(session: Session, folder: Path) -> None:
    path = folder / "nothing"
    answer = session.call("index_directory", dir_path=str(path))
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"
    assert "Directory not found" in answer["details"]["reason"]


@pytest.mark.parametrize("path", ["", "\0", "x" * 4000])
def test_what_is_no_path_is_not_found(session: Session, path: str) -> None:
    # Nothing is not the folder that the server was started in.
    answer = session.call("index_directory", dir_path=path)
    assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"


def test_a_file_is_no_folder(session: Session, folder: Path) -> None:
    file = write(folder, {"a.md": "A.\n"}) / "a.md"
    answer = session.call("index_directory", dir_path=str(file))
    assert failed(answer, "INVALID_INPUT") == f"Not a directory: {file}"


def test_progress_is_told_file_by_file(empty: Session, folder: Path) -> None:
    write(folder, {f"{number:03d}.txt": f"Text number {number}.\n" for number in range(150)})
    write(folder, {"000 copy.txt": "Text number 0.\n", "empty.txt": ""})
    write(folder, {"bad.txt": bytes(range(256)) * 40})
    job = empty.start("index_directory", dir_path=str(folder))
    assert counts(done(job.result())) == (150, 1, 1)
    steps = [step for step, _, _ in job.progress]
    assert len(steps) > 150
    assert steps == sorted(set(steps))
    assert {total for _, total, _ in job.progress} == {153}
    assert job.progress[-1][0] == 153
    assert all(re.search(r"\b\d+ of 153 files", message or "") for _, _, message in job.progress)
    counts_shown = [(message or "").rpartition(", ")[2] for _, _, message in job.progress]
    assert not any("." in count for count in counts_shown)


def test_the_progress_of_a_handful_of_files_rises_with_each(empty: Session, folder: Path) -> None:
    write(folder, {f"{number}.txt": f"Text number {number}.\n" for number in range(4)})
    job = empty.start("index_directory", dir_path=str(folder))
    assert counts(done(job.result())) == (4, 0, 0)
    assert [step for step, _, _ in job.progress] == [0, 0.5, 1, 1.5, 2, 4]


def test_one_file_without_pages_is_told_at_both_ends(empty: Session, folder: Path) -> None:
    file = write(folder, {"long.md": MARKDOWN}) / "long.md"
    job = empty.start("index_file", file_path=str(file))
    done(job.result())
    assert [(step, total) for step, total, _ in job.progress] == [(0, 1), (0.5, 1), (1, 1)]


def test_the_pages_of_a_long_pdf_are_told_by_index_file(empty: Session, folder: Path) -> None:
    file = text_pdf(folder / "long.pdf", *(f"Page {n}. {PAGES[0]}" for n in range(1, 13)))
    job = empty.start("index_file", file_path=str(file))
    done(job.result())
    assert [step for step, _, _ in job.progress] == [*range(1, 13), 24]
    assert {total for _, total, _ in job.progress} == {24}


def test_what_stands_in_very_many_files_does_not_hide_the_rest(
    empty: Session, folder: Path
) -> None:
    same = "# Licence\n\nThis file may be used by everybody.\n\n# Contents\n\nNone yet.\n"
    write(folder, {f"{n}.md": same + "\n" * n for n in range(250)})
    others = (*PAGES, *TEXT.split("\n\n"), *CODE.split("\n\n\n"))
    write(folder, {f"{n}.txt": text for n, text in enumerate(others)})
    index_all(empty, folder)
    hits = [find(empty, text, n_results=1)[0] for text in others]
    found = sum(hit["content"] == text.strip() for hit, text in zip(hits, others, strict=True))
    # Equal texts have equal vectors, on which Chroma's graph falls apart.
    assert found == len(others)


def test_progress_is_reported(empty: Session, folder: Path) -> None:
    write(folder, {f"{n}.txt": f"Text number {n}.\n" for n in range(70)})
    job = empty.start("index_directory", dir_path=str(folder))
    assert counts(done(job.result())) == (70, 0, 0)
    steps = [step for step, _, _ in job.progress]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1], len(steps)) == (0, 70, 1 + 70 + 2)
    assert {total for _, total, _ in job.progress} == {70}
    # When all is known already, that is said as well.
    job = empty.start("index_directory", dir_path=str(folder))
    assert counts(done(job.result())) == (0, 70, 0)
    assert job.progress == [(70, 70, "70 of 70 files are indexed already")]
