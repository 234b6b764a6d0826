"""Snapshots: slots in use by readers are reclaimed only after these readers are done."""

from contextlib import ExitStack

import pytest

from quinion.store.embedded.snapshots import Retired, Snapshots


def test_without_readers_a_file_is_dropped_at_once() -> None:
    dropped: list[int] = []
    Snapshots(dropped.append).retire(Retired(files=[1]))
    assert dropped == [1]


def test_a_file_waits_for_the_last_reader_from_before_it() -> None:
    dropped: list[int] = []
    snapshots = Snapshots(dropped.append)
    with ExitStack() as first:
        first.enter_context(snapshots.hold())
        with snapshots.hold():
            snapshots.retire(Retired(files=[1]))
            assert dropped == []
        assert dropped == []
    assert dropped == [1]


def test_a_file_does_not_wait_for_later_readers() -> None:
    dropped: list[int] = []
    snapshots = Snapshots(dropped.append)
    with ExitStack() as later:
        with snapshots.hold():
            snapshots.retire(Retired(files=[1]))
            later.enter_context(snapshots.hold())
            assert dropped == []
        assert dropped == [1]


def test_transactions_are_reclaimed_in_their_order_each_after_its_own_readers() -> None:
    dropped: list[int] = []
    snapshots = Snapshots(dropped.append)
    with ExitStack() as second:
        with snapshots.hold():
            snapshots.retire(Retired(files=[1]))
            second.enter_context(snapshots.hold())
            snapshots.retire(Retired(files=[2]))
        assert dropped == [1]
    assert dropped == [1, 2]


def test_slots_are_retired_until_their_readers_are_gone() -> None:
    snapshots = Snapshots(lambda number: None)
    with snapshots.hold():
        snapshots.retire(Retired(slots={1: {3}, 2: {8}}))
        with snapshots.hold():
            snapshots.retire(Retired(slots={1: {4}}))
            assert snapshots.retired(1) == {3, 4}
            assert snapshots.retired(2) == {8}
    assert snapshots.retired(1) == snapshots.retired(2) == set()


def test_a_reader_that_fails_is_gone() -> None:
    dropped: list[int] = []
    snapshots = Snapshots(dropped.append)
    with pytest.raises(KeyError), snapshots.hold():
        snapshots.retire(Retired(files=[1]))
        raise KeyError
    assert dropped == [1]
