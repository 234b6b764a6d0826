"""What a check says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `advice` is what to do about it."""

    what: str
    well: bool
    found: str
    advice: str = ""
