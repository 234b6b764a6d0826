"""Behaviour common to all remote embedders, tested with Ollama's and OpenAI's APIs."""

import math
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from threading import Barrier

import numpy as np
import pytest

from quinion import http_client
from quinion.embed import Embedder, Vectors
from quinion.embed.remote.http_embedder import RemoteEmbedder
from quinion.embed.remote.ollama import OllamaEmbedder
from quinion.embed.remote.openai import OpenAIEmbedder
from quinion.errors import ModelUnavailable
from tests.ollama_server import (
    MODEL,
    Fault,
    OllamaServer,
    change,
    cut,
    drip,
    drop,
    hang,
    hold_batches,
    ollama_server,
    refuse,
    say,
)

Make = Callable[..., RemoteEmbedder]

TEXTS = [f"Text number {number} about subject {number * 7}" for number in range(70)]


def make_ollama(url: str, timeout_s: float = 20) -> RemoteEmbedder:
    return OllamaEmbedder(url, MODEL, timeout_s, len)


def make_openai(url: str, timeout_s: float = 20) -> RemoteEmbedder:
    return OpenAIEmbedder(url, MODEL, None, timeout_s, len)


@pytest.fixture
def server() -> Iterator[OllamaServer]:
    with ollama_server() as server:
        yield server


@pytest.fixture(params=[make_ollama, make_openai])
def make(request: pytest.FixtureRequest) -> Make:
    made: Make = request.param
    return made


@pytest.fixture
def embedder(server: OllamaServer, make: Make) -> RemoteEmbedder:
    return make(server.url)


def forget(server: OllamaServer, embedder: RemoteEmbedder) -> None:
    """Load the model, then clear the list of requests."""
    embedder.load()
    server.requests.clear()


def test_it_is_an_embedder(embedder: RemoteEmbedder) -> None:
    port: Embedder = embedder
    assert port.dimensions == 256


