"""Document types: by the file's name, else by its words, else `other`; or as the caller says."""

from pathlib import Path

import pytest

from tests.contract.document_store.asking import (
    DOCUMENT_TYPES,
    find,
    ingest,
    ingest_well,
    list_documents,
    refusal,
)
from tests.contract.session import Session
from tests.documents import PROSE, text_pdf

# Every pattern of the contract's table, and ways in which people write it.
NAMES = {
    "transport_assessment": [
        "Transport Assessment.pdf",
        "TRANSPORT_ASSESSMENT_v2.pdf",
        "travel-plan.pdf",
        "Traffic Impact.pdf",
    ],
    "design_access_statement": [
        "Design and Access Statement.pdf",
        "Design_&_Access_Statement.pdf",
        "D&A Statement.pdf",
    ],
    "site_plan": ["Site Plan.pdf", "Location_Plan.pdf", "block plan A3.pdf", "Layout-Plan.pdf"],
    "floor_plan": ["Proposed Floor Plans.pdf", "Ground Floor.pdf", "FIRST_FLOOR.pdf"],
    "elevation": ["Elevations North.pdf", "Street Scene.pdf"],
    "planning_statement": ["Planning Statement.pdf", "Supporting-Statement.pdf"],
    "environmental_statement": [
        "Environmental Impact Statement.pdf",
        "Environmental_Impact_Assessment.pdf",
        "EIA.pdf",
    ],
    "noise_assessment": [
        "Noise Assessment.pdf",
        "Noise_Report.pdf",
        "noise survey 2025.pdf",
        "Acoustic design.pdf",
    ],
    "flood_risk_assessment": [
        "Flood Risk Assessment.pdf",
        "FRA.pdf",
        "25.01178.FRA.rev.B.pdf",
        "Drainage Strategy.pdf",
    ],
    "ecology_report": [
        "Ecology Report.pdf",
        "Ecology_Survey.pdf",
        "Preliminary Ecological Appraisal.pdf",
        "Bat Survey.pdf",
        "Biodiversity Net Gain.pdf",
    ],
    "heritage_statement": [
        "Heritage Statement.pdf",
        "Heritage_Assessment.pdf",
        "Archaeological desk study.pdf",
    ],
    "arboricultural_report": [
        "Arboricultural Report.pdf",
        "ArboriculturalSurvey.pdf",
        "Tree Survey.pdf",
    ],
    "other": [
        "Covering letter.pdf",
        "Infrastructure_Plan.pdf",
        "Media.pdf",
        "Combat surveyors.pdf",
    ],
}
WORDS = {
    "transport_assessment": "Trip generation and traffic flow at the junction; TRICS; travel plan.",
    "flood_risk_assessment": "Flood zone 3, surface water, attenuation, SuDS, sequential test.",
    "noise_assessment": "Noise levels in LAeq, acoustic glazing, sound insulation, BS 8233.",
    "ecology_report": "Habitats, bat roost, protected species, great crested newts, habitats.",
    "heritage_statement": "Listed building, conservation area, heritage asset, archaeological.",
}


