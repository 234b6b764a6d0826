"""What is being written: kept out of query results until it is whole."""

import threading
from collections.abc import Callable, Iterable, Sequence

from quinion.model.record import Record
from quinion.store.filters import Where, any_of
from quinion.store.journal import Trace


class Hidden:
    """The traces that are hidden now, of all collections."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._traces: list[Trace] = []

    def add(self, traces: Sequence[Trace]) -> None:
        """Hide what these name."""
        with self._lock:
            self._traces = [*self._traces, *traces]

    def remove(self, traces: Sequence[Trace]) -> None:
        """Show it again; what is not hidden is left alone."""
        with self._lock:
            self._traces = [trace for trace in self._traces if trace not in traces]

    def has(self, traces: Iterable[Trace]) -> bool:
        """Whether one of these is hidden: somebody is writing it."""
        return any(trace in self._traces for trace in traces)

    def has_whole(self, collection: str) -> bool:
        """Whether all of the collection is."""
        return any(trace.is_whole for trace in self._of(collection))

    def conditions(self, collection: str) -> list[Where]:
        """What a record of the collection has to meet not to be hidden."""
        return [
            any_of(*({field: {"$ne": value}} for field, value in trace.fields))
            for trace in self._of(collection)
            if trace.fields
        ]

    def naming(self, collection: str) -> Callable[[Record], bool]:
        """Whether a record of the collection is hidden, by what is hidden at this moment."""
        traces = self._of(collection)
        return lambda record: any(trace.names(record) for trace in traces)

    def _of(self, collection: str) -> list[Trace]:
        return [trace for trace in self._traces if trace.collection == collection]
