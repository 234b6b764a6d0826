"""Search by vector: exact where few records match the filter, else with the HNSW index.

The index has vectors in half precision. Its candidates are ordered by their full vectors.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from psycopg import Connection
from psycopg.sql import SQL, Composed, Literal

from quinion.store.base import Vectors
from quinion.store.filters import Where
from quinion.store.keywords.postings import Slots
from quinion.store.postgres.filters import Condition
from quinion.store.postgres.rows import Collection, find_few
from quinion.store.postgres.schema import tables

MIN_EF, MAX_EF = 100, 1_000
EF_GROWTH = 1.0
"""The breadth of a search in the index is this times the square root of the number of records."""
MARGIN = 1.5
"""Candidates of the index per wanted one: half precision may exchange those that are close."""
WIDEN_FACTOR = 8
"""Growth of the number of candidates, while the last ones are as near as the last wanted one."""
TIE = 1e-6

_EXACT = SQL("""
SELECT slot, -(vector <#> %(vector)b) AS cosine FROM {candidates}
WHERE {condition} ORDER BY cosine DESC, slot LIMIT %(limit)s
""")
_ALL = SQL("{vectors}")
_FILTERED = SQL("{vectors} JOIN {records} USING (slot)")
_AMONG = SQL("slot = ANY(%(slots)s)")
_INDEXED = SQL("""
SELECT slot, -(vector <#> %(vector)b) FROM {candidates} WHERE {condition}
ORDER BY (vector::halfvec({dimensions})) <#> (%(vector)b::halfvec({dimensions}))
LIMIT %(limit)s
""")
# PostgreSQL knows little about how many records a filter on JSON matches. Without sorting, it takes
# the vector index, which gives an order, before a plan that compares all that match.
_USE_INDEX = """
SELECT set_config('hnsw.ef_search', %s, true), set_config('enable_sort', 'off', true)
"""
_DOT = SQL("""
SELECT -(vector <#> %b) FROM {vectors} WHERE slot = ANY(%s) ORDER BY slot
""")
_MEAN = SQL("SELECT avg(vector) FROM {vectors} WHERE slot = ANY(%s)")


def find_nearest(
    connection: Connection[Any],
    collection: Collection,
    vector: Vectors,
    limit: int,
    where: Where | None,
) -> tuple[Slots, Vectors]:
    """Find the slots of the matching records nearest to the vector, with their cosines."""
    few = find_few(connection, collection.number, where)
    return find_nearest_among(connection, collection, vector, limit, where, few)


def find_nearest_among(
    connection: Connection[Any],
    collection: Collection,
    vector: Vectors,
    limit: int,
    where: Where | None,
    few: Slots | None,
) -> tuple[Slots, Vectors]:
    """The same, where the matching slots are known if they are `few`."""
    vector = vector.astype(np.float32, copy=False).ravel()
    parameters = {"vector": vector, "limit": limit}
    if few is not None:
        return _run(
            connection,
            _EXACT.format(candidates=_table(collection, _ALL), condition=_AMONG),
            {**parameters, "slots": few.tolist()},
        )
    condition = Condition(where)
    table = _table(collection, _FILTERED if where else _ALL)
    candidates = int(limit * MARGIN) + 1
    while collection.indexed and candidates < collection.records:
        slots, cosines = _find_indexed(connection, collection, vector, candidates, table, condition)
        if len(slots) < candidates:  # the search in the index ended early
            break
        if cosines[limit - 1] - cosines[-1] > TIE or candidates > MAX_EF:
            return slots[:limit], cosines[:limit]
        candidates *= WIDEN_FACTOR
    query = _EXACT.format(candidates=table, condition=condition.sql)
    return _run(connection, query, {**condition.parameters, **parameters})


def dot(connection: Connection[Any], number: int, slots: Slots, vector: Vectors) -> Vectors:
    """The products of the vectors at these slots, which ascend, with this one."""
    query = _DOT.format(**tables(number))
    rows = connection.execute(query, (vector, slots.tolist())).fetchall()
    return np.array([value for (value,) in rows], np.float32)


def compute_mean(connection: Connection[Any], number: int, slots: Slots) -> Vectors:
    """The mean of the vectors at these slots."""
    query = _MEAN.format(**tables(number))
    [(mean,)] = connection.execute(query, (slots.tolist(),), binary=True).fetchall()
    found: NDArray[np.float32] = mean
    return found


def choose_breadth(records: int, candidates: int) -> int:
    """Choose how many candidates the index keeps while it searches."""
    return int(min(max(EF_GROWTH * sqrt(records), candidates, MIN_EF), MAX_EF))


def _find_indexed(
    connection: Connection[Any],
    collection: Collection,
    vector: Vectors,
    limit: int,
    table: Composed,
    condition: Condition,
) -> tuple[Slots, Vectors]:
    breadth = choose_breadth(collection.records, limit)
    connection.execute(_USE_INDEX, (str(breadth),))
    query = _INDEXED.format(
        candidates=table, condition=condition.sql, dimensions=Literal(collection.dimensions)
    )
    slots, cosines = _run(
        connection, query, {**condition.parameters, "vector": vector, "limit": limit}
    )
    order = np.lexsort((slots, -cosines))
    return slots[order], cosines[order]


def _table(collection: Collection, candidates: SQL) -> Composed:
    return candidates.format(**tables(collection.number))


def _run(
    connection: Connection[Any], query: Composed, parameters: dict[str, Any]
) -> tuple[Slots, Vectors]:
    rows = connection.execute(query, parameters).fetchall()
    slots = np.array([slot for slot, _ in rows], np.int64)
    return slots, np.array([cosine for _, cosine in rows], np.float32)
