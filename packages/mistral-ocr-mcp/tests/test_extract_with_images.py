"""FR-3: text and images into a folder."""

import base64
import io
import json
import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from conftest import Place
from ocr_client import Session
from ocr_front import OCR, Front, image, page
from PIL import Image
from quinion.extract.pdf.mupdf import pymupdf
from tests.documents import PROSE, picture_of, picture_of_lines

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).decode()
RAW = base64.b64decode(PNG)


def test_fr_3_a_document_with_a_figure_becomes_a_folder(
    real: Session, forwarding: Front, place: Place
) -> None:
    path = _report(place.outside / "quarterly-report.pdf")
    answer = real.save(file_path=str(path), output_dir=str(place.allowed))
    folder = place.allowed / "quarterly-report"
    assert answer["output_directory"] == str(folder)
    assert answer["markdown_file"] == str(folder / "content.md")
    assert answer["skipped_images"] == []
    [name] = answer["images"]
    assert sorted(path.name for path in folder.iterdir()) == sorted(["content.md", name])
    with Image.open(folder / name) as picture:
        assert picture.format == "JPEG"
        assert min(picture.size) > 100
    text = (folder / "content.md").read_text()
    assert f"(./{name})" in text
    assert "two hundred covered cycle parking spaces" in text
    assert forwarding.last(OCR).json["include_image_base64"] is True


@pytest.mark.parametrize("extension", ["png", "jpg", "jpeg", "webp", "gif"])
def test_fr_3_2_an_image_becomes_a_folder(real: Session, place: Place, extension: str) -> None:
    path = place.outside / f"page.{extension}"
    picture_of(PROSE).save(path)
    answer = real.save(file_path=str(path), output_dir=str(place.allowed))
    assert "cycle parking" in Path(answer["markdown_file"]).read_text()


def test_fr_3_3_image_data_is_asked_for(session: Session, front: Front, place: Place) -> None:
    session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert front.last(OCR).json["include_image_base64"] is True


def test_fr_3_4_and_fr_3_8_the_folder_is_named_after_the_file_and_has_the_text(
    session: Session, front: Front, place: Place
) -> None:
    front.lay_ready(page("# Ünïcode"), page("and more", index=1))
    session.save(file_path=place.document("my.long report.pdf"), output_dir=str(place.allowed))
    assert place.listing() == [
        "allowed",
        "allowed/my.long report",
        "allowed/my.long report/content.md",
        "my.long report.pdf",
    ]
    written = (place.allowed / "my.long report" / "content.md").read_text()
    assert written == "# Ünïcode\n\nand more"


def test_fr_3_5_a_folder_that_exists_gets_a_time_stamp(
    session: Session, front: Front, place: Place
) -> None:
    before = datetime.now() - timedelta(seconds=1)
    source = place.document()
    answers = [session.save(file_path=source, output_dir=str(place.allowed)) for _ in range(4)]
    names = [Path(answer["output_directory"]).name for answer in answers]
    assert names[0] == "report"
    stamps = [re.fullmatch(r"report_(\d{8}_\d{6})", name) for name in names[1:]]
    assert len(set(names)) == 4
    for stamp in stamps:
        assert stamp is not None
        moment = datetime.strptime(stamp[1], "%Y%m%d_%H%M%S")
        assert before <= moment <= datetime.now() + timedelta(seconds=5)


def test_fr_3_5_a_file_of_that_name_is_not_replaced_either(session: Session, place: Place) -> None:
    (place.allowed / "report").write_text("mine")
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert answer["output_directory"] != str(place.allowed / "report")
    assert (place.allowed / "report").read_text() == "mine"


