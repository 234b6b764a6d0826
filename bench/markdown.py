"""Quality of the Markdown of `quinion serve ocr-api`, compared with two libraries.

    python -m bench.markdown --corpus CORPUS --peers VENV

CORPUS is the folder of documents to measure with. VENV is an environment with `pymupdf4llm` and
`markitdown[pdf]`, used with their defaults. Four sets of checks (`markdown_checks`):

- `olmocr`: the checks of `scans/olmocr/dataset.jsonl` on its eight pages;
- `scanned`: the same checks on the same pages as pixels, at 200 dpi, without a text layer;
- `tables`: the first five PDFs of `tables/icdar2013`; for the first 20 pairs of neighbours in
  the true cells of each: both stand side by side in a row of a Markdown table;
- `headings`: five PDFs with an outline; the first 20 entries of each are Markdown headings.

Checks run on the Markdown of the entire file, because one of the libraries does not report pages.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import httpx2

from bench.markdown_checks import Check, passes
from quinion.extract.pdf.mupdf import pymupdf

TABLES = ("eu-001", "eu-002", "eu-003", "eu-004", "eu-005")
OUTLINED = (
    "planning/nppf/NPPF_2024-12.pdf",
    "retrieval/financebench/AMCOR_2023Q4_EARNINGS.pdf",
    "technical/mmlongbench/2312.04350v3.pdf",
    "technical/mmlongbench/DSA-278777.pdf",
    "technical/mmlongbench/STEPBACK.pdf",
)
CHECKS_EACH = 20
SCAN_DPI = 200
PATIENCE_S = 1800.0

PEERS = {
    "pymupdf4llm": "import pymupdf4llm as p, sys; out = p.to_markdown(sys.argv[1])",
    "markitdown": "import markitdown as m, sys; out = m.MarkItDown().convert(sys.argv[1]).markdown",
}

Convert = Callable[[Path], str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--peers", type=Path, help="environment with the two libraries")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, run_endpoint() as ours:
        checks = list(find_checks(arguments.corpus, Path(folder)))
        sides: dict[str, Convert] = {"ocr-api": ours}
        if arguments.peers:
            sides |= {name: _peer(arguments.peers, code) for name, code in PEERS.items()}
        print_table(checks, {name: measure(checks, convert) for name, convert in sides.items()})


def find_checks(corpus: Path, folder: Path) -> Iterator[tuple[str, Path, Check]]:
    """List all checks with their set and file; scans are created in `folder`."""
    olmocr = corpus / "scans" / "olmocr"
    for line in (olmocr / "dataset.jsonl").read_text().splitlines():
        check = json.loads(line)
        path = olmocr / Path(check["pdf"]).name
        yield f"olmocr: {check['type']}", path, check
        yield f"scanned: {check['type']}", _scan(path, folder), check
    for name in TABLES:
        path = corpus / "tables" / "icdar2013" / f"{name}.pdf"
        for check in _neighbours(path.with_name(f"{name}-str.xml")):
            yield "tables", path, check
    for name in OUTLINED:
        with pymupdf.open(corpus / name) as document:
            entries = document.get_toc(simple=True)[:CHECKS_EACH]
        for _, title, _ in entries:
            yield "headings", corpus / name, {"type": "heading", "text": title}


def _scan(path: Path, folder: Path) -> Path:
    """Render the pages as images, once."""
    target = folder / path.name
    if not target.exists():
        with pymupdf.open(path) as source, pymupdf.open() as scan:
            for page in source:
                pixels = page.get_pixmap(dpi=SCAN_DPI)
                sheet = scan.new_page(width=page.rect.width, height=page.rect.height)
                sheet.insert_image(sheet.rect, stream=pixels.tobytes("jpeg"))
            scan.save(target)
    return target


def _neighbours(truth: Path) -> list[Check]:
    found: list[Check] = []
    for region in ElementTree.parse(truth).getroot().iter("region"):
        cells = {}
        ends = {}
        for cell in region.iter("cell"):
            row, column = int(cell.attrib["start-row"]), int(cell.attrib["start-col"])
            cells[row, column] = " ".join((cell.findtext("content") or "").split())
            ends[row, column] = int(cell.attrib.get("end-col", column))
        for (row, column), text in sorted(cells.items()):
            right = cells.get((row, ends[row, column] + 1))
            if text and right:
                found.append({"type": "table", "cell": text, "right": right})
    return found[:CHECKS_EACH]


def measure(
    checks: list[tuple[str, Path, Check]], convert: Convert
) -> tuple[dict[str, int], float]:
    """Return the number of passed checks by set, and the seconds of the conversion."""
    texts: dict[Path, str] = {}
    passed: dict[str, int] = defaultdict(int)
    begun = time.monotonic()
    for path in dict.fromkeys(path for _, path, _ in checks):
        texts[path] = convert(path)
    seconds = time.monotonic() - begun
    for name, path, check in checks:
        passed[name] += passes(check, texts[path])
    return passed, seconds


def print_table(
    checks: list[tuple[str, Path, Check]], results: dict[str, tuple[dict[str, int], float]]
) -> None:
    sets = sorted({name for name, _, _ in checks})
    print(f"| checks | of | {' | '.join(results)} |\n|---|---:|{'---:|' * len(results)}")
    for group in [*sets, "olmocr", "scanned"]:
        total = sum(name.startswith(group) for name, _, _ in checks)
        cells = []
        for passed, _ in results.values():
            count = sum(number for name, number in passed.items() if name.startswith(group))
            cells.append(f"{count} ({count / total:.0%})")
        print(f"| {group} | {total} | {' | '.join(cells)} |")
    print(f"| seconds | | {' | '.join(f'{seconds:.0f}' for _, seconds in results.values())} |")


@contextmanager
def run_endpoint() -> Iterator[Convert]:
    """Start the endpoint in a separate process, as users do."""
    command = [str(Path(sys.executable).with_name("quinion")), "serve", "ocr-api", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"(http://\S+)/v1", process.stdout.readline())
        assert found
        try:
            with httpx2.Client(base_url=found[1], timeout=PATIENCE_S) as client:
                yield lambda path: _ask(client, path)
        finally:
            process.terminate()


def _ask(client: httpx2.Client, path: Path) -> str:
    with path.open("rb") as file:
        uploaded = client.post("/v1/files", files={"file": file}, data={"purpose": "ocr"})
    file_id = uploaded.raise_for_status().json()["id"]
    document = {"type": "file", "file_id": file_id}
    answer = client.post("/v1/ocr", json={"model": "mistral-ocr-latest", "document": document})
    client.delete(f"/v1/files/{file_id}")
    return "\n\n".join(page["markdown"] for page in answer.raise_for_status().json()["pages"])


def _peer(environment: Path, code: str) -> Convert:
    program = f"import os; real = os.dup(1); os.dup2(2, 1); {code}; os.write(real, out.encode())"

    def convert(path: Path) -> str:
        command = [str(environment / "bin" / "python"), "-c", program, str(path)]
        return subprocess.check_output(command, stderr=subprocess.DEVNULL).decode()

    return convert


if __name__ == "__main__":
    main()
