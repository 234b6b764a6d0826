"""Alignment of the sections of two revisions."""

from quinion.compare.alignment import Group, align
from quinion.compare.words import WordedSection
from quinion.model.comparison import SectionText
from tests.policy_texts import section

WINDFALL = "windfall sites need compelling evidence of a reliable source of land supply each year"
HERITAGE = "the setting of a listed building carries great weight in every decision on its future"
FLOOD = "homes belong where rivers do not flood and where the sewers can take a heavy storm"
ROADS = "new roads must leave room for buses bicycles and people who walk to school or work"
OTHER = "Lanterns light every harbour, quarry and viaduct; beacons burn along both banks of canals"
MORE = "Furnaces smoke above hamlets, and chimneys of old granaries keep warm what millers grind"


def groups(before: list[SectionText], after: list[SectionText]) -> set[Group]:
    return set(align(*([WordedSection.of(one) for one in side] for side in (before, after))))


def one(before: int, after: int) -> Group:
    return Group((before,), (after,))


def test_equal_revisions_are_paired_in_their_order() -> None:
    same = [section("Introduction", "Introduction", f"Chapter {n}") for n in (1, 2, 3)]
    same += [section("Para 1", WINDFALL), section("Para 1", WINDFALL), section("Map", "")]
    assert groups(same, list(same)) == {one(n, n) for n in range(6)}


def test_a_renumbered_paragraph_is_found_by_its_words() -> None:
    before = [section("Para 1", f"1. {WINDFALL}"), section("Para 2", f"2. {HERITAGE}")]
    after = [section("Para 1", f"1. {HERITAGE}"), section("Para 2", f"2. {FLOOD}")]
    assert groups(before, after) == {one(1, 0), Group((0,), ()), Group((), (1,))}


def test_a_reworded_paragraph_is_found_by_similarity() -> None:
    before = [section("Para 1", WINDFALL), section("Para 2", FLOOD)]
    after = [
        section("Para 7", "homes belong where rivers never flood and sewers can take storms"),
        section("Para 8", "windfall sites need strong evidence of a reliable supply of land"),
    ]
    assert groups(before, after) == {one(0, 1), one(1, 0)}


def test_the_same_number_with_other_words_is_another_paragraph() -> None:
    before, after = [section("Para 1", WINDFALL)], [section("Para 1", HERITAGE)]
    assert groups(before, after) == {Group((0,), ()), Group((), (0,))}


def test_a_paragraph_that_was_split_and_two_that_were_merged() -> None:
    whole = section("Para 1", f"{WINDFALL}. {HERITAGE}. {FLOOD}.")
    parts = [section(f"Para {n}", text) for n, text in enumerate((WINDFALL, HERITAGE, FLOOD), 1)]
    assert groups([whole], parts) == {Group((0,), (0, 1, 2))}
    assert groups(parts, [whole]) == {Group((0, 1, 2), (0,))}


def test_a_paragraph_that_repeats_another_is_new_not_split_off() -> None:
    before = [section("Para 1", f"{WINDFALL} {HERITAGE}")]
    after = [*before, section("Para 2", HERITAGE)]
    assert groups(before, after) == {one(0, 0), Group((), (1,))}


def test_a_paragraph_that_was_cut_to_a_fifth_is_the_same() -> None:
    before = [section("Para 1", " ".join((WINDFALL, HERITAGE, FLOOD, ROADS)))]
    assert groups(before, [section("Para 1", FLOOD)]) == {one(0, 0)}


def test_a_chapter_with_a_new_title_is_found_by_its_paragraphs() -> None:
    texts = (WINDFALL, HERITAGE, FLOOD)
    before = [section("Chapter 1", "1. Homes")]
    before += [section(f"Para {n}", text, "Chapter 1") for n, text in enumerate(texts)]
    after = [section("Chapter 4", "4. Places to live")]
    after += [section(f"Para {n}", text, "Chapter 4") for n, text in enumerate(texts, 30)]
    assert groups(before, after) == {one(n, n) for n in range(4)}


def test_a_chapter_is_not_taken_for_its_first_paragraph() -> None:
    before = [section("Chapter 6", "6. Homes for all"), section("Para 61", WINDFALL, "Chapter 6")]
    after = [section("Chapter 9", f"9. Homes for all\n{HERITAGE} {WINDFALL}")]
    assert Group((0, 1), (0,)) in groups(before, after)


def test_equal_headings_are_told_apart_by_their_chapters() -> None:
    before = [section("Chapter 1", "1. Homes"), section("Aims", "Aims", "Chapter 1")]
    after = [
        *(section("Chapter 1", "1. Roads"), section("Aims", "Aims", "Chapter 1")),
        *(section("Chapter 2", "2. Homes"), section("Aims", "Aims", "Chapter 2")),
    ]
    assert groups(before, after) >= {one(0, 2), one(1, 3)}


