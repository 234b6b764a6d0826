"""A place is recovered only if there is one."""

from quinion.evidence.recover import recover
from quinion.model.page import PageSpan, PageWords


def pages_of(*texts: str) -> dict[int, PageWords]:
    return {
        number: PageWords(text, [0, len(text)], [], b"") for number, text in enumerate(texts, 1)
    }


def test_a_text_that_is_there_once_is_found() -> None:
    assert recover("b c", (1,), pages_of("abcd")) == (PageSpan(1, 1, 3),)


def test_a_text_that_is_there_twice_or_never_is_not_found() -> None:
    assert recover("aa", (1,), pages_of("aaba")) == (PageSpan(1, 0, 2),)
    assert recover("a", (1,), pages_of("aaba")) == ()
    assert recover("aa", (1,), pages_of("aaa")) == ()
    assert recover("x", (1,), pages_of("abc")) == ()
    assert recover("", (1,), pages_of("abc")) == ()


def test_a_text_over_page_breaks_ends_one_page_and_begins_the_next() -> None:
    pages = pages_of("abcd", "ef", "ghij")
    assert recover("cd efg", (1, 2, 3), pages) == (
        PageSpan(1, 2, 4),
        PageSpan(2, 0, 2),
        PageSpan(3, 0, 1),
    )
    assert recover("cd ef", (1, 2), pages) == (PageSpan(1, 2, 4), PageSpan(2, 0, 2))
    # A footer between both parts: the place is not certain.
    assert recover("bc ef", (1, 2), pages) == ()


def test_a_text_that_can_break_in_several_places_is_not_found() -> None:
    assert recover("aa", (1, 2), pages_of("aaa", "aaa")) == (PageSpan(1, 2, 3), PageSpan(2, 0, 1))
    assert recover("aaa", (1, 2), pages_of("aaa", "aaa")) == ()
