"""FR-5.5 to FR-5.7, NFR-4: the attack table. Whatever is tried, the world outside of the allowed
folder is as it was, and a call that fails leaves nothing behind."""

import base64
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Place
from ocr_client import LOG, Session
from ocr_front import Front, image, page

PNG = f"data:image/png;base64,{base64.b64encode(b'a picture').decode()}"
TOOL = "extract_markdown_with_images"


def outside_answer(place: Place) -> str:
    return f"output_dir must be within the allowed directory: {place.allowed}"


@pytest.mark.parametrize("below", ["", "project/output"])
def test_fr_5_5_a_folder_at_or_below_the_allowed_one_is_taken(
    session: Session, place: Place, below: str
) -> None:
    target = place.allowed / below
    target.mkdir(parents=True, exist_ok=True)
    answer = session.save(file_path=place.document(), output_dir=str(target))
    assert answer["output_directory"] == str(target / "report")


def _make_world(place: Place) -> None:
    """What an attacker may have prepared."""
    (place.outside / "documents").mkdir()
    (place.outside / "allowed-too").mkdir()
    (place.outside / "documents" / "precious").write_text("untouched")
    (place.allowed / "project").mkdir()
    (place.allowed / "link").symlink_to(place.outside / "documents")
    (place.allowed / "deep").symlink_to(place.outside)
    (place.allowed / "up").symlink_to("..")
    (place.allowed / "loop").symlink_to(place.allowed / "loop")
    (place.allowed / "device").symlink_to("/dev/null")


OUTPUT_DIRS: dict[str, tuple[str, str]] = {
    "another folder": ("{outside}/documents", "outside"),
    "dots": ("{allowed}/../documents", "outside"),
    "dots through a folder": ("{allowed}/project/../../documents", "outside"),
    "the parent": ("{allowed}/..", "outside"),
    "the root": ("/", "outside"),
    "a name that only begins alike": ("{allowed}-too", "outside"),
    "a link": ("{allowed}/link", "outside"),
    "a link as a parent": ("{allowed}/deep/documents", "outside"),
    "a relative link": ("{allowed}/up/documents", "outside"),
    "a link and dots": ("{allowed}/link/../documents", "outside"),
    "nowhere, outside": ("{outside}/nowhere", "outside"),
    "relative": ("allowed", "output_dir must be an absolute path: allowed"),
    "empty": ("", "output_dir must be an absolute path: "),
    "a home": ("~/allowed", "output_dir must be an absolute path: ~/allowed"),
    "a NUL": ("{allowed}/a\0b", "output_dir does not exist: "),
    "a very long name": ("{allowed}/" + "x" * 300, "Cannot open "),
    "a very long path": ("{allowed}" + "/xxxxxxx" * 450, "output_dir does not exist: "),
    "longer than any path": ("/" + "x" * 5000, "extract_markdown_with_images was called with"),
    "a loop": ("{allowed}/loop", ""),
    "a device": ("/dev/null", "outside"),
    "a device by a link": ("{allowed}/device", "outside"),
    "processes": ("/proc/self/cwd", "outside"),
    "look-alike dots": ("{allowed}/․․/documents", "output_dir does not exist: "),
    "look-alike slashes": ("{allowed}／..／documents", "outside"),
    "another case": ("{outside}/ALLOWED", "outside"),
}


@pytest.mark.parametrize("attack", OUTPUT_DIRS, ids=str)
def test_fr_5_6_and_fr_5_7_an_output_dir_that_leads_outside_or_nowhere_is_refused(
    session: Session, front: Front, place: Place, attack: str
) -> None:
    _make_world(place)
    source = place.document()
    before = _picture(place)
    named, said = OUTPUT_DIRS[attack]
    output_dir = named.format(allowed=place.allowed, outside=place.outside)
    got = session.refuse(TOOL, file_path=source, output_dir=output_dir)
    assert got == outside_answer(place) if said == "outside" else got.startswith(said)
    assert _picture(place) == before
    assert front.calls == [], "nothing was sent to the API in vain"


IMAGE_IDS: dict[str, tuple[str, str]] = {
    "traversal": ("../../x", "_.._x.png"),
    "traversal, windows": ("..\\..\\x", "_.._x.png"),
    "absolute": ("/etc/x", "_etc_x.png"),
    "a folder": ("a/b", "a_b.png"),
    "dots": ("..", "image.png"),
    "one dot": (".", "image.png"),
    "hidden": (".bashrc", "bashrc.png"),
    "a device": ("con", "_con.png"),
    "a device with an extension": ("NUL.png", "_NUL.png"),
    "empty": ("", "image.png"),
    "300 characters": ("x" * 300, "x" * 100 + ".png"),
    "300 wide characters": ("漢" * 300, "_.png"),
    "look-alike slash": ("..／..／x", "_.._x.png"),
    "look-alike dots": ("‥/x", "_x.png"),
    "look-alike letters": ("сontent.md", "_ontent.md.png"),
    "the text itself": ("content.md", "content.md.png"),
    "a NUL": ("a\0b", "a_b.png"),
    "a line break": ("a\nb", "a_b.png"),
    "a stream": ("a:b.png", "a_b.png"),
    "an option": ("-rf", "-rf.png"),
    "a variable": ("$HOME", "_HOME.png"),
    "an extension": ("x.sh", "x.sh.png"),
    "right to left": ("\u202egnp.exe", "_gnp.exe.png"),
}


