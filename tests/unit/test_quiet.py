import os
import subprocess
import sys
from pathlib import Path


def test_the_runtime_of_the_model_leaves_no_note_about_its_use(tmp_path: Path) -> None:
    """By default the runtime generates a telemetry id and usually stores it in `.ses`."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    program = "import os, quinion; print(os.environ['ORT_DISABLE_TELEMETRY']); import onnxruntime"
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == "1"
    assert not (tmp_path / ".ses").exists()
