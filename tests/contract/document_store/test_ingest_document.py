"""`ingest_document`: its answers, ids, and what it does when asked twice."""

import hashlib
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.contract.document_store.asking import (
    ALREADY_KEYS,
    REF,
    SKIPPED_KEYS,
    chunks_of,
    find,
    ingest,
    ingest_well,
    list_documents,
    read_text,
)
from tests.contract.session import Answer, Session
from tests.documents import (
    PROSE,
    AnyPage,
    Drawing,
    Scan,
    Text,
    make_pdf,
    page_text,
    photo,
    text_image,
    text_pdf,
)

ALREADY = "Document has already been ingested with the same content"


@pytest.fixture(scope="module")
def report(files: Path) -> Path:
    return text_pdf(files / "Annual report.pdf", PROSE, f"{PROSE}\nThe end.")


@pytest.fixture(scope="module")
def ingested(session: Session, report: Path) -> Answer:
    return ingest_well(session, report)


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_success_counts_chunks_characters_and_words(ingested: Answer) -> None:
    text = f"{page_text(PROSE)}\n\n{page_text(PROSE)}The end.\n"
    assert ingested == {
        "status": "success",
        "document_id": ingested["document_id"],
        "chunks_created": 1,
        "extraction_method": "text_layer",
        "contains_drawings": False,
        "total_chars": len(text),
        "total_words": len(text.split()),
    }


def test_chunks_created_is_the_number_of_chunks_stored(session: Session, files: Path) -> None:
    file = text_pdf(files / "long.pdf", *[f"Part {n}.\n{PROSE}\n{PROSE}" for n in range(9)])
    answer = ingest_well(session, file)
    assert answer["chunks_created"] > 5
    assert len(chunks_of(session, answer["document_id"])) == answer["chunks_created"]


def test_the_document_id_is_the_sanitized_reference_and_six_digits_of_the_hash(
    ingested: Answer, report: Path
) -> None:
    assert ingested["document_id"] == f"25_01178_REM_{sha256(report)[:6]}"


@pytest.mark.parametrize(
    ("ref", "sanitized"),
    [
        ("25/00017/FUL", "25_00017_FUL"),
        ("25-00018-FUL", "25_00018_FUL"),
        ("DC//25 .. 01178", "DC_25_01178"),
        ("plain", "plain"),
        ("a_b__c", "a_b_c"),
        ("Pláň/7", "Pláň_7"),
    ],
)
def test_every_run_of_other_characters_in_a_reference_becomes_one_underscore(
    session: Session, files: Path, ref: str, sanitized: str
) -> None:
    file = text_pdf(files / f"{sanitized}.pdf", f"On {sanitized}.\n{PROSE}")
    answer = ingest_well(session, file, ref)
    assert answer["document_id"] == f"{sanitized}_{sha256(file)[:6]}"
    [listed] = list_documents(session, ref)
    assert listed["document_id"] == answer["document_id"]
    [chunk] = chunks_of(session, answer["document_id"], ref)
    assert chunk["chunk_id"] == f"{answer['document_id']}_001_000"
    assert chunk["metadata"]["application_ref"] == ref


def test_the_prefix_grows_when_another_document_has_the_id(session: Session, files: Path) -> None:
    file = text_pdf(files / "shared.pdf", f"Shared.\n{PROSE}")
    first = ingest_well(session, file, "25/0042/REM")
    second = ingest_well(session, file, "25-0042-REM")
    third = ingest_well(session, file, "25 0042 REM")
    digits = sha256(file)
    assert first["document_id"] == f"25_0042_REM_{digits[:6]}"
    assert second["document_id"] == f"25_0042_REM_{digits[:7]}"
    assert third["document_id"] == f"25_0042_REM_{digits[:8]}"
    for ref, answer in (("25/0042/REM", first), ("25-0042-REM", second), ("25 0042 REM", third)):
        assert [d["document_id"] for d in list_documents(session, ref)] == [answer["document_id"]]
        assert read_text(session, answer["document_id"]).startswith("Shared.")
        again = ingest(session, file, ref)
        assert (again["status"], again["document_id"]) == (
            "already_ingested",
            answer["document_id"],
        )


def test_the_same_content_is_taken_once_and_answered_at_once(
    session: Session, report: Path, ingested: Answer
) -> None:
    job = session.start("ingest_document", file_path=str(report), application_ref=REF)
    answer = job.result()
    assert answer == {
        "status": "already_ingested",
        "document_id": ingested["document_id"],
        "message": ALREADY,
    }
    assert set(answer) == ALREADY_KEYS
    assert job.progress == []


