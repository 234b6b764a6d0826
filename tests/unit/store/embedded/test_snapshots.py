"""Snapshots: what has to wait for readers runs once they are gone, and not before."""

from contextlib import ExitStack

import pytest

from quinion.store.embedded.snapshots import Snapshots


def test_without_readers_an_action_runs_at_once() -> None:
    done: list[str] = []
    Snapshots().after_current(lambda: done.append("now"))
    assert done == ["now"]


def test_an_action_waits_for_the_last_reader_from_before_it() -> None:
    snapshots, done = Snapshots(), list[str]()
    with ExitStack() as first:
        first.enter_context(snapshots.hold())
        with snapshots.hold():
            snapshots.after_current(lambda: done.append("freed"))
            assert done == []
        assert done == []
    assert done == ["freed"]


def test_an_action_does_not_wait_for_later_readers() -> None:
    snapshots, done = Snapshots(), list[str]()
    with ExitStack() as later:
        with snapshots.hold():
            snapshots.after_current(lambda: done.append("freed"))
            later.enter_context(snapshots.hold())
            assert done == []
        assert done == ["freed"]


def test_actions_run_in_their_order_each_after_its_own_readers() -> None:
    snapshots, done = Snapshots(), list[str]()
    with ExitStack() as second:
        with snapshots.hold():
            snapshots.after_current(lambda: done.append("first"))
            second.enter_context(snapshots.hold())
            snapshots.after_current(lambda: done.append("second"))
        assert done == ["first"]
    assert done == ["first", "second"]


def test_a_reader_that_fails_is_gone() -> None:
    snapshots, done = Snapshots(), list[str]()
    with pytest.raises(KeyError), snapshots.hold():
        snapshots.after_current(lambda: done.append("freed"))
        raise KeyError
    assert done == ["freed"]
