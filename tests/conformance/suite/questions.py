"""Suite tools that request input from the client: during the call before protocol 2026, and with
an `InputRequiredResult` since then."""

from collections.abc import Callable
from typing import Annotated, Any

from mcp.server.mcpserver import Context, Resolve, Sample
from mcp.types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    RequestParams,
    SamplingMessage,
    TextContent,
)

from tests.conformance.suite.contents import answer, text

Asked = CallToolResult | InputRequiredResult
Schema = dict[str, Any]


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    return {"type": "object", "properties": properties, "required": required or []}


def form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    """A form with one field."""
    schema = _object({field: {"type": kind}}, [field])
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def _sampling(question: str) -> list[SamplingMessage]:
    return [SamplingMessage(role="user", content=text(question))]


def _sample(question: str) -> CreateMessageRequest:
    params = CreateMessageRequestParams(messages=_sampling(question), max_tokens=100)
    return CreateMessageRequest(params=params)


def _roots() -> ListRootsRequest:
    return ListRootsRequest(params=RequestParams())


def ask(state: str | None = None, **requests: InputRequest) -> InputRequiredResult:
    """An answer that says what is wanted from the client."""
    return InputRequiredResult(input_requests=requests, request_state=state)


def filled(ctx: Context[Any, Any], key: str, field: str) -> Any:
    """What the client's user wrote into a field; None where there is nothing."""
    given = (ctx.input_responses or {}).get(key)
    if isinstance(given, ElicitResult) and given.action == "accept" and given.content:
        return given.content.get(field)
    return None


def _sampled(ctx: Context[Any, Any], key: str) -> str | None:
    given = (ctx.input_responses or {}).get(key)
    if isinstance(given, CreateMessageResult) and isinstance(given.content, TextContent):
        return given.content.text
    return None


def _listed(ctx: Context[Any, Any], key: str) -> str | None:
    given = (ctx.input_responses or {}).get(key)
    return str(given.roots) if isinstance(given, ListRootsResult) else None


async def test_sampling(prompt: str, ctx: Context[Any, Any]) -> CallToolResult:
    """Asks the client's model, in the midst of the call."""
    said = await ctx.session.create_message(
        _sampling(prompt), max_tokens=100, related_request_id=ctx.request_id
    )
    assert isinstance(said.content, TextContent)
    return answer(text(f"LLM response: {said.content.text}"))


async def test_elicitation(message: str, ctx: Context[Any, Any]) -> CallToolResult:
    """Asks the client's user, in the midst of the call."""
    properties = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    said = await _ask_now(ctx, message, _object(properties, ["username", "email"]))
    return answer(text(f"User response: {said}"))


async def test_elicitation_sep1034_defaults(ctx: Context[Any, Any]) -> CallToolResult:
    """Asks with a form whose fields are filled in."""
    states = ["active", "inactive", "pending"]
    return await _ask_with_form(
        ctx,
        {
            "name": {"type": "string", "default": "John Doe"},
            "age": {"type": "integer", "default": 30},
            "score": {"type": "number", "default": 95.5},
            "status": {"type": "string", "enum": states, "default": "active"},
            "verified": {"type": "boolean", "default": True},
        },
    )


async def test_elicitation_sep1330_enums(ctx: Context[Any, Any]) -> CallToolResult:
    """Asks with a form that has each kind of choice."""
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)]
    names = ["Option One", "Option Two", "Option Three"]
    return await _ask_with_form(
        ctx,
        {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled},
            "legacyEnum": {"type": "string", "enum": plain, "enumNames": names},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled}},
        },
    )


async def _ask_with_form(ctx: Context[Any, Any], properties: Schema) -> CallToolResult:
    said = await _ask_now(ctx, "Please fill in", _object(properties))
    return answer(text(f"Elicitation completed: {said}"))


async def _ask_now(ctx: Context[Any, Any], message: str, schema: Schema) -> str:
    """Asks on the stream of the call: the client may not have opened the other one yet."""
    said = await ctx.session.elicit_form(message, schema, related_request_id=ctx.request_id)
    return f"action={said.action}, content={said.content}"


async def _want_a_model() -> Sample:
    return Sample(_sampling("Are you there?"), max_tokens=100)


async def test_missing_capability(
    said: Annotated[CreateMessageResult, Resolve(_want_a_model)],
) -> CallToolResult:
    """Cannot be called by a client without a model."""
    return answer(text(f"{said.model} is there."))


async def test_streaming_elicitation() -> Asked:
    """Asks the client's user."""
    return ask(user_name=form("What is your name?", "name"))


async def test_input_required_result_elicitation(ctx: Context[Any, Any]) -> Asked:
    """Asks the client's user."""
    name = filled(ctx, "user_name", "name")
    if name is None:
        return ask(user_name=form("What is your name?", "name"))
    return answer(text(f"Hello, {name}!"))


async def test_input_required_result_sampling(ctx: Context[Any, Any]) -> Asked:
    """Asks the client's model."""
    said = _sampled(ctx, "capital_question")
    if said is None:
        return ask(capital_question=_sample("What is the capital of France?"))
    return answer(text(said))


async def test_input_required_result_list_roots(ctx: Context[Any, Any]) -> Asked:
    """Asks for the client's roots."""
    roots = _listed(ctx, "client_roots")
    return ask(client_roots=_roots()) if roots is None else answer(text(roots))


async def test_input_required_result_request_state(ctx: Context[Any, Any]) -> Asked:
    """Asks, and wants its own state back with the answer."""
    if ctx.request_state != "asked" or filled(ctx, "confirm", "ok") is None:
        return ask("asked", confirm=form("Please confirm", "ok", "boolean"))
    return answer(text("state-ok"))


async def test_input_required_result_tampered_state(ctx: Context[Any, Any]) -> Asked:
    """The same; the suite changes the state on its way back."""
    return await test_input_required_result_request_state(ctx)


async def test_input_required_result_multiple_inputs(ctx: Context[Any, Any]) -> Asked:
    """Asks for three things at once."""
    name = filled(ctx, "user_name", "name")
    greeting = _sampled(ctx, "greeting")
    roots = _listed(ctx, "client_roots")
    if name is None or greeting is None or roots is None:
        return ask(
            "asked",
            user_name=form("What is your name?", "name"),
            greeting=_sample("Generate a greeting"),
            client_roots=_roots(),
        )
    return answer(text(f"{greeting} {name} {roots}"))


async def test_input_required_result_multi_round(ctx: Context[Any, Any]) -> Asked:
    """Asks, and asks again; what was said first is in its state."""
    if ctx.request_state and (colour := filled(ctx, "step2", "color")) is not None:
        return answer(text(f"{ctx.request_state} likes {colour}."))
    if (name := filled(ctx, "step1", "name")) is not None:
        return ask(name, step2=form("Step 2: What is your favorite color?", "color"))
    return ask("asked", step1=form("Step 1: What is your name?", "name"))


async def test_input_required_result_capabilities(ctx: Context[Any, Any]) -> Asked:
    """Asks for what this client can give."""
    able = ctx.client_capabilities
    requests: dict[str, InputRequest] = {}
    if able and able.elicitation:
        requests["user_name"] = form("What is your name?", "name")
    if able and able.sampling:
        requests["greeting"] = _sample("Generate a greeting")
    return InputRequiredResult(input_requests=requests)


TOOLS: list[Callable[..., Any]] = [
    test_sampling,
    test_elicitation,
    test_elicitation_sep1034_defaults,
    test_elicitation_sep1330_enums,
    test_missing_capability,
    test_streaming_elicitation,
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
]
