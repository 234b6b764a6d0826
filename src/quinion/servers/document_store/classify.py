"""Document types: classify a file by its name, else by its text, else as `other`.

Patterns match complete words only. `_`, `-`, `.`, case and `CamelCase` are normalized first, so
`FRA.pdf` is a flood risk assessment and `Infrastructure_Plan.pdf` is not.
"""

import re
from enum import StrEnum


class DocumentType(StrEnum):
    """Document types of the contract, in the order in which they are tried."""

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


def _word_pattern(*patterns: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})s?\b")


_NAME_PATTERNS = {
    DocumentType.TRANSPORT_ASSESSMENT: _word_pattern(
        "transport (?:assessment|statement)", "travel plan", "traffic impact"
    ),
    DocumentType.DESIGN_ACCESS_STATEMENT: _word_pattern(
        "design (?:and|&) access(?: statement)?", "d ?(?:and|&) ?a statement"
    ),
    DocumentType.SITE_PLAN: _word_pattern(
        "(?:site|location|block|layout) plan", "site (?:layout|location)"
    ),
    DocumentType.FLOOR_PLAN: _word_pattern("floor ?plan", "(?:ground|first|second|third) floor"),
    DocumentType.ELEVATION: _word_pattern("elevation", "street ?scene"),
    DocumentType.PLANNING_STATEMENT: _word_pattern("(?:planning|supporting) statement"),
    DocumentType.ENVIRONMENTAL_STATEMENT: _word_pattern(
        "environmental impact (?:statement|assessment)", "environmental statement", "eia"
    ),
    DocumentType.NOISE_ASSESSMENT: _word_pattern(
        "noise(?: impact)? (?:assessment|report|survey)", "acoustic"
    ),
    DocumentType.FLOOD_RISK_ASSESSMENT: _word_pattern(
        "flood risk(?: assessment)?", "fra", "drainage strategy"
    ),
    DocumentType.ECOLOGY_REPORT: _word_pattern(
        "ecology (?:report|survey)",
        "ecological (?:appraisal|report|survey|assessment)",
        "bat survey",
        "biodiversity",
    ),
    DocumentType.HERITAGE_STATEMENT: _word_pattern(
        "heritage (?:statement|assessment)", "archaeological"
    ),
    DocumentType.ARBORICULTURAL_REPORT: _word_pattern(
        "arboricultural (?:report|survey|assessment)", "tree survey"
    ),
}

_RENDERING_PATTERN = _word_pattern(
    "birds? ?eye",
    "perspective",
    "cgi",
    "3d visual(?:isation|ization)?",
    "artists? impression",
    "photo ?montage",
    "street ?scene",
    "render(?:ing|ed)?",
)

_CONTENT_PATTERNS = {
    DocumentType.TRANSPORT_ASSESSMENT: _word_pattern(
        "transport assessment",
        "trip generation",
        "traffic flow",
        "junction",
        "trics",
        "travel plan",
    ),
    DocumentType.DESIGN_ACCESS_STATEMENT: _word_pattern(
        "design and access statement",
        "design principle",
        "massing",
        "appearance",
        "inclusive access",
    ),
    DocumentType.PLANNING_STATEMENT: _word_pattern(
        "planning statement", "planning history", "planning balance", "material consideration"
    ),
    DocumentType.ENVIRONMENTAL_STATEMENT: _word_pattern(
        "environmental statement",
        "environmental impact assessment",
        "scoping opinion",
        "significant effect",
        "cumulative effect",
    ),
    DocumentType.NOISE_ASSESSMENT: _word_pattern(
        "noise assessment",
        "noise level",
        "laeq",
        "acoustic",
        "sound insulation",
        "bs ?8233",
        "bs ?4142",
    ),
    DocumentType.FLOOD_RISK_ASSESSMENT: _word_pattern(
        "flood risk assessment",
        "flood zone",
        "surface water",
        "attenuation",
        "suds",
        "sequential test",
    ),
    DocumentType.ECOLOGY_REPORT: _word_pattern(
        "ecological appraisal",
        "habitat",
        "bat roost",
        "protected species",
        "great crested newt",
        "biodiversity net gain",
    ),
    DocumentType.HERITAGE_STATEMENT: _word_pattern(
        "heritage statement",
        "listed building",
        "conservation area",
        "heritage asset",
        "archaeological",
    ),
    DocumentType.ARBORICULTURAL_REPORT: _word_pattern(
        "arboricultural", "root protection area", "bs ?5837", "tree survey", "crown spread"
    ),
}

MIN_MENTIONS = 5
MIN_DISTINCT_PHRASES = 2
SCANNED_CHARACTERS = 20_000


def classify(file_name: str, text: str) -> DocumentType:
    """Classify a document by its name, else by its text, else as `other`."""
    return classify_name(file_name) or classify_text(text) or DocumentType.OTHER


def classify_name(file_name: str) -> DocumentType | None:
    """Return the first type whose pattern matches the file name."""
    name = fold_name(file_name)
    return next((kind for kind, pattern in _NAME_PATTERNS.items() if pattern.search(name)), None)


def classify_text(text: str) -> DocumentType | None:
    """Return the type whose phrases are most frequent near the beginning.

    A single mention is weak evidence, so several mentions of different phrases are required.
    """
    beginning = " ".join(text[:SCANNED_CHARACTERS].lower().split())
    mentions = {kind: pattern.findall(beginning) for kind, pattern in _CONTENT_PATTERNS.items()}
    kind, found = max(mentions.items(), key=lambda item: len(item[1]))
    is_clear = len(found) >= MIN_MENTIONS and len(set(found)) >= MIN_DISTINCT_PHRASES
    return kind if is_clear else None


def is_rendering(file_name: str) -> bool:
    """Return whether the file name indicates a rendering of the proposed building."""
    return _RENDERING_PATTERN.search(fold_name(file_name)) is not None


def fold_name(file_name: str) -> str:
    """Split a file name into lower-case words, without its extension."""
    stem = file_name.rsplit(".", 1)[0]
    split = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", " ", stem)
    return re.sub(r"[\s_.\-]+", " ", re.sub(r"['’]", "", split)).lower().strip()
