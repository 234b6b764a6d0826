"""One server for each kind of registry, with a small library, for all tests that a worker runs.

It is shared, so what a test changes is a policy of its own (`source`); the library stays as it
is. A file that wants another sort of server, or an empty one, has fixtures of the same names.
"""

from collections.abc import Callable, Iterator
from datetime import date
from itertools import count
from pathlib import Path

import pytest

from quinion.model.policy import SEED_POLICIES
from quinion.store.policies import PolicyRegistry
from tests.contract.conftest import NewHome
from tests.contract.local import LocalServer, Shared
from tests.contract.policy_kb import policies
from tests.contract.policy_kb.asking import ingest_well, register, revise
from tests.contract.policy_kb.serving import Place
from tests.contract.process import Home
from tests.contract.session import Session
from tests.redis_server import IN_MEMORY, PLACES, RedisServer, redis_server

DATABASES = 64

NewPlace = Callable[[str], Place]

_databases = count(1)


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A Redis with a database for everybody. Tests that hurt it start their own."""
    options = (*IN_MEMORY, "--databases", str(DATABASES))
    with redis_server(tmp_path_factory.mktemp("redis"), options) as server:
        yield server


@pytest.fixture(scope="session")
def new_place(new_home: NewHome, shared: Shared, request: pytest.FixtureRequest) -> NewPlace:
    """Makes an empty home with a registry of that kind."""

    def make(kind: str) -> Place:
        if kind == "sqlite":
            return Place(new_home(), shared)
        server: RedisServer = request.getfixturevalue("redis")
        return Place(new_home(), shared, f"{server.url}?db={next(_databases)}")

    return make


@pytest.fixture(scope="session", params=PLACES)
def kind(request: pytest.FixtureRequest) -> str:
    """Where the registry is."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def shared_place(kind: str, new_place: NewPlace) -> Place:
    """The home of the shared server."""
    return new_place(kind)


@pytest.fixture(scope="session")
def server(shared_place: Place) -> Iterator[LocalServer]:
    with shared_place.serve() as server:
        yield server


@pytest.fixture(scope="session")
def session(server: LocalServer) -> Iterator[Session]:
    with server.session() as session:
        yield session


@pytest.fixture(scope="session")
def registry(shared_place: Place) -> Iterator[PolicyRegistry]:
    """The registry of the shared server, as another program has it."""
    with shared_place.registry() as registry:
        yield registry


@pytest.fixture(scope="session")
def library(
    session: Session, registry: PolicyRegistry, tmp_path_factory: pytest.TempPathFactory
) -> Session:
    """The shared session, after four texts have been ingested, the spec's examples among them."""
    folder = tmp_path_factory.mktemp("library")
    for draft in SEED_POLICIES:
        if draft.source in {"NPPF", "LTN_1_20", "CHERWELL_LOCAL_PLAN"}:
            registry.create_policy(draft)
    for source, label, start, make in (
        ("NPPF", "September 2023", date(2023, 9, 5), None),
        ("NPPF", "December 2024", date(2024, 12, 12), None),
        ("LTN_1_20", "July 2020", date(2020, 7, 27), policies.guidance),
        ("CHERWELL_LOCAL_PLAN", "July 2015", date(2015, 7, 20), policies.local_plan),
    ):
        file = folder / f"{source} {label}.pdf"
        if make is None:
            policies.framework(file, label)
        else:
            make(file)
        ingest_well(session, source, revise(registry, source, label, start), file)
    return session


@pytest.fixture
def source(registry: PolicyRegistry, request: pytest.FixtureRequest) -> str:
    """A registered policy of the test's own."""
    return register(registry, request.node.name)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents of a file's tests are made."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def fresh_home(new_home: NewHome) -> Home:
    """A home of a test's own, for a server with other settings."""
    return new_home()
