"""Additions: office and web files are indexed and cited by their own places."""

from pathlib import Path
from typing import Any

from tests.contract.docvec.asking import counts, files_found, find, index, index_all
from tests.contract.session import Session
from tests.office_documents import docx, eml, epub, pptx, xlsx

QUESTION = "how many cycle parking spaces are there?"
ANSWER = "There are 200 cycle parking spaces."


def write(folder: Path) -> dict[str, dict[str, Any]]:
    """Write a file of each format with the answer; return what a result must cite, by name."""
    docx(folder / "a.docx", ("Heading1", "Cycling"), ("", ANSWER))
    pptx(folder / "b.pptx", ("Roads", "Two roads.", ""), ("Cycling", ANSWER, ""))
    (folder / "c.html").write_text(f"<h1>Cycling</h1><p>{ANSWER}</p>")
    epub(folder / "d.epub", ("Roads", "Two roads."), ("Cycling", ANSWER))
    xlsx(folder / "e.xlsx", Roads=[("Road", "Lanes")], Cycling=[("Spaces", "Note"), (200, ANSWER)])
    (folder / "f.csv").write_text(f"Spaces,Note\n200,{ANSWER}\n")
    eml(folder / "g.eml", "Cycling", ANSWER)
    heading = {"header_path": "Cycling", "header_level": 1}
    return {
        "a.docx": {"file_format": "docx", **heading},
        "b.pptx": {"file_format": "pptx", "slide": 2, **heading},
        "c.html": {"file_format": "html", **heading},
        "d.epub": {"file_format": "epub", **heading},
        "e.xlsx": {"file_format": "xlsx", "sheet": "Cycling", "start_row": 1, "end_row": 2},
        "f.csv": {"file_format": "csv", "start_line": 1, "end_line": 2},
        "g.eml": {"file_format": "eml", "message": "Cycling", **heading},
    }


def test_each_format_is_indexed_and_cited_by_its_place(empty: Session, folder: Path) -> None:
    expected = write(folder)
    assert counts(index_all(empty, folder)) == (len(expected), 0, 0)
    for name, place in expected.items():
        best = find(empty, QUESTION, filters={"source_file": {"$contains": name}})[0]
        assert ANSWER in best["content"]
        assert place.items() <= best["metadata"].items()


def test_results_are_filtered_by_slide_sheet_and_message(empty: Session, folder: Path) -> None:
    write(folder)
    index_all(empty, folder)
    for filters, name in (
        ({"slide": {"$gte": 2}}, "b.pptx"),
        ({"sheet": "Cycling", "start_row": 1, "end_row": 2}, "e.xlsx"),
        ({"message": "Cycling"}, "g.eml"),
    ):
        assert files_found(empty, QUESTION, filters=filters) == [name]


def test_a_damaged_office_file_costs_its_own_error(empty: Session, folder: Path) -> None:
    (folder / "a.docx").write_bytes(b"PK\x03\x04 damaged")
    (folder / "b.md").write_text("# Cycling\n\n" + ANSWER)
    data = index_all(empty, folder)
    assert data["new_documents"] == 1
    [error] = data["errors"]
    assert error["error"] == "Failed to extract content from docx"
    assert index(empty, folder / "b.md")["chunks_created"] == 0
