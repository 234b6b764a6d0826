"""Languages of OCR: what Tesseract has installed, and how to install what is missing.

A list of languages is written as Tesseract takes it: `eng+deu`.
"""

import re
import subprocess
import sys

DEFAULT = "eng"
AUTO = "auto"
"""The setting of the engine that reads each page with the one that suits it."""
_FOLDER = re.compile(r'in "(.+)"')
_TIMEOUT_S = 10.0
# Languages in Latin, Chinese and Japanese script, by Tesseract's names. The second engine's model
# knows all of their letters; it lacks Vietnamese ones.
_OF_RAPIDOCR = """
afr bos bre cat ceb ces chi_sim chi_sim_vert chi_tra chi_tra_vert cos cym dan deu eng enm epo
est eus fao fil fin fra frm fry gla gle glg hat hrv hun ind isl ita ita_old jav jpn jpn_vert lat
lav lit ltz mlt mri msa nld nor oci pol por que ron slk slv spa spa_old sqi srp_latn sun swa swe
tgl ton tur
"""


def list_installed(program: str) -> tuple[str, frozenset[str]] | None:
    """Return the folder of the program's language data and the languages in it.

    None if the program is not installed or does not answer. Blocking.
    """
    try:
        output = subprocess.run(
            [program, "--list-langs"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    head, *names = output.stdout.splitlines()
    found = _FOLDER.search(head)
    return (found[1], frozenset(name.strip() for name in names)) if found else None


def find_missing(program: str, languages: str) -> list[str]:
    """List the languages that are not installed; none if the program itself is missing."""
    installed = list_installed(program)
    if installed is None:
        return []
    return [name for name in languages.split("+") if name not in installed[1]]


def advise(missing: list[str]) -> str:
    """Return the command that installs the languages on this platform."""
    if sys.platform == "darwin":
        return "brew install tesseract-lang"
    packages = (f"tesseract-ocr-{name.replace('_', '-').lower()}" for name in missing)
    return f"apt-get install {' '.join(packages)}"


def are_readable_by_rapidocr(languages: str) -> bool:
    """Whether the second engine reads all of these languages."""
    return set(languages.split("+")).issubset(_OF_RAPIDOCR.split())
