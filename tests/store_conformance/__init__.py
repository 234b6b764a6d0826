"""Conformance suite for adapters of `quinion.store.base.VectorStore`.

An adapter's test module defines how its store is opened and inherits the tests:

    class TestMyStore(DurableConformance):
        def open(self, folder: Path) -> VectorStore:
            return MyStore(folder)

`StoreConformance` is for any store, including in-memory ones. `DurableConformance` is for stores
that persist their data. `FolderConformance` is for stores that keep all data in files of the
folder; it also kills the process at system calls that change these files.
"""

import pytest

for _module in (
    *("adapter", "against_dictionary", "concurrency", "durability", "filtering", "kills"),
    *("reading", "searching", "sizes", "transactions", "writing"),
):
    pytest.register_assert_rewrite(f"{__name__}.{_module}")
