"""No view contains the text of documents, names or labels unescaped."""

import re

import pytest

from tests.contract.console.conftest import EVIL, SECRET_WORD, Console

VIEWS = [
    f"/?q={SECRET_WORD}",
    f"/?q={SECRET_WORD}&kind=folders",
    "/?q=hedges&kind=policies&hit=2",
    f"/?q={EVIL}&kind=documents&application={EVIL}",
    f"/?q=a&kind={EVIL}",
    "/documents",
    f"/documents?application={EVIL}",
    "/documents/{document}?page=1",
    "/policies",
    "/policies/EVIL?section=Para+1.2",
    "/policies/EVIL/compare",
    "/folders",
    f"/folders?folder={EVIL}",
]


@pytest.mark.parametrize("path", VIEWS)
def test_hostile_text_is_shown_as_text(stocked: Console, path: str) -> None:
    document = stocked.json("/documents")["documents"][0]["id"]
    page = stocked.get(path.replace("{document}", document)).text
    assert "&lt;script&gt;" in page
    assert EVIL not in page
    assert "<img src=x" not in page
    # Nothing leaves its attribute: all scripts and handlers of a page are our own.
    assert len(re.findall("<script", page)) == 2
    tags = re.findall(r"<[^>]*>", re.sub(r'"[^"]*"', '""', page))
    assert not any(re.search(r"\son\w+\s*=", tag) for tag in tags)
