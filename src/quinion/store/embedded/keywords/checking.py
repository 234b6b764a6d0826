"""Integrity check of the keyword index: the sum over its entries."""

import sqlite3

from quinion.store.embedded.keywords.keyword_index import BLOCK, read_lengths
from quinion.store.embedded.metadata_index import decoding
from quinion.store.keywords.postings import decode
from quinion.store.keywords.sums import SUMS, sum_lengths, sum_postings

_ALL = "SELECT term, block, postings FROM keyword_postings WHERE collection = ?"


def sum_index(database: sqlite3.Connection, collection: int) -> int:
    """Sum all entries of the index.

    Raises:
        StoreUnavailable: it can't be decoded.
    """
    total = sum_lengths(read_lengths(database, collection))
    for term, block, postings in database.execute(_ALL, (collection,)):
        with decoding():
            total += sum_postings(str(term), decode([(block, postings)], BLOCK))
    return total % SUMS
