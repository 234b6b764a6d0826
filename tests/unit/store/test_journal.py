from pathlib import Path

import pytest

from quinion.errors import StoreUnavailable
from quinion.store.journal import Journal, Trace

TRACES = [Trace.at("registry", "a_1"), Trace.of("chunks", document_id="a_1")]


def test_an_intent_that_was_begun_and_not_ended_is_found_by_the_next_process(
    tmp_path: Path,
) -> None:
    first = Journal(tmp_path / "journal.db", "store")
    ended = first.begin([Trace.of("chunks", document_id="b_2")])
    open_intent = first.begin(TRACES)
    first.end(ended)
    first.close()
    assert open_intent.traces == tuple(TRACES)
    assert Journal(tmp_path / "journal.db", "store").unfinished() == [open_intent]


def test_a_backup_is_remembered_with_its_intent_and_goes_with_it(tmp_path: Path) -> None:
    backup = tmp_path / "backup.npz"
    backup.write_bytes(b"old")
    journal = Journal(tmp_path / "journal.db", "store")
    journal.begin(TRACES, backup)
    [intent] = journal.unfinished()
    assert intent.backup == backup
    journal.end(intent)
    assert not backup.exists()


def test_intents_of_another_store_are_left_alone(tmp_path: Path) -> None:
    Journal(tmp_path / "journal.db", "one").begin(TRACES)
    assert Journal(tmp_path / "journal.db", "another").unfinished() == []


def test_an_unwritable_journal_says_which_file(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"missing/journal\.db"):
        Journal(tmp_path / "missing" / "journal.db", "store")
