"""Ollama-specific behaviour; test_http_embedder tests the common behaviour."""

from collections.abc import Iterator

import numpy as np
import pytest

from quinion.embed.remote.ollama import OllamaEmbedder
from quinion.errors import BadSetting, ModelUnavailable
from tests.ollama_server import (
    CHAT_MODEL,
    DIGEST,
    MODEL,
    OllamaServer,
    ollama_server,
    refuse,
    say,
)


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with ollama_server() as server:
        server.models["all-minilm:latest"] = "1b226e2802db" + "0" * 52
        server.models["all-minilm:l12-v2"] = "4f5da3bd944d" + "0" * 52
        yield server


def make(server: OllamaServer, model: str = MODEL) -> OllamaEmbedder:
    return OllamaEmbedder(server.url, model, 20, len)


def test_the_request_matches_the_api(server: OllamaServer) -> None:
    make(server, "all-minilm").embed(["one", "two"])
    request = next(r for r in server.requests if r.body and r.body["input"] != ["word"])
    assert request.path == "/api/embed"
    assert request.body == {"model": "all-minilm", "input": ["one", "two"], "truncate": True}
    assert request.headers["Content-Type"] == "application/json"
    assert "Authorization" not in request.headers


def test_a_model_that_wants_prompts_gets_them(server: OllamaServer) -> None:
    embedder = make(server)
    embedder.embed(["Bats roost here."])
    embedder.embed_query("Where do bats roost?")
    assert server.texts[-2:] == [
        ["search_document: Bats roost here."],
        ["search_query: Where do bats roost?"],
    ]


def test_a_model_that_wants_none_gets_the_text_alone(server: OllamaServer) -> None:
    embedder = make(server, "all-minilm")
    embedder.embed(["Bats roost here."])
    embedder.embed_query("Where do bats roost?")
    assert server.texts[-2:] == [["Bats roost here."], ["Where do bats roost?"]]


def test_the_fingerprint_names_the_model_its_files_and_its_prompts(server: OllamaServer) -> None:
    assert make(server).fingerprint == f"ollama:{MODEL}:{DIGEST[:12]}:prompts-85230b"
    assert make(server, "all-minilm").fingerprint == "ollama:all-minilm:1b226e2802db"


def test_a_name_may_have_its_tag_or_not(server: OllamaServer) -> None:
    assert make(server, "all-minilm:latest").fingerprint == "ollama:all-minilm:1b226e2802db"
    tagged = "ollama:all-minilm:l12-v2:4f5da3bd944d"
    assert make(server, "all-minilm:l12-v2").fingerprint == tagged


def test_a_missing_model_is_reported_with_advice(server: OllamaServer) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        make(server, "mxbai-embed-large").load()
    assert caught.value.message == (
        f"Ollama at {server.url} has no model mxbai-embed-large. Get it with `ollama pull "
        "mxbai-embed-large`, or set DOCVEC_MODEL to one that it has. It has "
        f"{MODEL}:latest, {CHAT_MODEL}:latest, all-minilm:latest, all-minilm:l12-v2."
    )


def test_an_ollama_without_models_is_reported(server: OllamaServer) -> None:
    server.models.clear()
    with pytest.raises(ModelUnavailable, match=r"ollama pull nomic-embed-text`.*that it has\.$"):
        make(server).load()


def test_a_removed_model_is_reported(server: OllamaServer) -> None:
    embedder = make(server)
    embedder.load()
    server.models.clear()
    with pytest.raises(ModelUnavailable, match="ollama pull nomic-embed-text"):
        embedder.embed_query("still there?")


def test_a_model_that_was_exchanged_meanwhile_is_refused(server: OllamaServer) -> None:
    embedder = make(server)
    embedder.load()
    server.models[f"{MODEL}:latest"] = "f" * 64
    with pytest.raises(ModelUnavailable, match=r"has another nomic-embed-text now .* index again"):
        embedder.embed(["one"])
    with pytest.raises(ModelUnavailable, match=r"has another nomic-embed-text now .* index again"):
        embedder.embed_query("one")


def test_a_model_without_embeddings_is_reported(server: OllamaServer) -> None:
    with pytest.raises(
        ModelUnavailable, match=r"cannot embed with llama3.2\. Set DOCVEC_MODEL to a model for"
    ):
        make(server, CHAT_MODEL).load()


def test_a_model_without_embeddings_is_reported_for_ollama_0_6(server: OllamaServer) -> None:
    server.fail(say('{"model": "nomic-embed-text", "embeddings": [null]}'))
    with pytest.raises(ModelUnavailable, match="cannot embed with nomic-embed-text"):
        make(server).load()


def test_a_server_other_than_ollama_is_reported(server: OllamaServer) -> None:
    with pytest.raises(ModelUnavailable, match=r"does not answer like Ollama 0.3 or newer"):
        OllamaEmbedder(f"{server.url}/elsewhere", MODEL, 20, len).load()


def test_a_login_in_front_of_ollama_is_reported(server: OllamaServer) -> None:
    server.fail(refuse(401))
    with pytest.raises(ModelUnavailable, match=r"requires a login\. Set DOCVEC_HOST"):
        make(server).load()


@pytest.mark.parametrize("slash", ["", "/", "//"])
def test_a_slash_at_the_end_of_the_address_does_not_matter(
    server: OllamaServer, slash: str
) -> None:
    embedder = OllamaEmbedder(server.url + slash, MODEL, 20, len)
    assert np.linalg.norm(embedder.embed_query("hello")) == pytest.approx(1)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost",
        "localhost:11434",
        "ftp://localhost",
        "http://",
        "http://[::1",
        "http://h?a=b",
    ],
)
def test_an_invalid_address_is_a_bad_setting(host: str) -> None:
    with pytest.raises(BadSetting, match="DOCVEC_HOST is not an address"):
        OllamaEmbedder(host, MODEL, 20, len)
