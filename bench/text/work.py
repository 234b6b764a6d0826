"""Workload of all sides: documents in portions, and questions."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
QUESTIONS = "qa_coventry_nppf.json"
PORTIONS = 4
"""Portions per round; few enough that several documents are nearly always in progress."""
WARM_UP_DOCUMENTS = 3
QUICK_PAGES = 8
QUICK_DOCUMENTS = 3
QUICK_QUESTIONS = 10

Document = dict[str, Any]
"""A document as printed by `survey.py`."""


@dataclass(frozen=True)
class Work:
    warm_up: Sequence[Path]
    """Documents ingested first and not counted: one, then the others at once. All sides then have
    finished lazy loading, and quinion has started its workers."""
    portions: Sequence[Sequence[Path]]
    page_count: int
    """Pages of all portions."""
    questions: Sequence[str]
    left_out: Mapping[str, Sequence[str]]
    """Excluded documents by reason."""

    @property
    def files(self) -> list[Path]:
        return [file for portion in self.portions for file in portion]


def find_work(corpus: Path, *, quick: bool) -> Work:
    """Select the documents with text, shortest first, and the questions of the corpus."""
    folder = find_documents(corpus)
    documents = run_module(
        "bench.text.survey", str(folder), str(QUICK_PAGES if quick else sys.maxsize)
    )
    chosen = [document for document in documents if not document["left_out"]]
    chosen.sort(key=lambda document: int(document["page_count"]))
    warm_up, chosen = chosen[:WARM_UP_DOCUMENTS], chosen[WARM_UP_DOCUMENTS:]
    questions = [item["question"] for item in json.loads((folder / QUESTIONS).read_text())]
    if quick:
        chosen, questions = chosen[-QUICK_DOCUMENTS:], questions[:QUICK_QUESTIONS]
    files = sorted(Path(document["file"]) for document in chosen)
    portions = 1 if quick else PORTIONS
    return Work(
        warm_up=[Path(document["file"]) for document in warm_up],
        portions=[files[number::portions] for number in range(portions)],
        page_count=sum(document["page_count"] for document in chosen),
        questions=questions,
        left_out=group_left_out(documents, folder),
    )


def find_documents(corpus: Path) -> Path:
    """Return the folder of planning documents: `planning` in the corpus, or the corpus itself."""
    folder = corpus / "planning" if (corpus / "planning").is_dir() else corpus
    if not (folder / QUESTIONS).is_file():
        raise SystemExit(f"planning/{QUESTIONS} not found in {corpus}. Pass the corpus folder.")
    return folder.resolve()


def group_left_out(documents: Sequence[Document], folder: Path) -> dict[str, list[str]]:
    """Group the names of the excluded documents by reason."""
    groups: dict[str, list[str]] = {}
    for document in documents:
        if reason := document["left_out"]:
            groups.setdefault(reason, []).append(str(Path(document["file"]).relative_to(folder)))
    return groups


def run_module(module: str, *arguments: str) -> Any:
    """Run a module in a separate process and return the JSON that it prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)
