"""Test server with Ollama's HTTP API, and with OpenAI's as Ollama offers it.

Its model counts words, so texts with common words are similar and searches work. Faults apply to
embedding requests.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.json_server import (
    Fault,
    Handler,
    JsonServer,
    Request,
    cut,
    drip,
    drop,
    hang,
    refuse,
    say,
)

__all__ = [
    "CHAT_MODEL",
    "DIGEST",
    "MODEL",
    "Fault",
    "OllamaServer",
    "change",
    "cut",
    "drip",
    "drop",
    "hang",
    "hold_batches",
    "ollama_server",
    "refuse",
    "say",
]

MODEL = "nomic-embed-text"
DIGEST = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
CHAT_MODEL = "llama3.2"

Rows = list[list[float]]


class OllamaServer(JsonServer):
    """Server on a free port, until it is closed."""

    def __init__(self) -> None:
        self.models = {f"{MODEL}:latest": DIGEST, f"{CHAT_MODEL}:latest": "a80c4f17acd5" * 5}
        self.dimensions = 256
        super().__init__(_Handler)

    @property
    def texts(self) -> list[list[str]]:
        """Return the texts to embed, by request."""
        return [list(request.body["input"]) for request in self.requests if request.body]


@contextmanager
def ollama_server() -> Iterator[OllamaServer]:
    server = OllamaServer()
    try:
        yield server
    finally:
        server.close()


def embed(text: str, dimensions: int) -> list[float]:
    """Count the words, plus a constant one, so that no vector is zero."""
    vector = [1.0] + [0.0] * (dimensions - 1)
    for word in re.findall(r"\w+", re.sub(r"^search_(document|query): ", "", text.lower())):
        vector[1 + zlib.crc32(word.encode()) % (dimensions - 1)] += 2.0
    return vector


class _Handler(Handler):
    ours: OllamaServer

    def do_GET(self) -> None:
        self.ours.requests.append(Request(self.path, dict(self.headers), None))
        if self.path == "/api/tags":
            models = [{"name": n, "model": n, "digest": d} for n, d in self.ours.models.items()]
            self.reply(200, {"models": models})
        else:
            self.reply_text(404, "404 page not found", "text/plain")

    def do_POST(self) -> None:
        body = self.read_body()
        answers = {"/api/embed": self.reply_as_ollama, "/v1/embeddings": self.reply_as_openai}
        if self.path not in answers:
            self.reply_text(404, "404 page not found", "text/plain")
        elif not self.has_key():
            self.refuse_key()
        elif not {body["model"], f"{body['model']}:latest"} & self.ours.models.keys():
            self.reply(404, {"error": f'model "{body["model"]}" not found, try pulling it first'})
        elif fault := self.ours.next_fault():
            fault(self, answers[self.path], body["input"])
        elif body["model"].startswith(CHAT_MODEL):
            self.reply(500, {"error": "this model does not support embeddings"})
        else:
            answers[self.path](self.embed(body["input"]))

    def embed(self, texts: list[str]) -> Rows:
        return [embed(text, self.ours.dimensions) for text in texts]

    def reply_as_ollama(self, rows: Rows) -> None:
        self.reply(200, {"model": MODEL, "embeddings": rows})

    def reply_as_openai(self, rows: Rows) -> None:
        # Reversed, because clients must use the index, not the order.
        data = [{"object": "embedding", "index": i, "embedding": r} for i, r in enumerate(rows)]
        self.reply(200, {"object": "list", "data": data[::-1], "model": MODEL})


def change(alter: Callable[[Rows], Rows]) -> Fault:
    """Answer with wrong vectors."""

    def fault(handler: _Handler, answer: Callable[[Rows], None], texts: list[str]) -> None:
        answer(alter(handler.embed(texts)))

    return fault


def hold_batches(handler: _Handler, answer: Callable[[Rows], None], texts: list[str]) -> None:
    """Answer single texts immediately, and batches once the server is `released`."""
    if len(texts) > 1:
        handler.ours.arrived.set()
        handler.ours.released.wait()
    answer(handler.embed(texts))
