"""A checksum for each record, so that a damaged copy of it can be told from a whole one.

It covers what a record is, not how it is written: Chroma's copy gives the same one, whatever the
order in which it has the metadata. Metadata has a part of its own, because it may change when
text and vector do not: then these are not looked at, and what is damaged in them stays found.
"""

import json
from zlib import crc32

from quinion.model.record import Metadata, Record
from quinion.store.base import Vectors
from quinion.store.embedded.vector_file import FLOAT


def sum_record(record: Record, vector: Vectors) -> int:
    """The checksum of a record with its vector."""
    named = crc32(f"{record.id}\0{record.text}".encode(errors="surrogatepass"))
    return crc32(vector.astype(FLOAT, copy=False).tobytes(), named) ^ sum_metadata(record.metadata)


def sum_metadata(metadata: Metadata) -> int:
    """The part of it that is the metadata's: by `^` it is taken out, and another one put in."""
    return crc32(json.dumps(dict(metadata), sort_keys=True).encode())
