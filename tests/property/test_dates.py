from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from quinion.errors import InvalidDate
from quinion.model.dates import (
    date_to_int,
    days_since_epoch,
    parse_date,
)


@given(st.dates())
def test_every_form_of_a_day_leads_back_to_it(day: date) -> None:
    assert parse_date(day.isoformat()) == day
    assert date_to_int(day) == int(day.strftime("%Y%m%d").zfill(8))
    assert date(1970, 1, 1) + timedelta(days=days_since_epoch(day)) == day


@given(st.dates(), st.dates())
def test_integers_and_scores_are_in_the_order_of_the_days(one: date, other: date) -> None:
    assert (one < other) == (date_to_int(one) < date_to_int(other))
    assert (one < other) == (days_since_epoch(one) < days_since_epoch(other))


@given(st.text() | st.from_regex("[0-9]{4}-[0-9]{2}-[0-9]{2}", fullmatch=True))
def test_a_text_is_a_day_in_the_one_form_or_refused(text: str) -> None:
    try:
        assert parse_date(text).isoformat() == text
    except InvalidDate as refusal:
        assert refusal.message
