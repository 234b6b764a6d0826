"""Documents come into the library and leave it: what `quinion library add` and `remove` do.

It goes through tools that only quinion's own commands can call.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.doclibrary.asking import (
    add,
    failed,
    find,
    kept,
    remove,
    say,
    show,
    slugs_of,
)
from tests.contract.doclibrary.conftest import STDIO
from tests.contract.doclibrary.documents import (
    APPENDICES,
    PLAN_CAPTION,
    SURVEY,
    SURVEY_ELEMENTS,
    letter,
    survey,
)
from tests.contract.local import LocalServer, Serve
from tests.contract.process import Home, run_command, run_stdio
from tests.contract.session import Session
from tests.documents import PROSE, Blank, Scan, locked_pdf, make_pdf, truncated_pdf

BATS = "The bats of the old mill fly out at dusk and come back before the sun rises."
SUBJECT = "A letter about the bats of the old mill"
LIBRARY = {SURVEY, APPENDICES}
ORIGINALS = 2


def many_pages(path: Path) -> Path:
    """A document that takes a while."""
    return letter(path, *[f"{BATS} Page {n}." for n in range(1, 9)])


@pytest.fixture(autouse=True)
def tidy(session: Session) -> Iterator[None]:
    """Each test finds the library as the first one does."""
    yield
    for slug in slugs_of(session) - LIBRARY:
        remove(session, slug)


def is_told_of_bats(session: Session) -> bool:
    return any("bats" in one["content"] for one in find(session, BATS, limit=50))


def test_a_document_is_found_shown_and_told_of_as_soon_as_it_is_added(
    session: Session, home: Home, folder: Path
) -> None:
    document = add(session, letter(folder / "Bats.pdf", SUBJECT, BATS))
    assert (document["slug"], document["title"]) == ("bats", SUBJECT)
    [found] = find(session, "when do bats fly", limit=1)
    assert (found["document_slug"], found["page_number"]) == ("bats", 2)
    # The library has a copy of its own.
    (folder / "Bats.pdf").unlink()
    assert show(session, "get_page_image", document_slug="bats", page_number=2)
    assert len(kept(home.path)) == ORIGINALS + 2
    remove(session, "bats")
    check_is_gone(session, home)


def check_is_gone(session: Session, home: Home) -> None:
    """Nothing is left of the bats: not in lists, not in searches, not on the disk."""
    assert slugs_of(session) == LIBRARY
    assert not is_told_of_bats(session)
    for tool in ("get_document_info", "remove_document", "list_elements"):
        assert "Document 'bats' not found." in failed(session, tool, document_slug="bats")
    assert len([name for name in kept(home.path) if name.startswith("originals")]) == ORIGINALS


def test_the_same_content_is_added_once_under_any_name(session: Session, folder: Path) -> None:
    first = letter(folder / "bats.pdf", BATS)
    add(session, first)
    for file in (first, Path(shutil.copy(first, folder / "owls.pdf"))):
        answer = session.call("add_document", file_path=str(file))
        assert answer["status"] == "already_in_library"
        assert answer["document"]["slug"] == "bats"
    assert slugs_of(session) == LIBRARY | {"bats"}


def test_two_files_of_one_name_have_two_slugs(session: Session, folder: Path) -> None:
    slugs = []
    for number in (1, 2, 3):
        place = folder / str(number)
        place.mkdir()
        file = letter(place / "Bats (final).pdf", f"{BATS} Number {number}.")
        slugs.append(add(session, file)["slug"])
    assert slugs == ["bats_final", "bats_final_2", "bats_final_3"]
    for number, slug in enumerate(slugs, 1):
        [found] = find(session, BATS, document_slug=slug)
        assert found["content"].endswith(f"Number {number}.")


def test_a_scan_is_read(session: Session, folder: Path) -> None:
    add(session, make_pdf(folder / "scan.pdf", [Scan(PROSE)]))
    [found] = find(session, "covered cycle parking", document_slug="scan", limit=1)
    assert "two hundred covered cycle parking spaces" in found["content"]


def test_an_empty_page_can_be_shown(session: Session, folder: Path) -> None:
    document = add(session, make_pdf(folder / "blank.pdf", [Blank()]))
    assert (document["title"], document["total_pages"]) == ("blank", 1)
    assert show(session, "get_page_image", document_slug="blank", page_number=1)
    assert find(session, "anything", document_slug="blank") == []


def test_a_password_that_is_needed_for_printing_alone_does_not_matter(
    session: Session, folder: Path
) -> None:
    add(session, locked_pdf(folder / "locked.pdf", to_open=False))
    assert show(session, "get_page_image", document_slug="locked", page_number=1)


def missing(folder: Path) -> Path:
    return folder / "missing.pdf"


def text_file(folder: Path) -> Path:
    path = folder / "notes.txt"
    path.write_text("Notes.")
    return path


def not_a_pdf(folder: Path) -> Path:
    path = folder / "page.pdf"
    path.write_text("<html>Not found</html>")
    return path


def empty_file(folder: Path) -> Path:
    path = folder / "empty.pdf"
    path.touch()
    return path


def damaged(folder: Path) -> Path:
    return truncated_pdf(folder / "half.pdf")


def locked(folder: Path) -> Path:
    return locked_pdf(folder / "locked.pdf")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (missing, "File not found: "),
        (lambda folder: folder, "is a folder"),
        (lambda _: Path("notes.pdf"), "Give the absolute path"),
        (text_file, "Unsupported file type: '.txt'. Supported are: .csv, .docx,"),
        (not_a_pdf, "page.pdf"),
        (empty_file, "empty.pdf"),
        (damaged, "half.pdf"),
        (locked, "password"),
    ],
)
def test_what_cannot_be_added_leaves_nothing(
    session: Session, home: Home, folder: Path, make: Callable[[Path], Path], words: str
) -> None:
    assert words in failed(session, "add_document", file_path=str(make(folder)))
    check_is_gone(session, home)


def test_a_cancelled_add_leaves_nothing(session: Session, home: Home, folder: Path) -> None:
    file = many_pages(folder / "bats.pdf")
    job = session.start("add_document", file_path=str(file))
    job.wait_for_progress()
    job.cancel()
    check_is_gone(session, home)
    # It can be added again at once, and is new.
    add(session, file)
    assert is_told_of_bats(session)
    remove(session, "bats")
    check_is_gone(session, home)


def test_a_client_that_goes_away_is_as_good_as_a_cancel(
    session: Session, server: LocalServer, home: Home, folder: Path
) -> None:
    with server.session("legacy", command=True) as other:
        job = other.start("add_document", file_path=str(many_pages(folder / "bats.pdf")))
        job.wait_for_progress()
        job.forget()
    check_is_gone(session, home)


def test_two_adds_at_once(session: Session, folder: Path) -> None:
    file = letter(folder / "bats.pdf", BATS)
    (folder / "other").mkdir()
    other = letter(folder / "other" / "bats.pdf", f"{BATS} They sleep by day.")
    jobs = [session.start("add_document", file_path=str(path)) for path in (file, file, other)]
    answers = [job.result() for job in jobs]
    assert sorted(answer["status"] for answer in answers[:2]) == ["added", "already_in_library"]
    assert answers[2]["status"] == "added"
    slugs = {answer["document"]["slug"] for answer in answers}
    assert slugs == {"bats", "bats_2"}
    assert slugs_of(session) == LIBRARY | slugs
    assert len([one for one in find(session, BATS, limit=50) if "bats" in one["content"]]) == 2


def test_everything_else_answers_meanwhile_and_sees_only_what_is_whole(
    session: Session, folder: Path
) -> None:
    job = session.start("add_document", file_path=str(many_pages(folder / "bats.pdf")))
    job.wait_for_progress()
    assert not is_told_of_bats(session)
    assert slugs_of(session) == LIBRARY
    assert "not found" in failed(session, "get_document_info", document_slug="bats")
    assert job.is_running
    assert job.result()["status"] == "added"
    assert is_told_of_bats(session)


def test_a_restart_keeps_everything_and_what_was_removed_stays_away(
    new_library: NewHome, folder: Path, serve: Serve
) -> None:
    home = new_library()
    with serve(home) as server, server.session(command=True) as session:
        add(session, letter(folder / "bats.pdf", BATS))
        before = say(session, "list_documents")
        picture = show(session, "get_element_image", document_slug=SURVEY, element_label="Table 5")
        remove(session, APPENDICES)
    with serve(home) as server, server.session(command=True) as session:
        assert slugs_of(session) == {SURVEY, "bats"}
        assert set(say(session, "list_documents").split("\n")) < set(before.split("\n"))
        assert (
            show(session, "get_element_image", document_slug=SURVEY, element_label="Table 5")
            == picture
        )
        assert {one["element_label"] for one in find(session, "x", element_type=None)} == set(
            SURVEY_ELEMENTS
        )
        assert is_told_of_bats(session)
        assert "not found" in failed(session, "get_document_info", document_slug=APPENDICES)


@pytest.fixture
def own(new_library: NewHome, serve: Serve) -> Iterator[tuple[Session, Path]]:
    """A library for one test alone, and the folder where its originals are."""
    home = new_library()
    with serve(home) as server, server.session(command=True) as session:
        yield session, home.path / "originals"


def test_an_original_that_vanished_is_said_and_can_be_brought_back(
    own: tuple[Session, Path], folder: Path
) -> None:
    session, originals = own
    assert show(session, "get_page_image", document_slug=SURVEY, page_number=1)
    shutil.rmtree(originals)
    page = {"document_slug": SURVEY, "page_number": 1}
    element = {"document_slug": SURVEY, "element_label": "Figure 8-1"}
    for tool, arguments in (("get_page_image", page), ("get_element_image", element)):
        message = failed(session, tool, **arguments)
        assert message.startswith("The original of 'survey' (survey.pdf) is no longer in the")
        assert "quinion library remove survey" in message
    # What does not need it works.
    assert PLAN_CAPTION in say(session, "get_element_details", **element)
    assert find(session, "survey")
    remove(session, SURVEY)
    assert add(session, survey(folder / "survey.pdf"))["slug"] == SURVEY
    assert show(session, "get_page_image", **page)
    # One that is damaged is called by its name.
    [path] = originals.iterdir()
    path.write_bytes(path.read_bytes()[:100])
    message = failed(session, "get_page_image", document_slug=SURVEY, page_number=2)
    assert message == "survey.pdf is damaged and cannot be opened. Get a fresh copy."


def test_nothing_is_read_outside_of_the_read_roots(fresh_home: Home, folder: Path) -> None:
    inside, outside = folder / "in", folder / "out"
    for place in (inside, outside):
        place.mkdir()
        letter(place / "bats.pdf", f"{BATS} {place.name}")
    (inside / "link.pdf").symlink_to(outside / "bats.pdf")
    with run_command(fresh_home, "doclibrary", {"QUINION_READ_ROOTS": str(inside)}) as session:

        def refuse(path: Path) -> str:
            return failed(session, "add_document", file_path=str(path)).replace(str(path), "…")

        unknown = refuse(inside / "missing.pdf")
        for path in (outside / "bats.pdf", inside / "link.pdf", Path("/etc/passwd"), outside):
            assert refuse(path) == unknown
        add(session, inside / "bats.pdf")
        assert slugs_of(session) == {"bats"}


@pytest.mark.slow
def test_a_store_or_a_model_that_fails_is_an_error_and_the_status_says_which(
    fresh_home: Home, folder: Path
) -> None:
    file = str(letter(folder / "bats.pdf", BATS))
    with run_stdio(fresh_home, None, STDIO), run_command(fresh_home, "doclibrary") as session:
        say(session, "list_documents")
        fresh_home.break_store()
        for tool, arguments in (
            ("search_documents", {"query": "bats"}),
            ("list_documents", {}),
            ("find_document", {"query": "bats"}),
            ("add_document", {"file_path": file}),
        ):
            assert "quinion verify --repair" in failed(session, tool, **arguments)
        status = say(session, "get_library_status")
        assert "Database: ERROR - " in status
        assert "Embedding server: OK" in status
    shutil.rmtree(fresh_home.path / "store")
    (fresh_home.path / "models").unlink()
    without = {"QUINION_MODEL_DIR": str(folder)}
    with (
        run_stdio(fresh_home, without, STDIO),
        run_command(fresh_home, "doclibrary", without) as session,
    ):
        for tool, arguments in (
            ("search_documents", {"query": "bats"}),
            ("add_document", {"file_path": file}),
        ):
            assert "QUINION_MODEL_DIR" in failed(session, tool, **arguments)
        status = say(session, "get_library_status")
        assert "Embedding server: NOT AVAILABLE - " in status
        assert "Database: OK (0 documents)" in status
    assert kept(fresh_home.path) == []
