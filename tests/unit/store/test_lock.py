import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quinion.errors import BadSetting, HomeInUse
from quinion.store.lock import LOCK_NAME, Holder, hold, is_held, read_holder

HOLD_IN_CHILD = """
import sys
from pathlib import Path
from quinion.store.lock import hold
with hold(Path(sys.argv[1]), "1.0"):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold_in_child(folder: Path) -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD_IN_CHILD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_second_process_is_refused_and_told_who_has_the_folder(tmp_path: Path) -> None:
    with hold_in_child(tmp_path) as child:
        with pytest.raises(HomeInUse, match=rf"process {child.pid}.*QUINION_HOME"):
            with hold(tmp_path, "1.0"):
                pass
        child.kill()


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    with hold_in_child(tmp_path) as child:
        assert is_held(tmp_path)
        child.kill()
        child.wait()
    assert not is_held(tmp_path)
    with hold(tmp_path, "1.0"):
        assert is_held(tmp_path)


def test_a_holder_announces_where_its_servers_are(tmp_path: Path) -> None:
    with hold(tmp_path, "1.0") as lock:
        assert read_holder(tmp_path) == Holder(os.getpid(), "1.0")
        addresses = {"document-store": "http://127.0.0.1:3002"}
        announced = Holder(os.getpid(), "1.0", "/home/engine.sock", addresses)
        lock.announce(announced)
        assert read_holder(tmp_path) == announced


@pytest.mark.parametrize("note", ["", "{", json.dumps({"pid": "x"}), json.dumps([1])])
def test_a_note_that_makes_no_sense_is_no_holder(tmp_path: Path, note: str) -> None:
    (tmp_path / LOCK_NAME).write_text(note)
    assert read_holder(tmp_path) is None


def test_the_note_is_for_its_owner_alone(tmp_path: Path) -> None:
    with hold(tmp_path, "1.0"):
        assert (tmp_path / LOCK_NAME).stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_made_names_the_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadSetting, match="QUINION_HOME"):
        with hold(tmp_path / "file" / "home", "1.0"):
            pass
