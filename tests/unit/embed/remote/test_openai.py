"""Behaviour specific to the OpenAI API; test_http_embedder tests the common behaviour."""

import logging
from collections.abc import Iterator

import numpy as np
import pytest
from pydantic import SecretStr

from quinion.embed.remote.openai import OpenAIEmbedder
from quinion.errors import BadSetting, ModelUnavailable, QuinionError
from tests.ollama_server import (
    CHAT_MODEL,
    MODEL,
    Fault,
    OllamaServer,
    cut,
    hang,
    ollama_server,
    refuse,
    say,
)
from tests.telling import exposed_text

KEY = "sk-quinion-0123456789"


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with ollama_server() as server:
        server.models["text-embedding-3-small:latest"] = ""
        server.api_key = KEY
        yield server


def make(
    server: OllamaServer,
    model: str = "text-embedding-3-small",
    key: str | None = KEY,
    path: str = "",
    timeout_s: float = 20,
) -> OpenAIEmbedder:
    secret = SecretStr(key) if key else None
    return OpenAIEmbedder(server.url + path, model, secret, timeout_s, len)


def test_the_request_matches_the_api(server: OllamaServer) -> None:
    make(server).embed(["one", "two"])
    request = server.requests[-1]
    assert request.path == "/v1/embeddings"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "text-embedding-3-small",
        "input": ["one", "two"],
        "encoding_format": "float",
    }


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_the_address_may_be_given_in_several_ways(server: OllamaServer, path: str) -> None:
    assert make(server, path=path).embed_query("hello").shape == (256,)


def test_an_address_with_another_path_is_used_as_it_is(server: OllamaServer) -> None:
    with pytest.raises(ModelUnavailable, match=r"/openai/v2 answers 404\. Check DOCVEC_HOST"):
        make(server, path="/openai/v2").load()
    assert server.requests[-1].path == "/openai/v2/embeddings"


def test_vectors_go_by_their_index_and_not_by_their_order(server: OllamaServer) -> None:
    embedder = make(server)
    texts = ["one word", "two other words", "three words of another kind"]
    singly = np.stack([embedder.embed([text])[0] for text in texts])
    np.testing.assert_array_equal(embedder.embed(texts), singly)


@pytest.mark.parametrize("indexes", [(0, 0), (1, 2), (-1, 0), (0, 2)])
def test_vectors_with_ambiguous_indexes_are_refused(
    server: OllamaServer, indexes: tuple[int, int]
) -> None:
    embedder = make(server)
    embedder.load()
    first, second = indexes
    server.fail(
        say(
            f'{{"data": [{{"index": {first}, "embedding": [1.0]}}, '
            f'{{"index": {second}, "embedding": [1.0]}}]}}'
        )
    )
    with pytest.raises(ModelUnavailable, match="does not say which vector is which text's"):
        embedder.embed(["one", "two"])


def test_the_fingerprint_names_the_model_its_dimensions_and_its_prompts(
    server: OllamaServer,
) -> None:
    assert make(server).fingerprint == "openai:text-embedding-3-small:256"
    assert make(server, MODEL).fingerprint == f"openai:{MODEL}:256:prompts-85230b"


def test_a_model_that_wants_prompts_gets_them_here_too(server: OllamaServer) -> None:
    embedder = make(server, MODEL)
    embedder.embed(["Bats roost here."])
    embedder.embed_query("Where do bats roost?")
    assert server.texts[-2:] == [
        ["search_document: Bats roost here."],
        ["search_query: Where do bats roost?"],
    ]


def test_a_missing_model_is_reported(server: OllamaServer) -> None:
    with pytest.raises(
        ModelUnavailable, match=r'answers 404: model "unheard-of" not found.*DOCVEC_MODEL'
    ):
        make(server, "unheard-of").load()


def test_a_model_without_embeddings_is_reported(server: OllamaServer) -> None:
    with pytest.raises(ModelUnavailable, match=r"cannot embed with llama3.2\. Set DOCVEC_MODEL"):
        make(server, CHAT_MODEL).load()


@pytest.mark.parametrize("key", [None, "sk-another"])
def test_a_wrong_key_is_reported(server: OllamaServer, key: str | None) -> None:
    with pytest.raises(ModelUnavailable, match=r"answers 401: it does not accept the key\. Set"):
        make(server, key=key).load()
    assert len(server.requests) == 1


@pytest.mark.parametrize("words", ['{"message": "no"}', '{"detail": "no"}', '{"error": "no"}'])
def test_the_servers_message_is_passed_on(server: OllamaServer, words: str) -> None:
    embedder = make(server)
    embedder.load()
    server.always = refuse_with(words)
    with pytest.raises(ModelUnavailable, match=r"answers 400: no\. If texts are too long"):
        embedder.embed_query("hello")


@pytest.mark.parametrize("words", ["", "<html>", "[]", '{"error": {"code": 7}}', "[" * 100_000])
def test_a_refusal_without_words_is_passed_on_too(server: OllamaServer, words: str) -> None:
    embedder = make(server)
    embedder.load()
    server.always = refuse_with(words)
    with pytest.raises(ModelUnavailable, match=r"^The embedding server at .* answers 400\. If"):
        embedder.embed_query("hello")


def refuse_with(text: str) -> Fault:
    def fault(handler: object, answer: object, texts: object) -> None:
        handler.reply_text(400, text, "application/json")  # type: ignore[attr-defined]

    return fault


@pytest.mark.parametrize(
    ("fault", "key"),
    [
        (None, "sk-quinion-wrong"),
        (refuse(400, "your header was: Bearer sk-quinion-0123456789"), KEY),
        (refuse(403, "your header was: Bearer sk-quinion-0123456789"), KEY),
        (refuse(503), KEY),
        (say('{"headers": "Bearer sk-quinion-0123456789"}'), KEY),
        (say("<html>", "text/html"), KEY),
        (cut, KEY),
        (hang, KEY),
        (None, "sk-quinion-\nline"),
        (None, "sk-quinion-\u2019quote"),
        (None, "sk-quinion- blank"),
    ],
)
def test_the_key_is_never_shown(
    server: OllamaServer, fault: Fault | None, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always = fault
    with pytest.raises(QuinionError) as caught:
        make(server, key=key, timeout_s=1).load()
    for text in (*exposed_text(caught.value, __file__), caplog.text):
        assert "sk-quinion" not in text


def test_the_key_is_not_in_the_embedder_for_all_to_see(server: OllamaServer) -> None:
    embedder = make(server)
    embedder.load()
    assert KEY not in repr(embedder) + repr(vars(embedder)) + repr(vars(embedder._client))


def test_a_server_that_cannot_be_reached_does_not_show_the_key() -> None:
    with ollama_server() as server:
        embedder = make(server)
    with pytest.raises(ModelUnavailable) as caught:
        embedder.load()
    assert KEY not in "".join(exposed_text(caught.value, __file__))


@pytest.mark.parametrize("key", ["sk-\nline", "sk-\u2019quote", "sk- blank", " sk", "sk\x7f"])
def test_a_key_that_cannot_be_sent_is_a_bad_setting(server: OllamaServer, key: str) -> None:
    with pytest.raises(BadSetting, match="DOCVEC_API_KEY contains invalid characters"):
        make(server, key=key)


def test_an_empty_key_counts_as_unset(server: OllamaServer) -> None:
    server.api_key = None
    OpenAIEmbedder(server.url, "text-embedding-3-small", SecretStr(""), 20, len).load()
    assert "Authorization" not in server.requests[-1].headers
