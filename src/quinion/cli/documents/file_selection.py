"""Files selected by a list of files and folders."""

from collections.abc import Collection, Iterable
from pathlib import Path

from quinion.errors import FileMissing


def find_documents(paths: Iterable[Path], extensions: Collection[str]) -> list[Path]:
    """Find the named files, and files with these extensions in the named folders.

    Subfolders are included. Hidden files and folders are skipped unless named.

    Raises:
        FileMissing: a path does not exist.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found.update(dict.fromkeys(_below(path.absolute(), extensions)))
        elif path.exists():
            found[path.absolute()] = None
        else:
            raise FileMissing(f"There is no file or folder {path}.")
    return list(found)


def _below(folder: Path, extensions: Collection[str]) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in extensions
        and path.is_file()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
