from dataclasses import dataclass

import pytest

from quinion.chunk.sections.references import choices, join_chunks, normalize_ref, select
from quinion.model.section import SectionChunk


@dataclass(frozen=True)
class Item:
    path: tuple[str, ...]


def items(*paths: str) -> list[Item]:
    return [Item(tuple(path.split(" > "))) for path in paths]


PLAN = items(
    "Front matter",
    "Chapter 5",
    "Chapter 5 > Housing need",
    "Chapter 5 > Housing need > Para 5.1",
    "Chapter 5 > Housing need > Para 5.1 > Table 5-2",
    "Chapter 5 > Policy CSP 1",
    "Chapter 5 > Policy CSP 1 > Policy CSP 1 Para 1",
    "Chapter 5 > Policy CSP 1 > Policy CSP 1 Para 2",
    "Chapter 5 > Policy CSP 10",
    "Chapter 5 > Policy CSP 10 > Policy CSP 10 Para 2",
    "Chapter 5 > Footnote 7",
    "Chapter 6",
    "Chapter 6 > Section 6.1",
    "Chapter 6 > Housing need",
    "Annex 2",
    "Annex 2 > Figure 3",
)


def selected(asked: str) -> list[str]:
    return [item.path[-1] for item in select(PLAN, asked)]


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("Para 116", ["paragraph 116", "PARA. 116", "  Paragraph   116 ", "¶116", "para 116."]),
        ("Figure 3", ["fig. 3", "FIG 3", "Figure 3: A lane"]),
        ("Table 5-2", ["table 5–2", "Table 5.2", "TABLE  5-2"]),
        ("Chapter 9", ["chapter IX", "Chapter nine", "ch. 9", "CHAPTER 9: Transport"]),
        ("Policy CSP 1", ["policy csp1", "POLICY CSP 1", "Policy CSP1 – Homes"]),
        ("Policy PM1 Para 2", ["policy PM1(2)", "Para 2 of Policy PM1", "Policy PM1, paragraph 2"]),
        ("Appendix B", ["app. b", "APPENDIX B – Standards"]),
        ("Housing need", ["housing  NEED", "Housing need."]),
    ],
)
def test_references_to_the_same_section_are_equal(written: str, same: list[str]) -> None:
    assert {normalize_ref(other) for other in same} == {normalize_ref(written)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Para 11", "Para 116"),
        ("Para 5.1", "Para 51"),
        ("Policy H1", "Para 1"),
        ("Table 2", "Figure 2"),
        ("Annex A", "Annex B"),
        ("Policy H1", "Policy H10"),
        ("Part of the plan", "Part 1"),
    ],
)
def test_references_to_different_sections_are_not(one: str, other: str) -> None:
    assert normalize_ref(one) != normalize_ref(other)


def test_a_paragraph_is_selected_alone_and_a_chapter_with_all_inside() -> None:
    assert selected("paragraph 5.1") == ["Para 5.1", "Table 5-2"]
    assert selected("Chapter 5") == [item.path[-1] for item in PLAN[1:11]]


def test_a_policy_does_not_select_one_whose_code_begins_alike() -> None:
    assert selected("Policy CSP1") == ["Policy CSP 1", "Policy CSP 1 Para 1", "Policy CSP 1 Para 2"]


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("CSP 1", "Policy CSP 1"),
        ("5.1", "Para 5.1"),
        ("6", "Chapter 6"),
        ("Section 5", "Chapter 5"),
        ("Para 6.1", "Section 6.1"),
        ("Appendix 2", "Annex 2"),
        ("Para 5.1a", "Para 5.1"),
        ("paragraph 5.1(a)", "Para 5.1"),
        ("Chapter 6 housing need", "Housing need"),
        ("Policy CSP 1(2)", "Policy CSP 1 Para 2"),
        ("Para 1", "Policy CSP 1 Para 1"),
    ],
)
def test_informal_references_are_understood(asked: str, first: str) -> None:
    assert selected(asked)[0] == first


def test_a_name_that_several_sections_have_selects_none_and_offers_all() -> None:
    assert selected("Housing need") == []
    assert choices(PLAN, "Housing need") == ["Chapter 5 Housing need", "Chapter 6 Housing need"]
    assert choices(PLAN, "Para 2") == [
        "Chapter 5 Policy CSP 1 Para 2",
        "Chapter 5 Policy CSP 10 Para 2",
    ]


@pytest.mark.parametrize(
    "asked", ["Para 999", "", " ", "Chapter", "Policy", "No such heading", "§"]
)
def test_unknown_references_select_nothing(asked: str) -> None:
    assert selected(asked) == []
    assert choices(PLAN, asked) == []


def chunk(section_index: int, start: int, text: str) -> SectionChunk:
    return SectionChunk(
        0, text, "Para 1", ("Para 1",), (1,), section_index, start, start + len(text)
    )


def test_joined_chunks_have_each_character_once_and_sections_apart() -> None:
    chunks = [
        chunk(4, 0, "one two"),
        chunk(4, 4, "two three"),
        chunk(4, 14, "four"),
        chunk(5, 0, "five"),
    ]
    assert join_chunks(chunks) == "one two three four\n\nfive"
