import subprocess
import sys
from pathlib import Path

from tests.documents import truncated_pdf


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_modules_not_needed_for_text_are_not_loaded() -> None:
    code = (
        "import sys; from quinion.extract import document;"
        "heavy = {'pymupdf.layout', 'pymupdf4llm', 'onnxruntime', 'numpy'};"
        "print(sorted(name for name in heavy if sys.modules.get(name)))"
    )
    assert run(code).strip() == "[]"


def test_nothing_is_printed_on_standard_output_about_a_damaged_file(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from quinion.errors import ExtractionFailed;"
        "from quinion.extract import document\n"
        "try: document.inspect(pathlib.Path(sys.argv[1]), document.Options())\n"
        "except ExtractionFailed: pass"
    )
    assert run(code, str(truncated_pdf(tmp_path / "plan.pdf"))) == ""
