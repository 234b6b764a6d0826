"""`get_policy_section`: the section that is asked for, whole, and nothing else."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from quinion.store.policies import PolicyRegistry
from tests.contract.policy_kb import policies
from tests.contract.policy_kb.asking import (
    SECTION_ADDITIONS,
    SECTION_KEYS,
    find,
    ingest_well,
    read,
    refusal,
    revise,
    today,
)
from tests.contract.policy_kb.policies import Leaf, bold, chapter, cover, leaflet, prose, typeset
from tests.contract.session import Answer, Session
from tests.documents import Scan, make_pdf

# What is asked here does not depend on where the registry is.
pytestmark = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)

DAY = timedelta(days=1)
NPPF_2023, NPPF_2024 = "rev_NPPF_2023_09", "rev_NPPF_2024_12"


def ask(session: Session, source: str, section_ref: str, **options: object) -> Answer:
    return session.call("get_policy_section", source=source, section_ref=section_ref, **options)


def test_an_answer_has_the_keys_of_the_contract_and_one_more(library: Session) -> None:
    answer = ask(library, "LTN_1_20", "Chapter 5")
    assert set(answer) == SECTION_KEYS | SECTION_ADDITIONS
    assert answer["status"] == "success"
    assert answer["source"] == "LTN_1_20"
    assert answer["section_ref"] == "Chapter 5"
    assert answer["revision_id"] == "rev_LTN_1_20_2020_07"
    assert answer["version_label"] == "July 2020"
    assert answer["page_numbers"] == [4, 5]
    assert answer["next_part"] is None


def test_a_table_is_its_caption_and_its_rows(library: Session) -> None:
    answer = read(library, "LTN_1_20", "Table 5-2")
    assert answer["text"] == policies.TABLE
    assert answer["page_numbers"] == [4]


def test_a_paragraph_of_a_named_revision(library: Session) -> None:
    answer = read(library, "NPPF", "Para 116", revision_id=NPPF_2023)
    assert answer["text"] == policies.framework_paragraph(116, "September 2023")
    assert (answer["revision_id"], answer["version_label"]) == (NPPF_2023, "September 2023")
    assert answer["page_numbers"] == [policies.framework_page(116)]


@pytest.mark.parametrize("number", policies.PRINTED_PARAGRAPHS)
def test_every_paragraph_is_found_with_its_page_in_both_revisions(
    library: Session, number: int
) -> None:
    for revision_id, edition in ((NPPF_2023, "September 2023"), (NPPF_2024, "December 2024")):
        answer = read(library, "NPPF", f"Para {number}", revision_id=revision_id)
        assert answer["text"] == policies.framework_paragraph(number, edition)
        assert answer["page_numbers"] == [policies.framework_page(number)]


@pytest.mark.parametrize("number", policies.PRINTED_CHAPTERS)
def test_a_chapter_is_all_that_lies_inside_it_in_the_order_of_the_document(
    library: Session, number: int
) -> None:
    answer = read(library, "NPPF", f"Chapter {number}")
    assert answer["text"] == policies.framework_chapter(number, "December 2024")
    assert answer["page_numbers"] == [number - 8]


def test_a_policy_in_a_box_is_whole_and_ends_with_its_box(library: Session) -> None:
    assert read(library, "CHERWELL_LOCAL_PLAN", "Policy H1")["text"] == policies.POLICY_H1
    assert read(library, "CHERWELL_LOCAL_PLAN", "Policy H2")["text"] == policies.POLICY_H2


def test_an_annex_a_figure_and_a_footnote_are_sections(library: Session) -> None:
    annex = read(library, "CHERWELL_LOCAL_PLAN", "Annex A")
    assert annex["text"] == "Annex A: Forecasts\nIn 2031 the district has 200,000 people."
    assert read(library, "LTN_1_20", "Figure 5.1")["text"] == policies.FIGURE
    assert read(library, "LTN_1_20", "Footnote 1")["text"] == policies.FOOTNOTE


def test_a_long_paragraph_on_two_pages_is_there_once_and_whole(library: Session) -> None:
    answer = read(library, "LTN_1_20", "Para 5.3")
    assert answer["text"] == policies.LONG
    assert answer["page_numbers"] == [4, 5]
    chunks = [
        result
        for result in find(library, "bends", sources=["LTN_1_20"], n_results=100)
        if result["section_ref"] == "Para 5.3"
    ]
    # It is stored in parts that overlap, and that is not seen.
    assert len(chunks) > 2
    assert sum(len(chunk["text"]) for chunk in chunks) > len(policies.LONG)


def test_an_enclosing_section_repeats_no_overlap_either(library: Session) -> None:
    text = read(library, "LTN_1_20", "Chapter 5")["text"]
    for line in policies.LONG_LINES:
        assert text.count(line) == 1
    order = ["5 Geometry", "5.1 ", "Table 5-2", "5.2 ", "Figure 5.1", "5.3 ", "5.4 "]
    places = [text.index(f"\n\n{start}" if place else start) for place, start in enumerate(order)]
    assert places == sorted(places)


def test_neither_contents_nor_running_headers_nor_mentions_are_taken_for_sections(
    library: Session,
) -> None:
    # The contents have a line for every chapter, and only two are printed.
    refusal(ask(library, "NPPF", "Chapter 3"), "section_not_found")
    fourth = read(library, "LTN_1_20", "Chapter 4")
    assert (fourth["text"].count("Chapter 5"), fourth["page_numbers"]) == (1, [3])
    assert "Cycle Infrastructure Design" not in read(library, "LTN_1_20", "Chapter 5")["text"]
    assert read(library, "LTN_1_20", "Para 4.2")["text"] == policies.MENTIONS


@pytest.mark.parametrize(
    "section_ref",
    [
        *("Para 116", "para 116", "PARA 116", "Paragraph 116", "paragraph  116", " Para  116 "),
        *("Para. 116", "116", "116.", "Chapter 12 Para 116", "Para 116 of Chapter 12"),
    ],
)
def test_a_reference_to_a_paragraph_may_be_written_in_many_ways(
    library: Session, section_ref: str
) -> None:
    answer = read(library, "NPPF", section_ref)
    assert answer["text"] == policies.framework_paragraph(116, "December 2024")
    assert answer["section_ref"] == section_ref


@pytest.mark.parametrize(
    ("source", "section_ref", "start"),
    [
        ("LTN_1_20", "table 5-2", "Table 5-2: "),
        ("LTN_1_20", "Table 5.2", "Table 5-2: "),
        ("LTN_1_20", "Table 5–2", "Table 5-2: "),
        ("LTN_1_20", "TABLE  5-2", "Table 5-2: "),
        ("LTN_1_20", "Fig. 5.1", "Figure 5.1: "),
        ("LTN_1_20", "CHAPTER 5", "5 Geometry"),
        ("LTN_1_20", "chapter V", "5 Geometry"),
        ("CHERWELL_LOCAL_PLAN", "policy h1", "Policy H1: "),
        ("CHERWELL_LOCAL_PLAN", "H1", "Policy H1: "),
        ("CHERWELL_LOCAL_PLAN", "annex a", "Annex A: "),
    ],
)
def test_case_spacing_and_dashes_do_not_matter(
    library: Session, source: str, section_ref: str, start: str
) -> None:
    assert read(library, source, section_ref)["text"].startswith(start)


@pytest.mark.parametrize("section_ref", ["Para 11", "Para 1166", "Para 1", "Chapter 1", "Para"])
def test_a_reference_is_exact(library: Session, section_ref: str) -> None:
    refusal(ask(library, "NPPF", section_ref), "section_not_found")


def test_a_section_that_is_not_there_names_those_that_are_near(library: Session) -> None:
    message = refusal(ask(library, "NPPF", "Para 121"), "section_not_found")
    assert "'Para 121'" in message
    assert "NPPF (December 2024)" in message
    assert "Para 120" in message
    message = refusal(ask(library, "CHERWELL_LOCAL_PLAN", "Policy H3"), "section_not_found")
    assert "Policy H1" in message and "Policy H2" in message


@pytest.mark.parametrize("section_ref", ["", " ", ".", "no such heading at all", "図面", "((("])
def test_a_reference_that_is_nonsense_is_not_found(library: Session, section_ref: str) -> None:
    refusal(ask(library, "NPPF", section_ref), "section_not_found")


def test_a_reference_that_several_sections_have_names_them(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    pages = [
        Leaf(
            [
                *bold(f"Policy PM{number}: {subject.title()}"),
                *prose(f"1. The first rule is about {subject}, and it is short."),
                *prose(f"2. The second rule is shorter, and about {subject} too."),
            ]
        )
        for number, subject in enumerate(("roofs", "walls", "floors", "doors", "stairs"), 1)
    ]
    file = typeset(tmp_path / "plans.pdf", "", [cover("Plans", "2020"), *pages])
    ingest_well(session, source, revise(registry, source, "A", date(2020, 1, 1)), file)
    answer = read(session, source, "Policy PM2 Para 2")
    assert answer["text"] == "2. The second rule is shorter, and about walls too."
    message = refusal(ask(session, source, "Para 2"), "section_not_found")
    assert "Policy PM2 Para 2" in message


def test_a_heading_without_a_number_is_found_by_its_words(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    rows = [*chapter("Vision and objectives"), *prose("The town is to be green by 2031.")]
    more = [*chapter("Monitoring"), *prose("The council counts once in a year.")]
    file = typeset(tmp_path / "plan.pdf", "", [cover("Plan", "2020"), Leaf(rows), Leaf(more)])
    ingest_well(session, source, revise(registry, source, "A", date(2020, 1, 1)), file)
    answer = read(session, source, "vision AND objectives")
    assert answer["text"] == "Vision and objectives\nThe town is to be green by 2031."


def test_headings_in_the_type_of_the_text_are_found_by_their_numbers(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    titles = ["Chapter 1 Walking", "Chapter 2 Buses", "Chapter 3 Cycling"]
    texts = ["People walk to the shops.", "Buses run at night.", "Lanes are wide enough for two."]
    leaves = [
        Leaf([*prose(title), *prose(text), *prose("This is said at some length below.")])
        for title, text in zip(titles, texts, strict=True)
    ]
    file = typeset(tmp_path / "plan.pdf", "", [cover("Plan", "2020"), *leaves])
    ingest_well(session, source, revise(registry, source, "A", date(2020, 1, 1)), file)
    answer = read(session, source, "Chapter 3")
    assert answer["text"].startswith(f"{titles[2]}\n{texts[2]}")
    assert answer["page_numbers"] == [4]
    [hit] = find(session, "how wide are cycle lanes?", sources=[source], n_results=1)
    assert hit["section_ref"] == "Chapter 3"


def test_text_of_a_scan_whose_paragraph_is_not_certain_is_cited_by_its_page(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    subjects = ["Hedges", "Ditches", "Ponds", "Walls", "Barns", "Mills", "Wells", "Gates", "Lanes"]
    said = {
        number: f"{subject} are looked after by those who own the land around them."
        for number, subject in enumerate(subjects, 1)
    }
    # The number of the fifth paragraph is lost, as OCR loses some.
    paragraphs = [text if number == 5 else f"{number}. {text}" for number, text in said.items()]
    scan = make_pdf(tmp_path / "scan.pdf", [Scan("\n\n".join(paragraphs))])
    ingest_well(session, source, revise(registry, source, "A", date(2020, 1, 1)), scan)
    found = find(session, "who looks after barns?", sources=[source], n_results=100)
    refs = {hit["section_ref"] for hit in found if "Barns" in hit["text"]}
    assert refs == {"Page 1"}
    assert "Barns" not in ask(session, source, "Para 4").get("text", "")
    assert read(session, source, "Para 8")["text"].startswith("8. Gates")


def test_of_an_unknown_policy_or_revision_no_section_is_found_and_it_is_named(
    library: Session,
) -> None:
    assert "'NOT_THERE'" in refusal(ask(library, "NOT_THERE", "Para 1"), "section_not_found")
    answer = ask(library, "NPPF", "Para 116", revision_id="rev_NPPF_1999_01")
    message = refusal(answer, "section_not_found")
    assert "'rev_NPPF_1999_01'" in message
    assert NPPF_2023 in message and NPPF_2024 in message
    answer = ask(library, "NPPF", "Para 116", revision_id="rev_LTN_1_20_2020_07")
    assert "'rev_LTN_1_20_2020_07'" in refusal(answer, "section_not_found")


def test_without_a_revision_it_is_the_one_in_force_today(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    for label, start, end in (
        ("past", today() - 30 * DAY, today() - DAY),
        ("present", today(), today()),
        ("future", today() + DAY, None),
    ):
        file = leaflet(tmp_path / f"{label}.pdf", label)
        ingest_well(session, source, revise(registry, source, label, start, end), file)
    assert read(session, source, "Para 1.1")["version_label"] == "present"


def test_without_one_in_force_it_is_the_newest_that_was(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    for label, start, end in (
        ("old", today() - 90 * DAY, today() - 60 * DAY),
        ("newer", today() - 50 * DAY, today() - 2 * DAY),
        ("future", today() + 7 * DAY, None),
    ):
        file = leaflet(tmp_path / f"{label}.pdf", label)
        ingest_well(session, source, revise(registry, source, label, start, end), file)
    assert read(session, source, "Para 1.1")["version_label"] == "newer"


def test_a_revision_without_text_is_passed_over_unless_it_is_named(
    session: Session, registry: PolicyRegistry, source: str, tmp_path: Path
) -> None:
    a = revise(registry, source, "A", date(2020, 1, 1))
    ingest_well(session, source, a, leaflet(tmp_path / "a.pdf", "A"))
    b = revise(registry, source, "B", date(2022, 1, 1))
    assert read(session, source, "Para 1.1")["revision_id"] == a
    message = refusal(ask(session, source, "Para 1.1", revision_id=b), "section_not_found")
    assert "ingest_policy_revision" in message


def test_a_policy_that_has_no_text_at_all_says_so(
    session: Session, registry: PolicyRegistry, source: str
) -> None:
    message = refusal(ask(session, source, "Para 1"), "section_not_found")
    assert f"{source} has no revision that is or was in force" in message
    revise(registry, source, "A", today() + DAY)
    assert refusal(ask(session, source, "Para 1"), "section_not_found") == message


def test_a_part_after_the_last_is_not_called_a_missing_section(library: Session) -> None:
    answer = ask(library, "NPPF", "Para 116", from_part=7)
    assert "from_part" in refusal(answer, "invalid_input")


@pytest.mark.parametrize("part", [-1, "next", 1.5, None])
def test_a_part_that_is_no_number_is_refused(session: Session, part: object) -> None:
    answer = ask(session, "NPPF", "Para 116", from_part=part)
    assert "from_part" in refusal(answer, "invalid_input")
