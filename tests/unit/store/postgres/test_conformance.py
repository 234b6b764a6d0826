"""Conformance of the store in PostgreSQL, with exact search and with the index on vectors."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from quinion.store.base import VectorStore
from tests.postgres_server import PostgresServer
from tests.store_conformance.against_dictionary import AgainstDictionary
from tests.store_conformance.filtering import FilterConformance
from tests.store_conformance.searching import SearchConformance
from tests.store_conformance.suite import DurableConformance
from tests.store_conformance.words import WordConformance

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


class OnServer(AgainstDictionary):
    """A folder stands for a database; there is one, which is cleared for another folder."""

    server: ClassVar[PostgresServer]
    folder: ClassVar[Path | None] = None

    @pytest.fixture(autouse=True)
    def _server(self, server: PostgresServer) -> None:
        type(self).server = server

    def open(self, folder: Path) -> VectorStore:
        from quinion.store.postgres.store import PostgresStore

        if folder != self.folder:
            self.server.clear()
            type(self).folder = folder
        return PostgresStore(self.server.url)

    # Fewer than of other stores: the 16,000 steps of those take half an hour with a server.
    @pytest.mark.parametrize(("examples", "steps"), [(30, 20)])
    def test_any_history_leaves_the_same_contents_as_a_dictionary(
        self, examples: int, steps: int
    ) -> None:
        super().test_any_history_leaves_the_same_contents_as_a_dictionary(examples, steps)


class TestPostgres(OnServer, DurableConformance):
    """Store as users have it: an index on vectors from 5,000 records on."""


class TestWithIndex(OnServer, SearchConformance, FilterConformance, WordConformance):
    """Store that uses the index on vectors even for the few vectors of the tests."""

    patches: ClassVar[Mapping[str, object]] = {
        "quinion.store.postgres.transaction.INDEX_FROM": 1,
        "quinion.store.postgres.rows.MAX_FEW": 2,
    }
