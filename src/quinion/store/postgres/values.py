"""Texts and metadata in the forms that PostgreSQL stores.

A text of PostgreSQL has no NUL, so NUL is written as three other control characters, as are these
characters themselves. The order of texts and whether one contains another do not change.

Metadata is stored twice: as the exact JSON text, and as `jsonb` for filters, in which equal values
of Python are equal (1, 1.0 and true).
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from psycopg import Connection
from psycopg.abc import Buffer
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from quinion.model.record import Metadata, Scalar
from quinion.store.base import Vectors

_ESCAPES = {0: "\1\2\2", 1: "\1\2\3", 2: "\1\3\2", 3: "\1\3\3"}
_UNESCAPES = {escape: chr(code) for code, escape in _ESCAPES.items()}
_ESCAPED = re.compile("\1[\2\3][\2\3]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ABSENT = "\uffff"
"""A noncharacter, which no text has."""
INFINITY = "1e400"
"""Larger than any float; `jsonb` has no infinity."""

_VECTOR_HEAD = np.dtype([("dimensions", ">i2"), ("unused", ">i2")])
_VECTOR_ITEM = np.dtype(">f4")


def encode_text(text: str) -> str:
    """Encode a text for a column of type `text`."""
    return text.translate(_ESCAPES)


def decode_text(text: str) -> str:
    """Decode a text of `encode_text`."""
    return _ESCAPED.sub(lambda found: _UNESCAPES[found[0]], text) if "\1" in text else text


def encode_wanted(text: str) -> str:
    """Encode a text that is searched for; it may have half of a surrogate pair, which none has."""
    return encode_text(_SURROGATES.sub(_ABSENT, text))


def dump_metadata(metadata: Metadata) -> str:
    """Serialize metadata exactly."""
    return json.dumps(dict(metadata), ensure_ascii=False)


def dump_filterable(metadata: Mapping[str, Scalar]) -> str:
    """Serialize metadata for filters."""
    pairs = (
        f"{json.dumps(encode_text(key), ensure_ascii=False)}:{form}"
        for key, value in metadata.items()
        if (form := json_form(value)) is not None
    )
    return f"{{{','.join(pairs)}}}"


def json_form(value: Scalar) -> str | None:
    """The JSON form of a value in a filter; `None` if nothing equals it."""
    if isinstance(value, str):
        return json.dumps(encode_text(value), ensure_ascii=False)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else INFINITY if value > 0 else f"-{INFINITY}"
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    return str(int(value))


class _VectorDumper(Dumper):
    """Dumper of arrays as pgvector's `vector`; a subclass has its number."""

    format = Format.BINARY

    def dump(self, obj: Any) -> Buffer:
        head = np.array((len(obj), 0), _VECTOR_HEAD).tobytes()
        items: bytes = obj.astype(_VECTOR_ITEM).tobytes()
        return head + items


class _VectorLoader(Loader):
    """Loader of pgvector's `vector` as an array."""

    format = Format.BINARY

    def load(self, data: Buffer) -> Vectors:
        found = np.frombuffer(bytes(data), _VECTOR_ITEM, offset=_VECTOR_HEAD.itemsize)
        return found.astype(np.float32)


def register_vectors(connection: Connection[Any]) -> None:
    """Register arrays and pgvector's type on a connection."""
    info = TypeInfo.fetch(connection, "vector")
    assert info is not None  # the schema creates it
    dumper = type("VectorDumper", (_VectorDumper,), {"oid": info.oid})
    connection.adapters.register_dumper(np.ndarray, dumper)
    connection.adapters.register_loader(info.oid, _VectorLoader)
