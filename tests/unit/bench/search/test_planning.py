"""Generated queries for exact terms."""

from bench.judged_sets import name_page
from bench.search.planning import KINDS, MAX_PAGES, make_exact_set
from quinion.model.page import Method, Page

TEXTS = {
    "plan": [
        "Policy H4 Homes\n116. Development should be refused where it would harm Blenkinsop Hall.",
        "as paragraph 116 says, the site has 332 spaces; see MM50 and PINS/Y1945/429/7",
        "the quick brown fox jumps over the lazy dog every single morning of the year",
    ],
    "report": ["see Policy H4 and the letter of Blenkinsop", "332 spaces are provided in March"],
}
DOCUMENTS = {
    name: [Page(number, text, Method.TEXT_LAYER) for number, text in enumerate(pages, 1)]
    for name, pages in TEXTS.items()
}


def test_a_query_is_judged_by_the_pages_that_have_its_term() -> None:
    judged = make_exact_set(DOCUMENTS)
    found = {judged.queries[key]: set(pages) for key, pages in judged.relevant.items()}
    assert found["paragraph 116"] == {name_page("plan", 1)}
    assert found["Policy H4"] == {name_page("plan", 1)}
    assert found["332 spaces"] == {name_page("plan", 2), name_page("report", 2)}
    assert found["MM50"] == found["PINS/Y1945/429/7"] == {name_page("plan", 2)}
    assert found["Blenkinsop"] == {name_page("plan", 1), name_page("report", 1)}
    assert found['"brown fox jumps over the"'] == {name_page("plan", 3)}
    assert "March" not in found or found["March"]


def test_the_same_documents_give_the_same_queries() -> None:
    assert make_exact_set(DOCUMENTS) == make_exact_set(DOCUMENTS)


def test_every_kind_is_asked_for_and_no_term_of_many_pages() -> None:
    many = {str(n): pages for n in range(MAX_PAGES) for pages in [DOCUMENTS["report"]]}
    judged = make_exact_set({**DOCUMENTS, **many})
    assert {key.partition(":")[0] for key in judged.queries} <= set(KINDS)
    assert "332 spaces" not in judged.queries.values()
    assert max(map(len, judged.relevant.values())) <= MAX_PAGES
