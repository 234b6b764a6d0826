"""A seal on Chroma's folder: it has what the ledger has, and nobody has written to it since.

Opening Chroma takes longer and more memory than all else, and a store that is only read can do
without it. So whoever closes a store in which all is well seals it, and who opens it next and finds
the seal whole need not look whether the two agree. Another program that writes to Chroma breaks the
seal, and so does one of ours that dies: sizes and times of its files are others then.
"""

from contextlib import suppress
from pathlib import Path

NAME = "seal"


class Seal:
    """That of the Chroma in `chroma`, kept with the ledger in `ledger`."""

    def __init__(self, ledger: Path, chroma: Path) -> None:
        self._file = ledger / NAME
        self._chroma = chroma

    def is_whole(self) -> bool:
        """Whether nobody has written to Chroma since it was set."""
        try:
            return self._file.read_text() == self._look()
        except OSError:
            return False

    def set(self) -> None:
        """Chroma is closed, and has what the ledger has."""
        with suppress(OSError):  # then the next one looks for itself
            self._file.write_text(self._look())

    def _look(self) -> str:
        """The database and its journals, as they are now."""
        files = sorted(self._chroma.glob("chroma.sqlite3*"))
        states = ((file.name, file.stat()) for file in files)
        return "".join(f"{name} {s.st_ino} {s.st_size} {s.st_mtime_ns}\n" for name, s in states)
