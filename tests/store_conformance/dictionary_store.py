"""Store of plain dictionaries. A transaction changes a copy of the state and then replaces it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from quinion.errors import InvalidInput
from quinion.lexical.word_query import WordQuery
from quinion.model.record import Hit, Metadata, Record
from quinion.store.base import IntegrityReport, MirrorLag, Rank, Selector, Vectors
from quinion.store.filters import Where, matches
from tests.store_conformance.dictionary_words import search


@dataclass
class Collection:
    dimensions: int
    model: str = ""
    rows: dict[str, tuple[Record, Vectors]] = field(default_factory=dict)


@dataclass
class State:
    collections: dict[str, Collection] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "State":
        old = self.collections.items()
        copies = {name: Collection(c.dimensions, c.model, dict(c.rows)) for name, c in old}
        return State(copies, dict(self.values))

    def select(self, selector: Selector) -> list[tuple[Record, Vectors]]:
        rows = self.collections.get(selector.collection, Collection(0)).rows
        wanted = set(rows if selector.ids is None else selector.ids)
        found = [row for id_, row in rows.items() if id_ in wanted]
        return [row for row in found if matches(row[0].metadata, selector.where or {})]


class DictionaryTransaction:
    def __init__(self, state: State) -> None:
        self.state = state

    def model(self, collection: str) -> str:
        return self.state.collections.get(collection, Collection(0)).model

    def upsert(
        self, collection: str, records: Sequence[Record], vectors: Vectors, model: str
    ) -> None:
        if not records:
            return
        found = self.state.collections.setdefault(collection, Collection(vectors.shape[1]))
        if found.dimensions != vectors.shape[1]:
            raise InvalidInput(f"The vectors of {collection} have {found.dimensions} dimensions.")
        if not found.rows and not found.model:
            found.model = model
        for record, vector in zip(records, np.array(vectors, np.float32), strict=True):
            found.rows[record.id] = record, vector

    def update_metadata(self, selector: Selector, values: Metadata) -> int:
        found = self.state.select(selector)
        for record, vector in found:
            changed = Record(record.id, record.text, {**record.metadata, **values})
            self.state.collections[selector.collection].rows[record.id] = changed, vector
        return len(found)

    def delete(self, selector: Selector) -> int:
        found = self.state.select(selector)
        for record, _ in found:
            del self.state.collections[selector.collection].rows[record.id]
        if selector.is_everything:
            self.state.collections.pop(selector.collection, None)
        return len(found)

    def set_value(self, key: str, value: str) -> None:
        self.state.values[key] = value

    def delete_value(self, key: str) -> None:
        self.state.values.pop(key, None)


class DictionaryStore:
    leases = None

    def __init__(self) -> None:
        self._state = State()
        self._writing = threading.Lock()

    @contextmanager
    def transaction(self) -> Iterator[DictionaryTransaction]:
        with self._writing:
            transaction = DictionaryTransaction(self._state.copy())
            yield transaction
            self._state = transaction.state

    def get(
        self, collection: str, *, ids: Sequence[str] | None = None, where: Where | None = None
    ) -> list[Record]:
        selector = Selector(collection, None if ids is None else tuple(ids))
        found = [record for record, _ in self._state.select(selector)]
        return [record for record in found if matches(record.metadata, where or {})]

    def get_newest(
        self, collection: str, offset: int, limit: int, where: Where | None = None
    ) -> list[Record]:
        return self.get(collection, where=where)[::-1][offset : offset + limit]

    def get_with_vectors(self, selector: Selector) -> tuple[list[Record], Vectors]:
        found = self._state.select(selector)
        vectors = np.array([vector for _, vector in found], np.float32)
        return [record for record, _ in found], vectors

    def search_vectors(
        self, collection: str, vector: Vectors, limit: int, where: Where | None = None
    ) -> list[Hit]:
        records, vectors = self.get_with_vectors(Selector.everything(collection))
        if not records:
            return []
        scores = np.clip(np.vecdot(vectors, vector.ravel()), 0, 1)
        order = np.argsort(-scores, kind="stable")
        hits = (Hit(records[n], float(scores[n])) for n in order)
        return [hit for hit in hits if matches(hit.record.metadata, where or {})][:limit]

    def search_words(
        self,
        collection: str,
        query: WordQuery,
        vector: Vectors,
        limit: int,
        rank: Rank,
        *,
        nearest: int = 0,
        where: Where | None = None,
    ) -> list[Hit]:
        return search(
            *self.get_with_vectors(Selector.everything(collection)),
            query,
            vector,
            limit,
            rank,
            nearest,
            where or {},
        )

    def count(self, selector: Selector) -> int:
        return len(self._state.select(selector))

    def collections(self) -> list[str]:
        return list(self._state.collections)

    def model(self, collection: str) -> str:
        return DictionaryTransaction(self._state).model(collection)

    def values(self, prefix: str = "") -> dict[str, str]:
        return {key: value for key, value in self._state.values.items() if key.startswith(prefix)}

    def refresh(self) -> None:
        pass

    def mirror_lag(self) -> MirrorLag:
        return MirrorLag()

    def check_files(self) -> list[str]:
        return []

    def check(self, collection: str, *, repair: bool = False) -> IntegrityReport:
        return IntegrityReport(self.count(Selector.everything(collection)))

    @contextmanager
    def freeze_writes(self) -> Iterator[None]:
        with self._writing:
            yield

    def copy_to(self, folder: Path) -> None:
        raise InvalidInput("The store is in memory: there is nothing to copy.")

    def close(self) -> None:
        pass
