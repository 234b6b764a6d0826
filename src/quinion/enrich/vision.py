"""Client of a vision model behind OpenAI's chat API, one picture per request.

Many servers have this API: Ollama, vLLM, LM Studio, llama.cpp, and paid services. Only `describe`
sends a picture out of this process.
"""

from base64 import b64encode
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import BaseModel, Field, SecretStr

from quinion.enrich.cleanup import clean_description, clean_latex
from quinion.enrich.prompts import make_prompt, wants_latex
from quinion.errors import EnricherUnavailable
from quinion.http_client import JsonClient, Refused, Service, complete_openai, parse_address
from quinion.model.element import Element

HOST = "DOCLIBRARY_VISION_URL"
MAX_TOKENS = 2_000
"""Limit of an answer, reasoning included."""

_PATH = "chat/completions"
_SERVICE = Service("The vision model", HOST, EnricherUnavailable, "DOCLIBRARY_VISION_API_KEY")
_NOT_THIS_PICTURE = {
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
}
# OpenAI's newer models accept only the second name, most other servers the first.
_TOKEN_LIMITS = ("max_tokens", "max_completion_tokens")


@dataclass(frozen=True, slots=True)
class Remark:
    """A model's answer: a description, or the LaTeX of an equation."""

    description: str = ""
    latex: str = ""


class DescriptionFailed(EnricherUnavailable):
    """The model has no usable answer for this picture; other pictures may work."""


class _Part(BaseModel):
    text: str = ""


class _Message(BaseModel):
    content: str | list[_Part] | None = None


class _Choice(BaseModel):
    message: _Message


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)


class Vision:
    """Client of a vision model; `url` is the address without `/chat/completions`. Blocking."""

    def __init__(self, url: str, model: str, api_key: SecretStr | None, timeout_s: float) -> None:
        """Raises `BadSetting` for an invalid address or key."""
        address = complete_openai(parse_address(url, HOST), _PATH)
        self.model = model
        self._client = JsonClient(_SERVICE, address, timeout_s, api_key)
        self._token_limit = _TOKEN_LIMITS[0]

    def describe(self, picture: bytes, element: Element) -> Remark:
        """Describe the PNG of the element; for an equation, return its LaTeX.

        Raises:
            DescriptionFailed: the model rejects this picture, or its answer is not usable.
            EnricherUnavailable: there is no valid answer.
        """
        answer = self._ask(make_prompt(element), picture)
        latex = wants_latex(element)
        words = clean_latex(answer) if latex else clean_description(answer)
        if not words:
            what = "LaTeX" if latex else "a description"
            raise DescriptionFailed(f"{self._client.where} did not answer with {what}.")
        return Remark(latex=words) if latex else Remark(description=words)

    def _ask(self, prompt: str, picture: bytes) -> str:
        try:
            completion = self._complete(prompt, picture)
        except Refused as refused:
            # Raised below without its cause, like all errors of the client.
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
        """Explain an error status and how to fix it."""
        detail = f": {refused.words}" if refused.words else ""
        what = f"{self._client.where} answers {refused.status}{detail}"
        if refused.status in _NOT_THIS_PICTURE:
            return DescriptionFailed(
                f"{what}. Set DOCLIBRARY_VISION_MODEL to a model that accepts images."
            )
        if refused.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return EnricherUnavailable(
                f"{self._client.where} answers {refused.status}: it does not accept the key. Set "
                "DOCLIBRARY_VISION_API_KEY to one that may use it."
            )
        if refused.status == HTTPStatus.TOO_MANY_REQUESTS:
            return EnricherUnavailable(
                f"{what}. It is overloaded or a quota is used up: continue later; "
                "descriptions so far are kept."
            )
        if refused.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return EnricherUnavailable(f"{what}. Check its log and try again.")
        return EnricherUnavailable(f"{what}. Check {HOST} and DOCLIBRARY_VISION_MODEL.")
