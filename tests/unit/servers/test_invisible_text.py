import json

from pydantic import BaseModel

from quinion.model.record import flag, is_flagged
from quinion.servers.base import as_json
from quinion.servers.invisible_text import (
    MAX_WARNINGS,
    NOTE,
    HiddenText,
    Warnings,
    note,
    warn,
    warn_of_files,
)


class Told(BaseModel):
    text: str = "a"
    hidden_text: HiddenText = False
    warnings: Warnings = []


def test_without_hidden_text_nothing_is_reported_or_stored() -> None:
    assert Told().model_dump(mode="json") == json.loads(as_json(Told())) == {"text": "a"}
    assert flag(False) == {}
    assert not is_flagged({"page_number": 3})
    assert note("a", False) == "a"
    assert warn({}) == warn_of_files({}) == []


def test_hidden_text_is_reported() -> None:
    told = Told(hidden_text=True, warnings=["b"])
    assert json.loads(as_json(told)) == {"text": "a", "hidden_text": True, "warnings": ["b"]}
    assert flag(True) == {"hidden_text": True}
    assert is_flagged(flag(True))
    assert note("a", True) == f"[{NOTE}]\n\na"


def test_a_warning_names_the_page_and_how_much_it_is() -> None:
    rest = "check it before you rely on it."
    assert warn({12: 1_200, 3: 1}) == [
        f"Page 3 has text that cannot be seen on it (1 character): {rest}",
        f"Page 12 has text that cannot be seen on it (1,200 characters): {rest}",
    ]
    assert warn_of_files({"/b.pdf": {1: 46}, "/a.pdf": {2: 46}}) == [
        f"/a.pdf, page 2 has text that cannot be seen on it (46 characters): {rest}",
        f"/b.pdf, page 1 has text that cannot be seen on it (46 characters): {rest}",
    ]


def test_of_very_many_pages_the_first_are_named_and_the_rest_counted() -> None:
    pages = dict.fromkeys(range(1, 5_001), 46)
    for lines in (warn(pages), warn_of_files({"/a.pdf": pages, "/b.pdf": {}})):
        assert len(lines) == MAX_WARNINGS + 1
        assert lines[-1] == "There are 4,980 more such pages."
    assert len(warn(dict.fromkeys(range(MAX_WARNINGS), 46))) == MAX_WARNINGS
