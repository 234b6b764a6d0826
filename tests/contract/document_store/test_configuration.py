"""Each variable of the contract, and what it changes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import (
    find,
    ingest,
    ingest_well,
    list_documents,
    refusal,
)
from tests.contract.process import MIRRORED, Home, run_http, run_stdio
from tests.contract.session import Session
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


@pytest.fixture(scope="module")
def elsewhere(files: Path) -> Path:
    """A folder for the vectors that is not in the home."""
    return files / "other" / "chroma"


@pytest.fixture(scope="module")
def roots(files: Path) -> list[Path]:
    """Two folders that may be read from; others are beside them."""
    return [files / "plans", files / "second root"]


@pytest.fixture(scope="module")
def restricted(new_home: NewHome, elsewhere: Path, roots: list[Path]) -> Iterator[Session]:
    variables = {
        "CHROMA_PERSIST_DIR": str(elsewhere),
        "QUINION_READ_ROOTS": os.pathsep.join(map(str, roots)),
    }
    with run_stdio(new_home(), variables) as session:
        yield session


@pytest.fixture(scope="module")
def bare_home(new_home: NewHome) -> Home:
    """A home without the model, as it is before the first start of all."""
    home = new_home()
    (home.path / "models").unlink()
    return home


@pytest.fixture(scope="module")
def bare(bare_home: Home) -> Iterator[Session]:
    """A server to which nothing but its home was said."""
    with run_stdio(bare_home, {"CHROMA_PERSIST_DIR": None}) as session:
        yield session


@pytest.fixture(scope="module")
def without_ocr(new_home: NewHome) -> Iterator[Session]:
    with run_stdio(new_home(), {"ENABLE_OCR": "false"}) as session:
        yield session


def with_drawings(folder: Path, drawings: int, count: int) -> Path:
    """A PDF of so many pages, of which so many are covered by a drawing."""
    pages: list[AnyPage] = [Drawing(seed) for seed in range(drawings)]
    pages += [Text(PROSE)] * (count - drawings)
    return make_pdf(folder / f"{drawings} of {count}.pdf", pages)


def test_chroma_persist_dir_is_where_the_store_is(
    restricted: Session, bare_home: Home, elsewhere: Path
) -> None:
    bare_home.need_files()
    assert list_documents(restricted) == []
    assert (elsewhere / "store" / "store.db").is_file()


@pytest.mark.skipif(Path("/data/chroma").is_dir(), reason="a container's folder would be used")
def test_without_chroma_persist_dir_the_store_is_in_the_home(
    bare: Session, bare_home: Home
) -> None:
    bare_home.need_files()
    assert list_documents(bare) == []
    assert (bare_home.path / "store" / "store.db").is_file()


def test_an_empty_chroma_persist_dir_keeps_everything_in_memory(
    fresh_home: Home, tmp_path: Path
) -> None:
    with run_stdio(fresh_home, {"CHROMA_PERSIST_DIR": ""}) as session:
        ingest_well(session, text_pdf(tmp_path / "Letter.pdf", PROSE))
        assert len(find(session, "bicycles")) == 1
        kept = [path for path in fresh_home.path.iterdir() if path.is_file()]
        assert not any(PROSE[:40].encode() in path.read_bytes() for path in kept)
        assert [*fresh_home.path.rglob("chroma*"), *fresh_home.path.rglob("store*")] == []


def test_without_ocr_scanned_pages_are_not_read(without_ocr: Session, tmp_path: Path) -> None:
    scan = make_pdf(tmp_path / "Scan.pdf", [Scan(PROSE)])
    assert "ENABLE_OCR" in refusal(ingest(without_ocr, scan), "no_content")
    pages: list[AnyPage] = [Text(f"Typed.\n{PROSE}"), Scan(PROSE)]
    answer = ingest_well(without_ocr, make_pdf(tmp_path / "Both.pdf", pages))
    assert answer["extraction_method"] == "text_layer"


def test_without_ocr_the_image_ratio_decides_alone(without_ocr: Session, tmp_path: Path) -> None:
    covered = make_pdf(tmp_path / "Covered.pdf", [Scan(PROSE, cover=1.0)])
    assert ingest(without_ocr, covered)["status"] == "skipped"
    assert ingest(without_ocr, text_image(tmp_path / "Letter.png"))["status"] == "skipped"


def test_the_image_ratio_threshold_is_seven_tenths(without_ocr: Session, tmp_path: Path) -> None:
    ingest_well(without_ocr, with_drawings(tmp_path, 2, 3))
    answer = ingest(without_ocr, with_drawings(tmp_path, 3, 4))
    assert (answer["status"], answer["image_ratio"]) == ("skipped", 0.75)


def test_the_image_ratio_threshold_can_be_set(fresh_home: Home, tmp_path: Path) -> None:
    variables = {"IMAGE_RATIO_THRESHOLD": "0.4", "ENABLE_OCR": "false"}
    with run_stdio(fresh_home, variables) as session:
        ingest_well(session, with_drawings(tmp_path, 1, 3))
        answer = ingest(session, with_drawings(tmp_path, 1, 2))
        assert (answer["status"], answer["image_ratio"]) == ("skipped", 0.5)


def test_nothing_is_read_outside_of_the_read_roots(
    restricted: Session, roots: list[Path], files: Path
) -> None:
    inside, second = roots
    beside = files / "plans and more"
    for place in (inside, inside / "deeper", second, beside):
        place.mkdir()
        text_pdf(place / "Letter.pdf", f"In {place.name}.\n{PROSE}")
        (place / "notes.txt").write_text("notes")
    (inside / "way out.pdf").symlink_to(beside / "Letter.pdf")
    (beside / "way in.pdf").symlink_to(inside / "Letter.pdf")
    missing = inside / "not there.pdf"
    expected = refusal(ingest(restricted, missing), "file_not_found")
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
    for path in outside:
        message = refusal(ingest(restricted, path), "file_not_found")
        assert message.replace(str(path), "…") == expected.replace(str(missing), "…")
    for place in (inside, inside / "deeper", second):
        ingest_well(restricted, place / "Letter.pdf")
    assert ingest(restricted, beside / "way in.pdf")["status"] == "already_ingested"


def test_the_model_is_loaded_at_the_first_use(
    bare: Session, bare_home: Home, tmp_path: Path
) -> None:
    assert list_documents(bare) == []
    refusal(ingest(bare, tmp_path / "missing.pdf"), "file_not_found")
    assert not (bare_home.path / "models").exists()
    assert find(bare, "now it is needed") == []
    assert (bare_home.path / "models").exists()


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


@pytest.mark.slow
def test_a_chroma_server_that_is_down_costs_no_call(fresh_home: Home, tmp_path: Path) -> None:
    variables = {"CHROMA_URL": "http://127.0.0.1:9", **MIRRORED}
    with run_http(fresh_home, variables) as server, server.session() as session:
        ingest_well(session, text_pdf(tmp_path / "Letter.pdf", PROSE))
        assert len(find(session, "bicycles")) == 1


@pytest.mark.slow
def test_a_store_that_fails_is_an_error_and_not_an_empty_result(
    fresh_home: Home, tmp_path: Path
) -> None:
    with run_http(fresh_home) as server, server.session() as session:
        ingest_well(session, text_pdf(tmp_path / "Letter.pdf", PROSE))
        fresh_home.break_store()
        assert server.request("GET", "/health").status_code == 200
        for tool, arguments in (
            ("list_ingested_documents", {"application_ref": "X"}),
            ("search_application_docs", {"query": "bats"}),
            ("get_document_text", {"document_id": "X"}),
        ):
            refusal(session.call(tool, **arguments), "store_unavailable")
