"""Date formats of the Policy KB: `YYYY-MM-DD`, the integer YYYYMMDD, days since 1970.

Users and the registry see text. The vector store filters by the integer. Days since the Unix
epoch are the scores of the registry's sorted sets. A missing end date is `None` in objects and
`OPEN_END` in the metadata of chunks.
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
    """Parse `YYYY-MM-DD`; other formats are not guessed.

    Raises:
        InvalidDate: the format is wrong, or the calendar has no such day.
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
    """Convert a date to an integer: 2024-03-15 to 20240315."""
    return day.year * 10000 + day.month * 100 + day.day


def end_to_int(end: date | None) -> int:
    """Convert the last day of a period to an integer; `OPEN_END` if it has no end."""
    return OPEN_END if end is None else date_to_int(end)


def days_since_epoch(day: date) -> int:
    """Days since 1970-01-01; negative for earlier dates."""
    return day.toordinal() - _EPOCH


def _hint(text: str) -> str:
    """Suggest the correct spelling unless it is ambiguous, as for 03/04/2024."""
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
