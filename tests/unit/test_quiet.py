import os
import subprocess
import sys
from pathlib import Path


def test_the_runtime_of_the_model_leaves_no_note_about_its_use(tmp_path: Path) -> None:
    """Without our word it makes up an id for its maker and keeps it in `.ses`."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    for first, expected in (("", True), ("import quinion; ", False)):
        command = [sys.executable, "-c", f"{first}import onnxruntime"]
        subprocess.run(command, env=environment, check=True)
        found = tmp_path / ".ses"
        assert found.exists() is expected
        found.unlink(missing_ok=True)
