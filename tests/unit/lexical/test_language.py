"""English is told from other languages by its function words."""

from pathlib import Path

import pytest

from quinion.lexical.language import MIN_LETTERS, is_mostly_foreign
from tests.documents import PROSE

DOCS = sorted((Path(__file__).parents[3] / "docs").rglob("*.md"))
OTHERS = {
    "German": "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit "
    "Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen. ",
    "Dutch": "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn "
    "begiftigd met verstand en geweten, en behoren zich in die geest te gedragen. ",
    "French": "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont "
    "doués de raison et de conscience et doivent agir dans un esprit de fraternité. ",
    "Danish": "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med "
    "fornuft og samvittighed, og de bør handle mod hverandre i en broderskabets ånd. ",
    "Russian": "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены "
    "разумом и совестью и должны поступать в отношении друг друга в духе братства. ",
    "Chinese": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，"
    "并应以兄弟关系的精神相对待。"
    "人人有资格享有本宣言所载的一切权利和自由，不分种族、肤色、性别、语言、宗教、政治或其他见解、国籍。",
}


@pytest.mark.parametrize("language", OTHERS)
def test_another_language_is_foreign(language: str) -> None:
    assert is_mostly_foreign([OTHERS[language] * 30])


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_english_with_code_and_tables_is_not(page: Path) -> None:
    text = page.read_text()
    assert not is_mostly_foreign(
        [text[start : start + 1000] for start in range(0, len(text), 1000)]
    )


@pytest.mark.parametrize(("foreign", "expected"), [(4, False), (6, True)])
def test_most_of_a_document_decides(foreign: int, expected: bool) -> None:
    german = (OTHERS["German"] * 20)[:2_000]
    english = (PROSE * 100)[:2_000]
    assert is_mostly_foreign([german] * foreign + [english] * (10 - foreign)) is expected


def test_a_short_text_is_not_judged() -> None:
    assert not is_mostly_foreign([OTHERS["German"][: MIN_LETTERS // 2]])
    assert not is_mostly_foreign([])


def test_filler_is_not_judged() -> None:
    assert not is_mostly_foreign(["lorem ipsum 17; " * 200])


def test_short_parts_are_judged_together() -> None:
    assert is_mostly_foreign([OTHERS["German"]] * 20)
