"""Days as the Policy KB writes them: `YYYY-MM-DD`, the integer YYYYMMDD, days since 1970.

Text is the form for people and the registry, the integer is what the vector store filters
by, and days since the Unix epoch are the scores of the registry's sorted sets. A period
without an end is None inside and `OPEN_END` on a chunk.
"""

import re
from calendar import monthrange
from datetime import date

from quinion.errors import InvalidDate

OPEN_END = 9999_12_31
LAST_DAY = date.max

_FORM = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_YEAR_FIRST = re.compile(r"([0-9]{4})[-/. ]?([0-9]{1,2})[-/. ]?([0-9]{1,2})")
_EPOCH = date(1970, 1, 1).toordinal()
_MAX_CHARACTERS = 40
_MONTHS = 12


def parse_date(text: str) -> date:
    """The day that `YYYY-MM-DD` names; no other form is guessed at.

    Raises:
        InvalidDate: another form, or a day that the calendar does not have.
    """
    if not text.strip():
        raise InvalidDate("The date is empty. Write it as YYYY-MM-DD, for example 2024-03-15.")
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidDate(f"{_truncate(text)} is not a date of the form YYYY-MM-DD.{_hint(text)}")
    year, month, day = map(int, match.groups())
    try:
        return date(year, month, day)
    except ValueError as error:
        raise InvalidDate(f"{text} is not a day: {_why_not(year, month)}.") from error


def date_to_int(day: date) -> int:
    """2024-03-15 as 20240315."""
    return day.year * 10000 + day.month * 100 + day.day


def int_to_date(number: int) -> date:
    """20240315 as 2024-03-15.

    Raises:
        InvalidDate: no day has that number.
    """
    try:
        return date(number // 10000, number // 100 % 100, number % 100)
    except (ValueError, OverflowError) as error:
        raise InvalidDate(f"{number} is not a day written as YYYYMMDD.") from error


def end_to_int(end: date | None) -> int:
    """The last day of a period; `OPEN_END` for one that has none."""
    return OPEN_END if end is None else date_to_int(end)


def int_to_end(number: int) -> date | None:
    """The reverse of `end_to_int`."""
    return None if number == OPEN_END else int_to_date(number)


def days_since_epoch(day: date) -> int:
    """0 for 1970-01-01, negative before it."""
    return day.toordinal() - _EPOCH


def _hint(text: str) -> str:
    """Offer the right spelling where only one is possible: 03/04/2024 has two readings."""
    if match := _YEAR_FIRST.fullmatch(text.strip()):
        year, month, day = map(int, match.groups())
        try:
            return f" Write {date(year, month, day).isoformat()}."
        except ValueError:
            pass
    return " Write it like 2024-03-15: year, month, day."


def _why_not(year: int, month: int) -> str:
    if year < date.min.year:
        return "there is no year 0000"
    if not 1 <= month <= _MONTHS:
        return f"there is no month {month:02d}"
    return f"{year:04d}-{month:02d} has {monthrange(year, month)[1]} days"


def _truncate(text: str) -> str:
    cut = text if len(text) <= _MAX_CHARACTERS else text[:_MAX_CHARACTERS] + "…"
    return repr(cut)