def test_the_same_content_under_another_name_is_taken_once(
    session: Session, report: Path, files: Path, ingested: Answer
) -> None:
    copy = Path(shutil.copy(report, files / "A copy of it.pdf"))
    answer = ingest(session, copy)
    assert (answer["status"], answer["document_id"]) == (
        "already_ingested",
        ingested["document_id"],
    )


def test_the_same_content_for_another_application_is_another_document(
    session: Session, report: Path, ingested: Answer
) -> None:
    answer = ingest_well(session, report, "25/99999/FUL")
    assert answer["document_id"] == f"25_99999_FUL_{sha256(report)[:6]}"
    assert answer["document_id"] != ingested["document_id"]
    assert answer["chunks_created"] == ingested["chunks_created"]


def test_other_content_at_the_same_path_is_another_document(session: Session, files: Path) -> None:
    file = text_pdf(files / "edited.pdf", f"First edition.\n{PROSE}")
    first = ingest_well(session, file, "EDITIONS")
    text_pdf(file, f"Second edition.\n{PROSE}")
    second = ingest(session, file, "EDITIONS")
    assert second["status"] == "success"
    assert second["replaces"] == first["document_id"]
    assert first["document_id"] != second["document_id"]
    assert read_text(session, first["document_id"]).startswith("First")
    assert read_text(session, second["document_id"]).startswith("Second")
    assert len(list_documents(session, "EDITIONS")) == 2


def test_a_changed_file_takes_the_place_of_its_earlier_version(
    session: Session, files: Path
) -> None:
    file = text_pdf(files / "revised.pdf", f"First edition.\n{PROSE}")
    first = ingest_well(session, file, "REPLACED", replace=True)
    text_pdf(file, f"Second edition.\n{PROSE}")
    second = ingest(session, file, "REPLACED", replace=True)
    assert second["replaces"] == first["document_id"]
    [listed] = list_documents(session, "REPLACED")
    assert listed["document_id"] == second["document_id"]
    [hit] = find(session, "edition", application_ref="REPLACED")
    assert hit["text"].startswith("Second")


def test_a_repeated_call_can_replace_what_the_first_one_kept(session: Session, files: Path) -> None:
    file = text_pdf(files / "later.pdf", f"First edition.\n{PROSE}")
    first = ingest_well(session, file, "LATER")
    text_pdf(file, f"Second edition.\n{PROSE}")
    second = ingest(session, file, "LATER")
    again = ingest(session, file, "LATER", replace=True)
    assert (again["status"], again["replaces"]) == ("already_ingested", first["document_id"])
    assert [one["document_id"] for one in list_documents(session, "LATER")] == [
        second["document_id"]
    ]
    assert "replaces" not in ingest(session, file, "LATER", replace=True)


def test_a_file_that_cannot_be_read_replaces_nothing(session: Session, files: Path) -> None:
    file = text_pdf(files / "broken later.pdf", f"First edition.\n{PROSE}")
    first = ingest_well(session, file, "BROKEN")
    file.write_bytes(b"%PDF-1.7 and nothing more")
    assert ingest(session, file, "BROKEN", replace=True)["status"] == "error"
    [listed] = list_documents(session, "BROKEN")
    assert listed["document_id"] == first["document_id"]


def test_the_same_path_in_another_application_is_not_replaced(
    session: Session, files: Path
) -> None:
    file = text_pdf(files / "shared path.pdf", f"First edition.\n{PROSE}")
    ingest_well(session, file, "PATH A")
    text_pdf(file, f"Second edition.\n{PROSE}")
    ingest_well(session, file, "PATH B", replace=True)
    assert len(list_documents(session, "PATH A")) == 1


def test_both_versions_of_a_file_are_told_apart_by_date(session: Session, files: Path) -> None:
    file = text_pdf(files / "twice.pdf", f"First edition.\n{PROSE}")
    ingest_well(session, file, "TWICE")
    text_pdf(file, f"Second edition.\n{PROSE}")
    ingest(session, file, "TWICE")
    dates = {one["document_id"]: one["ingested_at"] for one in list_documents(session, "TWICE")}
    found = [hit["metadata"] for hit in find(session, "edition", application_ref="TWICE")]
    assert {one["document_id"]: one["ingested_at"] for one in found} == dates
    assert len(found) == 2


