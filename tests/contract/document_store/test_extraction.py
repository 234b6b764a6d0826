"""Text extraction: text layer, else OCR; which pages got which; what is never OCRed."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    SUCCESS_KEYS,
    chunks_of,
    ingest,
    ingest_well,
    list_documents,
    read_text,
    refusal,
)
from tests.contract.process import HttpServer, run_http
from tests.contract.session import Session
from tests.documents import (
    PROSE,
    AnyPage,
    Blank,
    Scan,
    Text,
    locked_pdf,
    make_pdf,
    page_text,
    picture_of,
    text_image,
    text_pdf,
)

# Runs the real program, and writes down what it was asked to read.
TESSERACT = """\
#!/bin/sh
PATH=/usr/bin:/bin
[ "$1" = --list-langs ] && exit 1  # so that the program reads, not the library
header=$(mktemp) && cat > "$header"
printf '%s | %s\\n' "$*" "$(head -c 20 "$header" | sed -n 2p)" >> "{record}"
exec "{program}" "$@" < "$header"
"""

RENDERING_NAMES = [
    "Bird's eye view.pdf",
    "Birds_Eye_View_02.pdf",
    "Birdseye.pdf",
    "Perspective-North.pdf",
    "CGI 01.pdf",
    "plot.7.cgi.views.pdf",
    "3D Visual.pdf",
    "3D_Visualisation.pdf",
    "Artist's Impression.pdf",
    "Artists impression of the square.pdf",
    "Photomontage_Viewpoint_3.pdf",
    "Street Scene A-A.pdf",
    "StreetScene.pdf",
    "Render 4.pdf",
    "Renders.pdf",
]
ORDINARY_NAMES = [
    "Surrender of lease.pdf",
    "Prospective tenants.pdf",
    "Street lighting scenery.pdf",
    "Magician.pdf",
]


@pytest.fixture(scope="module")
def ocr_record(files: Path) -> Path:
    return files / "tesseract.txt"


@pytest.fixture(scope="module")
def server(new_home: NewHome, files: Path, ocr_record: Path) -> Iterator[HttpServer]:
    """A server whose Tesseract keeps a record, and can be taken away."""
    program = shutil.which("tesseract")
    assert program, "these tests need Tesseract"
    folder = files / "bin"
    folder.mkdir()
    script = folder / "tesseract"
    script.write_text(TESSERACT.format(record=ocr_record, program=program))
    script.chmod(0o755)
    with run_http(new_home(), {"PATH": str(folder)}) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: HttpServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


def ocr_runs(record: Path) -> list[str]:
    return record.read_text().splitlines() if record.exists() else []


def test_a_text_layer_is_taken_as_it_is(session: Session, files: Path, ocr_record: Path) -> None:
    before = ocr_runs(ocr_record)
    text = "Ragged   spacing,\n(brackets) & ampersands;\nGrüße, £40 per m², 50%."
    answer = ingest_well(session, text_pdf(files / "layer.pdf", text), "LAYER")
    assert answer["extraction_method"] == "text_layer"
    assert read_text(session, answer["document_id"]) == text
    assert ocr_runs(ocr_record) == before


def test_a_scanned_page_is_read_by_ocr(session: Session, files: Path) -> None:
    answer = ingest_well(session, make_pdf(files / "scan.pdf", [Scan(PROSE)]), "SCAN")
    assert answer["extraction_method"] == "ocr"
    assert read_text(session, answer["document_id"]) == PROSE
    [chunk] = chunks_of(session, answer["document_id"], "SCAN")
    assert chunk["metadata"]["extraction_method"] == "ocr"
    [listed] = list_documents(session, "SCAN")
    assert listed["extraction_method"] == "ocr"


def test_both_ways_in_one_document_are_mixed(session: Session, files: Path) -> None:
    pages: list[AnyPage] = [Text(f"Typed.\n{PROSE}"), Scan(f"Scanned.\n{PROSE}")]
    answer = ingest_well(session, make_pdf(files / "both.pdf", pages), "BOTH")
    assert answer["extraction_method"] == "mixed"
    text = read_text(session, answer["document_id"], without_overlap=True)
    assert "Typed." in text
    assert "Scanned." in text
    chunks = chunks_of(session, answer["document_id"], "BOTH")
    assert {chunk["metadata"]["extraction_method"] for chunk in chunks} == {"mixed"}
    [listed] = list_documents(session, "BOTH")
    assert listed["extraction_method"] == "mixed"


def test_a_page_with_fewer_than_ten_characters_is_read_by_ocr(
    session: Session, files: Path
) -> None:
    file = make_pdf(files / "stamped.pdf", [Scan(PROSE, layer="Page 1/1")])
    answer = ingest_well(session, file, "FEW")
    assert answer["extraction_method"] == "ocr"
    assert "two hundred covered cycle parking spaces" in read_text(session, answer["document_id"])


def test_a_page_with_ten_characters_is_read_from_its_layer(
    session: Session, files: Path, ocr_record: Path
) -> None:
    before = ocr_runs(ocr_record)
    file = make_pdf(files / "stamped more.pdf", [Scan(PROSE, layer="0123456789")])
    answer = ingest_well(session, file, "TEN")
    assert answer["extraction_method"] == "text_layer"
    assert read_text(session, answer["document_id"]) == "0123456789"
    assert ocr_runs(ocr_record) == before


def test_a_page_is_rendered_at_300_dots_per_inch(
    session: Session, files: Path, ocr_record: Path
) -> None:
    before = len(ocr_runs(ocr_record))
    scan = Scan(PROSE, cover=0.5, dpi=200)
    ingest_well(session, make_pdf(files / "resolution.pdf", [scan]), "RESOLUTION")
    [run] = ocr_runs(ocr_record)[before:]
    arguments, _, size = run.partition(" | ")
    width, height = map(int, size.split())
    image = picture_of(PROSE, dpi=200)
    assert "--dpi 300" in arguments
    assert width == pytest.approx(image.width * 300 / 200, abs=2)
    assert height == pytest.approx(image.height / 0.5 * 300 / 200, abs=2)


def test_an_image_file_is_one_page_read_by_ocr_at_its_own_pixels(
    session: Session, files: Path, ocr_record: Path
) -> None:
    before = len(ocr_runs(ocr_record))
    file = text_image(files / "Letter.png", PROSE)
    job = session.start("ingest_document", file_path=str(file), application_ref="IMAGE")
    answer = job.result()
    assert answer["extraction_method"] == "ocr"
    assert read_text(session, answer["document_id"]) == PROSE
    [chunk] = chunks_of(session, answer["document_id"], "IMAGE")
    assert chunk["metadata"]["page_numbers"] == "1"
    assert [total for _, total, _ in job.progress] == [2, 2]
    image = picture_of(PROSE)
    reading = ocr_runs(ocr_record)[before:][-1]
    assert reading.endswith(f"| {image.width} {image.height}")


@pytest.mark.slow
def test_each_frame_of_a_tiff_is_a_page(session: Session, files: Path) -> None:
    frames = [f"This is frame {name} of the file.\n{PROSE}" for name in ("one", "two", "three")]
    answer = ingest_well(session, text_image(files / "Fax.tiff", *frames), "FRAMES")
    chunks = chunks_of(session, answer["document_id"], "FRAMES")
    pages = {page for chunk in chunks for page in chunk["metadata"]["page_numbers"].split(",")}
    assert pages == {"1", "2", "3"}
    text = read_text(session, answer["document_id"], without_overlap=True)
    assert re.findall(r"frame (\w+) of", text) == ["one", "two", "three"]


@pytest.mark.parametrize(
    "page",
    [Scan(PROSE, blur=2.5), Scan(PROSE, blur=0.7, dpi=50)],
    ids=["a line of which no engine is sure", "a page of which no engine is sure"],
)
def test_a_page_that_ocr_doubts_is_logged_as_a_warning(
    session: Session, server: HttpServer, files: Path, page: Scan
) -> None:
    before = len(server.log)
    file = make_pdf(files / "Faded letter.pdf", [page])
    assert ingest(session, file, f"DOUBT{page.dpi}")["extraction_method"] == "ocr"
    [line] = [line for line in server.log[before:].splitlines() if "confidence" in line]
    assert line.startswith("WARNING ")
    assert "Faded letter.pdf" in line
    found = re.search(r"page 1\b.*?(\d+)", line.split("Faded letter.pdf")[1])
    assert found
    assert int(found[1]) < 70


def test_a_page_that_ocr_does_not_doubt_is_not_logged(
    session: Session, server: HttpServer, files: Path
) -> None:
    before = len(server.log)
    file = make_pdf(files / "clear.pdf", [Scan(f"Clear.\n{PROSE}")])
    answer = ingest_well(session, file, "CLEAR")
    assert "confidence" not in server.log[before:]
    assert "warnings" not in answer


def test_a_page_that_ocr_probably_misread_is_named_in_the_answer(
    session: Session, files: Path
) -> None:
    pages = [Scan(PROSE), Scan(PROSE, blur=0.7, dpi=50)]
    answer = ingest(session, make_pdf(files / "Faded page.pdf", pages), "MISREAD")
    assert set(answer) == {*SUCCESS_KEYS, "warnings"}
    [warning] = answer["warnings"]
    assert warning.startswith("Page 2 may have many misread words")


@pytest.mark.parametrize("name", RENDERING_NAMES)
def test_a_file_named_as_a_rendering_is_never_ocred(
    session: Session, files: Path, ocr_record: Path, name: str
) -> None:
    before = ocr_runs(ocr_record)
    # Half a page of legible text, which OCR would read.
    answer = ingest(session, make_pdf(files / name, [Scan(f"{name}\n{PROSE}")]), "RENDERINGS")
    assert answer == {
        "status": "skipped",
        "reason": "image_based",
        "image_ratio": 0.5,
        "total_pages": 1,
    }
    assert ocr_runs(ocr_record) == before


@pytest.mark.parametrize("name", ORDINARY_NAMES)
def test_a_file_whose_name_only_contains_those_letters_is_ocred(
    session: Session, files: Path, name: str
) -> None:
    answer = ingest_well(session, make_pdf(files / name, [Scan(f"{name}\n{PROSE}")]), "ORDINARY")
    assert answer["extraction_method"] == "ocr"


def test_a_rendering_with_a_text_layer_is_taken_for_its_text(session: Session, files: Path) -> None:
    answer = ingest_well(session, text_pdf(files / "CGI methodology.pdf", PROSE), "CGI")
    assert answer["extraction_method"] == "text_layer"


def test_a_document_without_any_text_has_no_content(session: Session, files: Path) -> None:
    answer = ingest(session, make_pdf(files / "Blank.pdf", [Blank(), Blank()]), "BLANK")
    message = refusal(answer, "no_content")
    assert "Blank.pdf" in message
    assert list_documents(session, "BLANK") == []


def test_blank_pages_between_others_do_not_shift_page_numbers(
    session: Session, files: Path
) -> None:
    pages: list[AnyPage] = [Blank(), Text(PROSE), Blank(), Text("\n".join([PROSE] * 3))]
    answer = ingest_well(session, make_pdf(files / "Gaps.pdf", pages), "GAPS")
    chunks = chunks_of(session, answer["document_id"], "GAPS")
    pages_of = [chunk["metadata"]["page_numbers"] for chunk in chunks]
    assert pages_of[0].split(",")[0] == "2"
    assert pages_of[-1] == "4"


def test_a_pdf_that_only_forbids_printing_is_read(session: Session, files: Path) -> None:
    answer = ingest_well(session, locked_pdf(files / "Read only.pdf", to_open=False), "FORBIDS")
    assert answer["total_chars"] == len(page_text(PROSE))


def test_without_tesseract_the_answer_says_what_to_install(session: Session, files: Path) -> None:
    program = files / "bin" / "tesseract"
    away = program.rename(files / "tesseract elsewhere")
    try:
        answer = ingest(session, make_pdf(files / "no ocr.pdf", [Scan(PROSE)]), "TOOL")
    finally:
        away.rename(program)
    message = refusal(answer, "extraction_failed")
    assert "tesseract" in message
    assert "ENABLE_OCR=false" in message
    assert list_documents(session, "TOOL") == []
