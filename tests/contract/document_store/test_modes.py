"""`mode` of `search_application_docs`: an addition to the contract."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.contract.conftest import NewHome
from tests.contract.document_store.asking import RESULT_KEYS, ingest_well, refusal
from tests.contract.local import Serve
from tests.contract.search_modes import check_modes
from tests.contract.session import Answer, Session
from tests.documents import text_pdf

REF = "25/01178/REM"
DOCUMENTS = {
    "Transport Statement.pdf": "Two hundred covered cycle parking spaces are provided here.",
    "Appeal Decision.pdf": "The decision has the number PINS/Y1945/429/7 and was made in June.",
    "Letter of Mrs Blenkinsop.pdf": "Neighbours object to the loss of evening sunlight.",
}


@pytest.fixture(scope="module")
def session(new_home: NewHome, serve: Serve, files: Path) -> Iterator[Session]:
    with serve(new_home()) as server, server.session() as session:
        for name, text in DOCUMENTS.items():
            ingest_well(session, text_pdf(files / name, text), REF)
        yield session


def find(session: Session, query: str, **arguments: object) -> list[Answer]:
    answer = session.call("search_application_docs", query=query, **arguments)
    assert answer["status"] == "success"
    results: list[Answer] = answer["results"]
    return results


@pytest.mark.parametrize(
    ("query", "file"),
    [
        ("PINS/Y1945/429/7", "Appeal Decision.pdf"),
        ("y1945", "Appeal Decision.pdf"),
        ("blenkinsop", "Letter of Mrs Blenkinsop.pdf"),
        ("Blenkinsopp", "Letter of Mrs Blenkinsop.pdf"),
        ('"cycle parking spaces"', "Transport Statement.pdf"),
    ],
)
def test_an_exact_term_comes_first_in_the_modes_keyword_and_hybrid(
    session: Session, query: str, file: str
) -> None:
    check_modes(
        partial(find, session),
        query,
        lambda result: result["metadata"]["source_file"] == file,
        "relevance_score",
    )


def test_results_have_the_keys_of_the_contract_and_in_other_modes_a_match(
    session: Session,
) -> None:
    assert all(set(result) - {"evidence"} == RESULT_KEYS for result in find(session, "parking"))
    for mode in ("keyword", "hybrid"):
        for result in find(session, "parking", mode=mode):
            assert set(result) == RESULT_KEYS | {"match", "evidence"}


def test_filters_apply_in_every_mode(session: Session) -> None:
    for mode in ("keyword", "hybrid"):
        assert find(session, "parking", mode=mode, application_ref="no/such/ref") == []
        assert find(session, "parking", mode=mode, application_ref=REF)


def test_merged_results_are_one_text_with_all_pages_and_ids(
    new_home: NewHome, serve: Serve, files: Path
) -> None:
    pages = [" ".join(f"parking{page}word{n}" for n in range(120)) for page in (1, 2)]
    copy = pages[0] + " copied."
    with serve(new_home()) as server, server.session() as session:
        for name, texts in (("long.pdf", pages), ("copy.pdf", [copy])):
            ingest_well(session, text_pdf(files / name, *texts), REF)
        plain = find(session, "parking1word5", mode="hybrid", max_results=50)
        merged = find(session, "parking1word5", mode="hybrid", max_results=50, merge=True)
        assert find(session, "parking1word5", mode="hybrid", max_results=50, merge=False) == plain
    chunks = {one["chunk_id"]: one for one in plain}
    best = merged[0]
    assert {key: best[key] for key in ("chunk_id", "relevance_score")} == {
        key: plain[0][key] for key in ("chunk_id", "relevance_score")
    }
    assert len(merged) < len(plain)
    listed = [id_ for one in merged for id_ in one["merged"]["chunk_ids"]]
    listed += [id_ for one in merged for id_ in one["merged"].get("same_text", [])]
    assert sorted(listed) == sorted(chunks)
    for one in merged:
        words = one["text"].split()
        assert len(words) == len(set(words))
        assert one["metadata"]["word_count"] == len(words)
        pages_of = [chunks[id_]["metadata"]["page_numbers"] for id_ in one["merged"]["chunk_ids"]]
        numbers = sorted({int(page) for some in pages_of for page in some.split(",")})
        assert one["merged"]["page_numbers"] == numbers
        assert one["metadata"]["page_numbers"] == ",".join(map(str, numbers))
    assert any(one["merged"].get("same_text") for one in merged)


@pytest.mark.parametrize(
    "query",
    [
        "the of and",
        "?! … —",
        "xyzzy " * 3_333,
        "чертёж здания 图纸",
        "cycle AND NEAR(parking, 5) OR text:spaces* ^ -covered",
        "cycle\0parking",
        '"',
    ],
)
def test_a_strange_query_is_answered_in_every_mode(session: Session, query: str) -> None:
    semantic = find(session, query)
    assert len(semantic) == len(DOCUMENTS)
    for merge in (False, True):
        assert len(find(session, query, mode="hybrid", merge=merge)) == len(DOCUMENTS)
        found = find(session, query, mode="keyword", merge=merge)
        assert bool(found) == any(word in query for word in ("cycle", "the"))


def test_another_mode_is_refused(session: Session) -> None:
    answer = session.call("search_application_docs", query="parking", mode="fuzzy")
    assert "'semantic', 'keyword' or 'hybrid'" in refusal(answer, "invalid_input")


def test_the_setting_changes_the_default(new_home: NewHome, serve: Serve, files: Path) -> None:
    with (
        serve(new_home(), {"QUINION_SEARCH_MODE": "hybrid"}) as server,
        server.session() as session,
    ):
        for name, text in DOCUMENTS.items():
            ingest_well(session, text_pdf(files / name, text), REF)
        assert all("match" in result for result in find(session, "parking"))
        assert all("match" not in one for one in find(session, "parking", mode="semantic"))
