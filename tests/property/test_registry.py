"""Random histories of a registry, in SQLite and Redis, against a brute-force reference.

After every operation, each day of the calendar and a few beyond it are checked: resolver, lookup
and the filter on chunks must return the reference's revision. The registry must refuse whatever the
reference refuses, with the same code and without changing a byte.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from quinion.errors import QuinionError
from quinion.model.dates import date_to_int, end_to_int
from quinion.model.effective_dates import EffectiveDateResolver
from quinion.model.policy import (
    KEEP,
    PolicyCategory,
    PolicyDraft,
    Revision,
    RevisionDraft,
    RevisionEdit,
    RevisionStatus,
    RevisionUpdate,
)
from quinion.model.revisions import Resolution, resolve
from quinion.store.policies import PolicyRegistry, open_registry
from tests.property.day_book import EVER_AFTER, DayBook, Refused, day_of, epoch_of
from tests.redis_server import PLACES, RedisServer, redis_server

QUICK = settings(
    max_examples=50,
    stateful_step_count=40,
    suppress_health_check=[HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=1000, stateful_step_count=80)

NOBODY = "rev_of_nobody"

# A small calendar and short revisions, so that days meet and there is room for several.
sources = st.sampled_from(("A", "A", "A", "A_1"))
firsts = st.integers(0, EVER_AFTER - 1)
lengths = st.one_of(st.none(), st.integers(-1, 5))
shifts = st.one_of(st.none(), st.integers(-3, 3), st.integers(-EVER_AFTER, EVER_AFTER))
statuses = st.sampled_from(RevisionStatus)
numbers = st.integers(0, 9)
ASKED = range(-2, EVER_AFTER + 3)


class Place:
    """Backend of the registry under test, with access to its bytes."""

    def __init__(self, folder: Path, server: RedisServer | None) -> None:
        self._path = folder / "registry.db"
        self._server = server
        self.registry = open_registry(self._path, server.url if server else None)

    def clear(self) -> None:
        if self._server:
            self._server.raw.flushall()
        else:
            with closing(sqlite3.connect(self._path)) as database, database:
                database.execute("DELETE FROM revisions")
                database.execute("DELETE FROM policies")

    def check_keys(self, books: dict[str, DayBook]) -> None:
        """Assert that Redis has only expected keys, and that every score matches its revision."""
        if self._server is None:
            return
        keys = {"policies_all", *(f"policy:{source}" for source in books)}
        for source, book in books.items():
            index = {id_: float(epoch_of(entry.start)) for id_, entry in book.entries.items()}
            kept = self._server.raw.zrange(f"policy_revisions:{source}", 0, -1, withscores=True)
            assert dict(kept) == index
            keys |= {f"policy_revision:{source}:{id_}" for id_ in index}
            keys |= {f"policy_revisions:{source}"} if index else set()
        assert set(self._server.raw.keys()) == keys

    def dump(self) -> object:
        if self._server:
            return self._server.dump()
        with closing(sqlite3.connect(self._path)) as database:
            return list(database.iterdump())


class RegistryLife(RuleBasedStateMachine):
    place: ClassVar[Place]

    def __init__(self) -> None:
        super().__init__()
        self.registry: PolicyRegistry = self.place.registry
        self.books: dict[str, DayBook] = {}

    @initialize(
        two=st.sampled_from((True, True, True, False)),
        days=st.lists(st.tuples(firsts, lengths), max_size=4),
    )
    def start(self, two: bool, days: list[tuple[int, int | None]]) -> None:
        self.place.clear()
        self.create_policy("A")
        if two:
            self.create_policy("A_1")
        for first, length in days:
            self.create_revision("A", first, length)
        for number in range(len(days)):
            self.update_revision("A", number + 1, RevisionStatus.ACTIVE)

    @precondition(lambda self: len(self.books) == 1)
    @rule(source=st.sampled_from(("A", "A_1")))
    def create_policy(self, source: str) -> None:
        draft = PolicyDraft(source, "Title", PolicyCategory.LOCAL_PLAN)
        if source in self.books:
            self.refused("policy_exists", lambda: self.registry.create_policy(draft))
        else:
            self.registry.create_policy(draft)
            self.books[source] = DayBook()

    @rule(source=sources, first=firsts, length=lengths)
    def create_revision(self, source: str, first: int, length: int | None) -> None:
        last = None if length is None else within(first + length)
        draft = RevisionDraft("L", day_of(first), None if last is None else day_of(last))
        try:
            entry = self.book(source).create(first, last)
        except Refused as refusal:
            self.refused(str(refusal), lambda: self.registry.create_revision(source, draft))
            return
        made = self.registry.create_revision(source, draft).revision.revision_id
        assert made.startswith(f"rev_{source}_{day_of(first):%Y_%m}")
        assert made not in self.books[source].entries
        self.books[source].entries[made] = entry

    @rule(source=sources, number=numbers, start=shifts, end=shifts, open_end=st.booleans())
    def edit_revision(
        self, source: str, number: int, start: int | None, end: int | None, open_end: bool
    ) -> None:
        id_ = self.pick(source, number)
        pages = self.books[source].entries[id_].pages if id_ != NOBODY else {0}
        first = None if start is None else within(min(pages) + start)
        last = None if end is None else within(max(pages) + end)
        edit = RevisionEdit(
            version_label=f"L{number}",
            effective_from=KEEP if first is None else day_of(first),
            effective_to=None if open_end else KEEP if last is None else day_of(last),
        )
        self.agree(
            lambda: self.book(source).edit(id_, first, last, open_end=open_end),
            lambda: self.registry.edit_revision(source, id_, edit),
        )

    @rule(source=sources, number=numbers, status=statuses)
    def update_revision(self, source: str, number: int, status: RevisionStatus) -> None:
        id_ = self.pick(source, number)
        update = RevisionUpdate(status=status, chunk_count=number)
        self.agree(
            lambda: self.book(source).update(id_, status),
            lambda: self.registry.update_revision(source, id_, update),
        )

    @rule(source=sources, number=numbers)
    def delete_revision(self, source: str, number: int) -> None:
        id_ = self.pick(source, number)
        self.agree(
            lambda: self.book(source).delete(id_),
            lambda: self.registry.delete_revision(source, id_),
        )

    @rule(source=sources, page=st.sampled_from(ASKED))
    def look_up_a_day(self, source: str, page: int) -> None:
        resolver = EffectiveDateResolver(self.registry)
        if source not in self.books:
            self.refused(
                "policy_not_found",
                lambda: resolver.resolve_for_policy(source, day_of(page)),
            )
            return
        found = resolver.resolve_for_policy(source, day_of(page))
        assert [answer(found)] == self.books[source].holders([page])
        assert resolver.resolve_snapshot(day_of(page))[source] == found
        ids = resolver.get_revision_ids_for_date(day_of(page))
        assert ids.get(source) == (found.revision and found.revision.revision_id)

    @invariant()
    def registry_and_books_agree(self) -> None:
        shelves = self.registry.list_all_revisions()
        assert set(shelves) == set(self.books)
        for source, book in self.books.items():
            agree_on_revisions(shelves[source], book)
            agree_on_days(shelves[source], book)
        self.place.check_keys(self.books)

    def book(self, source: str) -> DayBook:
        if source not in self.books:
            raise Refused("policy_not_found")
        return self.books[source]

    def pick(self, source: str, number: int) -> str:
        """Pick a revision of the policy; once in ten times, or if it has none, an unknown id."""
        ids = sorted(self.books[source].entries) if source in self.books else []
        return ids[number % len(ids)] if ids and number else NOBODY

    def agree(self, book: Callable[[], None], registry: Callable[[], object]) -> None:
        try:
            book()
        except Refused as refusal:
            self.refused(str(refusal), registry)
        else:
            registry()

    def refused(self, code: str, operation: Callable[[], object]) -> None:
        before = self.place.dump()
        with pytest.raises(QuinionError) as refusal:
            operation()
        assert refusal.value.code == code
        assert self.place.dump() == before


def agree_on_revisions(listed: list[Revision], book: DayBook) -> None:
    starts = [revision.effective_from for revision in listed]
    assert starts == sorted(starts, reverse=True)
    assert {r.revision_id: (r.effective_from, r.effective_to, r.status) for r in listed} == {
        id_: (day_of(entry.start), entry.end, entry.status) for id_, entry in book.entries.items()
    }


def agree_on_days(listed: list[Revision], book: DayBook) -> None:
    for page, holder in zip(ASKED, book.holders(ASKED), strict=True):
        found = resolve("A", listed, day_of(page))
        assert answer(found) == holder
        number = date_to_int(day_of(page))
        filtered = [
            revision
            for revision in listed
            if revision.is_ready
            and date_to_int(revision.effective_from) <= number <= end_to_int(revision.effective_to)
        ]
        assert filtered == ([found.revision] if found.revision else [])


def within(page: int) -> int:
    """Return the nearest valid first or last day of a revision."""
    return max(0, min(page, EVER_AFTER - 1))


def answer(found: Resolution) -> str:
    """Return the id or the reason, exactly one of which is set."""
    assert (found.revision is None) != (found.reason is None)
    return found.revision.revision_id if found.revision else str(found.reason)


@pytest.fixture(params=PLACES)
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    with redis_server(folder) if request.param == "redis" else nullcontext() as server:
        place = Place(folder, server)
        yield place
        place.registry.close()


def live(place: Place, how_long: settings) -> None:
    life = type("Life", (RegistryLife,), {"place": place})
    run_state_machine_as_test(life, settings=how_long)


@pytest.mark.slow
def test_dates_are_right_whatever_happens(place: Place) -> None:
    live(place, QUICK)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_dates_are_right_whatever_happens_for_long(place: Place) -> None:
    live(place, LONG)
