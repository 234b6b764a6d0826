"""Checksum of a record, which distinguishes damaged copies from intact ones.

It covers the content, not the serialization: Chroma's copy has the same checksum, whatever the
order of its metadata. Metadata is a separate part of the sum, because it may change without text
and vector. Then these are not read, and damage in them remains detectable.
"""

import json
from zlib import crc32

import numpy as np

from quinion.model.record import Metadata, Record
from quinion.store.base import Vectors

FLOAT = np.dtype("<f4")


def sum_record(record: Record, vector: Vectors) -> int:
    """Checksum of a record with its vector."""
    named = crc32(f"{record.id}\0{record.text}".encode(errors="surrogatepass"))
    return crc32(vector.astype(FLOAT, copy=False).tobytes(), named) ^ sum_metadata(record.metadata)


def sum_metadata(metadata: Metadata) -> int:
    """Checksum of the metadata alone; `^` removes it from a record's checksum, or adds it."""
    return crc32(json.dumps(dict(metadata), sort_keys=True).encode())
