"""Keyword index: postings and lengths as blobs in blocks of slots, as in the embedded store.

They are written in the transaction that writes the records, so a reader's snapshot has both.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.sql import SQL

from quinion.lexical.spelling import MAX_SIMILAR, find_variants
from quinion.lexical.tokens import stem
from quinion.model.record import Record
from quinion.store.keywords.postings import (
    LENGTH,
    MAX_LENGTH,
    Lengths,
    Postings,
    count_terms,
    decode,
    encode_posting,
    remove_postings,
)
from quinion.store.postgres.schema import KEYWORD_BLOCK as BLOCK
from quinion.store.postgres.schema import tables
from quinion.store.postgres.values import encode_wanted

Indexed = Iterable[tuple[int, Record]]
"""Records with their slots."""
Key = tuple[str, int]
"""Term and block number."""

_READ = SQL("""
SELECT term, block, postings FROM {postings}
JOIN unnest(%s::text[], %s::integer[]) AS wanted (term, block) USING (term, block)
""")
_WRITE = """
INSERT INTO {postings} AS old (term, block, postings)
SELECT * FROM unnest(%b::text[], %b::integer[], %b::bytea[])
ON CONFLICT (term, block) DO UPDATE SET postings = """
_REPLACE = SQL(f"{_WRITE} excluded.postings")
_APPEND = SQL(f"{_WRITE} old.postings || excluded.postings")
_DELETE = SQL("""
DELETE FROM {postings} USING unnest(%s::text[], %s::integer[]) AS gone (term, block)
WHERE {postings}.term = gone.term AND {postings}.block = gone.block
""")
_LENGTHS = SQL("SELECT block, lengths FROM {lengths} WHERE block = ANY(%s)")
_ALL_LENGTHS = SQL("SELECT block, lengths FROM {lengths} ORDER BY block")
_WRITE_LENGTHS = SQL("""
INSERT INTO {lengths} (block, used, lengths)
SELECT * FROM unnest(%b::integer[], %b::integer[], %b::bytea[])
ON CONFLICT (block) DO UPDATE SET used = excluded.used, lengths = excluded.lengths
""")
_FREE = SQL("SELECT block, lengths FROM {lengths} WHERE used < %s ORDER BY block")
_LAST = SQL("SELECT coalesce(max(block) + 1, 0) FROM {lengths}")
_POSTINGS = SQL("""
SELECT term, block, postings FROM {postings} WHERE term = ANY(%s) ORDER BY term, block
""")
_ALL_POSTINGS = SQL("SELECT term, block, postings FROM {postings}")
_SIMILAR = """
SELECT term FROM {postings} WHERE %s
GROUP BY term ORDER BY sum(length(postings)) DESC, term LIMIT %%s
"""
_BEGINS = SQL(_SIMILAR % "term >= %s AND term < %s")
_IS_ONE = SQL(_SIMILAR % "term = ANY(%s)")
_CLEAR = SQL("DELETE FROM {postings}")


def change(
    connection: Connection[Any], number: int, *, removed: Indexed = (), added: Indexed = ()
) -> None:
    """Remove records from the index, and add others; a slot may be in both."""
    removals: defaultdict[Key, list[int]] = defaultdict(list)
    additions: defaultdict[Key, bytearray] = defaultdict(bytearray)
    lengths: dict[int, int] = {}
    for slot, record in removed:
        block, offset = divmod(slot, BLOCK)
        for term in count_terms(record):
            removals[term, block].append(offset)
        lengths[slot] = 0
    for slot, record in added:
        block, offset = divmod(slot, BLOCK)
        terms = count_terms(record)
        for term, count in terms.items():
            additions[term, block] += encode_posting(offset, count)
        lengths[slot] = min(terms.total() + 1, MAX_LENGTH)
    _rewrite(connection, number, removals, additions)
    rows = [(*key, bytes(new)) for key, new in sorted(additions.items())]
    _write(connection, _APPEND, number, rows)
    _change_lengths(connection, number, lengths)


def assign_slots(connection: Connection[Any], number: int, wanted: int) -> list[int]:
    """Assign slots that no record has, lowest first."""
    slots: list[int] = []
    for block, stored in connection.execute(_FREE.format(**tables(number)), (BLOCK,)):
        free = np.flatnonzero(np.frombuffer(stored, LENGTH) == 0) + block * BLOCK
        slots += free.tolist()
        if len(slots) >= wanted:
            return slots[:wanted]
    [(last,)] = connection.execute(_LAST.format(**tables(number))).fetchall()
    first = last * BLOCK
    return [*slots, *range(first, first + wanted - len(slots))]


def read_lengths(connection: Connection[Any], number: int) -> Lengths:
    """Read the lengths of all records, by slot."""
    rows = connection.execute(_ALL_LENGTHS.format(**tables(number)), binary=True).fetchall()
    found = np.zeros((rows[-1][0] + 1) * BLOCK if rows else 0, LENGTH)
    for block, lengths in rows:
        found[block * BLOCK : (block + 1) * BLOCK] = np.frombuffer(lengths, LENGTH)
    return found


def read_postings(
    connection: Connection[Any], number: int, terms: Iterable[str]
) -> dict[str, Postings]:
    """Read the postings of these terms, as far as the index has them."""
    wanted = [encode_wanted(term) for term in terms]
    if not wanted:
        return {}
    rows = connection.execute(_POSTINGS.format(**tables(number)), (wanted,), binary=True)
    found: defaultdict[str, list[tuple[int, bytes]]] = defaultdict(list)
    for term, block, postings in rows:
        found[term].append((block, postings))
    return {term: decode(some, BLOCK) for term, some in found.items()}


def read_all_postings(connection: Connection[Any], number: int) -> Iterable[tuple[str, Postings]]:
    """Read all postings, a block at a time. The connection has a transaction open."""
    with connection.cursor("postings", binary=True) as cursor:
        for term, block, postings in cursor.execute(_ALL_POSTINGS.format(**tables(number))):
            yield term, decode([(block, postings)], BLOCK)


def find_similar(connection: Connection[Any], number: int, word: str) -> list[str]:
    """Find the most frequent terms that begin with the word or else differ by one letter."""
    start = encode_wanted(stem(word))
    variants = [encode_wanted(one) for one in sorted(find_variants(word))]
    for query, values in ((_BEGINS, (start, f"{start}\U0010ffff")), (_IS_ONE, (variants,))):
        statement = query.format(**tables(number))
        rows = connection.execute(statement, (*values, MAX_SIMILAR)).fetchall()
        if rows:
            return [term for (term,) in rows]
    return []


def clear(connection: Connection[Any], number: int) -> None:
    """Delete all postings; the lengths remain, because they list the slots in use."""
    connection.execute(_CLEAR.format(**tables(number)))


def _rewrite(
    connection: Connection[Any],
    number: int,
    removals: dict[Key, list[int]],
    additions: dict[Key, bytearray],
) -> None:
    """Rewrite the blocks of postings from which some are removed, with their additions."""
    if not removals:
        return
    keys = sorted(removals)
    rewritten, emptied = [], []
    wanted = [term for term, _ in keys], [block for _, block in keys]
    for term, block, old in connection.execute(_READ.format(**tables(number)), wanted).fetchall():
        new = remove_postings(old, removals[term, block]) + additions.pop((term, block), b"")
        if new:
            rewritten.append((term, block, new))
        else:
            emptied.append((term, block))
    _write(connection, _REPLACE, number, rewritten)
    if emptied:
        gone = [term for term, _ in emptied], [block for _, block in emptied]
        connection.execute(_DELETE.format(**tables(number)), gone)


def _write(
    connection: Connection[Any], statement: SQL, number: int, rows: Sequence[tuple[str, int, bytes]]
) -> None:
    if rows:
        columns = tuple(map(list, zip(*rows, strict=True)))
        connection.execute(statement.format(**tables(number)), columns)


def _change_lengths(connection: Connection[Any], number: int, changed: dict[int, int]) -> None:
    if not changed:
        return
    numbers = sorted({slot // BLOCK for slot in changed})
    blocks = {block: np.zeros(BLOCK, LENGTH) for block in numbers}
    for block, stored in connection.execute(_LENGTHS.format(**tables(number)), (numbers,)):
        blocks[block][:] = np.frombuffer(stored, LENGTH)
    for slot, length in changed.items():
        blocks[slot // BLOCK][slot % BLOCK] = length
    used = [int(np.count_nonzero(blocks[block])) for block in numbers]
    values = numbers, used, [blocks[block].tobytes() for block in numbers]
    connection.execute(_WRITE_LENGTHS.format(**tables(number)), values)
