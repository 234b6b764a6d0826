"""Test server with OpenAI's chat API, for questions with images.

Its model describes an image by its size, so that different images get different descriptions. If
asked for LaTeX, it answers with `latex`.
"""

import io
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from PIL import Image

from tests.json_server import Fault, Handler, JsonServer

MODEL = "qwen2.5vl"
LATEX = r"E = \frac{m v^2}{2}"


@dataclass(frozen=True)
class Question:
    """Question to the model."""

    words: str
    picture: bytes

    @property
    def wants_latex(self) -> bool:
        return "as LaTeX" in self.words

    @property
    def label(self) -> str:
        """Label of the element in the question."""
        found = re.search(r'"label": "([^"]+)"', self.words)
        assert found, self.words
        return found[1]


class VisionServer(JsonServer):
    """Server on a free port, until it is closed."""

    def __init__(self) -> None:
        self.latex = LATEX
        self.questions: list[Question] = []
        super().__init__(_Handler)

    def answer(self, question: Question) -> str:
        """Return the model's answer."""
        if question.wants_latex:
            return self.latex
        width, height = Image.open(io.BytesIO(question.picture)).size
        return f"A zeppelin above {question.label}, {width} by {height} pixels."


@contextmanager
def vision_server() -> Iterator[VisionServer]:
    server = VisionServer()
    try:
        yield server
    finally:
        server.close()


class _Handler(Handler):
    ours: VisionServer

    def do_POST(self) -> None:
        body = self.read_body()
        if self.path != "/v1/chat/completions":
            self.reply_text(404, "404 page not found", "text/plain")
        elif not self.has_key():
            self.refuse_key()
        elif body["model"] != MODEL:
            self.reply(404, {"error": {"message": f"The model `{body['model']}` does not exist"}})
        else:
            [message] = body["messages"]
            words, picture = message["content"]
            head, _, data = picture["image_url"]["url"].partition(",")
            assert head == "data:image/png;base64"
            question = Question(words["text"], b64decode(data, validate=True))
            self.ours.questions.append(question)
            if fault := self.ours.next_fault():
                fault(self, self.complete, question)
            else:
                self.complete(self.ours.answer(question))

    def complete(self, content: object) -> None:
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.reply(200, {"object": "chat.completion", "choices": [choice]})


def tell(content: object) -> Fault:
    """Make the model answer with this text."""

    def fault(_: Handler, answer: Callable[[object], None], question: Question) -> None:
        answer(content)

    return fault