@pytest.fixture(scope="module")
def types_by_name(session: Session, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What each file of the table was taken for: ingested all at once, then listed."""
    folder = tmp_path_factory.mktemp("named")
    names = [name for kind in NAMES.values() for name in kind]
    jobs = [
        session.start(
            "ingest_document",
            file_path=str(text_pdf(folder / name, f"Document {number}.\n{PROSE}")),
            application_ref="CLASSIFIED",
        )
        for number, name in enumerate(names)
    ]
    assert [job.result()["status"] for job in jobs] == ["success"] * len(names)
    return {
        Path(document["file_path"]).name: document["document_type"]
        for document in list_documents(session, "CLASSIFIED")
    }


def test_the_table_has_all_types_of_the_contract() -> None:
    assert list(NAMES) == DOCUMENT_TYPES


@pytest.mark.parametrize(
    ("name", "expected"), [(name, kind) for kind, names in NAMES.items() for name in names]
)
def test_a_name_tells_the_type(types_by_name: dict[str, str], name: str, expected: str) -> None:
    assert types_by_name[name] == expected


@pytest.mark.parametrize(("expected", "words"), WORDS.items(), ids=WORDS.keys())
def test_words_tell_the_type_where_the_name_does_not(
    session: Session, files: Path, expected: str, words: str
) -> None:
    file = text_pdf(files / f"Document {expected[:3]}.pdf", *[f"{words}\n{PROSE}"] * 2)
    answer = ingest_well(session, file, f"WORDS {expected}")
    [listed] = list_documents(session, f"WORDS {expected}")
    assert listed["document_id"] == answer["document_id"]
    assert listed["document_type"] == expected


# Plain prose that says what it is, once as a title, once in a sentence and once by two mentions.
SAYINGS = {
    "planning_statement": "This planning statement reviews the proposal for nine houses.",
    "design_access_statement": "DESIGN AND ACCESS STATEMENT\nNine houses at Mill Lane.",
    "noise_assessment": "A noise assessment for nine houses at Mill Lane.\n"
    "The noise assessment uses the limits of the council.",
}


@pytest.mark.parametrize(("expected", "words"), SAYINGS.items(), ids=SAYINGS.keys())
def test_what_a_document_calls_itself_tells_the_type(
    session: Session, files: Path, expected: str, words: str
) -> None:
    file = text_pdf(files / f"00123{expected[:3]}.pdf", f"{words}\n{PROSE}")
    ingest_well(session, file, f"SAYS {expected}")
    [listed] = list_documents(session, f"SAYS {expected}")
    assert listed["document_type"] == expected


def test_a_document_that_names_another_one_is_not_of_its_type(
    session: Session, files: Path
) -> None:
    words = "The heritage statement submitted with the application says that the house is old."
    ingest_well(session, text_pdf(files / "00124.pdf", f"{words}\n{PROSE}"), "SAYS OF ANOTHER")
    assert [d["document_type"] for d in list_documents(session, "SAYS OF ANOTHER")] == ["other"]


def test_a_name_counts_more_than_words(session: Session, files: Path) -> None:
    words = WORDS["flood_risk_assessment"]
    ingest_well(session, text_pdf(files / "Heritage Statement.pdf", *[words] * 3), "NAME AND WORDS")
    assert [d["document_type"] for d in list_documents(session, "NAME AND WORDS")] == [
        "heritage_statement"
    ]


def test_a_word_in_passing_does_not_tell_the_type(session: Session, files: Path) -> None:
    text = f"A junction lies to the north.\n{PROSE}"
    ingest_well(session, text_pdf(files / "Letter.pdf", text), "PASSING")
    assert [d["document_type"] for d in list_documents(session, "PASSING")] == ["other"]


@pytest.mark.parametrize("kind", DOCUMENT_TYPES)
def test_the_caller_may_say_the_type(session: Session, files: Path, kind: str) -> None:
    file = text_pdf(files / f"Site Plan for {kind}.pdf", f"As {kind}.\n{PROSE}")
    ingest_well(session, file, f"OVERRIDE {kind}", document_type=kind)
    assert [d["document_type"] for d in list_documents(session, f"OVERRIDE {kind}")] == [kind]
    [hit] = find(session, "bicycles", application_ref=f"OVERRIDE {kind}")
    assert hit["metadata"]["document_type"] == kind


def test_a_null_type_is_as_good_as_none(session: Session, files: Path) -> None:
    file = text_pdf(files / "Bat Survey of May.pdf", PROSE)
    ingest_well(session, file, "NULL", document_type=None)
    assert [d["document_type"] for d in list_documents(session, "NULL")] == ["ecology_report"]


@pytest.mark.parametrize("own", ["transport", "Transport_Assessment", " site plan"])
def test_a_type_of_the_caller_is_stored_as_it_is_and_a_warning_names_the_known_ones(
    session: Session, files: Path, own: str
) -> None:
    file = text_pdf(files / "Untyped.pdf", PROSE)
    answer = ingest(session, file, f"OWN {own}", document_type=own)
    assert answer["status"] == "success"
    [warning] = answer["warnings"]
    assert all(kind in warning for kind in (*DOCUMENT_TYPES, repr(own)))
    assert [one["document_type"] for one in list_documents(session, f"OWN {own}")] == [own]


@pytest.mark.parametrize("blank", ["", " "])
def test_an_empty_type_is_refused(session: Session, files: Path, blank: str) -> None:
    file = text_pdf(files / "Untyped.pdf", PROSE)
    answer = ingest(session, file, "BLANK", document_type=blank)
    assert "type is empty" in refusal(answer, "invalid_input")
    assert list_documents(session, "BLANK") == []
