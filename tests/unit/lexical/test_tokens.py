"""Terms of texts: references, codes, numbers, folding, and hostile texts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quinion.lexical.tokens import MAX_TERM_CHARACTERS, find_parts, find_terms, find_words

LONG_S = 20.0
"""A quadratic step takes minutes on a million characters."""


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The policies of housing", ["the", "polici", "of", "hous"]),
        ("PINS/Y1945/429/7", ["pins/y1945/429/7", "pin", "y1945", "429", "7"]),
        ("(25/01178/REM).", ["25/01178/rem", "25", "01178", "rem"]),
        ("Policy H4, E4217 and MM50", ["polici", "h4", "e4217", "and", "mm50"]),
        ("2.4m", ["2.4m", "2.4", "m"]),
        ("10km 35%", ["10km", "10", "km", "35"]),
        ("1,200 homes, 3,4", ["1200", "home", "3", "4"]),
        ("paragraph 116. See 4.2.1.", ["paragraph", "116", "see", "4.2.1"]),
        ("snake_case", ["snake_case", "snake", "case"]),
        ("__init__", ["__init__", "init"]),
        ("searchVectors", ["searchvector", "search", "vector"]),
        ("well-being and/or", ["well", "be", "and", "or"]),
        ("the council's R&D", ["the", "council", "r&d", "r", "d"]),
        ("the council’s", ["the", "council"]),
        ("Café ﬁgure ＡＢＣ Straße", ["cafe", "figur", "abc", "strass"]),
        ("cafe\u0301 soft\u00adware", ["cafe", "softwar"]),
        ("25–26", ["25-26", "25", "26"]),
        ("1:500 @ A3", ["1:500", "1", "500", "a3"]),
        ("图纸 номер", ["图纸", "номер"]),
        ("", []),
        (" . , \0 '\" * ", []),
    ],
)
def test_a_text_has_these_terms(text: str, terms: list[str]) -> None:
    assert find_terms(text) == terms


def test_inflected_forms_share_a_term() -> None:
    assert len({*find_terms("plan plans planned planning"), *find_terms("PLANNING")}) == 1


def test_words_are_not_stemmed() -> None:
    assert find_words("The Council's policies, H4/2") == [
        "the",
        "council",
        "s",
        "policies",
        "h4",
        "2",
    ]


def test_parts_are_without_the_reference_as_a_whole() -> None:
    assert find_parts("Y1945/429") == ("y1945", "429")
    assert find_parts("4.2") == ("4.2",)


def test_terms_have_a_maximum_length() -> None:
    for text in ("a" * 1_000, "a1/" * 500 + "b", "1" * 1_000 + "m", "1." * 500 + "1", "aA" * 500):
        terms = find_terms(text)
        assert terms
        assert max(map(len, terms)) <= MAX_TERM_CHARACTERS


@given(st.text(max_size=200))
def test_any_text_has_terms_that_are_found_again(text: str) -> None:
    terms = find_terms(text)
    assert all(terms)
    assert find_terms(text) == terms
    assert find_terms(f"{text} ") == terms
    for term in terms:
        term.encode(errors="surrogatepass")


@given(st.text("abc", min_size=1, max_size=8), st.text("01 xyz", max_size=8))
def test_a_reference_shares_its_terms_with_any_text_around_it(first: str, last: str) -> None:
    reference = f"{first}/{last.replace(' ', '')}9"
    assert set(find_terms(reference)) <= set(find_terms(f"see ({reference}), {last}"))


@pytest.mark.parametrize(
    "part",
    [
        *("a", "a.", "a/", "_", "1", "1.", "1,", "111,", "aA", "a's'", "-", "'", '"', "\0", " "),
        *("\u0300\u0316", "e\u0301", "\ufdfa", "ﬃ", "ㅏ", "한", "😀", "\u200b", "a-1_", "Ab1."),
    ],
)
def test_a_million_hostile_characters_take_linear_time(part: str) -> None:
    text = (part * 1_000_000)[:1_000_000]
    began = time.process_time()
    find_terms(text)
    find_words(text)
    assert time.process_time() - began < LONG_S
