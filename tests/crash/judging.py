"""Finds the flaws of a home in which a process died or failed."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from tests.crash.layer import Call
from tests.crash.scenes import State, failure
from tests.crash.theatre import Aftermath, PlayFailed, Theatre


class Flaw(StrEnum):
    """Kinds of flaws."""

    LOST = "lost"
    """Acknowledged and missing or not found, or present before and neither intact nor replaced."""
    ORPHAN = "orphans"
    """Data that belongs to nothing, or a problem that `verify` reports."""
    HALF = "half-visible"
    """A reader saw a part of an operation, or had to wait for it."""
    REPEAT = "failed repeats"
    """The next process can't be started, or the same call does not succeed."""
    MIRROR = "mirror incomplete"
    """After a clean close, the records in Chroma differ from the store's."""
    WORDLESS = "undocumented errors"
    """The answer is an internal error, or is missing."""
    FAILED = "failed calls"
    """A call failed or was slow because of Chroma."""


@dataclass(slots=True)
class Tally:
    """Results of a scene: number of changes, tested points, reads during the operation, and each
    flaw with the point at which it was found."""

    scene: str
    calls: int = 0
    points: int = 0
    reads: int = 0
    acknowledged: int = 0
    flaws: list[tuple[Flaw, str]] = field(default_factory=list)

    def count(self, flaw: Flaw) -> int:
        return sum(found == flaw for found, _ in self.flaws)

    def note(self, where: str, flaws: Iterator[tuple[Flaw, str]]) -> None:
        self.flaws += [(flaw, f"{self.scene}, {where}: {text}") for flaw, text in flaws]

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Tally":
        data = json.loads(text)
        data["flaws"] = [(Flaw(flaw), said) for flaw, said in data["flaws"]]
        return cls(**data)


def name_point(call: Call) -> str:
    """Return a readable name for a point: the change that was about to be made."""
    return f"before {call.name} of {call.file} (change {call.place})"


def examine(theatre: Theatre, after: State, *, done: bool) -> Iterator[tuple[Flaw, str]]:
    """Restart, read, repeat the call, read again, close. A call that was `done` must be visible."""
    try:
        found = theatre.look_and_act_again()
    except PlayFailed as error:
        yield Flaw.REPEAT, str(error)
        return
    allowed = [after] if done else [theatre.before, after]
    if found.state not in allowed:
        complete = any(_items(state) <= _items(found.state) for state in allowed)
        yield Flaw.ORPHAN if complete else Flaw.LOST, _differences(found.state, allowed)
    for problem in found.problems:
        yield Flaw.ORPHAN, f"verify reports: {problem}"
    yield from _examine_repeat(theatre, after, found)


def _examine_repeat(theatre: Theatre, after: State, found: Aftermath) -> Iterator[tuple[Flaw, str]]:
    said = failure(found.answer)
    if said and not (said == theatre.scene.again and found.state == after):
        yield Flaw.REPEAT, f"the same call answers {found.answer}"
    if found.state_again != after:
        yield Flaw.REPEAT, f"after the same call: {_differences(found.state_again, [after])}"
    for problem in found.problems_again:
        yield Flaw.REPEAT, f"after the same call the store's check reports: {problem}"
    for difference in found.unmirrored:
        yield Flaw.MIRROR, f"after the same call {difference}"


def _items(state: State) -> set[str]:
    return {f"{part}: {json.dumps(item)}" for part, items in state.items() for item in items}


def _differences(found: State, allowed: list[State]) -> str:
    """Return the difference from the nearest allowed state."""
    here = _items(found)
    nearest = min((_items(state) for state in allowed), key=lambda items: len(items ^ here))
    missing, more = sorted(nearest - here), sorted(here - nearest)
    return f"missing {[one[:120] for one in missing]}, too much {[one[:120] for one in more]}"
