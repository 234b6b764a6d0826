"""Each variable of the contract, and what it changes."""

from pathlib import Path

import pytest

from tests.contract.document_store.asking import (
    find,
    ingest,
    ingest_well,
    list_documents,
    refusal,
)
from tests.contract.process import Home, run_http, run_stdio
from tests.documents import (
    PROSE,
    AnyPage,
    Drawing,
    Scan,
    Text,
    make_pdf,
    text_image,
    text_pdf,
)


def test_chroma_persist_dir_is_where_the_vectors_are(fresh_home: Home, tmp_path: Path) -> None:
    elsewhere = tmp_path / "other" / "chroma"
    with run_stdio(fresh_home, {"CHROMA_PERSIST_DIR": str(elsewhere)}) as session:
        assert list_documents(session) == []
        assert (elsewhere / "chroma.sqlite3").is_file()
        assert not fresh_home.chroma.exists()


@pytest.mark.skipif(Path("/data/chroma").is_dir(), reason="a container's folder would be used")
def test_without_chroma_persist_dir_the_vectors_are_in_the_home(fresh_home: Home) -> None:
    with run_stdio(fresh_home, {"CHROMA_PERSIST_DIR": None}) as session:
        assert list_documents(session) == []
        assert (fresh_home.path / "chroma" / "chroma.sqlite3").is_file()


def test_an_empty_chroma_persist_dir_keeps_everything_in_memory(
    fresh_home: Home, tmp_path: Path
) -> None:
    with run_stdio(fresh_home, {"CHROMA_PERSIST_DIR": ""}) as session:
        ingest_well(session, text_pdf(tmp_path / "Letter.pdf", PROSE))
        assert len(find(session, "bicycles")) == 1
    kept = [path for path in fresh_home.path.iterdir() if path.is_file()]
    assert not any(PROSE[:40].encode() in path.read_bytes() for path in kept)
    with run_stdio(fresh_home, {"CHROMA_PERSIST_DIR": ""}) as session:
        assert list_documents(session) == []
    assert list(fresh_home.path.rglob("chroma*")) == []


def test_without_ocr_scanned_pages_are_not_read(fresh_home: Home, tmp_path: Path) -> None:
    with run_stdio(fresh_home, {"ENABLE_OCR": "false"}) as session:
        scan = make_pdf(tmp_path / "Scan.pdf", [Scan(PROSE)])
        assert "ENABLE_OCR" in refusal(ingest(session, scan), "no_content")
        pages: list[AnyPage] = [Text(f"Typed.\n{PROSE}"), Scan(PROSE)]
        answer = ingest_well(session, make_pdf(tmp_path / "Both.pdf", pages))
        assert answer["extraction_method"] == "text_layer"
        # The image ratio decides alone: there is nothing to look closer with.
        covered = make_pdf(tmp_path / "Covered.pdf", [Scan(PROSE, cover=1.0)])
        assert ingest(session, covered)["status"] == "skipped"
        assert ingest(session, text_image(tmp_path / "Letter.png"))["status"] == "skipped"
        assert len(list_documents(session)) == 1


@pytest.mark.parametrize(
    ("threshold", "taken", "skipped"), [(None, (2, 3), (3, 4)), ("0.4", (1, 3), (1, 2))]
)
def test_a_document_above_the_image_ratio_threshold_is_skipped(
    fresh_home: Home,
    tmp_path: Path,
    threshold: str | None,
    taken: tuple[int, int],
    skipped: tuple[int, int],
) -> None:
    variables = {"IMAGE_RATIO_THRESHOLD": threshold, "ENABLE_OCR": "false"}
    with run_stdio(fresh_home, variables) as session:
        for (drawings, count), status in ((taken, "success"), (skipped, "skipped")):
            pages: list[AnyPage] = [Drawing(seed) for seed in range(drawings)]
            pages += [Text(PROSE)] * (count - drawings)
            answer = ingest(session, make_pdf(tmp_path / f"{drawings} of {count}.pdf", pages))
            assert answer["status"] == status
            if status == "skipped":
                assert answer["image_ratio"] == round(drawings / count, 3)


def test_nothing_is_read_outside_of_the_read_roots(fresh_home: Home, tmp_path: Path) -> None:
    inside, beside = tmp_path / "plans", tmp_path / "plans and more"
    for place in (inside, inside / "deeper", beside, tmp_path / "second root"):
        place.mkdir()
        text_pdf(place / "Letter.pdf", f"In {place.name}.\n{PROSE}")
        (place / "notes.txt").write_text("notes")
    (inside / "way out.pdf").symlink_to(beside / "Letter.pdf")
    (beside / "way in.pdf").symlink_to(inside / "Letter.pdf")
    outside: list[Path | str] = [
        beside / "Letter.pdf",
        beside / "notes.txt",
        beside,
        inside / "way out.pdf",
        f"{inside}/../plans and more/Letter.pdf",
        "/etc/passwd",
        "/dev/zero",
        "/",
    ]
    variables = {"QUINION_READ_ROOTS": f"{inside}:{tmp_path / 'second root'}"}
    with run_stdio(fresh_home, variables) as session:
        missing = inside / "not there.pdf"
        expected = refusal(ingest(session, missing, "ROOTS"), "file_not_found")
        for path in outside:
            message = refusal(ingest(session, path, "ROOTS"), "file_not_found")
            assert message.replace(str(path), "…") == expected.replace(str(missing), "…")
        ingest_well(session, inside / "Letter.pdf", "ROOTS")
        ingest_well(session, inside / "deeper" / "Letter.pdf", "ROOTS")
        ingest_well(session, tmp_path / "second root" / "Letter.pdf", "ROOTS")
        assert ingest(session, beside / "way in.pdf", "ROOTS")["status"] == "already_ingested"


def test_the_model_is_loaded_at_the_first_use(fresh_home: Home, tmp_path: Path) -> None:
    models = fresh_home.path / "models"
    models.unlink()
    with run_stdio(fresh_home) as session:
        assert list_documents(session) == []
        refusal(ingest(session, tmp_path / "missing.pdf"), "file_not_found")
        assert not models.exists()
        assert find(session, "now it is needed") == []
        assert models.exists()


def test_a_model_that_is_missing_is_an_error_that_says_what_to_do(
    fresh_home: Home, tmp_path: Path
) -> None:
    (fresh_home.path / "models").unlink()
    with run_stdio(fresh_home, {"QUINION_MODEL_DIR": str(tmp_path)}) as session:
        answer = session.call("search_application_docs", query="bats")
        assert "QUINION_MODEL_DIR" in refusal(answer, "embedding_failed")
        file = text_pdf(tmp_path / "Letter.pdf", PROSE)
        refusal(ingest(session, file), "embedding_failed")
        assert list_documents(session) == []


def test_a_store_that_does_not_answer_is_an_error_and_not_an_empty_result(fresh_home: Home) -> None:
    variables = {"CHROMA_URL": "http://127.0.0.1:9"}
    with run_http(fresh_home, variables) as server, server.session() as session:
        assert server.request("GET", "/health").status_code == 200
        for tool, arguments in (
            ("list_ingested_documents", {"application_ref": "X"}),
            ("search_application_docs", {"query": "bats"}),
            ("get_document_text", {"document_id": "X"}),
        ):
            refusal(session.call(tool, **arguments), "store_unavailable")
