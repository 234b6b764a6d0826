"""Rows of a comparison: how much changed, and the rows of one section."""

from quinion.compare.revisions import compare
from quinion.model.comparison import Change, Comparison, Row, SectionText

HOMES = "Homes should be built within 10 minutes of a station, and schemes need evidence of it."
SHOPS = "Shops belong in the town centre, unless no site can be found there within reason."
TREES = "Trees along new streets give shade and hold back rain that would flood the sewers."


def section(ref: str, text: str, *outer: str) -> SectionText:
    return SectionText(ref, (*outer, ref), (1,), text)


def revision(chapter: str, *texts: str) -> list[SectionText]:
    numbered = [section(f"Para {n}", f"{n}. {text}", chapter) for n, text in enumerate(texts, 1)]
    return [section(chapter, f"{chapter} of this plan"), *numbered]


def test_the_changed_share_is_that_of_the_words_of_both_texts() -> None:
    same = compare(revision("Chapter 1", HOMES), revision("Chapter 1", HOMES))
    assert same.changed_share == 0.0
    assert compare([], []).changed_share == 0.0
    assert compare([], revision("Chapter 1", HOMES)).changed_share == 1.0
    one = SectionText("Para 1", ("Para 1",), (1,), "ten words")
    other = SectionText("Para 1", ("Para 1",), (1,), "six words")
    assert compare([one], [other]).changed_share in {6 / 18, 1.0}


def test_a_renumbered_section_does_not_count_as_changed_text() -> None:
    found = compare(revision("Chapter 1", HOMES, SHOPS), revision("Chapter 1", SHOPS, HOMES))
    assert found.counts[Change.RENUMBERED]
    assert found.changed_share == 0.0


def test_a_section_has_the_rows_inside_it_and_what_its_counterpart_lost() -> None:
    before = [*revision("Chapter 1", HOMES, TREES), section("Annex A", SHOPS)]
    after = [*revision("Chapter 1", HOMES), section("Annex A", SHOPS)]
    found = compare(before, after)

    def refs(path: tuple[str, ...], *, later: bool) -> list[str]:
        return [row.refs for row in found.list_within(path, later=later)]

    assert refs(("Chapter 1",), later=True) == ["Chapter 1", "Para 1", "Para 2"]
    assert refs(("Chapter 1",), later=False) == ["Chapter 1", "Para 1", "Para 2"]
    assert refs(("Chapter 1", "Para 1"), later=True) == ["Para 1"]
    assert refs(("Annex A",), later=True) == ["Annex A"]
    assert refs(("Annex B",), later=True) == []


def test_an_empty_row_of_words_has_no_size() -> None:
    row = Row(Change.UNCHANGED, (section("Map", ""),), (section("Map", ""),))
    assert (row.size, row.changed_size) == (0, 0)
    assert Comparison((row,)).changed_share == 0.0
