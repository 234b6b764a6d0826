"""Misread letters, told from changes by the author."""

import pytest

from quinion.compare.spelling import looks_misread

KNOWN = frozenset(
    ["development", "should", "may", "adopt", "adapt", "sites", "many", "must", "modern", "10"]
)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("development", "deve1opment"),
        ("development", "devclopment"),
        ("development", "develop rnent"),
        ("should", "shou1d"),
        ("should", "shculd"),
        ("modern", "modem"),
        ("10", "1o"),
    ],
)
def test_misread_letters(before: str, after: str) -> None:
    assert looks_misread(before.split(), after.split(), KNOWN, KNOWN | set(after.split()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("adopt", "adapt"),
        ("should", "must"),
        ("may", "many"),
        ("may", "way"),
        ("10", "16"),
        ("sites", "site"),
        ("develop", "developed"),
        ("modern", "unmodern"),
        ("development", ""),
        ("development", "building"),
    ],
)
def test_changes_by_the_author(before: str, after: str) -> None:
    assert not looks_misread(before.split(), after.split(), KNOWN, KNOWN | set(after.split()))