def test_a_footnote_becomes_a_paragraph_if_it_has_its_words() -> None:
    before = [section("Footnote 1", f"1 {WINDFALL} for everyone")]
    after = [section("Para 9", f"9. {WINDFALL} for people")]
    assert groups(before, after) == {one(0, 0)}
    some = " ".join(WINDFALL.split()[:6])
    other = [section("Para 9", f"9. {some} {HERITAGE}")]
    assert groups(before, other) == {Group((0,), ()), Group((), (0,))}


def test_a_list_is_split_if_a_policy_has_one_of_its_items_and_much_else() -> None:
    before = [section("Para 1", f"1. Plans should: a) {ROADS}; b) {FLOOD}; and c) {WINDFALL}.")]
    kept = section("Para 7", f"7. Every decision says that {ROADS}; and {FLOOD}.")
    item = WINDFALL.replace("compelling", "strong")
    gone = section("Para 8", f"8. {OTHER}. {MORE}. {HERITAGE}. {item}.")
    assert groups(before, [kept, gone]) == {Group((0,), (0, 1))}
    assert groups([kept, gone], before) == {Group((0, 1), (0,))}
    unlike = section("Para 8", f"8. {OTHER}. {MORE}. {HERITAGE}.")
    assert groups(before, [kept, unlike]) == {one(0, 0), Group((), (1,))}


def test_an_item_that_the_counterpart_has_as_well_splits_nothing_off() -> None:
    before = [section("Para 1", f"1. Plans should: a) {ROADS}; and b) {WINDFALL}.")]
    copy = section("Para 8", f"8. {HERITAGE}. {FLOOD}. {WINDFALL}.")
    assert groups(before, [*before, copy]) == {one(0, 0), Group((), (1,))}


def test_paragraphs_without_counterparts_are_paired_by_a_sentence_that_they_share() -> None:
    before = [section("Para 1", f"1. {WINDFALL}. {FLOOD}. {OTHER}.")]
    after = [section("Para 8", f"8. {HERITAGE}. {ROADS}. {MORE}. {WINDFALL}.")]
    assert groups(before, after) == {one(0, 0)}
    after = [section("Para 8", f"8. {HERITAGE}. {ROADS}. {MORE}.")]
    assert groups(before, after) == {Group((0,), ()), Group((), (0,))}


def test_a_footnote_is_never_a_chapter() -> None:
    before = [section("Footnote 1", f"1 {WINDFALL} for everyone")]
    after = [section("Chapter 9", f"9. {WINDFALL} for people")]
    assert groups(before, after) == {Group((0,), ()), Group((), (0,))}


def test_a_paragraph_below_a_title_is_merged_into_a_longer_title() -> None:
    before = [section("Chapter 6", "6. Homes for all"), section("Para 61", WINDFALL, "Chapter 6")]
    half = " ".join(WINDFALL.split()[: len(WINDFALL.split()) * 2 // 3])
    after = [section("Chapter 9", f"9. Homes for all\nThis chapter has one aim. {half}")]
    assert groups(before, after) == {Group((0, 1), (0,))}


def test_sections_with_little_in_common_are_paired_next_to_paired_ones_only() -> None:
    changed = " ".join([*WINDFALL.split()[:3], *FLOOD.split()[:6]])
    alone = [section("Para 1", WINDFALL)], [section("Para 2", changed)]
    assert groups(*alone) == {Group((0,), ()), Group((), (0,))}
    kept = section("Para 8", "Routes for cycling must be direct, safe and lit along their length.")
    near = [*alone[0], kept], [*alone[1], kept]
    assert groups(*near) == {one(0, 0), one(1, 1)}


def test_sections_with_little_in_common_stay_apart_if_one_is_more_alike_to_another() -> None:
    kept = section("Para 8", f"{WINDFALL} in the long term")
    changed = " ".join([*WINDFALL.split()[:3], *FLOOD.split()[:6]])
    before = [kept, section("Para 9", changed)]
    after = [kept, section("Para 9", f"{WINDFALL.replace('reliable', 'steady')} or so")]
    assert groups(before, after) == {one(0, 0), Group((1,), ()), Group((), (1,))}


def test_a_part_that_was_reworded_is_attached_near_a_pair() -> None:
    part = " ".join([*FLOOD.split()[:9], "except on hills of chalk"])
    before = [section("Para 1", f"{ROADS} {HERITAGE}"), section("Para 2", part)]
    after = [section("Para 1", f"{ROADS} {HERITAGE} {FLOOD}")]
    assert groups(before, after) == {Group((0, 1), (0,))}
    filling = [section(f"Para {n}", f"{n} {'word' * n} is said once") for n in range(10, 30)]
    far = [before[0], *filling, before[1]]
    assert groups(far, after) >= {one(0, 0), Group((21,), ())}


def test_an_empty_revision_has_only_added_sections() -> None:
    assert groups([], [section("Para 1", WINDFALL)]) == {Group((), (0,))}
    assert groups([], []) == set()
