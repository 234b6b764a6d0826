"""Starting a server as its users know it: options and variables, and when it refuses."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from mcp.types import ElicitResult

from quinion.settings import Settings
from tests.contract.conftest import NewHome
from tests.contract.docvec.asking import (
    User,
    counts,
    done,
    failed,
    find,
    index,
    index_all,
    indexed,
    stats,
    write,
)
from tests.contract.docvec.conftest import serve_http
from tests.contract.docvec.documents import MARKDOWN, TEXT
from tests.contract.process import (
    Home,
    free_port,
    read_note,
    run_http,
    run_stdio,
    run_to_end,
)
from tests.contract.session import open_session

pytestmark = pytest.mark.slow

WRONG_USE, BAD_SETTING = 2, 3
SMALL = 40
LONG = "\n\n".join(f"Paragraph {n}. " + TEXT.replace("\n", " ") for n in range(8))


def with_models(home: Home, folder: Path) -> Path:
    """A folder for an index, with the model made ready."""
    folder.mkdir(parents=True)
    (folder / "models").symlink_to(home.path / "models")
    return folder


def test_the_options_say_where_which_collection_and_how_long_a_chunk_is(
    fresh_home: Home, folder: Path
) -> None:
    write(folder, {"long.txt": LONG})
    place = with_models(fresh_home, fresh_home.files / "vectors")
    options = ("--db-path", str(place), "--collection", "notes", "--chunk-size", str(SMALL))
    # An option counts more than the variable.
    variables = {"DOCVEC_COLLECTION": "other", "DOCVEC_CHUNK_SIZE": "100"}
    with run_stdio(fresh_home, variables, ("docvec-mcp", *options)) as session:
        index_all(session, folder)
        chunks = find(session, "apple trees", n_results=50)
        assert len(chunks) > 4
        assert max(chunk["token_count"] for chunk in chunks) <= SMALL
    assert (place / "store" / "store.db").is_file()
    assert sorted(path.name for path in fresh_home.path.iterdir()) == ["models"]
    # The same by the variables; the other collection beside it has nothing.
    variables = {"DOCVEC_DB_PATH": str(place), "DOCVEC_COLLECTION": "notes"}
    with run_stdio(fresh_home, variables, ("docvec-mcp",)) as session:
        assert indexed(session) == ["long.txt"]
        assert counts(index_all(session, folder)) == (0, 1, 0)
    variables["DOCVEC_COLLECTION"] = "other"
    with run_stdio(fresh_home, variables, ("quinion", "stdio", "docvec")) as session:
        assert indexed(session) == []
        assert counts(index_all(session, folder)) == (1, 0, 0)
        assert max(c["token_count"] for c in find(session, "trees", n_results=50)) > SMALL
        assert done(session.call("clear_index", confirm=True))["deleted_count"] > 0
    variables["DOCVEC_COLLECTION"] = "notes"
    with run_stdio(fresh_home, variables, ("docvec-mcp",)) as session:
        assert indexed(session) == ["long.txt"]


def test_all_servers_in_one_process_and_docvec_in_a_folder_of_its_own(
    fresh_home: Home, folder: Path
) -> None:
    ports = {name: str(free_port()) for name in Settings.variables() if name.endswith("_PORT")}
    place = with_models(fresh_home, fresh_home.files / "vectors")
    variables = {**ports, "DOCVEC_DB_PATH": str(place)}
    write(folder, {"a.md": MARKDOWN})
    with run_http(fresh_home, variables, ("quinion", "serve", "--no-console")) as server:
        address = f"http://127.0.0.1:{ports['DOCVEC_PORT']}"
        with open_session(f"{address}/mcp") as session:
            index(session, folder / "a.md")
        # Each home says which servers work on it, and a second process finds its own.
        assert read_note(Home(place, fresh_home.files))["addresses"] == {"docvec": address}
        addresses = read_note(fresh_home)["addresses"]
        assert isinstance(addresses, dict)
        assert "docvec" not in addresses
        assert addresses["document-store"] == server.address
        with run_stdio(fresh_home, variables, ("docvec-mcp",)) as session:
            assert indexed(session) == ["a.md"]


def test_a_second_process_passes_calls_and_questions_on(fresh_home: Home, folder: Path) -> None:
    write(folder, {"a.md": MARKDOWN})
    user = User(ElicitResult(action="decline"))
    with serve_http(fresh_home), run_stdio(fresh_home, {}, ("docvec-mcp",), user) as session:
        job = session.start("index_directory", dir_path=str(folder))
        assert counts(done(job.result())) == (1, 0, 0)
        assert job.progress
        failed(session.call("clear_index", confirm=True), "CONFIRMATION_REQUIRED")
        assert len(user.questions) == 1
        assert stats(session)["total_chunks"] == 4


@pytest.mark.parametrize(
    ("option", "value", "variable"),
    [
        ("--chunk-size", "huge", "DOCVEC_CHUNK_SIZE"),
        ("--collection", "../up", "DOCVEC_COLLECTION"),
        ("--backend", "torch", "DOCVEC_BACKEND"),
    ],
)
def test_a_bad_option_is_refused_by_the_name_of_its_variable(
    fresh_home: Home, option: str, value: str, variable: str
) -> None:
    ended = run_to_end(fresh_home, {}, option, value, program="docvec-mcp")
    assert ended.returncode == BAD_SETTING
    assert variable in ended.stderr


@pytest.mark.parametrize("arguments", [("--host", "0.0.0.0"), ("--port", "1")])
def test_wrong_use_is_refused(fresh_home: Home, arguments: tuple[str, ...]) -> None:
    ended = run_to_end(fresh_home, {}, *arguments, program="docvec-mcp")
    assert ended.returncode == WRONG_USE
    assert "usage: docvec-mcp" in ended.stderr


def test_help_names_the_variable_of_each_option(fresh_home: Home) -> None:
    text = run_to_end(fresh_home, {}, "--help", program="docvec-mcp").stdout
    for option, variable in (
        ("--db-path", "DOCVEC_DB_PATH"),
        ("--collection", "DOCVEC_COLLECTION"),
        ("--chunk-size", "DOCVEC_CHUNK_SIZE"),
        ("--backend", "DOCVEC_BACKEND"),
    ):
        assert option in text
        assert variable in text


def test_nothing_is_read_outside_of_the_read_roots(new_home: NewHome, folder: Path) -> None:
    roots = [folder / "notes", folder / "second"]
    beside = write(folder / "notes and more", {"a.txt": "Beside.\n"})
    write(roots[0], {"a.txt": "Inside.\n", "sub/b.txt": "Below.\n"})
    write(roots[1], {"c.txt": "In the second.\n"})
    (roots[0] / "way out.txt").symlink_to(beside / "a.txt")
    (roots[0] / "way").symlink_to(beside)
    variables = {"QUINION_READ_ROOTS": ":".join(map(str, roots))}
    with run_stdio(new_home(), variables, ("docvec-mcp",)) as session:

        def refused(tool: str, **arguments: str) -> Mapping[str, str]:
            """All that is said, but for the path."""
            [path] = arguments.values()
            answer = session.call(tool, **arguments)
            assert failed(answer, "FILE_NOT_FOUND") == f"File not found: {path}"
            return {k: v.replace(path, "…") for k, v in answer["details"].items()}

        missing = refused("index_file", file_path=str(roots[0] / "missing.txt"))
        for path in (beside / "a.txt", roots[0] / "way out.txt", Path("/etc/passwd"), folder):
            assert refused("index_file", file_path=str(path)) == missing
        missing = refused("index_directory", dir_path=str(roots[0] / "missing"))
        for path in (beside, folder, roots[0] / "way", Path("/")):
            assert refused("index_directory", dir_path=str(path)) == missing
        data = index_all(session, roots[0])
        assert counts(data)[0] == 2
        assert {Path(error["file_path"]).name for error in data["errors"]} <= {
            "way out.txt",
            "a.txt",
        }
        index_all(session, roots[1])
        assert indexed(session) == ["a.txt", "b.txt", "c.txt"]
        assert not find(session, "x", filters={"source_file": {"$contains": "way"}})


def test_a_store_that_fails_is_said_in_the_words_of_each_tool(
    fresh_home: Home, folder: Path
) -> None:
    file = write(folder, {"a.txt": "A.\n"}) / "a.txt"
    with run_stdio(fresh_home, {"QUINION_WORKERS": "1"}, ("docvec-mcp",)) as session:
        index_all(session, folder)
        fresh_home.break_store()
        for tool, arguments, code, words in (
            ("index_file", {"file_path": str(file)}, "STORAGE_ERROR", "could not be written"),
            ("index_directory", {"dir_path": str(folder)}, "STORAGE_ERROR", "could not be written"),
            ("search", {"query": "a"}, "QUERY_FAILED", "search failed"),
            ("search_with_filters", {"query": "a"}, "QUERY_FAILED", "search failed"),
            ("search_with_budget", {"query": "a"}, "QUERY_FAILED", "search failed"),
            ("delete_chunks", {"ids": ["a_0"]}, "DELETE_FAILED", "Failed to delete by IDs: "),
            ("delete_file", {"source_file": "/a"}, "DELETE_FAILED", "Failed to delete by file: "),
            ("clear_index", {"confirm": True}, "DELETE_FAILED", "Failed to delete"),
            ("get_index_stats", {}, "QUERY_FAILED", ""),
        ):
            answer = session.call(tool, **arguments)
            assert words in failed(answer, code)
            assert "quinion verify --repair" in answer["details"]["reason"]


def test_a_local_model_that_is_missing(fresh_home: Home, folder: Path) -> None:
    (fresh_home.path / "models").unlink()
    file = write(folder, {"a.txt": "A.\n"}) / "a.txt"
    variables = {"QUINION_MODEL_DIR": str(folder)}
    with run_stdio(fresh_home, variables, ("docvec-mcp",)) as session:
        for tool, arguments in (
            ("search", {"query": "bats"}),
            ("index_file", {"file_path": str(file)}),
        ):
            answer = session.call(tool, **arguments)
            assert failed(answer, "EMBEDDING_FAILED") == "Embedding service unavailable"
            assert "QUINION_MODEL_DIR" in answer["details"]["reason"]
        assert stats(session)["total_chunks"] == 0
