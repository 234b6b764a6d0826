"""What every adapter of `quinion.store.base.VectorStore` does.

An adapter's test module says how its store is opened, and inherits the tests:

    class TestMyStore(DurableConformance):
        def open(self, folder: Path) -> VectorStore:
            return MyStore(folder)

`StoreConformance` is for a store that may forget everything when it is closed,
`DurableConformance` for one that does not, and `FolderConformance` for one that keeps all it has
in files of the folder: it is also killed at the calls that change them.
"""

import pytest

for _module in (
    *("adapter", "against_dictionary", "concurrency", "durability", "filtering", "kills"),
    *("reading", "searching", "sizes", "transactions", "writing"),
):
    pytest.register_assert_rewrite(f"{__name__}.{_module}")
