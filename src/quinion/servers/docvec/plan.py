"""What to do with the files that were found, given those that are indexed. Pure.

The same bytes are indexed once, at whatever path. So that this stays true whichever files
change, move or go, the whole of what was found is looked at before anything is done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from quinion.ingest.source import Source


@dataclass(frozen=True, slots=True)
class Move:
    """A file that is indexed under a path at which it is no longer."""

    old: str
    source: Source


@dataclass(frozen=True, slots=True)
class Plan:
    """Each file that was found is in one of the first four lists.

    `stale` are paths that are indexed with content which they no longer have, because what
    they have now is indexed under another path.
    """

    new: list[Source] = field(default_factory=list)
    changed: list[Source] = field(default_factory=list)
    moved: list[Move] = field(default_factory=list)
    duplicates: list[Source] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def make_plan(
    found: Sequence[Source], known: Mapping[str, str], is_gone: Callable[[str], bool]
) -> Plan:
    """Decide on each file; `known` has the hash that each indexed path was indexed with."""
    plan = Plan()
    now = {str(source.path): source.sha256 for source in found}
    # What goes on being indexed under its own path.
    holders = {sha256: path for path, sha256 in known.items() if now.get(path, sha256) == sha256}
    for source in found:
        path, sha256 = str(source.path), source.sha256
        holder = holders.get(sha256)
        if holder is not None and holder not in now and is_gone(holder):
            holders[sha256] = path
            _take_over(plan, holder, source, is_known=path in known)
        elif holder is None:
            holders[sha256] = path
            (plan.changed if path in known else plan.new).append(source)
        else:
            plan.duplicates.append(source)
            if known.get(path, sha256) != sha256:
                plan.stale.append(path)
    return plan


def _take_over(plan: Plan, holder: str, source: Source, *, is_known: bool) -> None:
    if is_known:
        # It had other content before: it is indexed anew, and nothing is left at the old path.
        plan.changed.append(source)
        plan.stale.append(holder)
    else:
        plan.moved.append(Move(holder, source))
