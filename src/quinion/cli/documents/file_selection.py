"""Files selected by a list of files and folders, and files skipped because of their type."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from quinion.cli.report import name_count
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


def describe_skipped(
    paths: Iterable[Path], extensions: Collection[str], *, recursive: bool = True
) -> str:
    """Count the files in the named folders that have another type; empty if there are none.

    Returns a text such as `4 files skipped because of their type: 3 .docx, 1 without extension`.
    """
    skipped = {
        path
        for folder in paths
        if folder.is_dir()
        for path in _files(folder.absolute(), recursive=recursive)
        if path.suffix.lower() not in extensions
    }
    counts = Counter(path.suffix.lower() or "without extension" for path in skipped)
    if not counts:
        return ""
    named = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    whose = "its" if len(skipped) == 1 else "their"
    return f"{name_count(len(skipped), 'file')} skipped because of {whose} type: {named}"


def _below(folder: Path, extensions: Collection[str]) -> list[Path]:
    return sorted(path for path in _files(folder) if path.suffix.lower() in extensions)


def _files(folder: Path, *, recursive: bool = True) -> Iterator[Path]:
    for path in folder.rglob("*") if recursive else folder.iterdir():
        is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not is_hidden and path.is_file():
            yield path
