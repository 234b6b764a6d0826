"""The search page of the console."""

import pytest

from tests.contract.console.conftest import SECRET_WORD, Console
from tests.documents import text_pdf


def test_one_box_finds_all_kinds_and_marks_the_words(stocked: Console) -> None:
    found = stocked.json(f"/?q={SECRET_WORD}")
    kinds = {hit["kind"] for hit in found["hits"][:2]}
    assert kinds == {"documents", "folders"}
    for hit in found["hits"][:2]:
        assert SECRET_WORD in [piece["text"] for piece in hit["text"] if piece["marked"]]
    assert found["failures"] == []


def test_the_same_view_as_a_page_and_as_json(stocked: Console) -> None:
    path = "/?q=hedges+in+force&kind=policies"
    found = stocked.json(path)
    assert stocked.get(path.replace("/?", "/search.json?")).json() == found
    page = stocked.page(path)
    assert page.count('class="hit"') == len(found["hits"]) > 1
    assert "<mark>hedges</mark>" in page


def test_the_chosen_hit_stands_in_the_text_of_its_page(stocked: Console) -> None:
    found = stocked.json(f"/?q={SECRET_WORD}&kind=documents&mode=keyword")
    passage = found["passage"]
    whole = passage["before"] + "".join(p["text"] for p in passage["text"]) + passage["after"]
    assert whole.split()[:6] == ["The", "development", "provides", "two", "hundred", "covered"]
    second = stocked.json("/?q=hedges&kind=policies&hit=2")
    assert second["chosen"] == 2
    assert second["passage"]["title"] == second["hits"][1]["title"]


def test_filters_belong_to_their_kind(stocked: Console) -> None:
    def titles(path: str) -> set[str]:
        return {hit["title"] for hit in stocked.json(path)["hits"]}

    query = "/?q=hedges&mode=hybrid&kind="
    assert titles(f"{query}documents&application=elsewhere") == set()
    assert len(titles(f"{query}folders&folder=notes")) == 1
    assert titles(f"{query}folders&folder=elsewhere") == set()
    first = {hit["place"] for hit in stocked.json(f"{query}policies&date=2021-05-05")["hits"]}
    assert first
    assert all("First" in place for place in first)
    assert titles(f"{query}policies&policy=NONE") == set()


def test_overlapping_chunks_are_one_hit(locked: Console) -> None:
    locked.enter()
    sentences = [f"Gate {n} has {n + 3} racks for cycles, beside tree {n * 7}." for n in range(24)]
    path = text_pdf(locked.home.files / "racks.pdf", "\n".join(sentences))
    locked.call("document-store", "ingest_document", file_path=str(path), application_ref="26/1")
    plain = locked.call("document-store", "search_application_docs", query="racks for cycles")
    assert len(plain["results"]) > 1
    found = locked.json("/?q=racks+for+cycles&kind=documents")
    [hit], passage = found["hits"], found["passage"]
    text = "".join(piece["text"] for piece in passage["text"])
    assert {text.count(sentence) for sentence in sentences} == {1}
    assert hit["page"] == 1
    assert passage["boxes"]


def test_a_search_without_results_says_what_to_do(stocked: Console) -> None:
    page = stocked.page("/?q=hedges&kind=documents&application=26/2")
    assert "No document of 26/2 has been ingested" in page


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/?q=a&kind=nothing", "There is no kind"),
        ("/?q=a&mode=nothing", "There is no mode"),
        ("/?q=a&hit=0", "hit must be a positive number"),
        ("/?q=a&kind=policies&date=1.5.2024", "YYYY-MM-DD"),
    ],
)
def test_a_wrong_address_is_explained(stocked: Console, path: str, message: str) -> None:
    answer = stocked.get(path)
    assert answer.status_code == 400
    assert message in answer.text
    assert message in stocked.json(path)["error"]["message"]


def test_what_does_not_exist_is_a_page_of_the_console(stocked: Console) -> None:
    answer = stocked.get("/nowhere")
    assert answer.status_code == 404
    assert 'class="brand"' in answer.text
