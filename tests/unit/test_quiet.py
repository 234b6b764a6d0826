import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


def test_the_runtime_of_the_model_leaves_no_note_about_its_use(tmp_path: Path) -> None:
    """Without our word it makes up an id for its maker and, mostly, keeps it in `.ses`."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOME": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    program = "import os, quinion; print(os.environ['ORT_DISABLE_TELEMETRY']); import onnxruntime"
    answer = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == "1"
    assert not (tmp_path / ".ses").exists()


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")
def test_the_package_that_reports_the_use_of_openvino_is_not_loaded() -> None:
    program = (
        "import sys, quinion.embed.local.openvino_runtime; "
        "print([n for n, m in sys.modules.items() if n.startswith('openvino_telemetry') and m])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert answer.stdout.strip() == "[]"