def test_white_space_around_a_reference_does_not_make_another_application(
    session: Session, report: Path, ingested: Answer
) -> None:
    answer = ingest(session, report, f"  {REF}\n")
    assert answer["status"] == "already_ingested"


def test_a_drawing_is_skipped_with_its_image_ratio(session: Session, files: Path) -> None:
    file = make_pdf(files / "Sheet A.pdf", [Drawing(seed) for seed in range(4)])
    job = session.start("ingest_document", file_path=str(file), application_ref="PICTURES")
    answer = job.result()
    assert answer == {
        "status": "skipped",
        "reason": "image_based",
        "image_ratio": 1.0,
        "total_pages": 4,
    }
    assert set(answer) == SKIPPED_KEYS
    assert job.progress == []
    assert list_documents(session, "PICTURES") == []


def test_the_ratio_is_the_average_over_the_pages_to_three_digits(
    session: Session, files: Path
) -> None:
    pages: list[AnyPage] = [Drawing(1), Drawing(2), Drawing(3), Text("Key to the sheets")]
    answer = ingest(session, make_pdf(files / "Sheets.pdf", pages), "PICTURES")
    assert answer["status"] == "skipped"
    assert answer["total_pages"] == 4
    assert answer["image_ratio"] == 0.75


def test_a_photograph_is_skipped(session: Session, files: Path) -> None:
    answer = ingest(session, photo(files / "View from the north.jpg"), "PICTURES")
    assert answer["status"] == "skipped"
    assert answer["image_ratio"] == 1.0
    assert answer["total_pages"] == 1


def test_a_scanned_report_is_not_skipped_though_images_cover_it(
    session: Session, files: Path
) -> None:
    file = make_pdf(files / "Scanned letter.pdf", [Scan(PROSE, cover=1.0)])
    assert ingest_well(session, file)["extraction_method"] == "ocr"


def test_a_report_with_a_drawing_in_it_is_taken_and_marked(session: Session, files: Path) -> None:
    pages: list[AnyPage] = [Text(PROSE), Drawing(), Text(f"More.\n{PROSE}")]
    answer = ingest_well(session, make_pdf(files / "Appraisal.pdf", pages), "DRAWINGS")
    assert answer["contains_drawings"] is True
    [listed] = list_documents(session, "DRAWINGS")
    assert listed["contains_drawings"] is True


@pytest.mark.parametrize("extension", ["pdf", "png", "jpg", "jpeg", "tiff", "tif", "bmp", "PNG"])
def test_a_supported_extension_is_taken(session: Session, files: Path, extension: str) -> None:
    file = files / f"Letter of support in {extension}.{extension}"
    make = text_pdf if extension == "pdf" else text_image
    answer = ingest_well(session, make(file, f"A {extension} file\n{PROSE}"), "EXTENSIONS")
    assert "two hundred covered cycle parking spaces" in read_text(session, answer["document_id"])


def test_a_link_is_followed_and_keeps_its_own_name(session: Session, files: Path) -> None:
    target = text_pdf(files / "blob-7f3a", f"Linked.\n{PROSE}")
    link = files / "Linked report.pdf"
    link.symlink_to(target)
    answer = ingest_well(session, link, "LINKS")
    [chunk] = chunks_of(session, answer["document_id"], "LINKS")
    assert chunk["metadata"]["source_file"] == "Linked report.pdf"
    [listed] = list_documents(session, "LINKS")
    assert listed["file_path"] == str(link)


def test_a_name_with_spaces_quotes_and_other_scripts_is_kept(session: Session, files: Path) -> None:
    name = "Plán č. 7 – “naïve” 図面's & co.pdf"
    answer = ingest_well(session, text_pdf(files / name, f"Named.\n{PROSE}"), "NAMES")
    [chunk] = chunks_of(session, answer["document_id"], "NAMES")
    assert chunk["metadata"]["source_file"] == name


def test_the_time_of_ingestion_is_iso_8601_in_utc(session: Session, files: Path) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    ingest_well(session, text_pdf(files / "now.pdf", f"Now.\n{PROSE}"), "TIMES")
    [listed] = list_documents(session, "TIMES")
    assert before <= datetime.fromisoformat(listed["ingested_at"]) <= datetime.now(UTC)
    assert listed["ingested_at"].endswith("+00:00")


def test_a_document_is_found_as_soon_as_it_is_ingested(session: Session, files: Path) -> None:
    ingest_well(session, text_pdf(files / "soon.pdf", f"Soon.\n{PROSE}"), "SOON")
    assert len(find(session, "bicycles", application_ref="SOON")) == 1
