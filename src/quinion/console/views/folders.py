"""Folders: the indexed files by folder, those that have vanished, and indexing again."""

from collections import defaultdict
from pathlib import Path, PurePath
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from quinion.console.calls import Answer, Calls
from quinion.console.jobs import Jobs
from quinion.console.rendering import View, read_number
from quinion.errors import InvalidInput
from quinion.servers import docvec

SHOWN = 100


async def show_list(calls: Calls, jobs: Jobs, given: QueryParams) -> View:
    """Show the folders with indexed files; of one folder, a part of its files."""
    chosen, part = given.get("folder", ""), read_number(given, "part", 1)
    stats, files, vanished = await _read(calls)
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path in files:
        folder = counts[str(PurePath(path).parent)]
        folder[0] += 1
        folder[1] += path in vanished
    shown = [path for path in files if not chosen or str(PurePath(path).parent) == chosen]
    first = (part - 1) * SHOWN
    return View(
        "folders.html",
        "Folders",
        {
            "chunks": stats["total_chunks"],
            "files": stats["unique_files"],
            "folders": [
                {
                    "path": path,
                    "files": count,
                    "vanished": gone,
                    "address": "/folders?" + urlencode({"folder": path}),
                }
                for path, (count, gone) in sorted(counts.items())
            ],
            "folder": chosen,
            "shown": [
                {"path": path, "name": PurePath(path).name, "vanished": path in vanished}
                for path in shown[first : first + SHOWN]
            ],
            "vanished": len(vanished),
            "before": _address(chosen, part - 1) if part > 1 else None,
            "after": _address(chosen, part + 1) if len(shown) > first + SHOWN else None,
            "jobs": [job.describe() for job in jobs.list()],
        },
    )


def index(jobs: Jobs, folder: str) -> Answer:
    """Queue the indexing of a folder.

    Raises:
        InvalidInput: it is no absolute path.
    """
    path = Path(folder.strip()).expanduser() if folder.strip() else None
    if path is None or not path.is_absolute():
        raise InvalidInput("Give the whole path of a folder, such as /home/me/notes.")
    arguments = {"dir_path": str(path)}
    return jobs.add(str(path), docvec.NAME, "index_directory", arguments).describe()


async def prune(calls: Calls) -> Answer:
    """Remove the files that have vanished from the index."""
    _, _, vanished = await _read(calls)
    for path in vanished:
        await calls.call(docvec.NAME, "delete_file", {"source_file": path})
    return {"removed": sorted(vanished)}


async def _read(calls: Calls) -> tuple[Answer, list[str], set[str]]:
    """Read the statistics, all files, and those that have vanished."""
    files: list[str] = []
    vanished: set[str] = set()
    following: int | None = 0
    data: Answer = {}
    while following is not None:
        answer = await calls.call(docvec.NAME, "get_index_stats", {"from_file": following})
        data = answer["data"]
        files += data["source_files"]
        vanished |= set(data["vanished_files"])
        following = data["next_file"]
    return data, files, vanished


def _address(folder: str, part: int) -> str:
    return "/folders?" + urlencode({**({"folder": folder} if folder else {}), "part": part})
