"""Plan of an indexing run: compares the files found with those indexed. Pure functions.

Identical content is indexed once, whatever its path. To keep this true when files change, move
or disappear, the plan covers all files found before any of them is processed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from quinion.ingest.source import Source


@dataclass(frozen=True, slots=True)
class Move:
    """A file that was renamed: it is indexed under its old path."""

    old: str
    source: Source


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Action for each file found: each is in exactly one of the first four lists.

    `stale` holds paths whose indexed content is outdated and whose current content is indexed
    under another path.
    """

    new: list[Source] = field(default_factory=list)
    changed: list[Source] = field(default_factory=list)
    moved: list[Move] = field(default_factory=list)
    duplicates: list[Source] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def make_plan(
    found: Sequence[Source], known: Mapping[str, str], is_missing: Callable[[str], bool]
) -> IndexPlan:
    """Assign an action to each file; `known` maps each indexed path to its indexed hash."""
    plan = IndexPlan()
    now = {str(source.path): source.sha256 for source in found}
    # Content that stays indexed under its current path.
    holders = {sha256: path for path, sha256 in known.items() if now.get(path, sha256) == sha256}
    for source in found:
        path, sha256 = str(source.path), source.sha256
        holder = holders.get(sha256)
        if holder is not None and holder not in now and is_missing(holder):
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


def _take_over(plan: IndexPlan, holder: str, source: Source, *, is_known: bool) -> None:
    if is_known:
        # The path had other content before: reindex it and drop the old path.
        plan.changed.append(source)
        plan.stale.append(holder)
    else:
        plan.moved.append(Move(holder, source))
