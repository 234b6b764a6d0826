"""A vision model behind OpenAI's API for chats, asked about one picture at a time.

Many servers have such an API: Ollama, vLLM, LM Studio, llama.cpp, and paid services. A picture
leaves this process when `describe` is called, and not otherwise.
"""

from base64 import b64encode
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import BaseModel, Field, SecretStr

from quinion.enrich.answers import clean_description, clean_latex
from quinion.enrich.prompts import make_prompt, wants_latex
from quinion.errors import EnricherUnavailable
from quinion.http_client import JsonClient, Refused, Service, complete_openai, parse_address
from quinion.model.element import Element

HOST = "DOCLIBRARY_VISION_URL"
MAX_TOKENS = 2_000
"""Of an answer, with what a model thinks before it."""

_PATH = "chat/completions"
_SERVICE = Service("The vision model", HOST, EnricherUnavailable, "DOCLIBRARY_VISION_API_KEY")
_NOT_THIS_PICTURE = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
# OpenAI's newer models take the second name only, and most other servers the first.
_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class Remark:
    """What a model says of an element; of an equation, its LaTeX."""

    description: str = ""
    latex: str = ""


class NotDescribed(EnricherUnavailable):
    """The model has nothing to say about this one picture; others may fare better."""


class _Part(BaseModel):
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


class Vision:
    """A model at an address; `url` is what stands before `/chat/completions`. Calls block."""

    def __init__(self, url: str, model: str, api_key: SecretStr | None, timeout_s: float) -> None:
        """Raises `BadSetting` for an address or a key that is none."""
        address = complete_openai(parse_address(url, HOST), _PATH)
        self.model = model
        self._client = JsonClient(_SERVICE, address, timeout_s, api_key)
        self._token_limit = _TOKEN_LIMITS[0]

    def describe(self, picture: bytes, element: Element) -> Remark:
        """What the PNG of the element shows; for an equation, its LaTeX.

        Raises:
            NotDescribed: the model does not take this picture, or says nothing that can be kept.
            EnricherUnavailable: there is no answer, or none that can be understood.
        """
        answer = self._ask(make_prompt(element), picture)
        latex = wants_latex(element)
        words = clean_latex(answer) if latex else clean_description(answer)
        if not words:
            what = "LaTeX" if latex else "a description"
            raise NotDescribed(f"{self._client.where} gave no answer that is {what}.")
        return Remark(latex=words) if latex else Remark(description=words)

    def _ask(self, prompt: str, picture: bytes) -> str:
        try:
            completion = self._complete(prompt, picture)
        except Refused as refused:
            # Without its cause, as all errors of the client leave.
            problem = self._explain(refused)
        else:
            content = completion.choices[0].message.content or ""
            return content if isinstance(content, str) else "".join(part.text for part in content)
        raise problem

    def _complete(self, prompt: str, picture: bytes) -> _Completion:
        url = "data:image/png;base64," + b64encode(picture).decode()
        content = [
            {"type": "text", "text": prompt},
            {"type": "image_url", "image_url": {"url": url}},
        ]
        messages = [{"role": "user", "content": content}]
        body: dict[str, object] = {"model": self.model, "messages": messages}
        try:
            return self._post(body)
        except Refused as refused:
            if _TOKEN_LIMITS[1] not in refused.words or self._token_limit == _TOKEN_LIMITS[1]:
                raise
            self._token_limit = _TOKEN_LIMITS[1]
        return self._post(body)

    def _post(self, body: dict[str, object]) -> _Completion:
        limit = {self._token_limit: MAX_TOKENS}
        return self._client.ask("POST", _PATH, _Completion, {**body, **limit})

    def _explain(self, refused: Refused) -> EnricherUnavailable:
        """What a refusal means and what to do about it."""
        said = f": {refused.words}" if refused.words else ""
        what = f"{self._client.where} answers {refused.status}{said}"
        if refused.status in _NOT_THIS_PICTURE:
            return NotDescribed(
                f"{what}. Set DOCLIBRARY_VISION_MODEL to a model that takes pictures."
            )
        if refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return EnricherUnavailable(
                f"{self._client.where} answers {refused.status}: it does not accept the key. Set "
                "DOCLIBRARY_VISION_API_KEY to one that may use it."
            )
        if refused.status == HTTPStatus.TOO_MANY_REQUESTS:
            return EnricherUnavailable(
                f"{what}. It has too much to do, or a quota is used up: go on later, what is "
                "described already is kept."
            )
        if refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return EnricherUnavailable(f"{what}. Look into its log, and try again.")
        return EnricherUnavailable(f"{what}. Check {HOST} and DOCLIBRARY_VISION_MODEL.")
