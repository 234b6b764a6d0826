"""Tesseract as a library in a persistent process, if the package `tesserocr` is installed.

Its build of Tesseract takes a third less time than Debian's program, and the model is loaded once
instead of for every page. It runs in a separate process because the only way to stop a run is to
kill it. It uses the language data of the installed program, which is the fallback when the library
fails.

It speaks the protocol of workers (`quinion.framing`); the pixels of a page follow its frame. It is
in the process group of its parent, so both are killed together, and it exits when its parent closes
stdin or exits.
"""

import os
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from time import monotonic

from quinion.extract.ocr.languages import DEFAULT, list_installed
from quinion.extract.ocr.raster import Raster
from quinion.framing import encode, receive, take_stdout
from quinion.runtime_tuning import release_memory


class TesserocrProcess:
    """The library's process: started on first use, and restarted after it was killed."""

    def __init__(self, program: str, languages: str = DEFAULT) -> None:
        self._program = program
        self._languages = languages
        self._process: subprocess.Popen[bytes] | None = None
        self._is_usable = find_spec("tesserocr") is not None
        self._lock = threading.Lock()

    def recognize(
        self, raster: Raster, timeout_s: float, *, upside_down: bool = False
    ) -> str | None:
        """Return Tesseract's table of words; None if the caller has to run the program.

        Raises:
            TimeoutError: Tesseract did not finish within the timeout.
        """
        with self._lock:
            # If the program was uninstalled, report that, even if this process still runs.
            if self._is_usable and shutil.which(self._program):
                return self._recognize(raster, timeout_s, upside_down)
            return None

    def close(self) -> None:
        """Kill the process; the next request starts another."""
        if self._process is not None:
            self._process.kill()
            for pipe in (self._process.stdin, self._process.stdout):
                assert pipe is not None
                with suppress(OSError):  # buffered data could not be written
                    pipe.close()
            self._process.wait()
            self._process = None

    def _recognize(self, raster: Raster, timeout_s: float, upside_down: bool) -> str | None:
        began = monotonic()
        process = self._process = self._process or _start(self._program, self._languages)
        if process is not None:
            alarm = threading.Timer(timeout_s, process.kill)
            alarm.start()
            try:
                return _exchange(process, raster, upside_down)
            except (OSError, ValueError):
                self.close()
            finally:
                alarm.cancel()
            if monotonic() - began >= timeout_s:
                raise TimeoutError(f"tesseract took more than {timeout_s:.0f} s")
        # The library does not work here, or a page made it crash. It is not tried again.
        self._is_usable = False
        return None


def _start(program: str, languages: str) -> "subprocess.Popen[bytes] | None":
    folder = _find_data_folder(program, languages)
    if folder is None:
        return None
    return subprocess.Popen(
        # -P: modules in the user's current folder must not be imported.
        [sys.executable, "-P", "-m", __name__, folder, languages],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )


def _find_data_folder(program: str, languages: str) -> str | None:
    """Return the folder of the program's language data, if it has all the languages."""
    found = list_installed(program)
    return found[0] if found and found[1].issuperset(languages.split("+")) else None


def _exchange(process: "subprocess.Popen[bytes]", raster: Raster, upside_down: bool) -> str:
    """Send a raster and return its table; OSError or ValueError if the process exits before."""
    assert process.stdin is not None
    assert process.stdout is not None
    width, height = raster.image.size
    process.stdin.write(encode({"width": width, "height": height, "dpi": raster.dpi or 0}))
    for band in raster.bands(upside_down=upside_down):
        process.stdin.write(band)
    process.stdin.flush()
    reply = receive(process.stdout)
    if reply is None:
        raise BrokenPipeError("the process has exited")
    return str(reply["table"])


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