@pytest.mark.parametrize("attack", IMAGE_IDS, ids=str)
def test_an_id_is_never_trusted_as_a_name(
    session: Session, front: Front, place: Place, attack: str
) -> None:
    _make_world(place)
    source = place.document()
    image_id, name = IMAGE_IDS[attack]
    before = _picture(place)
    front.lay_ready(page(f"![{attack}]({image_id})", image(image_id, PNG)))
    answer = session.save(file_path=source, output_dir=str(place.allowed / "project"))
    assert answer["images"] == [name]
    folder = place.allowed / "project" / "report"
    assert (folder / name).read_bytes() == b"a picture"
    if image_id and "\n" not in image_id:
        assert (folder / "content.md").read_text() == f"![{attack}](./{name})"
    shutil.rmtree(folder)
    assert _picture(place) == before, "nothing else was made or changed"


SOURCES: dict[str, tuple[str, str]] = {
    "dots": ("...pdf", "document"),
    "one dot": ("..pdf", "document"),
    "spaces": (" .pdf", " "),
    "an option": ("-rf.pdf", "-rf"),
    "hidden": (".x.pdf", ".x"),
    "as long as can be": ("x" * 251 + ".pdf", "x" * 251),
    "wide and as long as can be": ("漢" * 83 + ".pdf", "漢" * 83),
    "a line break": ("a\nb.pdf", "a\nb"),
}


@pytest.mark.parametrize("attack", SOURCES, ids=str)
def test_a_name_of_a_document_stays_one_folder_in_its_place(
    session: Session, place: Place, attack: str
) -> None:
    given, stem = SOURCES[attack]
    source = place.document(given)
    for _ in range(2):
        answer = session.save(file_path=source, output_dir=str(place.allowed))
        folder = Path(answer["output_directory"])
        assert folder.parent == place.allowed
        assert folder.name[:200].startswith(stem[:60])
    assert len(list(place.allowed.iterdir())) == 2
    assert (place.allowed / stem / "content.md").exists()


def _swap_for_link(place: Place) -> None:
    (place.allowed / "project").rename(place.allowed / "moved")
    (place.allowed / "project").symlink_to(place.outside / "documents")


def _swap_parent(place: Place) -> None:
    place.allowed.rename(place.outside / "was-allowed")
    place.allowed.symlink_to(place.outside / "documents")
    (place.outside / "documents" / "project").mkdir()


def _plant_links(place: Place) -> None:
    """A link under every name that may come to be written."""
    for name in ("report", "content.md"):
        (place.allowed / "project" / name).symlink_to(place.outside / "documents" / name)


@pytest.mark.parametrize("swap", [_swap_for_link, _swap_parent, _plant_links])
def test_a_link_swapped_in_during_the_call_leads_nothing_outside(
    own_session: Session, front: Front, own_place: Place, swap: Callable[[Place], None]
) -> None:
    """The folder was opened before; what takes its place afterwards is not looked at."""
    session, place = own_session, own_place
    _make_world(place)
    front.before_answer = lambda: swap(place)
    front.lay_ready(page("![a](a)", image("a", PNG)))
    session.call(TOOL, file_path=place.document(), output_dir=str(place.allowed / "project"))
    found = sorted(path.name for path in (place.outside / "documents").iterdir())
    assert [name for name in found if name != "project"] == ["precious"]
    project = place.outside / "documents" / "project"
    assert not project.exists() or not list(project.iterdir())


def test_links_swapped_in_and_out_all_the_time_lead_nothing_outside(
    session: Session, front: Front, place: Place
) -> None:
    _make_world(place)
    source = place.document()
    front.lay_ready(page("![a](a)", image("a", PNG)))
    stop = threading.Event()
    mine, real = place.allowed / "project", place.allowed / "real"

    def swap() -> None:
        while not stop.is_set():
            mine.rename(real)
            mine.symlink_to(place.outside / "documents")
            mine.unlink()
            real.rename(mine)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(25):
            session.call(TOOL, file_path=source, output_dir=str(mine))
    finally:
        stop.set()
        thread.join()
    assert [path.name for path in (place.outside / "documents").iterdir()] == ["precious"]
    assert (place.outside / "documents" / "precious").read_text() == "untouched"


def test_an_allowed_folder_that_was_made_anew_is_refused_until_the_next_start(
    own_session: Session, own_place: Place
) -> None:
    session, place = own_session, own_place
    place.allowed.rmdir()
    place.allowed.mkdir()
    said = session.refuse(TOOL, file_path=place.document(), output_dir=str(place.allowed))
    assert said.startswith(f"output_dir is no longer the folder it was: {place.allowed}")
    assert list(place.allowed.iterdir()) == []


def test_nothing_is_created_before_the_api_has_answered(
    session: Session, front: Front, place: Place
) -> None:
    seen: list[list[str]] = []
    before = place.allowed.stat().st_mtime_ns

    def look() -> None:
        seen.append(place.listing())
        assert place.allowed.stat().st_mtime_ns == before

    front.before_answer = look
    front.lay_ready(page("![a](a)", image("a", PNG)))
    session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert seen == [["allowed", "report.pdf"]]


def test_nfr_4_4_a_folder_reached_by_a_link_inside_is_written_at_its_own_place(
    session: Session, place: Place
) -> None:
    (place.allowed / "project").mkdir()
    (place.allowed / "alias").symlink_to(place.allowed / "project")
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed / "alias"))
    assert answer["output_directory"] == str(place.allowed / "project" / "report")


def _picture(place: Place) -> dict[str, tuple[object, ...]]:
    """Everything there is, with what would show that it was touched."""
    picture: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(place.outside):
        for name in (*folders, *names):
            path = Path(folder, name)
            if name == LOG:
                continue
            found = path.lstat()
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
            picture[str(path)] = (found.st_mode, found.st_ino, content)
    return picture
