"""Names of document types: what documents of a type are called, in titles, texts and file names.

Patterns match complete words of a lower-case text with single spaces; a plural `s` is allowed.
"""

import re
from collections.abc import Mapping

from quinion.model.document_type import DocumentType

_REPORT = "(?:assessment|statement|report|survey|study|appraisal|note)"


def word_pattern(*patterns: str) -> re.Pattern[str]:
    """Compile a pattern that matches one of the patterns as complete words."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})s?\b")


_NAMES: Mapping[DocumentType, tuple[str, ...]] = {
    DocumentType.TRANSPORT_ASSESSMENT: (
        f"transport(?:ation)?(?: technical)? {_REPORT}",
        "travel plan",
        f"traffic(?: (?:and|&) transport)?(?: impact| flow)? {_REPORT}",
        "traffic flow comparison",
        f"highways?(?: (?:impact|safety|technical))? {_REPORT}",
        f"parking(?: stress)? {_REPORT}",
    ),
    DocumentType.DESIGN_ACCESS_STATEMENT: (
        "design,? (?:and|&) access(?: statement)?",
        "design (?:and|&) heritage statement",
        "d ?(?:and|&) ?a statement",
        "design statement",
    ),
    DocumentType.SITE_PLAN: (
        "(?:site|location|block|layout) plan",
        "site (?:layout|location)(?: plan)?",
        "red line (?:plan|boundary)",
    ),
    DocumentType.FLOOR_PLAN: (
        "floor ?plan",
        "(?:basement|(?:lower |upper )?ground|first|second|third|fourth|fifth) floor(?: plan)?",
        "(?:basement|loft|attic) plan",
    ),
    DocumentType.ELEVATION: ("elevation", "street ?scene"),
    DocumentType.PLANNING_STATEMENT: (
        "planning (?:support(?:ing)? |policy )?statement",
        "supporting(?: planning)? statement",
    ),
    DocumentType.ENVIRONMENTAL_STATEMENT: (
        "environmental(?: impact)? (?:statement|assessment)",
        "environmental impact report",
        "eia report",
    ),
    DocumentType.NOISE_ASSESSMENT: (
        f"noise(?: (?:and|&) vibration)?(?: impact| exposure)? {_REPORT}",
        f"acoustics?(?: (?:design|impact|planning))? {_REPORT}",
        f"(?:environmental|plant|background) noise {_REPORT}",
        f"sound (?:insulation|level|impact) {_REPORT}",
    ),
    DocumentType.FLOOD_RISK_ASSESSMENT: (
        f"flood(?:ing)? risk {_REPORT}",
        "s?fra",
        "(?:surface water |foul |suds )?drainage (?:strategy|assessment|statement|report)",
        "suds (?:strategy|assessment|statement|report)",
    ),
    DocumentType.ECOLOGY_REPORT: (
        f"ecolog(?:y|ical)(?: (?:impact|constraints|walkover))? {_REPORT}",
        f"(?:phase (?:1|one|i) |extended )?habitats? {_REPORT}",
        f"(?:bat|badger|reptile|bird|great crested newt|gcn|otter|dormouse|protected species)"
        f"(?: (?:roost|activity|emergence|presence))? {_REPORT}",
        f"(?:preliminary )?roost {_REPORT}",
        f"biodiversity(?: net gain)? {_REPORT}",
        "biodiversity (?:net gain )?(?:plan|strategy)",
    ),
    DocumentType.HERITAGE_STATEMENT: (
        f"(?:built )?heritage(?: impact)? {_REPORT}",
        f"archaeolog(?:y|ical)(?: (?:desk[ -]?based|impact|evaluation))? {_REPORT}",
        "statement of (?:heritage )?significance",
        f"historic (?:building|environment)(?: desk[ -]?based)? {_REPORT}",
    ),
    DocumentType.ARBORICULTURAL_REPORT: (
        f"arboricultur(?:e|al)(?: (?:impact|implications|method|constraints))? {_REPORT}",
        f"trees?(?: (?:condition|constraints))? {_REPORT}",
        "tree (?:protection|constraints|retention) plan",
    ),
}
# File names are terse, so a subject alone tells the type there.
_SUBJECTS_IN_FILE_NAMES: Mapping[DocumentType, tuple[str, ...]] = {
    DocumentType.TRANSPORT_ASSESSMENT: ("traffic impact", "traffic flow"),
    DocumentType.DESIGN_ACCESS_STATEMENT: ("das",),
    DocumentType.ENVIRONMENTAL_STATEMENT: ("eia", r"es (?:vol(?:ume)?|chapter|appendix) ?\d+"),
    DocumentType.NOISE_ASSESSMENT: ("acoustic",),
    DocumentType.FLOOD_RISK_ASSESSMENT: ("flood risk",),
    DocumentType.ECOLOGY_REPORT: ("biodiversity", "ecology", "preliminary ecological"),
    DocumentType.HERITAGE_STATEMENT: ("archaeological", "archaeology"),
    DocumentType.ARBORICULTURAL_REPORT: ("arboricultural", "bs ?5837"),
}

NAMES = {kind: word_pattern(*patterns) for kind, patterns in _NAMES.items()}
"""What documents of a type are called."""

FILE_NAMES = {
    kind: word_pattern(*patterns, *_SUBJECTS_IN_FILE_NAMES.get(kind, ()))
    for kind, patterns in _NAMES.items()
}
"""What files of a type are called, in the order in which the types are tried."""

OTHER_DOCUMENTS = word_pattern(
    "spd",
    "supplementary planning document",
    "(?:adoption|consultation|decision|examination) statement",
    "statement of (?:community|public)? ?(?:involvement|consultation|common ground|case)",
    "inspectors? (?:report|decision)",
    "appeal decision",
    "decision notice",
    "notice of decision",
    "public notice",
    "(?:officer|delegated|committee|cabinet|cabinet member|case officer)s? report",
    "(?:covering|cover|objection) letter",
    "letter of (?:objection|support)",
    "objection",
    "(?:consultee|consultation|neighbour|officer|statutory) (?:response|comment|repl(?:y|ie))",
    "topic paper",
    "proof of evidence",
    "sustainability appraisal",
    "strategic environmental assessment",
    "(?:screening|scoping) (?:opinion|request|report|direction)",
    "conservation area (?:appraisal|management plan|control plan)",
    "local development scheme",
    "policies map",
)
"""Documents about planning that have none of the types, whatever their subject is."""

RENDERINGS = word_pattern(
    "birds? ?eye",
    "perspective",
    "cgi",
    "3d visual(?:isation|ization)?",
    "artists? impression",
    "photo ?montage",
    "street ?scene",
    "render(?:ing|ed)?",
)
"""File names of renderings of the proposed building."""
