"""FR-2: the text of a document, read by the real endpoint."""

import os
from pathlib import Path

import pytest
from conftest import Place
from ocr_client import Session
from ocr_front import OCR, SIGN, UPLOAD, Front, answer_of, image, page
from PIL import Image
from tests.documents import PROSE, Scan, Text, make_pdf, picture_of, text_pdf

WORDS = "two hundred covered cycle parking spaces"


def test_fr_2_2_and_fr_2_5_a_pdf_becomes_markdown(
    real: Session, forwarding: Front, place: Place
) -> None:
    path = text_pdf(place.outside / "report.pdf", PROSE, "Annex\n" + PROSE)
    outcome = real.call("extract_markdown", file_path=str(path))
    assert not outcome.is_error
    assert outcome.text.count(WORDS) == 2
    assert outcome.structured == {"content": outcome.text}
    assert forwarding.last(OCR).json["document"]["type"] == "document_url"


@pytest.mark.slow
def test_nfr_3_1_a_document_of_50_pages_is_read(real: Session, place: Place) -> None:
    """With a sign of life every few seconds, however long it takes."""
    texts = [f"This is page {number} of fifty.\n{PROSE}" for number in range(50)]
    path = text_pdf(place.outside / "long.pdf", *texts)
    job = real.start("extract_markdown", file_path=str(path))
    outcome = real.finish(job, "extract_markdown")
    assert not outcome.is_error, outcome.text
    assert all(f"This is page {number} of fifty." in outcome.text for number in range(50))


@pytest.mark.parametrize("extension", ["png", "jpg", "jpeg", "webp", "gif", "PNG"])
def test_fr_2_3_an_image_becomes_markdown(
    real: Session, forwarding: Front, place: Place, extension: str
) -> None:
    path = place.outside / f"page.{extension}"
    picture_of(PROSE).save(path)
    outcome = real.call("extract_markdown", file_path=str(path))
    assert WORDS in outcome.text
    assert forwarding.last(OCR).json["document"]["type"] == "image_url"


def test_a_scanned_page_and_one_with_a_text_layer_are_both_read(
    real: Session, place: Place
) -> None:
    path = make_pdf(place.outside / "mixed.pdf", [Scan(PROSE, cover=0.9), Text(PROSE)])
    outcome = real.call("extract_markdown", file_path=str(path))
    assert outcome.text.count(WORDS) == 2


def test_fr_2_4_no_image_data_is_asked_for_and_the_model_is_the_specs(
    session: Session, front: Front, place: Place
) -> None:
    session.call("extract_markdown", file_path=place.document())
    asked = front.last(OCR).json
    assert asked["include_image_base64"] is False
    assert asked["model"] == "mistral-ocr-latest"
    assert "pages" not in asked


def test_the_file_is_uploaded_for_ocr_under_its_own_name_and_sent_by_its_signed_address(
    session: Session, front: Front, place: Place
) -> None:
    session.call("extract_markdown", file_path=place.document("my report.pdf"))
    upload = front.last(UPLOAD).body
    assert b'filename="my report.pdf"' in upload
    assert b"%PDF-1.7 a document" in upload
    assert b'name="purpose"\r\n\r\nocr' in upload
    assert front.count(SIGN) == 1
    asked = front.last(OCR).json["document"]
    assert asked["document_url"] == "https://storage.example/file-1?signature=abc"


def test_pages_come_in_their_order_whatever_the_answers(
    session: Session, front: Front, place: Place
) -> None:
    front.lay_ready(page("two", index=1), page("one", index=0))
    assert session.call("extract_markdown", file_path=place.document()).text == "one\n\ntwo"


def test_images_that_come_unasked_are_dropped(session: Session, front: Front, place: Place) -> None:
    front.lay_ready(page("![a](a)", image("a", "AAAA" * 100_000)))
    assert session.call("extract_markdown", file_path=place.document()).text == "![a](a)"
    assert place.listing() == ["allowed", "report.pdf"]


def test_an_answer_of_500_pages_is_returned_in_full(
    session: Session, front: Front, place: Place
) -> None:
    pages = [page(f"# Page {number}\n\n{PROSE * 10}", index=number) for number in range(500)]
    front.answer = lambda: [answer_of(pages)]
    outcome = session.call("extract_markdown", file_path=place.document())
    assert outcome.text.startswith("# Page 0\n")
    assert outcome.text.count("# Page ") == 500
    assert len(outcome.text) > 1_000_000


def test_fr_2_6_a_missing_file(session: Session, front: Front, place: Place) -> None:
    path = str(place.outside / "missing.pdf")
    assert session.refuse("extract_markdown", file_path=path) == f"File not found: {path!r}"
    assert front.calls == []


@pytest.mark.parametrize("name", ["report.txt", "report", "report.pdf.exe", ".pdf", "report.tiff"])
def test_fr_2_7_an_unsupported_type(
    session: Session, front: Front, place: Place, name: str
) -> None:
    said = session.refuse("extract_markdown", file_path=place.document(name))
    assert said.startswith("Unsupported file type: ")
    assert said.endswith("Supported: .pdf, .png, .jpg, .jpeg, .webp, .gif")
    assert front.calls == []


def test_nfr_4_1_a_relative_path(session: Session, front: Front) -> None:
    said = session.refuse("extract_markdown", file_path="report.pdf")
    assert said == "file_path must be an absolute path: report.pdf"
    assert front.calls == []


def test_a_folder_a_device_a_pipe_and_an_empty_file_are_no_documents(
    session: Session, front: Front, place: Place
) -> None:
    (place.outside / "folder.pdf").mkdir()
    os.mkfifo(place.outside / "pipe.pdf")
    (place.outside / "empty.pdf").touch()
    (place.outside / "zero.pdf").symlink_to("/dev/zero")
    for name, said in (
        ("folder.pdf", "Not a regular file: "),
        ("pipe.pdf", "Not a regular file: "),
        ("zero.pdf", "Not a regular file: "),
        ("empty.pdf", "The file is empty: "),
    ):
        assert session.refuse("extract_markdown", file_path=str(place.outside / name)).startswith(
            said
        )
    assert front.calls == []


def test_nfr_4_3_a_link_named_like_a_document_does_not_make_one_of_what_it_leads_to(
    session: Session, front: Front, place: Place
) -> None:
    (place.outside / "secret").write_text("hush")
    link = place.outside / "report.pdf"
    link.symlink_to(place.outside / "secret")
    said = session.refuse("extract_markdown", file_path=str(link))
    assert said.startswith("Unsupported file type: ")
    assert front.calls == []


def test_a_link_to_a_document_is_followed(session: Session, front: Front, place: Place) -> None:
    place.document("blob.pdf")
    link = place.outside / "report.pdf"
    link.symlink_to(place.outside / "blob.pdf")
    front.lay_ready(page("read"))
    assert session.call("extract_markdown", file_path=str(link)).text == "read"


def test_an_unreadable_document_is_the_apis_error(real: Session, place: Place) -> None:
    path = Path(place.document("broken.pdf"))
    said = real.refuse("extract_markdown", file_path=str(path))
    assert said.startswith("Mistral API error: HTTP 400: ")


def test_an_image_without_any_text_is_a_figure(real: Session, place: Place) -> None:
    path = place.outside / "gradient.png"
    Image.linear_gradient("L").save(path)
    outcome = real.call("extract_markdown", file_path=str(path))
    assert outcome.text == "![img-1-1.jpeg](img-1-1.jpeg)"
