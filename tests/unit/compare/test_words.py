"""Words of a section, in the form in which they are compared."""

import pytest

from quinion.compare.words import label_of, read_words
from quinion.model.section import Kind


def words(text: str, ref: str = "Para 1") -> list[str]:
    return list(read_words(ref, text).keys)


@pytest.mark.parametrize(
    ("ref", "text"),
    [
        ("Para 116", "116. Development should"),
        ("Para 5.12", "5.12 Development should"),
        ("Policy H1", "Policy H1: Development should"),
        ("Policy H1", "H1 – Development should"),
        ("Policy PM1 Para 2", "2. Development should"),
        ("Chapter 9", "Chapter 9 Development should"),
        ("Chapter 9", "9. Development should"),
        ("Footnote 12", "12 Development should"),
        ("Annex B", "Annex B: Development should"),
    ],
)
def test_the_number_of_a_section_is_not_part_of_its_words(ref: str, text: str) -> None:
    assert words(text, ref) == ["development", "should"]


def test_a_number_that_is_not_the_section_s_own_is_kept() -> None:
    assert words("30 dwellings are enough", "Para 3") == ["30", "dwellings", "are", "enough"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the area’s “need”", "the area's 'need'"),
        ("homes; and, where possible", "homes and where possible."),
        ("The Local Plan", "the local plan"),
        ("ﬁrst ofﬁce", "first office"),
        ("1,000 homes", "1000 homes"),
        ("the development plan2, unless", "the development plan, unless"),
        ("indicate otherwise.3 The", "indicate otherwise. The"),
        ("a b\n\n c", "a  b c"),
        ("plans should:\na) be short; and\n(b) be clear", "plans should: be short; and be clear"),
    ],
)
def test_print_is_no_difference(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 homes", "50 homes"),
        ("1.5 hectares", "15 hectares"),
        ("10% of homes", "10 of homes"),
        ("£5 a unit", "5 a unit"),
        ("policy PM12", "policy PM"),
        ("0.5 m2", "0.5 m"),
        ("in 2012", "in 2013"),
    ],
)
def test_numbers_and_codes_differ(one: str, other: str) -> None:
    assert words(one) != words(other)


def test_page_numbers_of_a_table_of_contents_are_left_out() -> None:
    text = "Contents\n1. Introduction 4\n2. Plan-making .... 13"
    expected = ["contents", "1", "introduction", "2", "plan", "making"]
    assert words(text, "Contents") == expected


def test_spans_are_where_the_words_stand() -> None:
    text = "7. A “well-designed” place2"
    found = read_words("Para 7", text)
    assert [text[slice(*span)] for span in found.spans] == ["A", "well", "designed", "place"]


@pytest.mark.parametrize(
    ("ref", "label"),
    [
        ("Para 116", (Kind.PARA, "116")),
        ("Policy PM1 Para 2", (Kind.PARA, "2")),
        ("Policy CSP 1", (Kind.POLICY, "CSP 1")),
        ("Table 5-2", (Kind.TABLE, "5-2")),
        ("Annex B", (Kind.ANNEX, "B")),
        ("Part of the plan", (Kind.HEADING, "")),
        ("Front matter", (Kind.FRONT, "")),
        ("Contents", (Kind.CONTENTS, "")),
        ("Rural housing", (Kind.HEADING, "")),
    ],
)
def test_a_reference_names_a_kind_and_a_number(ref: str, label: tuple[Kind, str]) -> None:
    assert label_of(ref) == label