def test_vectors_are_unit_rows_in_the_order_of_the_texts(embedder: RemoteEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (70, 256)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    singly = np.stack([embedder.embed([text])[0] for text in TEXTS])
    np.testing.assert_array_equal(vectors, singly)


def test_a_query_is_nearest_to_the_text_that_answers_it(embedder: RemoteEmbedder) -> None:
    texts = ["Bats roost in old barns.", "Parking is paid by the hour.", "The library is closed."]
    query = embedder.embed_query("How is parking paid?")
    assert int(np.argmax(embedder.embed(texts) @ query)) == 1


def test_no_texts_give_no_vectors(embedder: RemoteEmbedder) -> None:
    assert embedder.embed([]).shape == (0, 256)


def test_a_blank_text_is_refused_before_anything_is_sent(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    with pytest.raises(ValueError, match="text 1 of 2 is empty or only white space"):
        embedder.embed(["something", " "])
    with pytest.raises(ValueError, match="empty or only white space"):
        embedder.embed_query("\n")
    assert server.requests == []


@pytest.mark.parametrize("text", ["\u200b", "\x00", "a lone \ud800 surrogate", 'q"\\u0041\n🏗'])
def test_text_of_damaged_files_gets_a_vector(embedder: RemoteEmbedder, text: str) -> None:
    assert np.linalg.norm(embedder.embed_query(text)) == pytest.approx(1)


def test_tokens_are_counted_without_the_server(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    assert embedder.count_tokens(["", "four", "sixteen letters."]) == [0, 4, 16]
    assert server.requests == []


def test_a_batch_is_limited_by_its_number_of_texts(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    forget(server, embedder)
    embedder.embed(TEXTS)
    assert [len(texts) for texts in server.texts] == [32, 32, 6]


def test_a_batch_is_limited_by_its_characters(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    forget(server, embedder)
    embedder.embed(["a " * 7_000, "b " * 7_000, "c " * 7_000, "d " * 20_000, "e"])
    assert [len(texts) for texts in server.texts] == [2, 1, 1, 1]


def test_one_connection_serves_many_requests(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    for text in TEXTS[:10]:
        embedder.embed_query(text)
    assert server.connections == 1


def test_a_connection_closed_by_the_server_is_reopened(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    embedder.load()
    server.hang_up()
    assert embedder.embed_query("still there?").shape == (256,)


def test_a_stopped_server_is_reported_immediately(make: Make) -> None:
    with ollama_server() as server:
        embedder = make(server.url)
        embedder.load()
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        embedder.embed_query("still there?")


# Transient errors.


@pytest.mark.parametrize("fault", [refuse(502), refuse(503), refuse(429), drop, cut])
def test_transient_errors_are_retried(
    server: OllamaServer, embedder: RemoteEmbedder, fault: Fault
) -> None:
    forget(server, embedder)
    server.fail(fault)
    assert embedder.embed(["patience"]).shape == (1, 256)
    assert len(server.texts) == 2


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (refuse(500, "boom"), "answers 500: boom. Check its log and try again."),
        (refuse(429, "slow down"), "answers 429: slow down. It is overloaded or a quota"),
        (cut, "closed the connection before its answer was complete. Check its log and try"),
    ],
)
def test_it_is_tried_three_times_and_no_more(
    server: OllamaServer, embedder: RemoteEmbedder, fault: Fault, message: str
) -> None:
    forget(server, embedder)
    server.always = fault
    with pytest.raises(ModelUnavailable) as caught:
        embedder.embed(["patience"])
    assert message in caught.value.message
    assert server.url in caught.value.message
    assert len(server.texts) == 3


@pytest.mark.parametrize("status", [400, 404, 405, 413, 501])
def test_permanent_errors_are_not_retried(
    server: OllamaServer, embedder: RemoteEmbedder, status: int
) -> None:
    forget(server, embedder)
    server.always = refuse(status)
    with pytest.raises(ModelUnavailable):
        embedder.embed(["patience"])
    assert len(server.texts) == 1


def test_a_server_that_asks_for_time_gets_it(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    embedder.load()
    server.fail(refuse(429, Retry_After="1"))
    begin = time.monotonic()
    embedder.embed_query("patience")
    assert 1 <= time.monotonic() - begin < 10


def test_a_server_may_ask_for_time_by_a_date(server: OllamaServer) -> None:
    embedder = make_ollama(server.url)
    embedder.load()
    soon = datetime.now(UTC) + timedelta(seconds=2)  # and the header has whole seconds
    server.fail(refuse(503, Retry_After=format_datetime(soon, usegmt=True)))
    begin = time.monotonic()
    embedder.embed_query("patience")
    assert 0.9 <= time.monotonic() - begin < 10


@pytest.mark.parametrize("value", ["soon", "-1", "Thu, 01 Jan 1970 00:00:00 GMT", "", "²"])
def test_a_time_that_cannot_be_understood_is_not_waited_for(
    server: OllamaServer, value: str
) -> None:
    embedder = make_ollama(server.url)
    embedder.load()
    server.fail(refuse(503, Retry_After=value))
    begin = time.monotonic()
    embedder.embed_query("patience")
    assert time.monotonic() - begin < 5


def test_a_server_that_asks_for_more_time_than_there_is_is_not_waited_for(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    embedder.load()
    server.always = refuse(429, Retry_After="3600")
    begin = time.monotonic()
    with pytest.raises(ModelUnavailable, match="try again later"):
        embedder.embed_query("patience")
    assert time.monotonic() - begin < 5


# Permanent errors.


@pytest.mark.parametrize("fault", [hang, drip])
def test_a_server_that_does_not_come_to_an_end_is_left_after_the_timeout(
    server: OllamaServer, make: Make, fault: Fault
) -> None:
    embedder = make(server.url, timeout_s=1)
    embedder.load()
    server.always = fault
    begin = time.monotonic()
    with pytest.raises(
        ModelUnavailable, match=r"did not answer within 1 seconds\. .* raise DOCVEC_TIMEOUT"
    ):
        embedder.embed_query("hello?")
    assert 0.9 <= time.monotonic() - begin < 5


def test_retries_end_with_the_timeout(server: OllamaServer, make: Make) -> None:
    embedder = make(server.url, timeout_s=2)
    forget(server, embedder)
    server.always = refuse(503, Retry_After="1")
    with pytest.raises(ModelUnavailable, match="503"):
        embedder.embed_query("hello?")
    assert len(server.texts) == 2


def test_a_hanging_server_is_met_by_all_at_once(server: OllamaServer, make: Make) -> None:
    embedder = make(server.url, timeout_s=1)
    server.always = hang

    def ask(_: int) -> bool:
        with pytest.raises(ModelUnavailable, match="did not answer"):
            embedder.embed_query("hello?")
        return True

    begin = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(8)))
    assert time.monotonic() - begin < 4


def test_a_refused_connection_is_reported_immediately(make: Make) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(ModelUnavailable) as caught:
            make(url).load()
        assert time.monotonic() - begin < 2
    assert url in caught.value.message
    assert "Connection refused. Start it, or set DOCVEC_HOST to where it listens." in (
        caught.value.message
    )


def test_a_machine_that_does_not_answer_is_not_waited_for_as_long_as_a_model(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "CONNECT_S", 0.3)
    with ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # one waits to be accepted, and the others for their turn to wait
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        begin = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"cannot be reached\. Check DOCVEC_HOST"):
            make(f"http://127.0.0.1:{full.getsockname()[1]}").load()
        assert time.monotonic() - begin < 5


def test_an_unknown_host_is_reported(make: Make) -> None:
    with pytest.raises(ModelUnavailable, match=r"http://no-such-host.invalid.* cannot be reached"):
        make("http://no-such-host.invalid").load()


@pytest.mark.parametrize(
    "fault",
    [
        say("<!doctype html><title>Welcome to nginx!</title>", "text/html"),
        say('{"status": "ok"}'),
        say("[]"),
        say('{"embeddings": "no", "data": "no"}'),
        say('{"embeddings": [["a"]], "data": [{"index": 0, "embedding": ["a"]}]}'),
        say('{"embeddings": [[0.1, 0.2'),
        say("[" * 100_000),
        say(""),
        say("\xff\xfe"),
    ],
)
def test_an_answer_of_another_kind_is_refused(
    server: OllamaServer, embedder: RemoteEmbedder, fault: Fault
) -> None:
    embedder.load()
    server.always = fault
    with pytest.raises(ModelUnavailable, match=r"sent an unexpected answer: .* Set DOCVEC_HOST"):
        embedder.embed_query("hello?")


def test_an_answer_that_does_not_end_is_left(
    server: OllamaServer, embedder: RemoteEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_client, "MAX_ANSWER_BYTES", 1_000_000)
    embedder.load()
    server.always = say(" " * 1_100_000)
    with pytest.raises(ModelUnavailable, match=r"sent an answer that is too large\. Set"):
        embedder.embed_query("hello?")


def test_a_redirect_is_not_followed(server: OllamaServer, embedder: RemoteEmbedder) -> None:
    embedder.load()
    server.always = refuse(307, Location="http://127.0.0.1:9/")
    with pytest.raises(ModelUnavailable, match=r"answers 307.*Check DOCVEC_HOST"):
        embedder.embed_query("hello?")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (change(lambda rows: rows[:-1]), "2 vectors for 3 texts"),
        (change(lambda rows: [*rows, rows[0]]), "4 vectors for 3 texts"),
        (change(lambda rows: []), "0 vectors for 3 texts"),
        (change(lambda rows: [rows[0], rows[1], rows[2][:-1]]), "vectors of different lengths"),
        (change(lambda rows: [[math.nan, *row[1:]] for row in rows]), "not finite"),
        (change(lambda rows: [[math.inf, *row[1:]] for row in rows]), "not finite"),
        (change(lambda rows: [[0.0] * len(row) for row in rows]), "all-zero vectors"),
        (change(lambda rows: [[] for row in rows]), "all-zero vectors"),
    ],
)
def test_vectors_that_cannot_be_right_are_refused(
    server: OllamaServer, embedder: RemoteEmbedder, fault: Fault, what: str
) -> None:
    embedder.load()
    server.fail(fault)
    with pytest.raises(ModelUnavailable, match=f"answered with .*{what}"):
        embedder.embed(TEXTS[:3])


def test_vectors_of_another_length_than_before_are_refused(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    embedder.load()
    server.dimensions = 64
    with pytest.raises(ModelUnavailable, match=r"has another .* restart and index again"):
        embedder.embed(["hello"])
    with pytest.raises(ModelUnavailable, match=r"has another .* restart and index again"):
        embedder.embed_query("hello")


def test_vectors_of_another_length_in_the_middle_of_a_batch_are_refused(
    server: OllamaServer, embedder: RemoteEmbedder
) -> None:
    embedder.load()
    server.fail(change(lambda rows: rows), change(lambda rows: [row[:64] for row in rows]))
    with pytest.raises(ModelUnavailable, match="has another"):
        embedder.embed(TEXTS)


def test_a_failure_is_not_cached(server: OllamaServer, embedder: RemoteEmbedder) -> None:
    server.fail(refuse(400))
    with pytest.raises(ModelUnavailable):
        embedder.load()
    assert embedder.embed_query("better now").shape == (256,)


# Threads.


def test_a_query_does_not_wait_for_a_batch(server: OllamaServer, embedder: RemoteEmbedder) -> None:
    embedder.load()
    server.always = hold_batches
    with ThreadPoolExecutor(1) as pool:
        batch = pool.submit(embedder.embed, TEXTS)
        assert server.arrived.wait(20)
        assert embedder.embed_query("first").shape == (256,)
        assert not batch.done()
        server.released.set()
        assert batch.result().shape == (70, 256)


def test_many_threads_can_load_embed_and_search_at_once(
    server: OllamaServer, make: Make, embedder: RemoteEmbedder
) -> None:
    expected = make(server.url).embed(TEXTS)
    together = Barrier(8)

    def work(number: int) -> tuple[Vectors, Vectors]:
        together.wait()
        return embedder.embed(TEXTS), embedder.embed_query(TEXTS[number])

    with ThreadPoolExecutor(8) as pool:
        for number, (vectors, query) in enumerate(pool.map(work, range(8))):
            np.testing.assert_array_equal(vectors, expected)
            np.testing.assert_allclose(query, expected[number], atol=1e-6)


# Connection settings.


def test_a_proxy_is_not_asked_for_this_machine(
    server: OllamaServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    assert make(server.url).embed_query("direct").shape == (256,)
    assert make(server.url.replace("127.0.0.1", "localhost")).embed_query("too").shape == (256,)


def test_a_login_in_the_address_is_sent_and_not_shown(
    server: OllamaServer, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    embedder = make(server.url.replace("//", "//someone:s3cr3t@"))
    server.fail(refuse(400))
    with pytest.raises(ModelUnavailable) as caught:
        embedder.load()
    assert "s3cr3t" not in caught.value.message + caplog.text
    assert server.url in caught.value.message
    assert {request.headers["Authorization"] for request in server.requests} == {
        "Basic c29tZW9uZTpzM2NyM3Q="
    }
