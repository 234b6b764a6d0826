"""Hostile files of the corpus, and their names for the tools."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.serving import TAKEN

_EXTENSIONS = {extension for extensions in TAKEN.values() for extension in extensions}


def hostile_files(corpus: str) -> list[Path]:
    """All of them, in order."""
    return sorted(path for path in Path(corpus, "hostile").rglob("*") if path.is_file())


def take(file: Path, folder: Path) -> Iterator[Path]:
    """The file under a name that some tool takes: its own, or that of what it pretends to be.

    Cases of PDF fuzzers have distinct names, and so have images of unsupported formats.
    """
    if file.suffix.lower() in _EXTENSIONS:
        yield file
        return
    extension = ".pdf" if file.suffix == ".fuzz" else ".png"
    copy = folder / f"{file.parent.name}-{file.name}{extension}"
    shutil.copyfile(file, copy)
    yield copy
    copy.unlink()
