"""A server on a store of dictionaries, instead of one that is a process with a home."""

from collections.abc import Iterator

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.any_store.serving import LocalServer
from tests.contract.session import Session
from tests.store_conformance.dictionary_store import DictionaryStore


@pytest.fixture(scope="module")
def server(new_home: NewHome) -> LocalServer:
    return LocalServer(new_home(), DictionaryStore())


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session
