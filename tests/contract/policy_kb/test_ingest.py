"""`ingest_policy_revision`: what becomes of a PDF, of the registry, and of what was there."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from quinion.model.policy import Revision, RevisionEdit, RevisionStatus
from quinion.store.policies import PolicyRegistry
from tests.contract.local import LocalServer
from tests.contract.policy_kb import policies
from tests.contract.policy_kb.asking import (
    INGEST_KEYS,
    chunks_of,
    find,
    found_on,
    ingest,
    ingest_well,
    list_revisions,
    read,
    refusal,
    register,
    remove,
    revise,
)
from tests.contract.policy_kb.policies import ACTIONS, leaflet
from tests.contract.session import Job, Session
from tests.documents import (
    PROSE,
    Blank,
    Drawing,
    Scan,
    Text,
    locked_pdf,
    make_pdf,
    text_image,
    text_pdf,
    truncated_pdf,
)

# For what does not depend on where the registry is.
on_one_registry = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)

START = date(2020, 1, 1)
DAY_IN_FORCE = "2024-03-15"
SOON_S = 20.0


@pytest.fixture
def revision(registry: PolicyRegistry, source: str) -> str:
    """A revision of the test's own policy, without a text."""
    return revise(registry, source, "A", START)


@pytest.fixture(scope="module")
def slow_scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A document that takes some seconds, page by page."""
    return policies.scanned(tmp_path_factory.mktemp("scans") / "Scanned policy.pdf", 5, 8)


def start(session: Session, source: str, revision_id: str, file: Path) -> Job:
    return session.start(
        "ingest_policy_revision", source=source, revision_id=revision_id, file_path=str(file)
    )


def test_an_answer_has_the_keys_of_the_contract(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    answer = ingest(session, source, revision, policies.framework(tmp_path / "f.pdf", "new"))
    assert set(answer) == INGEST_KEYS
    assert answer == {
        "status": "success",
        "source": source,
        "revision_id": revision,
        "chunks_created": policies.FRAMEWORK_CHUNKS,
        "page_count": policies.FRAMEWORK_PAGES,
        "extraction_method": "text_layer",
    }


def test_all_chunks_can_be_found_afterwards(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    answer = ingest_well(session, source, revision, leaflet(tmp_path / "a.pdf", "A"))
    chunks = chunks_of(session, source, revision)
    assert answer["chunks_created"] == len(chunks) == 5
    assert chunks[2]["text"] == policies.leaflet_paragraph(1, "A")
    assert found_on(session, source, DAY_IN_FORCE) == {revision}


def test_the_registry_hears_of_it(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    begun = datetime.now(UTC).replace(microsecond=0)
    before = registry.get_revision(source, revision)
    assert (before.status, before.chunk_count) == (RevisionStatus.PROCESSING, 0)
    file = leaflet(tmp_path / "a.pdf", "A")
    answer = ingest_well(session, source, revision, file)
    after = registry.get_revision(source, revision)
    assert after.status is RevisionStatus.ACTIVE
    assert after.chunk_count == answer["chunks_created"]
    assert after.page_count == answer["page_count"] == 2
    assert after.file_path == file
    assert after.file_size_bytes == file.stat().st_size
    assert after.ingested_at is not None
    assert begun <= after.ingested_at <= datetime.now(UTC)
    assert after.error is None
    updated_at = registry.get_policy(source).updated_at
    assert updated_at is not None
    assert updated_at >= begun
    [listed] = list_revisions(session, source)
    assert (listed["status"], listed["chunk_count"]) == ("active", answer["chunks_created"])


@on_one_registry
@pytest.mark.parametrize(
    ("pages", "method"),
    [
        ([Text(PROSE), Text(PROSE)], "text_layer"),
        ([Scan(PROSE)], "ocr"),
        ([Text(PROSE), Scan(PROSE)], "mixed"),
    ],
    ids=["text_layer", "ocr", "mixed"],
)
def test_pages_without_a_text_layer_are_read_by_ocr(
    session: Session,
    source: str,
    revision: str,
    tmp_path: Path,
    pages: list[Text | Scan],
    method: str,
) -> None:
    answer = ingest_well(session, source, revision, make_pdf(tmp_path / "a.pdf", pages))
    assert answer["extraction_method"] == method
    assert answer["page_count"] == len(pages)
    chunks = chunks_of(session, source, revision)
    assert "two hundred covered cycle parking spaces" in chunks[-1]["text"]


def test_a_revision_that_has_been_followed_is_superseded(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    newer = revise(registry, source, "B", date(2022, 1, 1))
    ingest_well(session, source, revision, leaflet(tmp_path / "a.pdf", "A"))
    statuses = {r["revision_id"]: r["status"] for r in list_revisions(session, source)}
    assert statuses == {revision: "superseded", newer: "processing"}


def test_it_is_processing_until_all_of_it_is_there(
    session: Session, registry: PolicyRegistry, source: str, revision: str, slow_scan: Path
) -> None:
    job = start(session, source, revision, slow_scan)
    job.wait_for_progress()
    [listed] = list_revisions(session, source)
    assert (listed["status"], listed["chunk_count"]) == ("processing", 0)
    assert found_on(session, source, None) == set()
    assert job.is_running
    job.cancel()


def test_a_cancelled_ingest_leaves_no_chunks_and_can_be_done_again(
    session: Session, registry: PolicyRegistry, source: str, revision: str, slow_scan: Path
) -> None:
    job = start(session, source, revision, slow_scan)
    job.wait_for_progress()
    job.cancel()
    # Had it gone on, this would wait for it.
    file = leaflet(slow_scan.parent / f"{source}.pdf", "again")
    assert found_on(session, source, None) == set()
    assert ingest_well(session, source, revision, file)["chunks_created"] == 5
    assert len(chunks_of(session, source, revision)) == 5
    assert registry.get_revision(source, revision).status is RevisionStatus.ACTIVE


def test_a_cancelled_reindex_leaves_what_was_there(
    session: Session,
    registry: PolicyRegistry,
    source: str,
    revision: str,
    slow_scan: Path,
    tmp_path: Path,
) -> None:
    ingest_well(session, source, revision, leaflet(tmp_path / "a.pdf", "A"))
    before = registry.get_revision(source, revision), chunks_of(session, source, revision)
    job = start(session, source, revision, slow_scan)
    job.wait_for_progress()
    job.cancel()
    assert ingest(session, source, revision, tmp_path / "none.pdf")["status"] == "error"
    after = registry.get_revision(source, revision), chunks_of(session, source, revision)
    assert after == before


@on_one_registry
def test_progress_is_reported_for_each_page_and_only_grows(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    file = text_pdf(tmp_path / "long.pdf", *[f"{action}\n{n}" for n, action in enumerate(ACTIONS)])
    job = start(session, source, revision, file)
    assert job.result()["status"] == "success"
    done = [step for step, _, _ in job.progress]
    assert done[:10] == list(range(1, 11))
    assert done == sorted(set(done))
    assert done[-1] == 20
    assert {total for _, total, _ in job.progress} == {20}
    assert all(message for _, _, message in job.progress)


# What is made, under which name, the error, a word that its message has, and whether the
# registry hears of it: only of a file that was found and looked into.
Maker = Callable[[Path], object]
BAD_FILES: dict[str, tuple[str, Maker, str, str, bool]] = {
    "missing": ("none.pdf", lambda path: None, "file_not_found", "none.pdf", False),
    "a folder": ("folder.pdf", Path.mkdir, "file_not_found", "folder", False),
    "text": ("notes.txt", lambda p: p.write_text(PROSE), "unsupported_file_type", ".pdf", False),
    "an image": ("scan.png", text_image, "unsupported_file_type", ".pdf", False),
    "damaged": ("cut.pdf", truncated_pdf, "extraction_failed", "damaged", True),
    "encrypted": ("locked.pdf", locked_pdf, "extraction_failed", "password", True),
    "no bytes": ("empty.pdf", Path.touch, "extraction_failed", "empty", True),
    "not a PDF": ("a.pdf", lambda p: p.write_text(PROSE), "extraction_failed", "PDF", True),
    "no text": ("blank.pdf", lambda p: make_pdf(p, [Blank()]), "no_content", "blank.pdf", True),
}


@pytest.mark.parametrize(
    ("name", "make", "error_type", "word", "noted"), BAD_FILES.values(), ids=BAD_FILES.keys()
)
def test_a_bad_file_is_the_contract_s_error_and_leaves_no_chunk(
    session: Session,
    registry: PolicyRegistry,
    source: str,
    revision: str,
    tmp_path: Path,
    name: str,
    make: Maker,
    error_type: str,
    word: str,
    noted: bool,
) -> None:
    before = registry.get_revision(source, revision)
    make(tmp_path / name)
    begun = time.monotonic()
    message = refusal(ingest(session, source, revision, tmp_path / name), error_type)
    assert time.monotonic() - begun < SOON_S
    assert word in message
    after = registry.get_revision(source, revision)
    if noted:
        assert (after.status, after.error) == (RevisionStatus.FAILED, message)
        assert [r["status"] for r in list_revisions(session, source)] == ["failed"]
    else:
        assert after == before
    assert (after.chunk_count, after.page_count, after.ingested_at) == (0, None, None)
    assert found_on(session, source, None) == set()
    # And the next try works.
    ingest_well(session, source, revision, leaflet(tmp_path / "good.pdf", "A"))
    mended = registry.get_revision(source, revision)
    assert (mended.status, mended.error) == (RevisionStatus.ACTIVE, None)


@on_one_registry
@pytest.mark.parametrize("path", ["policy.pdf", "./a.pdf", "~/a.pdf", "", " ", "/tmp/nul\0.pdf"])
def test_a_path_that_is_not_absolute_is_not_found(
    session: Session, source: str, revision: str, path: str
) -> None:
    refusal(ingest(session, source, revision, path), "file_not_found")


@on_one_registry
def test_a_drawing_without_words_has_no_content(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    file = make_pdf(tmp_path / "map.pdf", [Drawing()])
    refusal(ingest(session, source, revision, file), "no_content")


def test_a_policy_or_revision_that_is_not_registered_is_refused_before_the_file_is_looked_at(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    file = leaflet(tmp_path / "a.pdf", "A")
    message = refusal(ingest(session, "NOT_THERE", revision, file), "policy_not_found")
    assert "'NOT_THERE'" in message
    message = refusal(ingest(session, source, "rev_X_2020_01", file), "revision_not_found")
    assert "'rev_X_2020_01'" in message and revision in message
    refusal(ingest(session, source, "rev_X_2020_01", "/none.pdf"), "revision_not_found")
    refusal(ingest(session, source, "", file), "revision_not_found")
    assert found_on(session, source, None) == set()


def test_a_revision_of_another_policy_is_not_found(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    other = register(registry)
    file = leaflet(tmp_path / "a.pdf", "A")
    refusal(ingest(session, other, revision, file), "revision_not_found")


@pytest.mark.parametrize("reindex", [True, False])
def test_a_second_text_takes_the_place_of_the_first(
    session: Session,
    registry: PolicyRegistry,
    source: str,
    revision: str,
    tmp_path: Path,
    reindex: bool,
) -> None:
    ingest_well(session, source, revision, leaflet(tmp_path / "a.pdf", "the first text", 6))
    answer = ingest_well(
        session, source, revision, leaflet(tmp_path / "b.pdf", "other words", 4), reindex=reindex
    )
    chunks = chunks_of(session, source, revision)
    assert len(chunks) == answer["chunks_created"] == 6
    assert not any("the first text" in chunk["text"] for chunk in chunks)
    assert found_on(session, source, DAY_IN_FORCE) == {revision}
    after = registry.get_revision(source, revision)
    assert (after.status, after.chunk_count) == (RevisionStatus.ACTIVE, 6)
    assert after.file_path == tmp_path / "b.pdf"


@on_one_registry
def test_the_same_file_again_gives_the_same_chunks(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    file = leaflet(tmp_path / "a.pdf", "A")
    answer = ingest_well(session, source, revision, file)
    before = chunks_of(session, source, revision)
    assert ingest_well(session, source, revision, file, reindex=True) == answer
    assert chunks_of(session, source, revision) == before


def test_a_reindex_of_a_revision_without_chunks_is_an_ingest(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    file = leaflet(tmp_path / "a.pdf", "A")
    assert ingest_well(session, source, revision, file, reindex=True)["chunks_created"] == 5


@on_one_registry
@pytest.mark.parametrize(
    ("make", "error_type"),
    [
        (truncated_pdf, "extraction_failed"),
        (locked_pdf, "extraction_failed"),
        (lambda path: make_pdf(path, [Blank()]), "no_content"),
        (lambda path: None, "file_not_found"),
    ],
    ids=["damaged", "encrypted", "no text", "missing"],
)
def test_a_reindex_that_fails_changes_nothing(
    session: Session,
    registry: PolicyRegistry,
    source: str,
    revision: str,
    tmp_path: Path,
    make: Maker,
    error_type: str,
) -> None:
    ingest_well(session, source, revision, leaflet(tmp_path / "a.pdf", "A"))

    def look() -> tuple[Revision, object, object]:
        return (
            registry.get_revision(source, revision),
            chunks_of(session, source, revision),
            find(session, "hedges", sources=[source], effective_date=DAY_IN_FORCE),
        )

    before = look()
    make(tmp_path / "b.pdf")
    refusal(ingest(session, source, revision, tmp_path / "b.pdf", reindex=True), error_type)
    assert look() == before


def test_readers_never_see_a_revision_half_replaced(
    session: Session, server: LocalServer, source: str, revision: str, tmp_path: Path
) -> None:
    texts = {}
    for name, count in (("one", 12), ("two", 9)):
        texts[name] = leaflet(tmp_path / f"{name}.pdf", name, count)
    ingest_well(session, source, revision, texts["one"])
    seen = set()
    with server.session() as reader:
        for name in ("two", "one", "two"):
            job = start(session, source, revision, texts[name])
            while job.is_running:
                found = find(reader, "hedges", sources=[source], n_results=100)
                names = {n for n in texts for r in found if f"text of {n}," in r["text"]}
                [seen_now] = names
                assert len(found) == {"one": 14, "two": 11}[seen_now]
                chapter = read(reader, source, "Chapter 1")["text"]
                assert chapter.count("\n\n") in {12, 9}
                assert len({n for n in texts if f"text of {n}," in chapter}) == 1
                seen.add(seen_now)
            assert job.result()["status"] == "success"
    assert seen


def test_several_ingests_of_one_revision_at_once_end_in_one_text(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    jobs = [
        start(session, source, revision, leaflet(tmp_path / f"{n}.pdf", f"copy {n}", n))
        for n in range(3, 9)
    ]
    counts = [job.result()["chunks_created"] for job in jobs]
    assert counts == [n + 2 for n in range(3, 9)]
    chunks = chunks_of(session, source, revision)
    assert registry.get_revision(source, revision).chunk_count == len(chunks)
    assert len({c["text"].split(",")[0].split("text of ")[-1] for c in chunks[2:]}) == 1


def test_a_reindex_and_a_removal_at_once_end_in_agreement(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    file = leaflet(tmp_path / "a.pdf", "A")
    for _ in range(6):
        ingest_well(session, source, revision, file)
        job = start(session, source, revision, file)
        job.wait_for_progress()
        while job.is_running and job.progress[-1][0] != job.progress[-1][1]:
            find(session, "hedges", sources=[source])  # all is read, and about to be swapped
        removed = remove(session, source, revision)
        assert job.result()["status"] == "success"
        stored = len(chunks_of(session, source, revision))
        assert (removed, stored) in {(5, 0), (5, 5), (0, 5)}
        assert registry.get_revision(source, revision).chunk_count == stored


def test_dates_that_change_during_an_ingest_are_those_of_its_chunks(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    file = policies.scanned(tmp_path / "scan.pdf", 2)
    job = start(session, source, revision, file)
    job.wait_for_progress()
    edit = RevisionEdit(effective_from=date(2024, 1, 1), version_label="renamed")
    registry.edit_revision(source, revision, edit)
    assert job.result()["status"] == "success"
    assert found_on(session, source, "2023-12-31") == set()
    assert found_on(session, source, "2024-01-01") == {revision}
    assert {c["version_label"] for c in chunks_of(session, source, revision)} == {"renamed"}


def test_a_revision_that_is_deleted_during_its_ingest_leaves_no_chunks(
    session: Session, registry: PolicyRegistry, source: str, revision: str, tmp_path: Path
) -> None:
    file = policies.scanned(tmp_path / "scan.pdf", 2)
    job = start(session, source, revision, file)
    job.wait_for_progress()
    registry.delete_revision(source, revision)
    refusal(job.result(), "revision_not_found")
    assert found_on(session, source, None) == set()
    assert remove(session, source, revision) == 0


@on_one_registry
def test_a_file_that_changes_while_it_is_read_is_refused(
    session: Session, source: str, revision: str, tmp_path: Path
) -> None:
    file = policies.scanned(tmp_path / "growing.pdf", 3)
    job = start(session, source, revision, file)
    job.wait_for_progress()
    with file.open("ab") as end:
        end.write(b"\n% another line\n")
    assert "changed" in refusal(job.result(), "extraction_failed")
    assert found_on(session, source, None) == set()