@pytest.mark.parametrize(
    ("image_id", "data", "name"),
    [
        ("img_abc123", f"data:image/png;base64,{PNG}", "img_abc123.png"),
        ("img_abc123", f"data:image/jpeg;base64,{PNG}", "img_abc123.jpeg"),
        ("img_abc123", f"data:image/webp;base64,{PNG}", "img_abc123.webp"),
        ("img_abc123", f"data:image/gif;base64,{PNG}", "img_abc123.gif"),
        ("img-0.jpeg", f"data:image/jpeg;base64,{PNG}", "img-0.jpeg"),
        ("img-0.jpg", f"data:image/jpeg;base64,{PNG}", "img-0.jpg"),
        ("img-0.jpeg", f"data:image/png;base64,{PNG}", "img-0.png"),
        ("img-0.jpeg", PNG, "img-0.png"),
        ("img_abc123", PNG, "img_abc123.png"),
        ("img_abc123", f"data:;base64,{PNG}", "img_abc123.png"),
        ("img_abc123", f"data:application/x-sh;base64,{PNG}", "img_abc123.png"),
        ("img_abc123", f"DATA:IMAGE/PNG;BASE64,{PNG}", "img_abc123.png"),
    ],
)
def test_fr_3_6_and_fr_3_7_an_image_is_named_by_its_id_and_its_data_header(
    session: Session, front: Front, place: Place, image_id: str, data: str, name: str
) -> None:
    front.lay_ready(page(f"![{image_id}]({image_id})", image(image_id, data)))
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert answer["images"] == [name]
    assert (place.allowed / "report" / name).read_bytes() == RAW
    written = (place.allowed / "report" / "content.md").read_text()
    assert written == f"![{image_id}](./{name})"


def test_fr_3_9_no_base64_is_left_in_the_markdown(
    session: Session, front: Front, place: Place
) -> None:
    gif = base64.b64encode(b"GIF89a").decode()
    text = f"![a](a)\n\n![chart](data:image/gif;base64,{gif} 'A chart')\n\n![far](http://x/y.png)"
    front.lay_ready(page(text, image("a", PNG)))
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert answer["images"] == ["a.png", "inline.gif"]
    written = (place.allowed / "report" / "content.md").read_text()
    assert written == "![a](./a.png)\n\n![chart](./inline.gif 'A chart')\n\n![far](http://x/y.png)"
    assert (place.allowed / "report" / "inline.gif").read_bytes() == b"GIF89a"


def test_fr_3_10_the_text_of_the_answer_is_the_same_json(
    session: Session, front: Front, place: Place
) -> None:
    front.lay_ready(page("![a](a)", image("a", PNG)))
    outcome = session.call(
        "extract_markdown_with_images", file_path=place.document(), output_dir=str(place.allowed)
    )
    assert json.loads(outcome.text) == outcome.structured
    assert outcome.structured == {
        "output_directory": str(place.allowed / "report"),
        "markdown_file": str(place.allowed / "report" / "content.md"),
        "images": ["a.png"],
        "skipped_images": [],
    }


@pytest.mark.parametrize("kind", ["missing", "file", "readonly"])
def test_fr_3_11_an_output_dir_that_is_missing_or_cannot_be_written_to(
    session: Session, front: Front, place: Place, kind: str
) -> None:
    target = place.allowed / kind
    said = {
        "missing": f"output_dir does not exist: {target}",
        "file": f"output_dir is not a directory: {target}",
        "readonly": f"output_dir is not writable: {target}",
    }[kind]
    if kind == "file":
        target.touch()
    if kind == "readonly":
        target.mkdir()
        target.chmod(0o555)
        if _may_write(target):
            pytest.skip("whoever runs the tests may write everywhere")
    before = place.listing()
    got = session.refuse(
        "extract_markdown_with_images", file_path=place.document(), output_dir=str(target)
    )
    assert got == said
    assert [name for name in place.listing() if name != "report.pdf"] == before
    assert front.calls == [], "nothing was sent to the API in vain"


def test_equal_ids_never_overwrite_and_links_follow_their_page(
    session: Session, front: Front, place: Place
) -> None:
    other = base64.b64encode(b"other").decode()
    third = base64.b64encode(b"third").decode()
    front.lay_ready(
        page("![a](a) ![a](a)", image("a", PNG), image("A", other), image("a", third)),
        page("![a](a)", image("a", other), index=1),
    )
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert answer["images"] == ["a.png", "A-2.png", "a-3.png", "a-4.png"]
    folder = place.allowed / "report"
    contents = [(folder / name).read_bytes() for name in answer["images"]]
    assert contents == [RAW, b"other", b"third", b"other"]
    written = (folder / "content.md").read_text()
    assert written == "![a](./a.png) ![a](./a-3.png)\n\n![a](./a-4.png)"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "the API sent no data for it"),
        ("", "it has no data"),
        ("data:image/png;base64,", "it has no data"),
        ("data:image/png;base64,!!!!", "its data is not Base64"),
        ("A", "its data is not Base64"),
    ],
)
def test_an_image_without_data_is_skipped_and_reported(
    session: Session, front: Front, place: Place, data: str | None, reason: str
) -> None:
    text = '![a *map*](../n "Title") ![](../n) ![b](b) ![](<../n>)'
    front.lay_ready(page(text, image("../n", data), image("b", PNG)))
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert answer["images"] == ["b.png"]
    assert answer["skipped_images"] == [{"id": "../n", "reason": reason}]
    written = (place.allowed / "report" / "content.md").read_text()
    assert written == "a *map* ../n ![b](./b.png) ../n", "plain text, and no empty link"


