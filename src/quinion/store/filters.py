"""Filter language of Chroma, evaluated by the store itself.

A test compares both implementations on random filters. `$contains` is an extension: it matches a
part of a text, for which Chroma's operator of that name finds nothing.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any

from quinion.model.record import Metadata, Scalar

Where = Mapping[str, Any]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
    "$in": lambda value, choices: value in choices,
    "$contains": lambda value, part: isinstance(value, str) and part in value,
}
NEGATIONS = {"$ne": "$eq", "$nin": "$in", "$not_contains": "$contains"}
OPERATORS = frozenset({*_COMPARE, *NEGATIONS})


def all_of(*conditions: Where | None) -> Where | None:
    """Combine conditions with `$and`; `None` if there are none."""
    present = [condition for condition in conditions if condition]
    if len(present) > 1:
        return {"$and": present}
    return present[0] if present else None


def any_of(*conditions: Where) -> Where:
    """Combine conditions with `$or`."""
    return {"$or": list(conditions)} if len(conditions) > 1 else conditions[0]


def matches(metadata: Metadata, where: Where) -> bool:
    """Whether the metadata matches the filter."""
    return all(_matches_key(metadata, key, condition) for key, condition in where.items())


def as_operators(condition: Any) -> Mapping[str, Any]:
    """The condition on one key as operators with operands, all of which must match."""
    return condition if isinstance(condition, Mapping) else {"$eq": condition}


def passes(value: Scalar, name: str, operand: Any) -> bool:
    """Whether a value matches an operator, except negations; other types never match."""
    try:
        return _COMPARE[name](value, operand)
    except TypeError:
        return False


def _matches_key(metadata: Metadata, key: str, condition: Any) -> bool:
    if key == "$and":
        return all(matches(metadata, part) for part in condition)
    if key == "$or":
        return any(matches(metadata, part) for part in condition)
    operators = as_operators(condition)
    return all(_compare(metadata, key, name, value) for name, value in operators.items())


def _compare(metadata: Metadata, key: str, name: str, value: Any) -> bool:
    if name in NEGATIONS:
        # A record without the key is not equal to anything.
        return not _compare(metadata, key, NEGATIONS[name], value)
    return key in metadata and passes(metadata[key], name, value)
