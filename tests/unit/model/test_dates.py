from datetime import date

import pytest

from quinion.errors import InvalidDate
from quinion.model.dates import (
    OPEN_END,
    date_to_int,
    days_since_epoch,
    end_to_int,
    parse_date,
)


def test_a_date_is_year_month_day() -> None:
    assert parse_date("2024-03-15") == date(2024, 3, 15)
    assert parse_date("2024-02-29") == date(2024, 2, 29)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("2024-02-30", "2024-02 has 29 days"),
        ("2023-02-29", "2023-02 has 28 days"),
        ("2023-01-32", "2023-01 has 31 days"),
        ("2023-12-32", "2023-12 has 31 days"),
        ("0001-02-30", "0001-02 has 28 days"),
        ("2024-13-01", "no month 13"),
        ("2024-00-10", "no month 00"),
        ("0000-01-01", "no year 0000"),
        ("20240315", "Write 2024-03-15"),
        ("2024/03/15", "Write 2024-03-15"),
        ("2024-3-5", "Write 2024-03-05"),
        (" 2024-03-15", "Write 2024-03-15"),
        ("2024-03-15\n", "Write 2024-03-15"),
        ("15/03/2024", "year, month, day"),
        ("20241340", "year, month, day"),
        ("2024-03-15T00:00:00", "year, month, day"),
        ("٢٠٢٤-٠٣-١٥", "year, month, day"),
        ("tomorrow", "year, month, day"),
        ("x" * 10_000, "…"),
        ("", "empty"),
        ("  ", "empty"),
    ],
)
def test_any_other_form_is_refused_with_the_expected_form(text: str, says: str) -> None:
    with pytest.raises(InvalidDate, match=says) as refusal:
        parse_date(text)
    assert len(refusal.value.message) < 150


def test_chunks_carry_dates_as_integers_and_an_open_end_as_the_last_one() -> None:
    assert date_to_int(date(2024, 12, 12)) == 20241212
    assert end_to_int(None) == OPEN_END == 99991231
    assert end_to_int(date(2024, 12, 11)) == 20241211


def test_scores_are_days_since_1970() -> None:
    assert days_since_epoch(date(1970, 1, 1)) == 0
    assert days_since_epoch(date(1969, 12, 31)) == -1
    assert days_since_epoch(date(2024, 12, 12)) == 20069
