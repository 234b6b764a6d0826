"""Indexed files as resources, the prompt, and how paths complete."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.contract.docvec.asking import (
    chunks_of,
    done,
    files_found,
    index,
    index_all,
    stats,
    write,
)
from tests.contract.docvec.conftest import holding, with_ollama
from tests.contract.docvec.documents import CODE, MARKDOWN, TEXT
from tests.contract.local import LocalServer, Serve
from tests.contract.process import Home
from tests.contract.resources import (
    addresses,
    complete,
    fill,
    prompts,
    read,
    read_json,
    refused,
    steps,
    templates,
    unfilled,
)
from tests.contract.session import PATIENCE_S, Session
from tests.ollama_server import OllamaServer, hang

FILES = "docvec://files"
FILE = "docvec://file/{path}{?from_chunk}"
PAGE = "docvec://file/{path}/page/{number}{?chunk}"
ODD_NAME = "50% ü?#&,;=+%41 図面.txt"
MOST_LISTED = 100


@dataclass(frozen=True)
class Stock:
    """A session, and the folder that it has indexed."""

    session: Session
    folder: Path


@pytest.fixture(scope="module", params=["auto", "legacy"])
def session(request: pytest.FixtureRequest, server: LocalServer) -> Iterator[Session]:
    """The protocol that a client speaks: the newest, or the one before 2026."""
    with server.session(request.param) as session:
        yield session


@pytest.fixture(scope="module")
def stock(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Stock:
    done(session.call("clear_index", confirm=True))
    folder = tmp_path_factory.mktemp("stock")
    write(
        folder,
        {
            "handbook.md": MARKDOWN,
            "src/client.py": CODE,
            "minutes.txt": TEXT,
            ODD_NAME: "An odd name.",
        },
    )
    assert index_all(session, folder)["new_documents"] == 4
    return Stock(session, folder)


def address_of(path: Path | str) -> str:
    return f"docvec://file/{quote(str(path), safe='')}"


def test_what_can_be_read_is_listed_and_explained(stock: Stock) -> None:
    assert templates(stock.session) == [FILE, PAGE]
    first, *listed = addresses(stock.session)
    assert first == FILES
    assert sorted(listed) == sorted(map(address_of, stats(stock.session)["source_files"]))
    assert len(listed) == 4
    assert all(read(stock.session, address) for address in listed)


def test_the_files_are_listed_as_the_statistics_list_them(stock: Stock) -> None:
    assert read_json(stock.session, FILES) == stats(stock.session)


@pytest.mark.parametrize("name", ["handbook.md", "src/client.py", "minutes.txt", ODD_NAME])
def test_a_file_is_the_text_of_its_chunks(stock: Stock, name: str) -> None:
    path = stock.folder / name
    texts = [chunk["content"] for chunk in chunks_of(stock.session, path)]
    assert read(stock.session, address_of(path)) == "\n\n".join(texts)
    last = len(texts) - 1
    assert read(stock.session, f"{address_of(path)}?from_chunk={last}") == texts[-1]
    # All words of the file are there, whatever stands between the chunks.
    words = re.findall(r"\w+", path.read_text())
    assert re.findall(r"\w+", "".join(f"{text}\n" for text in texts))[-5:] == words[-5:]


def test_a_file_that_is_gone_is_read_from_the_index(stock: Stock) -> None:
    path = write(stock.folder, {"gone.txt": "What was here."}) / "gone.txt"
    index(stock.session, path)
    path.unlink()
    assert read(stock.session, address_of(path)) == "What was here."
    done(stock.session.call("delete_file", source_file=str(path)))
    assert "is not indexed" in refused(stock.session, address_of(path))


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("docvec://file/%2Fetc%2Fpasswd", "/etc/passwd is not indexed. get_index_stats lists"),
        ("docvec://file/..%2F..%2Fetc%2Fpasswd", "is not indexed"),
        ("docvec://file/{minutes}?from_chunk=9", "has 1 chunks"),
        ("docvec://file/{minutes}?from_chunk=-1", "from_chunk: .* greater than or equal"),
        ("docvec://file/etc/passwd", "Unknown resource: .* percent-encoded"),
        ("docvec://folder", r"Unknown resource: .* docvec://file/\{path\}"),
    ],
)
def test_a_resource_that_is_not_there_says_what_to_do(
    stock: Stock, address: str, words: str
) -> None:
    minutes = quote(str(stock.folder / "minutes.txt"), safe="")
    message = refused(stock.session, address.replace("{minutes}", minutes))
    assert re.search(words, message), message


def test_paths_and_folders_complete(stock: Stock) -> None:
    session, folder = stock.session, stock.folder
    assert complete(session, FILE, "path") == stats(session)["source_files"]
    assert complete(session, FILE, "path", "CLIENT.py") == [str(folder / "src/client.py")]
    assert complete(session, FILE, "path", f"{folder}/hand") == [str(folder / "handbook.md")]
    folders = [str(folder), str(folder / "src")]
    assert complete(session, "answer_from_folder", "folder") == folders
    assert complete(session, "answer_from_folder", "folder", str(folder)) == folders
    assert complete(session, "answer_from_folder", "question", "Why") == []


def test_the_prompt_leads_to_an_answer_within_the_budget(session: Session) -> None:
    assert prompts(session) == {
        "answer_from_folder": {"folder": True, "question": True, "max_tokens": False}
    }
    asked = {"folder": "/home/ada/notes", "question": "Who has the keys?"}
    text = fill(session, "answer_from_folder", **asked, max_tokens="1200")
    assert "no more than 1200 tokens of them: Who has the keys?" in text
    assert 'index_directory(dir_path="/home/ada/notes")' in text
    assert "max_tokens=1200)" in text
    assert 'filters={"source_file": {"$contains": "/home/ada/notes"}}' in text
    assert "max_tokens=3000)" in fill(session, "answer_from_folder", **asked)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"folder": " ", "question": "Why?"}, "must not be empty"),
        ({"folder": "/notes", "question": "Why?", "max_tokens": "many"}, "max_tokens: "),
        ({"folder": "/notes", "question": "Why?", "max_tokens": "0"}, "max_tokens: "),
        ({"folder": "/notes"}, "question"),
        ({"folder": "/notes", "question": "Why?", "style": "short"}, "style: "),
    ],
)
def test_a_prompt_with_a_wrong_argument_says_so(
    session: Session, arguments: dict[str, str], words: str
) -> None:
    assert words in unfilled(session, "answer_from_folder", **arguments)


def test_a_tool_says_that_it_begins_and_that_it_has_ended(stock: Stock) -> None:
    both = [(0, 1), (1, 1)]
    assert steps(stock.session, "search", query="apple trees") == both
    assert steps(stock.session, "get_index_stats") == both
    assert steps(stock.session, "delete_file", source_file="/nothing") == both


@pytest.fixture
def slow(fresh_home: Home, ollama: OllamaServer, serve: Serve) -> Iterator[Session]:
    """A server whose texts are embedded by another, which waits when it is told to."""
    with serve(fresh_home, with_ollama(ollama)) as server, server.session() as session:
        yield session


def test_a_file_cannot_be_read_before_it_is_whole(
    slow: Session, ollama: OllamaServer, folder: Path
) -> None:
    path = write(folder, {"long.md": "# One\n\nBats.\n\n# Two\n\nNewts.\n"}) / "long.md"
    with holding(ollama):
        job = slow.start("index_file", file_path=str(path))
        assert ollama.arrived.wait(PATIENCE_S)
        assert "is not indexed" in refused(slow, address_of(path))
        assert addresses(slow) == [FILES]
        assert complete(slow, FILE, "path") == []
    done(job.result())
    assert "Newts." in read(slow, address_of(path))


def test_the_newest_files_are_listed_and_not_too_many(slow: Session, folder: Path) -> None:
    write(folder, {f"{n:03d}.txt": f"Text number {n}.\n" for n in range(MOST_LISTED + 20)})
    index_all(slow, folder)
    listed = addresses(slow)
    assert len(set(listed)) == 1 + MOST_LISTED
    # A completion has as many, and the statistics have all.
    assert len(complete(slow, FILE, "path")) == 100
    assert len(read_json(slow, FILES)["source_files"]) == MOST_LISTED + 20


def test_a_search_that_is_cancelled_ends_and_the_next_one_works(
    slow: Session, ollama: OllamaServer, folder: Path
) -> None:
    index_all(slow, write(folder, {"a.txt": "Bats sleep by day.\n"}))
    ollama.fail(hang)
    job = slow.start("search", query="bats")
    job.wait_for_progress()
    job.cancel()
    assert job.progress == [(0, 1, "Search: begun")]
    ollama.released.set()
    assert files_found(slow, "bats") == ["a.txt"]
