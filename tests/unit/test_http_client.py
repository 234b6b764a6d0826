"""Error messages of the HTTP client; its users' tests cover its behaviour (test_http_embedder)."""

import pytest
from pydantic import BaseModel, SecretStr

from quinion.errors import BadSetting, RegistryUnavailable
from quinion.http_client import JsonClient, Service, complete_openai, parse_address
from tests.json_server import hang
from tests.vision_server import vision_server

SERVICE = Service("The oracle", "ORACLE_URL", RegistryUnavailable, "ORACLE_KEY")


class Anything(BaseModel):
    pass


def test_messages_have_the_service_its_variable_and_its_error() -> None:
    with vision_server() as server:
        address = parse_address(server.url, "ORACLE_URL")
    with pytest.raises(
        RegistryUnavailable,
        match=r"^The oracle at http://127\S+ cannot .* set ORACLE_URL",
    ):
        JsonClient(SERVICE, address, 5).ask("GET", "", Anything)


@pytest.mark.parametrize(
    ("variable", "advice"), [("", "try again."), ("ORACLE_S", "try again, or raise ORACLE_S.")]
)
def test_a_fixed_timeout_is_not_named(variable: str, advice: str) -> None:
    service = Service("It", "ORACLE_URL", RegistryUnavailable, timeout_variable=variable)
    with vision_server() as server:
        server.always = hang
        body = {
            "model": "qwen2.5vl",
            "messages": [
                {
                    "content": [
                        {"text": ""},
                        {"image_url": {"url": "data:image/png;base64,"}},
                    ]
                }
            ],
        }
        client = JsonClient(service, parse_address(server.url, "ORACLE_URL"), 0.3)
        with pytest.raises(RegistryUnavailable) as caught:
            client.ask("POST", "v1/chat/completions", Anything, body)
    assert caught.value.message.endswith(f"loading its model: {advice}")


@pytest.mark.parametrize("address", ["", "localhost", "ftp://h", "http://", "http://h/?q=1", "h:1"])
def test_an_invalid_address_names_its_variable(address: str) -> None:
    with pytest.raises(BadSetting, match=r"^ORACLE_URL is not an address"):
        parse_address(address, "ORACLE_URL")


def test_a_key_that_cannot_be_sent_names_its_variable() -> None:
    address = parse_address("http://h", "ORACLE_URL")
    with pytest.raises(BadSetting, match=r"^ORACLE_KEY contains invalid characters"):
        JsonClient(SERVICE, address, 5, SecretStr("a b"))


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("http://h", "/v1"),
        ("http://h/", "/v1"),
        ("http://h/v1", "/v1"),
        ("http://h/v1/chat/completions/", "/v1"),
        ("http://h/chat/completions", "/v1"),
        ("http://h/openai/v2", "/openai/v2"),
    ],
)
def test_a_bare_host_means_version_one_of_openais_api(given: str, path: str) -> None:
    assert complete_openai(parse_address(given, "U"), "chat/completions").path == path
