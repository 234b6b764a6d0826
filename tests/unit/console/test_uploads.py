"""Uploads that a stopped process did not finish."""

import os
import time
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import SecretStr

from quinion.console.calls import Calls
from quinion.console.uploads import FOLDER, OLD_S, UNFINISHED, Uploads
from quinion.settings import Settings

ADDRESS = "postgresql://localhost/x"


@pytest.mark.parametrize(("database", "kept"), [(None, []), (ADDRESS, ["new"])])
def test_a_start_keeps_new_ones_if_other_processes_may_share_the_home(
    tmp_path: Path, database: str | None, kept: list[str]
) -> None:
    folder = tmp_path / FOLDER
    for name, age_s in (("new", 0.0), ("old", OLD_S + 60)):
        (folder / name).mkdir(parents=True)
        mark = folder / name / UNFINISHED
        mark.touch()
        written = time.time() - age_s
        os.utime(mark, (written, written))
    url = SecretStr(database) if database else None
    uploads = Uploads(Settings(home=tmp_path, database_url=url))
    calls = cast(Calls, None)  # not called: nothing was received
    anyio.run(uploads.remove_unfinished, calls)
    assert sorted(path.name for path in folder.iterdir()) == kept
