"""FR-1, FR-4, FR-5.1 to FR-5.4: the server as a client meets it, and when it refuses to start."""

from pathlib import Path

import pytest
from conftest import Place
from mcp.types import Implementation
from ocr_client import API_KEY, LOG, Session, open_session, run_to_end
from ocr_front import OCR, Front

from mistral_ocr_mcp import __version__
from mistral_ocr_mcp.settings import read_settings


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_fr_1_1_a_client_of_either_protocol_generation_is_served(
    place: Place, front: Front, mode: str
) -> None:
    front.lay_ready({"index": 0, "markdown": "# Hello", "images": [], "dimensions": None})
    with open_session(place.outside, place.variables(front.url), mode) as session:
        info = session.client.server_info
        assert isinstance(info, Implementation)
        assert (info.name, info.version) == ("mistral-ocr", __version__)
        outcome = session.call("extract_markdown", file_path=place.document())
    assert outcome.text == "# Hello"


def test_fr_1_2_there_are_exactly_two_tools(session: Session) -> None:
    assert sorted(session.tools) == ["extract_markdown", "extract_markdown_with_images"]


@pytest.mark.parametrize(
    ("tool", "parameters"),
    [
        ("extract_markdown", ["file_path"]),
        ("extract_markdown_with_images", ["file_path", "output_dir"]),
    ],
)
def test_fr_2_1_and_fr_3_1_the_parameters_are_required_strings_and_no_others(
    session: Session, tool: str, parameters: list[str]
) -> None:
    schema = session.tools[tool].input_schema
    assert sorted(schema["properties"]) == parameters
    assert sorted(schema["required"]) == parameters
    assert {one["type"] for one in schema["properties"].values()} == {"string"}
    assert schema["additionalProperties"] is False


def test_a_tool_says_what_it_does_and_how_it_behaves(session: Session) -> None:
    for tool in session.tools.values():
        assert tool.title
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.read_only_hint is (tool.name == "extract_markdown")
        assert tool.output_schema is not None


@pytest.mark.parametrize("value", [None, "", "  "])
def test_fr_4_2_without_a_key_it_does_not_start(place: Place, value: str | None) -> None:
    done = run_to_end({"MISTRAL_API_KEY": value, "MISTRAL_OCR_ALLOWED_DIR": str(place.allowed)})
    assert done.returncode == 1
    assert _only_line(done.stderr).startswith("mistral-ocr-mcp: MISTRAL_API_KEY is not set.")
    assert done.stdout == ""


def test_fr_4_1_the_key_is_what_the_api_gets(session: Session, front: Front, place: Place) -> None:
    session.call("extract_markdown", file_path=place.document())
    assert {call.headers["authorization"] for call in front.calls} == {f"Bearer {API_KEY}"}


@pytest.mark.parametrize("key", ["sk-\x01", "sk-ключ", "sk-two words"])
def test_fr_4_3_a_key_that_cannot_be_sent_is_refused_and_not_shown(place: Place, key: str) -> None:
    done = run_to_end({"MISTRAL_API_KEY": key, "MISTRAL_OCR_ALLOWED_DIR": str(place.allowed)})
    assert done.returncode == 1
    assert "MISTRAL_API_KEY has invalid characters" in _only_line(done.stderr)
    assert key not in done.stderr


def test_fr_4_3_an_api_that_repeats_the_key_does_not_make_us_show_it(
    session: Session, front: Front, place: Place
) -> None:
    # That it is not in the log either is checked at the end of every session.
    front.respond(OCR, 401, {"message": f"bad key {API_KEY}"})
    said = session.refuse("extract_markdown", file_path=place.document())
    assert "HTTP 401: bad key …" in said
    assert API_KEY not in said


def test_fr_4_3_with_its_librarys_debugging_on_the_key_is_still_not_logged(
    place: Place, front: Front
) -> None:
    variables = {**place.variables(front.url), "MISTRAL_DEBUG": "1"}
    with open_session(place.outside, variables) as session:
        session.call("extract_markdown", file_path=place.document())
        front.respond(OCR, 400, {"message": API_KEY})
        session.refuse("extract_markdown", file_path=place.document())
    assert API_KEY not in (place.outside / LOG).read_text()


def test_fr_4_3_the_settings_do_not_show_the_key(place: Place) -> None:
    variables = {"MISTRAL_API_KEY": API_KEY, "MISTRAL_OCR_ALLOWED_DIR": str(place.allowed)}
    assert API_KEY not in repr(read_settings(variables))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "MISTRAL_OCR_ALLOWED_DIR is not set."),
        ("", "MISTRAL_OCR_ALLOWED_DIR is not set."),
        ("allowed", "MISTRAL_OCR_ALLOWED_DIR is not an absolute path: 'allowed'."),
        ("{place}/nowhere", "MISTRAL_OCR_ALLOWED_DIR does not exist: "),
        ("{place}/file", "MISTRAL_OCR_ALLOWED_DIR is not a directory: "),
        ("{place}/loop", "MISTRAL_OCR_ALLOWED_DIR does not exist: "),
    ],
    ids=["FR-5.2-unset", "FR-5.2-empty", "FR-5.3", "FR-5.4-missing", "FR-5.4-file", "FR-5.4-loop"],
)
def test_fr_5_2_to_5_4_a_folder_that_cannot_be_used_is_refused(
    tmp_path: Path, value: str | None, said: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    named = value and value.format(place=tmp_path)
    done = run_to_end({"MISTRAL_OCR_ALLOWED_DIR": named})
    assert done.returncode == 1
    assert said in _only_line(done.stderr)


@pytest.mark.parametrize("url", ["localhost:3007", "ftp://host", "http://", "http://h:99999"])
def test_a_server_address_that_is_none_is_refused(place: Place, url: str) -> None:
    done = run_to_end(place.variables(url))
    assert done.returncode == 1
    assert "MISTRAL_SERVER_URL is not an http or https URL" in _only_line(done.stderr)


def test_an_unknown_parameter_a_missing_one_and_an_unknown_tool_are_tool_errors(
    session: Session, place: Place
) -> None:
    said = session.refuse("extract_markdown", file_path=place.document(), pages="1")
    assert said == "extract_markdown has no parameter 'pages'. Its parameters: file_path."
    assert "file_path: Field required" in session.refuse("extract_markdown")
    assert "nothing" in session.refuse("nothing")


def _only_line(text: str) -> str:
    [line] = text.splitlines()
    return line
