"""What all sides are given to do: the documents, in portions, and the questions."""

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
"""By which sides take turns: few enough that several documents are nearly always under way."""
WARM_UP_DOCUMENTS = 3
QUICK_PAGES = 8
QUICK_DOCUMENTS = 3
QUICK_QUESTIONS = 10

Document = dict[str, Any]
"""As `survey.py` prints it."""


@dataclass(frozen=True)
class Work:
    warm_up: Sequence[Path]
    """Ingested before the others and not counted: one, then the others of them at once, so that all
    sides have loaded what they load late, and ours has started its workers."""
    portions: Sequence[Sequence[Path]]
    page_count: int
    """Of the portions."""
    questions: Sequence[str]
    left_out: Mapping[str, Sequence[str]]
    """The documents that are not measured, by the reason."""

    @property
    def files(self) -> list[Path]:
        return [file for portion in self.portions for file in portion]


def find_work(corpus: Path, *, quick: bool) -> Work:
    """The corpus' documents that have text, the shortest ones first, and its questions."""
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
    """The planning documents of the corpus, or the folder itself if it is that of them."""
    folder = corpus / "planning" if (corpus / "planning").is_dir() else corpus
    if not (folder / QUESTIONS).is_file():
        raise SystemExit(f"There is no planning/{QUESTIONS} in {corpus}. Give the corpus' folder.")
    return folder.resolve()


def group_left_out(documents: Sequence[Document], folder: Path) -> dict[str, list[str]]:
    """The names of the documents that are not measured, by the reason."""
    groups: dict[str, list[str]] = {}
    for document in documents:
        if reason := document["left_out"]:
            groups.setdefault(reason, []).append(str(Path(document["file"]).relative_to(folder)))
    return groups


def run_module(module: str, *arguments: str) -> Any:
    """What a module of ours prints as JSON, run in a process of its own."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)
