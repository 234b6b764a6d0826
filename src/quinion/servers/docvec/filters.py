"""Metadata filters: validates what clients send and converts it to the store's form.

All keys must match, and all operators of one key. An invalid filter raises an error, because an
empty result would hide the mistake.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from quinion.errors import InvalidInput
from quinion.store.filters import OPERATORS, Where, all_of, any_of

TEXT_FIELDS = frozenset(
    {
        "source_file",
        "file_format",
        "doc_hash",
        "header_path",
        "page_position",
        "class_name",
        "function_name",
        "sheet",
        "message",
    }
)
NUMBER_FIELDS = frozenset(
    {
        "chunk_index",
        "token_count",
        "header_level",
        "page_number",
        "start_line",
        "end_line",
        "slide",
        "start_row",
        "end_row",
    }
)
FIELDS = TEXT_FIELDS | NUMBER_FIELDS

RANGES = frozenset({"$gt", "$gte", "$lt", "$lte"})
PARTS = frozenset({"$contains", "$not_contains"})
LISTS = frozenset({"$in", "$nin"})
MAX_CONDITIONS = 1000
MAX_DEPTH = 8
MAX_INTEGER = 1 << 53


def read_filters(filters: Mapping[str, Any] | None) -> Where | None:
    """Convert a filter to the store's form; None if there is none.

    Raises:
        InvalidInput: unknown field or operator, or invalid value.
    """
    conditions = list(_read(filters or {}, MAX_DEPTH))
    if sum(map(_count, conditions)) > MAX_CONDITIONS:
        raise InvalidInput(f"A filter may compare with at most {MAX_CONDITIONS} values.")
    return all_of(*conditions)


def _count(condition: Where) -> int:
    """Number of values compared in this condition and those nested in it."""
    [value] = condition.values()
    if isinstance(value, list):
        return sum(map(_count, value))
    [compared] = value.values()
    return len(compared) if isinstance(compared, list) else 1


def _read(filters: object, levels: int) -> Iterator[Where]:
    if not isinstance(filters, Mapping):
        raise InvalidInput('filters must be an object, such as {"file_format": "markdown"}.')
    for key, condition in filters.items():
        if key in ("$and", "$or"):
            yield _read_group(key, condition, levels - 1)
        elif key not in FIELDS:
            raise InvalidInput(
                f"Unknown filter field {key[:100]!r}. The fields are: {', '.join(sorted(FIELDS))}."
            )
        elif isinstance(condition, Mapping):
            if not condition:
                raise InvalidInput(f"The filter on {key} has no operator.")
            for operator, value in condition.items():
                yield {key: {operator: _check(key, operator, value)}}
        else:
            yield {key: {"$eq": _check(key, "$eq", condition)}}


def _read_group(key: str, parts: object, levels: int) -> Where:
    if not isinstance(parts, list) or not parts:
        raise InvalidInput(f"{key} takes a list of filters.")
    if not levels:
        raise InvalidInput(f"Filters may be nested {MAX_DEPTH} deep at most.")
    read = [part for part in (all_of(*_read(part, levels)) for part in parts) if part]
    if len(read) != len(parts):
        raise InvalidInput(f"A filter inside {key} is empty.")
    return any_of(*read) if key == "$or" else (all_of(*read) or {})


def _check(key: str, operator: str, value: object) -> object:
    if operator not in OPERATORS:
        raise InvalidInput(
            f"Unknown filter operator {operator[:100]!r} on {key}. "
            f"The operators are: {', '.join(sorted(OPERATORS))}."
        )
    if operator in LISTS:
        if not isinstance(value, list) or not value:
            raise InvalidInput(f"{operator} on {key} takes a list of values.")
        return [_check_value(key, operator, one) for one in value]
    return _check_value(key, operator, value)


def _check_value(key: str, operator: str, value: object) -> object:
    if operator in PARTS and key not in TEXT_FIELDS:
        raise InvalidInput(f"{operator} is for text fields, and {key} is a number.")
    if operator in RANGES and key not in NUMBER_FIELDS:
        raise InvalidInput(f"{operator} is for number fields, and {key} is text.")
    if key in TEXT_FIELDS:
        if not isinstance(value, str):
            raise InvalidInput(f"{key} must be text, got {str(value)[:100]!r}.")
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > MAX_INTEGER:
        raise InvalidInput(f"{key} must be a whole number, got {str(value)[:100]!r}.")
    return value
