"""Rendering of benchmark results as a page."""

from dataclasses import asdict
from datetime import date
from json import dumps, loads
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.page import write_claims, write_page
from bench.part import Part, claim, read_part
from bench.plot import draw
from bench.runner import Outcome, read_outcome
from bench.table import measured, number, spread, table

FASTER = claim("ingest, against <them>", [2.0, 3.0, 2.5], target=2.5)
LARGER = claim("memory, of theirs", [0.6], target=0.5, at_most=True)
PART = Part("text", "Text", "A table.", [FASTER, LARGER], {"ours": [(1e4, 3.0), (1e6, 9.0)]})
OUTCOME = Outcome(PART, date(2026, 11, 15), 90.0, 0.25)


def test_a_claim_is_the_median_with_its_range() -> None:
    assert (FASTER.low, FASTER.value, FASTER.high) == (2.0, 2.5, 3.0)


@pytest.mark.parametrize(
    ("value", "target", "at_most", "met"),
    [
        (2.5, 2.5, False, True),
        (2.4, 2.5, False, False),
        (0.5, 0.5, True, True),
        (0.6, 0.5, True, False),
        (1.0, None, False, None),
    ],
)
def test_a_target_is_a_lower_limit_or_an_upper_one(
    value: float, target: float | None, at_most: bool, met: bool | None
) -> None:
    assert claim("it", [value], target=target, at_most=at_most).met is met


def test_a_part_survives_its_journey_as_json() -> None:
    assert read_part(loads(dumps(asdict(PART)))) == PART


def test_an_outcome_is_kept_in_a_file(tmp_path: Path) -> None:
    OUTCOME.write(tmp_path / "parts" / "text.json")
    assert read_outcome(tmp_path / "parts" / "text.json") == OUTCOME


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0"), (0.01234, "0.0123"), (1.234, "1.23"), (12.34, "12.3")),
        *((99.96, "100"), (123.4, "123"), (12345.6, "12,346")),
    ],
)
def test_numbers_have_three_digits_that_count(value: float, text: str) -> None:
    assert number(value) == text


def test_a_range_is_given_where_there_is_one() -> None:
    assert spread([2.0, 3.0, 2.5], "×") == "2.50× (2.00–3.00)"
    assert spread([-0.02, 0.01]) == "-0.00500 (-0.0200 to 0.0100)"
    assert measured(7, 7, 7, "ms") == "7.00 ms"


def test_a_table_has_a_rule_below_its_head() -> None:
    assert table(("a", "b"), [("c", "d")]) == "| a | b |\n| --- | ---: |\n| c | d |"


def test_claims_report_whether_they_are_met() -> None:
    lines = write_claims([OUTCOME]).splitlines()[2:]
    assert lines == [
        "| ingest, against <them> | **2.50× (2.00–3.00)** | ≥ 2.5× | met |",
        "| memory, of theirs | **0.600×** | ≤ 0.5× | **missed** |",
    ]


def test_the_page_has_every_part_and_names_those_that_failed(tmp_path: Path) -> None:
    write_page(tmp_path, [OUTCOME], ["growth"])
    page = (tmp_path / "benchmarks.md").read_text()
    assert "\n## Text\n\nA table.\n" in page
    assert "because the part failed: growth." in page
    assert "| text | 15 November 2026 | 1.50 min | 25% |" in page
    assert "(benchmarks.svg)" in page


def test_the_plot_shows_gains_and_series() -> None:
    texts = [element.text for element in ElementTree.fromstring(draw([PART])).iter()]
    assert "ingest, against <them>" in texts
    assert "memory, of theirs" not in texts
    assert "ours: 9.00 ms at 1,000,000" in texts


def test_a_plot_of_nothing_is_still_one() -> None:
    assert ElementTree.fromstring(draw([])).tag.endswith("svg")
