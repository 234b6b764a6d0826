"""Tesseract as a library in a persistent process, if the package `tesserocr` is installed.

Its build of Tesseract takes a third less time than Debian's program, and the model is loaded once
instead of for every page. It uses the language data of the installed program, which is the fallback
when the library fails. The protocol is that of `library_process`.
"""

import shutil
import sys
from functools import partial
from importlib.util import find_spec

from quinion.extract.ocr.languages import DEFAULT, list_installed
from quinion.extract.ocr.library_process import LibraryProcess
from quinion.extract.ocr.raster import Raster
from quinion.framing import encode, receive, take_stdout
from quinion.runtime_tuning import release_memory


class TesserocrProcess:
    """The library's process."""

    def __init__(self, program: str, languages: str = DEFAULT) -> None:
        self._program = program
        self._process = LibraryProcess(
            "tesseract", __name__, partial(_find_arguments, program, languages)
        )

    def recognize(
        self, raster: Raster, timeout_s: float, *, upside_down: bool = False
    ) -> str | None:
        """Return Tesseract's table of words; None if the caller has to run the program.

        Raises:
            TimeoutError: Tesseract did not finish within the timeout.
        """
        # If the program was uninstalled, report that, even if this process still runs.
        if not shutil.which(self._program):
            return None
        reply = self._process.request(raster, timeout_s, upside_down=upside_down)
        return None if reply is None else str(reply["table"])

    def close(self) -> None:
        """Kill the process; the next request starts another."""
        self._process.close()


def _find_arguments(program: str, languages: str) -> list[str] | None:
    """Return the folder of the program's language data, if it has all the languages."""
    if find_spec("tesserocr") is None:
        return None
    found = list_installed(program)
    return [found[0], languages] if found and found[1].issuperset(languages.split("+")) else None


def main(folder: str, languages: str) -> None:
    """Serve requests until stdin is closed."""
    # Imported here, so that the parent process does not load it.
    import tesserocr  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415

    replies = take_stdout()
    with tesserocr.PyTessBaseAPI(path=folder, lang=languages) as library:
        while (page := receive(sys.stdin.buffer)) is not None:
            width, height = page["width"], page["height"]
            library.SetVariable("user_defined_dpi", str(page["dpi"]))
            library.SetImageBytes(sys.stdin.buffer.read(width * height), width, height, 1, width)
            table = library.GetTSVText(0)
            # No state may carry over to the next page.
            library.Clear()
            library.ClearAdaptiveClassifier()
            release_memory()
            replies.write(encode({"table": table}))
            replies.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
