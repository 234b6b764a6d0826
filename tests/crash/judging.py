"""What is held against a home after a process died or failed in it."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from tests.crash.layer import Call
from tests.crash.scenes import State, failure
from tests.crash.theatre import Aftermath, PlayFailed, Theatre


class Flaw(StrEnum):
    """Ways of not being as it should."""

    LOST = "lost"
    """Acknowledged and not there or not found, or there before and neither whole nor replaced."""
    ORPHAN = "orphans"
    """Something that belongs to nothing, or a disagreement that `verify` names."""
    REPEAT = "failed repeats"
    """The next process can't be started, or the same call does not come to its end."""
    WORDLESS = "undocumented errors"
    """The client is told of a fault of the server, or is told nothing."""


@dataclass(slots=True)
class Tally:
    """What came of a scene: changes that were counted, points that were tried, and each flaw with
    the point at which it was found."""

    scene: str
    calls: int = 0
    points: int = 0
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
    """A point for people: the change that was about to be made."""
    return f"before {call.name} of {call.file} (change {call.place})"


def examine(theatre: Theatre, after: State, *, done: bool) -> Iterator[tuple[Flaw, str]]:
    """Restart, look, make the same call again, look again. What was `done` has to be there."""
    try:
        found = theatre.look_and_act_again()
    except PlayFailed as error:
        yield Flaw.REPEAT, str(error)
        return
    allowed = [after] if done else [theatre.before, after]
    if found.state not in allowed:
        whole = any(_items(state) <= _items(found.state) for state in allowed)
        yield Flaw.ORPHAN if whole else Flaw.LOST, _differences(found.state, allowed)
    for problem in found.problems:
        yield Flaw.ORPHAN, f"verify says: {problem}"
    yield from _examine_repeat(theatre, after, found)


def _examine_repeat(theatre: Theatre, after: State, found: Aftermath) -> Iterator[tuple[Flaw, str]]:
    said = failure(found.answer)
    if said and not (said == theatre.scene.again and found.state == after):
        yield Flaw.REPEAT, f"the same call answers {found.answer}"
    if found.state_again != after:
        yield Flaw.REPEAT, f"after the same call: {_differences(found.state_again, [after])}"
    for problem in found.problems_again:
        yield Flaw.REPEAT, f"after the same call verify says: {problem}"


def _items(state: State) -> set[str]:
    return {f"{part}: {json.dumps(item)}" for part, items in state.items() for item in items}


def _differences(found: State, allowed: list[State]) -> str:
    """How it differs from the nearest state that it might have."""
    here = _items(found)
    nearest = min((_items(state) for state in allowed), key=lambda items: len(items ^ here))
    missing, more = sorted(nearest - here), sorted(here - nearest)
    return f"missing {[one[:120] for one in missing]}, too much {[one[:120] for one in more]}"
