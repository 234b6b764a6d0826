"""Document types of the contract."""

from enum import StrEnum


class DocumentType(StrEnum):
    """Document types of the contract, in the order in which names are tried."""

    TRANSPORT_ASSESSMENT = "transport_assessment"
    DESIGN_ACCESS_STATEMENT = "design_access_statement"
    SITE_PLAN = "site_plan"
    FLOOR_PLAN = "floor_plan"
    ELEVATION = "elevation"
    PLANNING_STATEMENT = "planning_statement"
    ENVIRONMENTAL_STATEMENT = "environmental_statement"
    NOISE_ASSESSMENT = "noise_assessment"
    FLOOD_RISK_ASSESSMENT = "flood_risk_assessment"
    ECOLOGY_REPORT = "ecology_report"
    HERITAGE_STATEMENT = "heritage_statement"
    ARBORICULTURAL_REPORT = "arboricultural_report"
    OTHER = "other"


DRAWINGS = frozenset({DocumentType.SITE_PLAN, DocumentType.FLOOR_PLAN, DocumentType.ELEVATION})
"""Types that are drawings, with few words."""
