"""Bombs: every bomb with the tools for its kind of file. `make bombs` writes the figures."""

from pathlib import Path

import pytest

from tests.contract.process import Home
from tests.documents import PROSE, text_pdf
from tests.hostile import bombs
from tests.hostile.serving import MOST_BYTES, MOST_S, TAKEN, Servers

pytestmark = pytest.mark.timeout(2 * MOST_S)

KINDS = {
    **dict.fromkeys(bombs.PDFS, ".pdf"),
    **{name: extension for name, (extension, _) in {**bombs.IMAGES, **bombs.TEXTS}.items()},
    **dict.fromkeys(bombs.LONG, ".txt"),
}
SLOW = {
    *("nested_flate", "object_stream", "huge_image", "endless_jbig2", "slow_pages"),
    *("doubling_forms", "many_operators", "many_paths", "page_of_noise"),
}
"""Bombs that take 20 seconds or more, most of them until a time limit."""
SAME_JOB = {"policy-kb", "docvec"}
"""Servers that read a PDF with the worker's job of the Document Store: the slow bombs are not
given to them here, but by `make bombs`."""
PAIRS = [
    (name, server)
    for name, extension in KINDS.items()
    for server, extensions in TAKEN.items()
    if extension in extensions and not (name in SLOW and server in SAME_JOB)
]
REASONS = {
    ("many_own_pages", "document-store"): "at most 5,000",
    ("slow_pages", "document-store"): "more than 32,000,000 characters",
    ("many_operators", "document-store"): "at most 250,000",
    ("huge_png", "document-store"): "at most 150,000,000",
    ("nested_flate", "document-store"): "timed out after 20 seconds",
    ("largest_png", "document-store"): "more memory",
    ("many_words", "document-store"): "more memory",
    ("counted_pages", "document-store"): "damaged",
}
"""What some of them are refused for."""
NAMES = {
    "a line break": "two\nlines.pdf",
    "a tab and a bell": "a\tb\a.pdf",
    "quotes": 'it\'s "so" `called`.pdf',
    "markup": "<script>alert(1)</script>.pdf".replace("/", "∕"),
    "right to left": "\u202efdp.exe.pdf",
    "combining": "e\u0301" * 60 + ".pdf",
    "as long as names may be": "n" * 251 + ".pdf",
    "a dash": "-rf.pdf",
    "a pattern": "*?[a].pdf",
    "a place holder": "%s%n{0}$HOME.pdf",
}


@pytest.fixture(scope="module")
def folder(home: Home) -> Path:
    path = home.files / "bombs"
    path.mkdir()
    return path


@pytest.mark.parametrize(("name", "server"), PAIRS)
def test_a_bomb_ends_in_an_answer_of_the_contract(
    servers: Servers, folder: Path, name: str, server: str
) -> None:
    path = bombs.make(folder, name)
    outcome = servers.give(server, path)
    path.unlink()
    assert REASONS.get((name, server), "") in outcome.message
    assert outcome.seconds <= MOST_S, outcome
    assert outcome.peak <= MOST_BYTES, outcome


@pytest.mark.parametrize("server", TAKEN)
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_strange_name_is_a_name_like_any_other(
    servers: Servers, tmp_path: Path, name: str, server: str
) -> None:
    outcome = servers.give(server, text_pdf(tmp_path / name, f"{name!r}\n{PROSE}"))
    assert outcome.said in {"success", "added"}, outcome


@pytest.mark.parametrize("server", TAKEN)
def test_a_name_that_is_no_text_is_not_found(servers: Servers, tmp_path: Path, server: str) -> None:
    """The name on disk has a byte that UTF-8 does not have; no client can say it."""
    text_pdf(tmp_path / "a.pdf", PROSE).rename(tmp_path / "\udcff.pdf")
    outcome = servers.give(server, tmp_path / "\ufffd.pdf")
    assert outcome.said in {"file_not_found", "FILE_NOT_FOUND", "error"}, outcome


def test_a_folder_with_such_a_name_is_indexed(servers: Servers, tmp_path: Path) -> None:
    text_pdf(tmp_path / "a.pdf", PROSE).rename(tmp_path / "\udcff.pdf")
    (tmp_path / "b\n.txt").write_text("A line of text of the second file.")
    answer = servers.call("docvec", "index_directory", dir_path=str(tmp_path))
    assert answer["success"] is True, answer
    assert answer["data"]["new_documents"] + len(answer["data"]["errors"]) == 2


@pytest.mark.parametrize("server", TAKEN)
def test_after_all_of_them_a_good_file_is_taken(
    servers: Servers, tmp_path: Path, server: str
) -> None:
    outcome = servers.give(server, text_pdf(tmp_path / "good.pdf", PROSE))
    assert outcome.said in {"success", "added"}, outcome
