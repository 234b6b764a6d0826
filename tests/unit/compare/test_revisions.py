"""Comparison of two revisions, from sections to rows."""

from quinion.compare.revisions import compare
from quinion.model.comparison import Change, Comparison, Flag, SectionText
from tests.policy_texts import section

HOMES = "Homes should be built within 10 minutes of a station, and schemes need evidence of it."
SHOPS = "Shops belong in the town centre, unless no site can be found there within reason."
TREES = "Trees along new streets give shade and hold back rain that would flood the sewers."


def revision(*texts: str, chapter: int = 1, first: int = 1) -> list[SectionText]:
    outer = f"Chapter {chapter}"
    head = section(outer, f"{chapter}. Title of chapter {['one', 'two', 'three'][chapter - 1]}")
    numbered = [section(f"Para {n}", f"{n}. {text}", outer) for n, text in enumerate(texts, first)]
    return [head, *numbered]


def changes(comparison: Comparison) -> list[tuple[Change, str]]:
    return [(row.change, row.refs) for row in comparison.changed]


def test_a_revision_against_itself_is_unchanged() -> None:
    found = compare(revision(HOMES, SHOPS), revision(HOMES, SHOPS))
    assert changes(found) == []
    assert found.counts[Change.UNCHANGED] == 3


def test_print_is_unchanged() -> None:
    printed = HOMES.replace("10 minutes of", "10 min-\nutes of").replace(", and", " — and")
    assert changes(compare(revision(HOMES), revision(printed))) == []


def test_changed_words_are_shown_with_their_flags() -> None:
    new = HOMES.replace("should", "must").replace("10", "15")
    (row,) = compare(revision(HOMES), revision(new)).changed
    assert (row.change, row.refs) == (Change.REWORDED, "Para 1")
    assert [(d.before, d.after, d.flags) for d in row.differences] == [
        ("should", "must", (Flag.OBLIGATION,)),
        ("10", "15", (Flag.NUMBER,)),
    ]
    assert row.flags == (Flag.NUMBER, Flag.OBLIGATION)
    assert [row.text_before[slice(*d.before_span)] for d in row.differences] == ["should", "10"]
    assert [row.text_after[slice(*d.after_span)] for d in row.differences] == ["must", "15"]


def test_an_added_paragraph_renumbers_those_after_it() -> None:
    found = compare(revision(HOMES, SHOPS), revision(HOMES, TREES, SHOPS))
    assert changes(found) == [(Change.ADDED, "Para 2"), (Change.RENUMBERED, "Para 2 → Para 3")]
    assert found.reworded == 0


def test_a_removed_paragraph_stands_where_it_was() -> None:
    found = compare(revision(HOMES, TREES, SHOPS), revision(HOMES, SHOPS))
    assert changes(found) == [(Change.REMOVED, "Para 2"), (Change.RENUMBERED, "Para 3 → Para 2")]


def test_a_paragraph_in_another_chapter_was_moved() -> None:
    before = revision(HOMES, SHOPS, TREES) + revision(TREES[::-1], chapter=2, first=4)
    after = revision(HOMES, TREES) + revision(TREES[::-1], SHOPS, chapter=2, first=3)
    found = {refs: change for change, refs in changes(compare(before, after))}
    assert found["Para 2 → Para 4"] is Change.MOVED
    assert found["Para 3 → Para 2"] is Change.RENUMBERED


def test_a_chapter_with_another_number_does_not_move_its_paragraphs() -> None:
    before = revision(HOMES, SHOPS)
    after = [
        section("Chapter 5", before[0].text.replace("1.", "5.")),
        *(section(one.ref, one.text, "Chapter 5") for one in before[1:]),
    ]
    assert changes(compare(before, after)) == [(Change.RENUMBERED, "Chapter 1 → Chapter 5")]


def test_a_split_paragraph_shows_the_words_that_changed_beside() -> None:
    before = revision(f"{HOMES} {SHOPS}")
    after = revision(HOMES, SHOPS.replace("unless", "even if"))
    (row,) = compare(before, after).changed
    assert (row.change, row.refs) == (Change.SPLIT, "Para 1 → Para 1, Para 2")
    assert [(d.before, d.after) for d in row.differences] == [("unless", "even if")]
    assert row.text_after[slice(*row.differences[0].after_span)] == "even if"
    (mirrored,) = compare(after, before).changed
    assert mirrored == row.mirror()
    assert mirrored.change is Change.MERGED


def test_a_heading_with_other_words_was_reworded_not_renumbered() -> None:
    before = [*revision(HOMES), section("Rural housing", "Rural housing", "Chapter 1")]
    after = [*revision(HOMES), section("Rural homes housing", "Rural homes housing", "Chapter 1")]
    (row,) = compare(before, after).changed
    assert row.change is Change.REWORDED


def test_a_heading_that_got_a_number_was_renumbered() -> None:
    before = [*revision(HOMES), section("Rural housing", "Rural housing", "Chapter 1")]
    after = [*revision(HOMES), section("Policy H2", "H2: Rural housing", "Chapter 1")]
    (row,) = compare(before, after).changed
    assert (row.change, row.is_reworded) == (Change.RENUMBERED, False)


def test_misread_letters_on_many_places_are_no_change() -> None:
    before = revision(*(f"{HOMES} {SHOPS} {TREES} Number{n}." for n in range(40)))
    read = [
        section(
            one.ref,
            one.text.replace("evidence", "evldence").replace("sewers", "sewcrs"),
            *one.path[:-1],
        )
        for one in before
    ]
    found = compare(before, read)
    assert changes(found) == []
    assert all(d.is_spelling for row in found.rows for d in row.differences)
    assert sum(len(row.differences) for row in found.rows) == 80


def test_a_single_word_with_other_letters_is_a_change() -> None:
    (row,) = compare(revision(HOMES), revision(HOMES.replace("evidence", "evldence"))).changed
    assert row.is_reworded


def test_an_empty_revision() -> None:
    assert changes(compare([], revision(HOMES))) == [
        (Change.ADDED, "Chapter 1"),
        (Change.ADDED, "Para 1"),
    ]
    assert compare([], []).rows == ()
