"""A server on a store of dictionaries, instead of one in a home."""

from collections.abc import Iterator

import pytest

from tests.contract.conftest import NewHome
from tests.contract.local import LocalServer, Serve
from tests.contract.session import Session
from tests.store_conformance.dictionary_store import DictionaryStore


@pytest.fixture(scope="module")
def store() -> DictionaryStore:
    return DictionaryStore()


@pytest.fixture(scope="module")
def server(new_home: NewHome, serve: Serve, store: DictionaryStore) -> Iterator[LocalServer]:
    with serve(new_home(), store=store) as server:
        yield server


@pytest.fixture(scope="module")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session
