"""Folders: the indexed files with their states, by folder; indexing, watching and pruning."""

from collections.abc import Collection
from pathlib import Path, PurePath
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from quinion.console.calls import Answer, Calls
from quinion.console.jobs import Jobs
from quinion.console.rendering import View, read_number
from quinion.errors import InvalidInput
from quinion.servers import docvec

SHOWN = 100
SHOWN_FOLDERS = 500


async def show_list(calls: Calls, jobs: Jobs, watched: Collection[str], given: QueryParams) -> View:
    """Show the folders with indexed files; of one folder, or of all, a part of its files."""
    chosen, part = given.get("folder", ""), read_number(given, "part", 1)
    arguments = {"folder": chosen or None, "offset": (part - 1) * SHOWN, "limit": SHOWN}
    data = (await calls.call(docvec.NAME, "page_files", arguments))["data"]
    return View(
        "folders.html",
        "Folders",
        {
            "chunks": data["total_chunks"],
            "files": data["unique_files"],
            "folders": [
                {**one, "address": "/folders?" + urlencode({"folder": one["path"]})}
                for one in data["folders"][:SHOWN_FOLDERS]
            ],
            "folders_left_out": max(0, len(data["folders"]) - SHOWN_FOLDERS),
            "folder": chosen,
            "watched": sorted(watched),
            "is_watched": chosen in watched,
            "shown": [{**one, "name": PurePath(one["path"]).name} for one in data["files"]],
            "part": part,
            "before": _address(chosen, part - 1) if part > 1 else None,
            "after": _address(chosen, part + 1) if data["has_more"] else None,
            "jobs": [job.describe() for job in jobs.list()],
        },
    )


async def show_vanished(calls: Calls) -> View:
    """Show the files that are indexed and no longer on the disk; they can be removed."""
    return View("vanished.html", "Vanished files", {"vanished": sorted(await _find(calls))})


def index(jobs: Jobs, folder: str) -> Answer:
    """Queue the indexing of a folder.

    Raises:
        InvalidInput: it is no absolute path.
    """
    path = check_folder(folder)
    return jobs.add(path, docvec.NAME, "index_directory", {"dir_path": path}).describe()


async def prune(calls: Calls, within: str = "") -> Answer:
    """Remove the files that have vanished, from one folder or all, from the index."""
    vanished = await _find(calls)
    if within:
        vanished = {path for path in vanished if PurePath(path).is_relative_to(within)}
    for path in vanished:
        await calls.call(docvec.NAME, "delete_file", {"source_file": path})
    return {"removed": sorted(vanished)}


def check_folder(folder: str) -> str:
    """Return the absolute path of a folder.

    Raises:
        InvalidInput: it is no absolute path.
    """
    path = Path(folder.strip()).expanduser() if folder.strip() else None
    if path is None or not path.is_absolute():
        raise InvalidInput("Give the whole path of a folder, such as /home/me/notes.")
    return str(path)


async def _find(calls: Calls) -> set[str]:
    """Find the files that have vanished."""
    vanished: set[str] = set()
    following: int | None = 0
    while following is not None:
        answer = await calls.call(docvec.NAME, "get_index_stats", {"from_file": following})
        vanished |= set(answer["data"]["vanished_files"])
        following = answer["data"]["next_file"]
    return vanished


def _address(folder: str, part: int) -> str:
    return "/folders?" + urlencode({**({"folder": folder} if folder else {}), "part": part})