def test_an_inline_image_without_data_becomes_plain_text(
    session: Session, front: Front, place: Place
) -> None:
    front.lay_ready(page("![chart](data:image/png;base64,!!!!) and ![](data:image/png;base64,)"))
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert [one["id"] for one in answer["skipped_images"]] == ["inline", "inline"]
    assert (place.allowed / "report" / "content.md").read_text() == "chart and inline"


def test_an_inline_image_that_the_page_has_as_well_is_saved_once(
    session: Session, front: Front, place: Place
) -> None:
    other = base64.b64encode(b"other").decode()
    inline = f"![x](data:image/png;base64,{PNG})"
    more = f"![y](data:image/png;base64,{other}) ![z](data:image/png;base64,{other})"
    front.lay_ready(
        page(f"![a](a) {inline} {more}", image("a", f"data:image/png;base64,{PNG}")),
        page(inline, image("b", PNG), index=1),
    )
    answer = session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert answer["images"] == ["a.png", "b.png", "inline.png"]
    written = (place.allowed / "report" / "content.md").read_text()
    assert written == (
        "![a](./a.png) ![x](./a.png) ![y](./inline.png) ![z](./inline.png)\n\n![x](./b.png)"
    )


def test_an_id_is_recognized_in_titles_angles_and_escapes_but_not_in_code(
    session: Session, front: Front, place: Place
) -> None:
    text = (
        '![x](a(1) "Title") ![x](<a(1)>) ![x](a\\(1\\)) ![x](a%281%29)\n\n'
        "`![x](a(1))` \\![x](a(1)) [x](a(1))\n\n```\n![x](a(1))\n```\n\n![a [b] c](a(1))"
    )
    front.lay_ready(page(text, image("a(1)", PNG)))
    session.save(file_path=place.document(), output_dir=str(place.allowed))
    assert (place.allowed / "report" / "content.md").read_text() == (
        '![x](./a_1_.png "Title") ![x](./a_1_.png) ![x](./a_1_.png) ![x](./a_1_.png)\n\n'
        "`![x](a(1))` \\![x](a(1)) [x](a(1))\n\n```\n![x](a(1))\n```\n\n![a [b] c](./a_1_.png)"
    )


def test_progress_is_reported_for_each_image(session: Session, front: Front, place: Place) -> None:
    front.lay_ready(page("", *(image(f"i{number}", PNG) for number in range(3))))
    job = session.start(
        "extract_markdown_with_images", file_path=place.document(), output_dir=str(place.allowed)
    )
    assert not session.finish(job, "extract_markdown_with_images").is_error
    assert job.messages == [
        "report.pdf is being uploaded",
        "The document is being read",
        "Image 1 of 3 is saved",
        "Image 2 of 3 is saved",
        "Image 3 of 3 is saved",
    ]


def _report(path: Path) -> Path:
    stream = io.BytesIO()
    picture_of_lines().convert("RGB").save(stream, "PNG")
    with pymupdf.open() as document:
        sheet = document.new_page()
        sheet.insert_text((50, 60), "Quarterly Report", fontsize=20)
        sheet.insert_text((50, 100), PROSE, fontsize=11)
        sheet.insert_image((60, 250, 500, 550), stream=stream.getvalue())
        document.save(path)
    return path


def _may_write(folder: Path) -> bool:
    try:
        (folder / "probe").touch()
    except OSError:
        return False
    (folder / "probe").unlink()
    return True
