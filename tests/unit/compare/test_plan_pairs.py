"""Two plans of one council, seven years apart, from JSON: their policies find each other."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from quinion.compare.revisions import compare
from quinion.model.comparison import Change, SectionText
from tests.seeded_edits import sections_of
from tests.unit.compare.test_seeded_edits import read_lines

CORPUS = os.environ.get("QUINION_CORPUS", "")
PLANS = ("Local_Plan_nested.json", "Draft_New_Camden_Local_Plan_2024_v1_nested.json")
DRAFT = "planning/nppf/NPPF_2025-12_draft.pdf"
MEGABYTE_IN_KB = 1024

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not CORPUS, reason="set QUINION_CORPUS to the folder of documents"),
]

_NUMBERED = re.compile(r"(?<=\s)(?=\d{1,2}\.\d{1,3} [A-Z‘])")
_POLICY = re.compile(r"(?:Policy )?([A-Z]{1,3} ?\d{1,2})\b[\s:–-]")
_CHAPTER = re.compile(r"Chapter (\d+)")


def read_plan(name: str) -> list[SectionText]:
    """Read the sections of a plan: its headings, and the numbered paragraphs below them."""
    plan = json.loads(Path(CORPUS, "planning/plan_pairs_json", name).read_text())
    return list(_walk(plan["sections"], ()))


def _walk(items: Sequence[Mapping[str, Any]], path: tuple[str, ...]) -> Iterator[SectionText]:
    for item in items:
        heading = _clean(item["heading"])
        if heading == "Contents":
            continue
        here = (*path, _name(heading))
        first, *numbered = _NUMBERED.split(f" {_clean(item['content'])}")
        yield SectionText(here[-1], here, (1,), f"{heading}\n{first.strip()}".strip())
        for text in numbered:
            ref = f"Para {text.split()[0]}"
            yield SectionText(ref, (*here, ref), (1,), text.strip())
        yield from _walk(item["subsections"], here)


def _name(heading: str) -> str:
    if match := _POLICY.match(heading):
        return f"Policy {match[1]}"
    return match[0] if (match := _CHAPTER.match(heading)) else heading[:80]


def _clean(text: str) -> str:
    return " ".join(text.replace("*", " ").split())


@pytest.mark.slow
def test_policies_of_the_new_plan_are_paired_with_those_that_they_replace() -> None:
    before, after = map(read_plan, PLANS)
    found = compare(before, after)
    print(found.counts, found.reworded, found.changed_share)
    pairs = {row.refs for row in found.rows if row.before and row.after}
    assert pairs >= {
        *(f"Policy H{number}" for number in range(1, 12)),
        *("Policy C1 → Policy SC1", "Policy C4 → Policy SC6", "Policy C5 → Policy A2"),
        *("Policy A3 → Policy NE2", "Policy A5 → Policy D6", "Policy TC6 → Policy IE10"),
        *("Policy D2 → Policy D5", "Policy D3 → Policy D8", "Policy D4 → Policy D7"),
        *("Policy E3 → Policy IE5", "Policy CC4 → Policy A3", "Policy T2 → Policy T5"),
    }


def test_a_plan_against_itself_is_unchanged() -> None:
    plan = read_plan(PLANS[0])
    assert compare(plan, list(plan)).counts[Change.UNCHANGED] == len(plan)


@pytest.mark.slow
def test_two_revisions_of_127_pages_take_less_than_three_seconds_and_300_mb() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "tests.unit.compare.test_plan_pairs"],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = map(float, ended.stdout.split())
    print(ended.stdout)
    assert seconds < 3
    assert megabytes < 300


def measure() -> None:
    """Print the processor seconds of a comparison and the most memory of this process, in MB.

    The kernel's peak of this program (Linux): `getrusage` would also count the process that forked
    it.
    """
    before = sections_of(read_lines(DRAFT))
    after = [
        SectionText(
            one.ref, one.path, one.pages, re.sub(r"((?:\w+\W+){9})\w+", r"\1other", one.text)
        )
        for one in before
    ]
    start = time.process_time()
    compare(before, after)
    seconds = time.process_time() - start
    status = Path("/proc/self/status").read_text()
    most = int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / MEGABYTE_IN_KB
    print(f"{seconds:.2f} {most:.0f}")


if __name__ == "__main__":
    measure()
