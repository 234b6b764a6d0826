"""Office and web files are read as text with a place to cite."""

from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from quinion.embed.local.weights import find_tokenizer
from quinion.errors import ExtractionFailed
from quinion.extract.formats import INDEXED
from quinion.extract.office import archive
from quinion.model.text_part import TextPart
from quinion.workers.jobs import documents
from tests.documents import PROSE, text_pdf
from tests.office_documents import docx, eml, epub, make_message, pptx, xlsx

ROWS: list[tuple[str | float, ...]] = [
    ("Item", "Cost"),
    ("Cycle stands", 4200.0),
    (),
    ("Trees", "1,250\npounds"),
]


def read(path: Path) -> list[TextPart]:
    extension = path.suffix.lower()
    return list(INDEXED[extension].read_parts(path, extension))


def cite(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Text and metadata of the chunks, as DocVec's worker returns them."""
    frames = documents.JOBS["read_chunks"](
        path=str(path), extension=path.suffix, size=64, tokenizer=str(find_tokenizer(None))
    )
    return [(one["text"], dict(one["metadata"])) for frame in frames for one in frame["chunks"]]


def test_a_word_document_is_cited_by_its_headings(tmp_path: Path) -> None:
    path = docx(
        tmp_path / "report.docx",
        *[("Heading1", "Transport"), ("", "There are two roads."), ("Heading2", "Cycling")],
        *[("", "# 1 on the list: there are 200 cycle spaces."), ("Heading4", "Stands")],
        *[("", "Stands are covered.")],
    )
    chunks = cite(path)
    paths = [metadata["header_path"] for _, metadata in chunks]
    assert paths == ["Transport", "Transport > Cycling", "Transport > Cycling > Stands"]
    assert "there are 200 cycle spaces" in chunks[1][0]
    assert not {"start_line", "page_number"} & set(chunks[1][1])


def test_a_web_page_is_cited_by_its_headings_without_scripts(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(
        "<html><head><title>T</title><script>steal()</script><style>p{}</style></head><body>"
        "<h1>Parking</h1><p>There are <b>200</b> spaces.</p><h5>Rates</h5><p>Free.</p>"
        "</body></html>"
    )
    text = read(path)[0].text
    assert text == "# Parking\n\nThere are 200 spaces.\n\n#### Rates\n\nFree."
    assert [metadata["header_path"] for _, metadata in cite(path)] == ["Parking", "Parking > Rates"]


def test_the_chapters_of_a_book_are_read_in_order(tmp_path: Path) -> None:
    path = epub(tmp_path / "book.epub", ("One", "It begins."), ("Two", "It ends."))
    assert [part.text for part in read(path)] == ["# One\n\nIt begins.", "# Two\n\nIt ends."]


def test_slides_are_cited_by_their_number_in_the_order_shown(tmp_path: Path) -> None:
    path = pptx(
        tmp_path / "deck.pptx",
        ("Budget", "Costs rise by 4 %", "Mention the grant"),
        ("", "", ""),
        ("Schedule", "Done in May", ""),
    )
    chunks = cite(path)
    assert [(m["slide"], m["header_path"]) for _, m in chunks] == [(1, "Budget"), (3, "Schedule")]
    assert "Mention the grant" in chunks[0][0]
    assert "3" not in chunks[1][0]  # the placeholder of the slide number


def test_rows_of_a_workbook_name_their_columns_and_sheet(tmp_path: Path) -> None:
    path = xlsx(tmp_path / "costs.xlsx", Notes=[], Costs=ROWS)
    [part] = read(path)
    lines = [
        "Item | Cost",
        "Item: Cycle stands | Cost: 4200",
        "",
        "Item: Trees | Cost: 1,250 pounds",
    ]
    assert part.text.split("\n") == lines
    [(_, metadata)] = cite(path)
    assert metadata == {"sheet": "Costs", "start_row": 1, "end_row": 4}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_rows_of_a_csv_file_keep_their_lines(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "costs.csv"
    rows = ["Item,Cost", 'Stands,"two\nlines"', "Trees,12"]
    path.write_text("\n".join(row.replace(",", delimiter) for row in rows), encoding="utf-16")
    lines = ["Item | Cost", "", "Item: Stands | Cost: two lines", "Item: Trees | Cost: 12"]
    assert read(path)[0].text.split("\n") == lines
    [(_, metadata)] = cite(path)
    assert metadata == {"start_line": 1, "end_line": 4}


def test_messages_are_cited_by_their_subject(tmp_path: Path) -> None:
    inner = make_message("Parking", "<p>There are <i>200</i> spaces.</p>", "html")
    path = eml(tmp_path / "mail.eml", "Fwd: Parking", "See below.", inner)
    first, second = read(path)
    assert first.place == {"message": "Fwd: Parking"}
    assert first.text.startswith("# Fwd: Parking\n\nFrom: Ada Byron <ada@example.org>\nDate: Mon")
    assert "Attachments: plan.pdf" in first.text
    assert first.text.endswith("See below.\n")
    assert second.place == {"message": "Parking"}
    assert second.text.endswith("There are 200 spaces.")


@pytest.mark.parametrize("extension", [".docx", ".pptx", ".xlsx", ".epub"])
def test_a_damaged_file_is_an_error_of_that_file(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"a{extension}"
    for content in (b"PK\x03\x04 and nothing else", b"not an archive"):
        path.write_bytes(content)
        with pytest.raises(ExtractionFailed, match=r"again|damaged"):
            read(path)
    with ZipFile(path, "w") as empty:
        empty.writestr("a.txt", "x")
    with pytest.raises(ExtractionFailed):
        read(path)


@pytest.mark.parametrize("extension", [".docx", ".pptx", ".xlsx", ".epub"])
def test_a_pdf_with_another_extension_is_called_what_it_is(tmp_path: Path, extension: str) -> None:
    path = text_pdf(tmp_path / f"a{extension}", PROSE)
    with pytest.raises(ExtractionFailed, match=r"but a PDF\. Rename it to \.pdf"):
        read(path)


def test_a_file_that_is_no_message_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.eml").write_text("just text")
    with pytest.raises(ExtractionFailed, match="not an e-mail message"):
        read(tmp_path / "a.eml")


@pytest.mark.parametrize("make", [docx, pptx, epub])
def test_an_archive_with_too_much_text_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Any
) -> None:
    path = make(tmp_path / f"a.{make.__name__}")
    with ZipFile(path, "a", 8) as bomb:
        bomb.writestr("word/more.xml", "x" * 100_000)
    assert path.stat().st_size < 20_000
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 50_000)
    with pytest.raises(ExtractionFailed, match="Split it"):
        read(path)
