"""`quinion backup` and `quinion restore`: a home in one file, and a home made of it."""

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import anyio

from quinion.backup import restore
from quinion.cli.client import call, connect
from quinion.cli.options import tell
from quinion.errors import InvalidInput, QuinionError
from quinion.home import hold_home, store_place
from quinion.servers import document_store
from quinion.settings import Settings
from quinion.store.archive import MANIFEST


def run_backup(settings: Settings, file: Path, *, as_json: bool) -> int:
    """Have whoever has the home write the archive, and put it where it is wanted."""
    if file.exists():
        raise InvalidInput(f"{file} is there already. Name another file, or move it away.")
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"{file.absolute().parent} is no folder. Make it, or name another.")
    written = anyio.run(_back_up, settings)
    shutil.move(written, file)
    manifest = _read_manifest(file)
    size = file.stat().st_size
    lines = [f"{file}: {len(manifest['sha256'])} files, {size / 1e6:,.1f} MB."]
    lines += [f"Not in it: {one}" for one in manifest["not_included"]]
    tell(as_json, {"file": file, "bytes": size, **manifest}, "\n".join(lines))
    return 0


def run_restore(settings: Settings, file: Path, *, as_json: bool) -> int:
    """Unpack an archive into a home that is empty."""
    if not file.is_file():
        raise InvalidInput(f"There is no file {file}.")
    with hold_home(settings):
        manifest = restore(store_place(settings), file)
    lines = [f"{settings.home}: restored as it was on {manifest['made']}."]
    lines += [f"Was not in the backup: {one}" for one in manifest["not_included"]]
    lines.append("The Chroma mirror is filled at the next use. To check all of it: quinion verify")
    tell(as_json, {"home": settings.home, **manifest}, "\n".join(lines))
    return 0


async def _back_up(settings: Settings) -> Path:
    async with connect(settings, document_store.NAME) as client:
        answer = await call(client, "back_up", {})
    if "path" not in answer:
        raise QuinionError(f"The home can't be backed up: {answer.get('message', answer)}")
    return Path(answer["path"])


def _read_manifest(file: Path) -> dict[str, Any]:
    with tarfile.open(file) as archive:
        member = archive.extractfile(MANIFEST)
        assert member is not None
        manifest: dict[str, Any] = json.load(member)
    return manifest
