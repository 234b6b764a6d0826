"""Filters as conditions of SQL, with the results of `store.filters.matches`.

Keys and values are parameters, never parts of the statement. Equality uses the GIN index on the
column `filterable`.
"""

import json
from collections.abc import Iterable
from typing import Any

from psycopg.sql import SQL, Composable, Placeholder

from quinion.store.filters import NEGATIONS, Where, as_operators
from quinion.store.postgres.values import encode_wanted, json_form

_TRUE, _FALSE = SQL("true"), SQL("false")
_AND, _OR = SQL(" AND "), SQL(" OR ")
_ORDER = {"$gt": SQL(">"), "$gte": SQL(">="), "$lt": SQL("<"), "$lte": SQL("<=")}
_EQUAL = SQL("filterable @> {operand}::jsonb")
_TEXT_ORDER = SQL('(filterable ->> {key}::text) COLLATE "C" {operator} {operand}::text')
_NUMBER_ORDER = SQL("(filterable ->> {key}::text)::numeric {operator} {operand}::numeric")
_CONTAINS = SQL("strpos(filterable ->> {key}::text, {operand}::text) > 0")
# Other types are neither compared nor converted.
_OF_TYPE = SQL(
    "CASE WHEN jsonb_typeof(filterable -> {key}::text) = {kind} THEN {test} ELSE false END"
)
_TEXT, _NUMBER = SQL("'string'"), SQL("'number'")


class Condition:
    """Condition for a filter: `sql`, with `parameters` by name. Without a filter it is true."""

    def __init__(self, where: Where | None) -> None:
        self.parameters: dict[str, str] = {}
        self.sql = self._translate(where or {})

    def _translate(self, where: Where) -> Composable:
        parts: list[Composable] = []
        for key, condition in where.items():
            if key in ("$and", "$or"):
                some = [self._translate(part) for part in condition]
                parts.append(_join(some, _AND, _TRUE) if key == "$and" else _any(some))
            else:
                operators = as_operators(condition).items()
                parts += [self._compare(key, name, operand) for name, operand in operators]
        return _join(parts, _AND, _TRUE)

    def _compare(self, key: str, name: str, operand: Any) -> Composable:
        if name in NEGATIONS:
            return SQL("NOT {}").format(self._compare(key, NEGATIONS[name], operand))
        if name == "$in":
            return _any(self._compare_equal(key, one) for one in operand)
        if name == "$contains":
            return self._compare_text(key, _CONTAINS, operand)
        return (
            self._compare_order(key, name, operand)
            if name in _ORDER
            else self._compare_equal(key, operand)
        )

    def _compare_equal(self, key: str, operand: Any) -> Composable:
        form = _wanted_form(operand)
        if form is None:
            return _FALSE
        return _EQUAL.format(operand=self._add(f"{{{_wanted_form(key)}:{form}}}"))

    def _compare_order(self, key: str, name: str, operand: Any) -> Composable:
        if isinstance(operand, str):
            return self._compare_text(key, _TEXT_ORDER, operand, _ORDER[name])
        form = _wanted_form(operand)
        if form is None:
            return _FALSE
        return self._compare_typed(key, _NUMBER, _NUMBER_ORDER, form, _ORDER[name])

    def _compare_text(
        self, key: str, test: SQL, operand: Any, operator: Composable = _TRUE
    ) -> Composable:
        if not isinstance(operand, str):
            return _FALSE
        return self._compare_typed(key, _TEXT, test, encode_wanted(operand), operator)

    def _compare_typed(
        self, key: str, kind: SQL, test: SQL, operand: str, operator: Composable
    ) -> Composable:
        name = self._add(encode_wanted(key))
        compared = test.format(key=name, operand=self._add(operand), operator=operator)
        return _OF_TYPE.format(key=name, kind=kind, test=compared)

    def _add(self, value: str) -> Placeholder:
        name = f"filter_{len(self.parameters)}"
        self.parameters[name] = value
        return Placeholder(name)


def uses_index(where: Where) -> bool:
    """Whether an index finds the records that match: one of the conditions, all of which have to
    hold, is an equality."""
    for key, condition in where.items():
        if key == "$and":
            found = any(map(uses_index, condition))
        elif key == "$or":
            found = all(map(uses_index, condition))
        else:
            found = not {"$eq", "$in"}.isdisjoint(as_operators(condition))
        if found:
            return True
    return False


def _any(parts: Iterable[Composable]) -> Composable:
    return _join(list(parts), _OR, _FALSE)


def _join(parts: list[Composable], joint: SQL, empty: SQL) -> Composable:
    return SQL("({})").format(joint.join(parts)) if parts else empty


def _wanted_form(value: Any) -> str | None:
    """The JSON form of an operand; `None` if nothing equals it."""
    if isinstance(value, str):
        return json.dumps(encode_wanted(value), ensure_ascii=False)
    return json_form(value) if isinstance(value, int | float) else None
