"""Other embedding services, from the settings to the search, and what is said when they fail."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.contract.docvec.asking import (
    counts,
    done,
    failed,
    files_found,
    index,
    index_all,
    stats,
    write,
)
from tests.contract.docvec.conftest import with_ollama
from tests.contract.local import Serve
from tests.contract.process import Home, free_port, run_to_end
from tests.contract.session import Answer, Session
from tests.ollama_server import MODEL, OllamaServer, change, hang, ollama_server, refuse

HEDGES = "Hedges are cut in the autumn, when the birds have left them.\n"
BATS = "Bats leave the barn at dusk and come back before the day begins.\n"
KEY = "sk-not-for-the-log"
TIMEOUT_S = 1.5
UNAVAILABLE = "Embedding service unavailable"


def with_openai(server: OllamaServer, **variables: str) -> Mapping[str, str]:
    return {
        "DOCVEC_BACKEND": "openai",
        "DOCVEC_HOST": f"{server.url}/v1",
        "DOCVEC_MODEL": MODEL,
        **variables,
    }


def unavailable(answer: Answer) -> str:
    """What to do, as an answer says whose embedding has failed."""
    assert failed(answer, "EMBEDDING_FAILED") == UNAVAILABLE
    reason: str = answer["details"]["reason"]
    return reason


@pytest.fixture(scope="module")
def common() -> Iterator[OllamaServer]:
    with ollama_server() as server:
        yield server


@pytest.fixture(scope="module")
def session(home: Home, common: OllamaServer, serve: Serve) -> Iterator[Session]:
    variables = with_ollama(common, DOCVEC_TIMEOUT=str(TIMEOUT_S))
    with serve(home, variables) as server, server.session() as session:
        yield session


@pytest.fixture
def service(common: OllamaServer) -> Iterator[OllamaServer]:
    """A service for tests that make it fail."""
    common.released.clear()
    yield common
    common.always = None
    common.released.set()


@pytest.fixture
def served(empty: Session) -> Session:
    """A server with nothing indexed that uses this service."""
    return empty


@pytest.fixture
def library(folder: Path) -> Path:
    return write(folder, {"hedges.md": HEDGES, "bats.md": BATS})


@pytest.fixture(params=["ollama", "openai"])
def variables(ollama: OllamaServer, request: pytest.FixtureRequest) -> Mapping[str, str]:
    if request.param == "ollama":
        return with_ollama(ollama)
    ollama.api_key = KEY
    return with_openai(ollama, DOCVEC_API_KEY=KEY)


def test_a_folder_is_indexed_and_searched_with_a_service(
    fresh_home: Home,
    serve: Serve,
    ollama: OllamaServer,
    variables: Mapping[str, str],
    library: Path,
) -> None:
    with serve(fresh_home, variables) as server, server.session() as session:
        assert counts(index_all(session, library)) == (2, 0, 0)
        assert files_found(session, "when do bats leave the barn") == ["bats.md", "hedges.md"]
        texts = [text for batch in ollama.texts for text in batch]
        # This model wants to be told what is a passage and what is a question.
        assert f"search_document: {BATS.strip()}" in texts
        assert "search_query: when do bats leave the barn" in texts
        assert index_all(session, library)["duplicates_skipped"] == 2
    paths = {request.path for request in ollama.requests if request.body}
    expected = "/api/embed" if variables["DOCVEC_BACKEND"] == "ollama" else "/v1/embeddings"
    assert paths == {expected}
    assert KEY not in (fresh_home.files / "server.log").read_text()


def test_a_service_that_is_down_is_said_to_be_and_what_needs_no_vectors_goes_on(
    fresh_home: Home, serve: Serve, library: Path
) -> None:
    port = free_port()
    variables = {"DOCVEC_BACKEND": "ollama", "DOCVEC_HOST": f"http://127.0.0.1:{port}"}
    with serve(fresh_home, variables) as server, server.session() as session:
        for tool, arguments in (
            ("search", {"query": "bats"}),
            ("search_with_filters", {"query": "bats", "filters": {"page_number": 1}}),
            ("search_with_budget", {"query": "bats"}),
            ("index_file", {"file_path": str(library / "bats.md")}),
            ("index_directory", {"dir_path": str(library)}),
        ):
            reason = unavailable(session.call(tool, **arguments))
            assert f"127.0.0.1:{port}" in reason
            assert "DOCVEC_HOST" in reason
        # What needs no vectors goes on.
        assert stats(session)["total_chunks"] == 0
        assert done(session.call("delete_chunks", ids=["x"]))["deleted_count"] == 0
        assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 0}


def refuse_bats(handler: Any, answer: Callable[[Any], None], texts: list[str]) -> None:
    """Fail for requests with a certain text, as a model with a fault does."""
    if any("Bats" in text for text in texts):
        handler.reply(500, {"error": "input causes a fault"})
    else:
        answer(handler.embed(texts))


@pytest.mark.slow
def test_a_file_that_the_service_cannot_embed_is_an_error_of_its_own(
    served: Session, service: OllamaServer, library: Path
) -> None:
    write(library, {"owls.md": "Owls hunt at night.\n", "voles.md": "Voles dig.\n"})
    service.always = refuse_bats
    data = index_all(served, library)
    assert counts(data) == (3, 0, 1)
    [error] = data["errors"]
    assert error["file_path"] == str(library / "bats.md")
    assert (error["error"], error["error_code"]) == (UNAVAILABLE, "EMBEDDING_FAILED")
    assert "500: input causes a fault" in error["reason"]
    # A file alone fails as the call does, and the index keeps the others.
    assert "500" in unavailable(served.call("index_file", file_path=str(library / "bats.md")))
    assert counts(index_all(served, library)) == (0, 3, 1)
    service.always = None
    assert counts(index_all(served, library)) == (1, 3, 0)
    assert files_found(served, "when do bats leave the barn", n_results=1) == ["bats.md"]


def test_a_service_that_goes_down_during_a_run_fails_the_call(
    served: Session, service: OllamaServer, library: Path
) -> None:
    index_all(served, library)
    write(library, {"owls.md": "Owls hunt at night.\n", "voles.md": "Voles dig.\n"})
    service.always = refuse(500)
    assert "500" in unavailable(served.call("index_directory", dir_path=str(library)))
    service.always = None
    assert counts(index_all(served, library)) == (2, 2, 0)


def test_a_model_that_is_missing(served: Session, service: OllamaServer, library: Path) -> None:
    digest = service.models.pop(f"{MODEL}:latest")
    reason = unavailable(served.call("index_directory", dir_path=str(library)))
    assert f"ollama pull {MODEL}" in reason
    # It is pulled, and the server need not be started again.
    service.models[f"{MODEL}:latest"] = digest
    assert counts(index_all(served, library)) == (2, 0, 0)


def test_a_key_that_is_not_accepted(
    fresh_home: Home, serve: Serve, ollama: OllamaServer, library: Path
) -> None:
    ollama.api_key = KEY
    variables = with_openai(ollama, DOCVEC_API_KEY="wrong")
    with serve(fresh_home, variables) as server, server.session() as session:
        reason = unavailable(session.call("search", query="bats"))
        assert "DOCVEC_API_KEY" in reason
        assert "wrong" not in reason.replace("is wrong", "")


def test_a_service_that_hangs_is_given_up(served: Session, service: OllamaServer) -> None:
    service.always = hang
    reason = unavailable(served.call("search", query="bats"))
    assert f"{TIMEOUT_S} seconds" in reason
    assert "DOCVEC_TIMEOUT" in reason


def test_a_service_that_fails_in_mid_run_leaves_what_is_whole_and_the_next_run_goes_on(
    served: Session, service: OllamaServer, folder: Path
) -> None:
    write(folder, {f"{n:03d}.txt": f"Text number {n}.\n" for n in range(100)})
    index(served, folder / "000.txt")
    # The first two batches of the next run are one group of files.
    service.fail(*[change(lambda rows: rows)] * 2)
    service.always = refuse(400, "out of memory")
    reason = unavailable(served.call("index_directory", dir_path=str(folder)))
    assert "out of memory" in reason
    whole = stats(served)
    assert whole["total_chunks"] == whole["unique_files"] == 65
    service.always = None
    assert counts(index_all(served, folder)) == (35, 65, 0)


def test_another_model_on_the_same_collection_is_refused_with_what_to_do(
    fresh_home: Home, serve: Serve, ollama: OllamaServer, library: Path
) -> None:
    with serve(fresh_home, {}) as server, server.session() as session:
        index(session, library / "hedges.md")
    # Another collection beside it takes another model.
    variables = with_ollama(ollama, DOCVEC_COLLECTION="other")
    with serve(fresh_home, variables) as server, server.session() as session:
        assert counts(index_all(session, library)) == (2, 0, 0)
    with serve(fresh_home, with_ollama(ollama)) as server, server.session() as session:
        for tool, arguments in (
            ("search", {"query": "bats"}),
            ("index_directory", {"dir_path": str(library)}),
        ):
            reason = unavailable(session.call(tool, **arguments))
            assert "all-MiniLM-L6-v2" in reason
            assert MODEL in reason
            assert "another collection" in reason
        # What is there can be seen and cleared, and then the other model may have it.
        assert stats(session)["source_files"] == [str(library / "hedges.md")]
        assert done(session.call("clear_index", confirm=True)) == {"deleted_count": 1}
        assert counts(index_all(session, library)) == (2, 0, 0)
        assert files_found(session, "bats leave the barn")[0] == "bats.md"


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"DOCVEC_BACKEND": "openai"}, "DOCVEC_HOST"),
        ({"DOCVEC_BACKEND": "openai", "DOCVEC_HOST": "http://localhost:1"}, "DOCVEC_MODEL"),
        ({"DOCVEC_BACKEND": "ollama", "DOCVEC_HOST": "http://"}, "DOCVEC_HOST"),
    ],
)
def test_a_backend_without_a_setting_refuses_to_start(
    fresh_home: Home, variables: Mapping[str, str], named: str
) -> None:
    ended = run_to_end(fresh_home, variables, program="docvec-mcp")
    assert ended.returncode == 3
    assert named in ended.stderr.splitlines()[-1]
    assert "Traceback" not in ended.stderr
