import pytest

from quinion.classify.classifier import (
    classify,
    classify_name,
    is_rendering,
)
from quinion.model.document_type import DocumentType


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Transport_Assessment.pdf", "transport_assessment"),
        ("TRAVEL-PLAN rev B.pdf", "transport_assessment"),
        ("traffic.impact.study.pdf", "transport_assessment"),
        ("TransportAssessment.pdf", "transport_assessment"),
        ("Design and Access Statement.pdf", "design_access_statement"),
        ("D&A_Statement.pdf", "design_access_statement"),
        ("Site_Plan_01.pdf", "site_plan"),
        ("Location Plan.pdf", "site_plan"),
        ("block-plan.pdf", "site_plan"),
        ("Layout_Plan.pdf", "site_plan"),
        ("Floor_Plan.pdf", "floor_plan"),
        ("proposed-first-floor.pdf", "floor_plan"),
        ("Ground_Floor.png", "floor_plan"),
        ("Elevations.pdf", "elevation"),
        ("Street Scene.pdf", "elevation"),
        ("Planning_Statement.pdf", "planning_statement"),
        ("supporting statement.pdf", "planning_statement"),
        ("Environmental_Impact_Assessment.pdf", "environmental_statement"),
        ("EIA.pdf", "environmental_statement"),
        ("Noise_Survey.pdf", "noise_assessment"),
        ("Acoustic_Design.pdf", "noise_assessment"),
        ("FRA.pdf", "flood_risk_assessment"),
        ("Level_1_SFRA_Appendix_B.pdf", "flood_risk_assessment"),
        ("Planning Design and Access Statement.pdf", "design_access_statement"),
        ("Highways_Technical_Note.pdf", "transport_assessment"),
        ("Extended Phase 1 Habitat Survey.pdf", "ecology_report"),
        ("Statement of Significance.pdf", "heritage_statement"),
        ("Tree_Constraints_Plan.pdf", "arboricultural_report"),
        ("ES Vol 2 Appendix.pdf", "environmental_statement"),
        ("Drainage Strategy.pdf", "flood_risk_assessment"),
        ("Bat_Survey_2025.pdf", "ecology_report"),
        ("Ecological-Appraisal.pdf", "ecology_report"),
        ("Biodiversity.pdf", "ecology_report"),
        ("Heritage_Statement.pdf", "heritage_statement"),
        ("Archaeological_Desk_Study.pdf", "heritage_statement"),
        ("Tree_Survey.pdf", "arboricultural_report"),
        ("Arboricultural_Report.pdf", "arboricultural_report"),
    ],
)
def test_a_name_determines_the_type(name: str, expected: str) -> None:
    assert classify_name(name) == expected


@pytest.mark.parametrize(
    "name", ["Infrastructure_Plan.pdf", "Fraud.pdf", "a1b2c3.pdf", "Letter.pdf", "Media.pdf"]
)
def test_a_part_of_a_word_does_not_match(name: str) -> None:
    assert classify_name(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "Biodiversity_Net_Gain_SPD_Adoption_Statement.pdf",
        "Inspector's_Report.pdf",
        "Heritage Topic Paper.pdf",
        "Cover_Letter_Flood_Risk_Assessment.pdf",
        "Objection to Transport Assessment.pdf",
        "EIA Screening Opinion.pdf",
        "Conservation_Area_Appraisal.pdf",
        "Consultee Response Noise.pdf",
    ],
)
def test_the_name_of_another_kind_of_document_is_other(name: str) -> None:
    assert classify(name, FLOOD) is DocumentType.OTHER


@pytest.mark.parametrize(
    "name",
    [
        "Birds_Eye_View.pdf",
        "Bird's eye.jpg",
        "Perspective 3.png",
        "CGI_01.pdf",
        "3D-Visual.pdf",
        "3DVisuals.pdf",
        "Artist’s impression.pdf",
        "photomontages.pdf",
        "Street_Scene.pdf",
        "Render.png",
        "Rendering_2.pdf",
    ],
)
def test_names_of_renderings_are_known(name: str) -> None:
    assert is_rendering(name)


@pytest.mark.parametrize("name", ["Surrender of lease.pdf", "Calendar.pdf", "Planning.pdf"])
def test_other_names_are_no_renderings(name: str) -> None:
    assert not is_rendering(name)


FLOOD = (
    "The site lies in Flood Zone 1. Surface water is held in an attenuation basin. SuDS are "
    "proposed, and the sequential test is passed. Surface water flooding is unlikely."
)


def test_the_text_determines_the_type_if_the_name_does_not() -> None:
    assert classify("scan0001.pdf", FLOOD) is DocumentType.FLOOD_RISK_ASSESSMENT


def test_the_name_takes_precedence_over_the_text() -> None:
    assert classify("Noise_Report.pdf", FLOOD) is DocumentType.NOISE_ASSESSMENT


def test_one_word_in_passing_is_not_enough() -> None:
    text = "Dear neighbour, the surface water drain is blocked again. Yours, A. Resident."
    assert classify("Letter.pdf", text) is DocumentType.OTHER
