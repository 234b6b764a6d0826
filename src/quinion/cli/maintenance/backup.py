"""`quinion backup` and `quinion restore`: save a home to one file and restore it."""

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import anyio

from quinion.backup import restore
from quinion.cli.options import print_result
from quinion.cli.server_client import call, connect
from quinion.errors import InvalidInput, QuinionError
from quinion.home import hold_home, store_place
from quinion.servers import document_store
from quinion.settings import Settings
from quinion.store.archive import MANIFEST
from quinion.store.factory import StorePlace


def run_backup(settings: Settings, file: Path, *, as_json: bool) -> int:
    """Ask the process that holds the home to write the archive, then move it to `file`."""
    if file.exists():
        raise InvalidInput(f"{file} already exists. Choose another name, or move it away.")
    if not file.absolute().parent.is_dir():
        raise InvalidInput(f"{file.absolute().parent} is not a folder. Create it first.")
    written = anyio.run(_back_up, settings)
    shutil.move(written, file)
    manifest = _read_manifest(file)
    size = file.stat().st_size
    lines = [f"{file}: {len(manifest['sha256'])} files, {size / 1e6:,.1f} MB."]
    lines += [f"Not included: {one}" for one in manifest["not_included"]]
    print_result(as_json, {"file": file, "bytes": size, **manifest}, "\n".join(lines))
    return 0


def run_restore(settings: Settings, file: Path, *, as_json: bool) -> int:
    """Restore an archive into an empty home."""
    if not file.is_file():
        raise InvalidInput(f"File not found: {file}.")
    place = store_place(settings)
    with hold_home(settings):
        manifest = restore(place, file)
    lines = [f"{settings.home}: restored as it was on {manifest['made']}."]
    lines += [f"Not in the backup: {one}" for one in manifest["not_included"]]
    lines.append(_say_what_is_next(place))
    print_result(as_json, {"home": settings.home, **manifest}, "\n".join(lines))
    return 0


def _say_what_is_next(place: StorePlace) -> str:
    assert place.folder is not None
    if not place.folder.exists():
        return "Next: the first command or server that uses this home converts it from quinion 0.1."
    if place.target:
        return (
            "Next: the first command or server that uses this home fills the Chroma mirror in the "
            "background; searches do not wait for it."
        )
    return "Next: nothing. The home can be used; quinion verify checks it."


async def _back_up(settings: Settings) -> Path:
    async with connect(settings, document_store.NAME) as client:
        answer = await call(client, "back_up", {})
    if "path" not in answer:
        raise QuinionError(f"Cannot back up the home: {answer.get('message', answer)}")
    return Path(answer["path"])


def _read_manifest(file: Path) -> dict[str, Any]:
    with tarfile.open(file) as archive:
        member = archive.extractfile(MANIFEST)
        assert member is not None
        manifest: dict[str, Any] = json.load(member)
    return manifest
