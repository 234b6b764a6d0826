"""Comparison of any two revisions: every section in one row, and the same in both directions."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from quinion.compare.revisions import compare
from quinion.model.comparison import Change, SectionText, sections_of

_WORDS = st.sampled_from(
    [
        "homes",
        "land",
        "must",
        "should",
        "may",
        "not",
        "5",
        "10",
        "2024",
        "a",
        "the",
        "of",
        "and",
        "rivers",
    ]
)
_TEXTS = st.lists(_WORDS, max_size=25).map(" ".join)
_REFS = st.sampled_from(
    ["Para 1", "Para 2", "Policy H1", "Aims", "Footnote 1", "Table 2", "Annex A", "Contents"]
)
_PATHS = st.lists(st.sampled_from(["Chapter 1", "Chapter 2", "Aims"]), max_size=2)
_SECTIONS = st.builds(
    lambda ref, outer, text: SectionText(ref, (*outer, ref), (1,), text), _REFS, _PATHS, _TEXTS
)
_REVISIONS = st.lists(_SECTIONS, max_size=14)


@settings(max_examples=100, deadline=None)
@given(_REVISIONS, _REVISIONS)
def test_every_section_is_in_exactly_one_row(
    before: list[SectionText], after: list[SectionText]
) -> None:
    found = sections_of(compare(before, after).rows)
    assert tuple(map(Counter, found)) == (Counter(before), Counter(after))


@settings(max_examples=100, deadline=None)
@given(_REVISIONS, _REVISIONS)
def test_exchanging_the_revisions_mirrors_the_rows(
    before: list[SectionText], after: list[SectionText]
) -> None:
    there, back = compare(before, after), compare(after, before)
    assert Counter(row.mirror() for row in there.rows) == Counter(back.rows)


@settings(max_examples=100, deadline=None)
@given(_REVISIONS)
def test_a_revision_against_itself_is_unchanged(sections: list[SectionText]) -> None:
    found = compare(sections, list(sections))
    assert all(row.change is Change.UNCHANGED and not row.differences for row in found.rows)
    assert sections_of(found.rows) == (sections, sections)


@settings(max_examples=100, deadline=None)
@given(_REVISIONS, _REVISIONS)
def test_differences_are_words_of_the_rows(
    before: list[SectionText], after: list[SectionText]
) -> None:
    for row in compare(before, after).rows:
        if row.change in {Change.ADDED, Change.REMOVED}:
            assert not row.differences
        for one in row.differences:
            assert row.text_before[slice(*one.before_span)] == one.before
            assert row.text_after[slice(*one.after_span)] == one.after
        assert (row.change is Change.UNCHANGED) <= (not row.is_reworded)
