"""Locks of a store that only one engine uses."""

from pathlib import Path

import anyio

from quinion.store.lock import hold
from quinion.store.locks import Locks


def test_a_lock_has_one_holder_and_is_free_afterwards() -> None:
    locks = Locks()
    order: list[str] = []

    async def work(name: str) -> None:
        async with locks.hold(("a", "x"), ("a", "y")):
            order.append(name)
            await anyio.lowlevel.checkpoint()
            order.append(name)

    async def run() -> None:
        async with anyio.create_task_group() as group:
            for name in "123":
                group.start_soon(work, name)
        assert order == list("112233")
        async with locks.hold(("a", "x")), locks.hold_if_free(("a", "x")) as held:
            assert not held
        async with locks.hold_if_free(("a", "x")) as held, locks.hold(("a", "y")):
            assert held
        assert not locks.are_shared

    anyio.run(run)


def test_a_folder_that_another_process_has_locked_can_be_shared(tmp_path: Path) -> None:
    with hold(tmp_path, "1") as first:
        note = (tmp_path / "engine.lock").read_text()
        with hold(tmp_path, "2", share=True) as second:
            assert (first.is_held, second.is_held) == (True, False)
            assert (tmp_path / "engine.lock").read_text() == note
    with hold(tmp_path, "2", share=True) as second:
        assert second.is_held
