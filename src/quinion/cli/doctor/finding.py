"""Result of a check."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check; `advice` is the fix for a problem."""

    what: str
    well: bool
    found: str
    advice: str = ""
