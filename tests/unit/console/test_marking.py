"""Marked words, snippets, and passages in the text of their page."""

from quinion.console.views.marking import Piece, cut_around, cut_snippet, mark_words


def marked(text: str, query: str) -> list[str]:
    pieces = mark_words(text, query)
    assert "".join(piece.text for piece in pieces) == text
    return [piece.text for piece in pieces if piece.marked]


def test_words_with_the_same_stem_are_marked() -> None:
    text = "Parking for cycles: the cyclist parks, and parked cars are not counted."
    assert marked(text, "where is cycle parking?") == ["Parking", "cycles", "parks", "parked"]


def test_references_and_numbers_are_marked_as_a_whole() -> None:
    text = "See PINS/Y1945/429/7, 1,200 m² and paragraph 116."
    assert marked(text, "PINS/Y1945/429/7 116") == ["PINS/Y1945/429/7", "116"]


def test_stop_words_are_not_marked() -> None:
    assert marked("the cat and the dog", "the dog") == ["dog"]


def test_a_snippet_has_most_of_the_marks() -> None:
    text = f"hedge {'word ' * 100}before it a hedge by the hedge"
    pieces = cut_snippet(mark_words(text, "hedge"))
    shown = "".join(piece.text for piece in pieces)
    assert shown.startswith("… ")
    assert shown.endswith("before it a hedge by the hedge")
    assert len(shown) < 120
    assert cut_snippet([Piece("short")]) == [Piece("short")]


def test_a_passage_is_found_in_its_page_even_if_it_ends_on_the_next() -> None:
    passage = "a passage that begins at the end of this page, which is rather long, and goes on"
    page = f"Before it, {passage[:70]}"
    assert cut_around(page, passage) == ("Before it, ", passage[:70], "")
    assert cut_around("another page", passage) == ("", passage, "")
