from datetime import UTC, date, datetime

import pytest

from quinion.cli.policy.timeline import LABEL_WIDTH, draw_timeline
from quinion.model.policy import Revision, RevisionStatus

TODAY = date(2026, 2, 14)
WIDTH = 80


def revision(
    label: str,
    start: date,
    end: date | None = None,
    status: RevisionStatus = RevisionStatus.ACTIVE,
) -> Revision:
    return Revision(
        revision_id=f"rev_{label}",
        source="NPPF",
        version_label=label,
        effective_from=start,
        effective_to=end,
        status=status,
        file_path=None,
        file_size_bytes=None,
        page_count=None,
        chunk_count=0,
        notes="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        ingested_at=None,
        error=None,
    )


OLD = revision("September 2023", date(2023, 9, 5), date(2024, 12, 11))
NEW = revision("December 2024", date(2024, 12, 12))


def draw(*revisions: Revision, today: date = TODAY, width: int = WIDTH) -> list[str]:
    return list(draw_timeline(revisions, today, width))


def bar_of(line: str) -> str:
    return line[LABEL_WIDTH + 1 :]


def test_no_revisions_draw_nothing() -> None:
    assert draw() == []


def test_the_spec_s_example() -> None:
    assert draw(NEW, OLD, width=60) == [
        "September 2023           ███████████████            ▏",
        "December 2024                          ███████████████████▶",
        "                             2024       2025       2026",
    ]


def test_the_oldest_is_at_the_top_with_its_label() -> None:
    lines = draw(NEW, OLD)
    assert [line[:LABEL_WIDTH].rstrip() for line in lines] == [
        "September 2023",
        "December 2024",
        "",
    ]


def test_one_that_follows_another_begins_where_that_ends() -> None:
    old, new = (bar_of(line) for line in draw(OLD, NEW)[:2])
    assert old.startswith("█")
    assert 0 <= new.index("█") - old.rindex("█") <= 1


def test_a_gap_is_seen() -> None:
    later = revision("Later", date(2025, 12, 1))
    old, new = (bar_of(line) for line in draw(OLD, later)[:2])
    assert new.index("█") - old.rindex("█") > 5


def test_one_without_an_end_has_an_arrow_and_goes_past_today() -> None:
    [line, _] = draw(NEW)
    assert bar_of(line).endswith("▶")
    assert "▶" not in "".join(draw(OLD))
    past = bar_of(draw(OLD, NEW)[0])
    assert bar_of(draw(OLD, NEW)[1]).index("▶") > past.index("▏")


def test_one_without_a_text_is_drawn_lighter() -> None:
    for status in (RevisionStatus.PROCESSING, RevisionStatus.FAILED):
        [line, _] = draw(revision("A", date(2020, 1, 1), date(2021, 1, 1), status))
        assert "░" in line and "█" not in line
    for status in (RevisionStatus.ACTIVE, RevisionStatus.SUPERSEDED):
        [line, _] = draw(revision("A", date(2020, 1, 1), date(2021, 1, 1), status))
        assert "█" in line and "░" not in line


def test_today_is_marked_where_no_bar_is() -> None:
    old, new, _ = draw(OLD, NEW)
    assert "▏" in old
    assert "▏" not in new  # in force: the mark would hide part of it
    future = revision("Future", date(2027, 1, 1), date(2028, 1, 1))
    assert "▏" in draw(OLD, future)[0]


def test_years_stand_where_they_begin() -> None:
    lines = draw(OLD, NEW)
    years = bar_of(lines[-1])
    assert years.startswith("2023")
    for year in ("2024", "2025", "2026"):
        assert year in years
    # The new one starts a little before 2025 does.
    assert 0 <= years.index("2025") - bar_of(lines[1]).index("█") <= 2


def test_lines_are_no_wider_than_the_terminal() -> None:
    long = revision("A label that is much longer than there is room for", date(1947, 8, 6))
    for width in (60, 80, 200):
        assert max(len(line) for line in draw(long, OLD, NEW, width=width)) <= width


def test_a_narrow_terminal_still_shows_something() -> None:
    lines = draw(OLD, NEW, width=10)
    assert "█" in lines[0]


def test_a_revision_of_one_day_is_seen() -> None:
    day = revision("One day", date(1990, 1, 1), date(1990, 1, 1))
    assert "█" in draw(day, NEW)[0]
    alone = revision("Today", TODAY, TODAY)
    assert "█" in draw(alone)[0]


@pytest.mark.parametrize("end", [date(9999, 12, 30), date(9999, 1, 1)])
def test_a_revision_that_ends_in_the_far_future_can_be_drawn(end: date) -> None:
    assert "█" in draw(revision("Long", date(2020, 1, 1), end))[0]


def test_a_revision_of_the_distant_past_can_be_drawn() -> None:
    assert "█" in draw(revision("Old", date(1, 1, 1), date(2, 1, 1)), NEW)[0]


def test_a_share_of_changed_text_is_written_behind_its_bar() -> None:
    lines = list(draw_timeline([OLD, NEW], TODAY, WIDTH, {NEW.revision_id: 0.126}))
    assert lines[1].endswith("  13% changed")
    assert "changed" not in lines[0]
    assert max(map(len, lines)) <= WIDTH
