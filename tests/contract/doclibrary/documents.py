"""Documents with elements of each type, small enough that all that is in them is known."""

from pathlib import Path

from quinion.model.element import Box
from tests.documents import Text, make_pdf
from tests.element_documents import CELLS, LEFT, Paper

SURVEY = "survey"
SURVEY_TITLE = "Survey of Nine Streets"
SURVEY_PAGES = 3
SURVEY_ELEMENTS = {
    "Figure 8-1": ("figure", 1),
    "Table 5": ("table", 2),
    "(8-3)": ("equation", 2),
    "Figure 9-1": ("diagram", 3),
    "Figure 9-2": ("chart", 3),
}
"""Type and page of each, in the order of the document."""
PLAN_CAPTION = "Figure 8-1. Plan of the nine streets and the yards behind them."
TABLE_CAPTION = "Table 5. Houses, damp and heating in the streets of the survey."
HEADER = CELLS[0]

APPENDICES = "appendices"
APPENDICES_TITLE = "Appendices to the Survey"


def survey(path: Path) -> Path:
    """Three pages, and an element of each type."""
    with Paper(path) as paper:
        paper.tell(title=SURVEY_TITLE, keywords="housing, damp; streets")
        y = paper.prose(60, 6)
        y = _figure(paper, y, PLAN_CAPTION)
        paper.prose(y, 8)
        paper.turn()
        y = paper.prose(60, 5)
        paper.write(LEFT, y + 20, TABLE_CAPTION, bold=True)
        y = paper.prose(paper.table(y + 30).y1 + 30, 5)
        paper.equation(y + 30, "E = mc + p / (a - b)", "(8-3)")
        paper.prose(y + 60, 6)
        paper.turn()
        y = paper.prose(60, 4)
        y = _figure(paper, y, "Figure 9-1. Diagram of the drains below a yard.")
        y = paper.prose(y, 4)
        _figure(paper, y, "Figure 9-2. Bar chart of the rain in both summers.")
    return path


def appendices(path: Path) -> Path:
    """Two pages, each with a Figure 1; no title but the one in large print."""
    with Paper(path) as paper:
        paper.page.insert_text((LEFT, 60), APPENDICES_TITLE, fontsize=20)
        for name in "AB":
            y = paper.prose(80, 6)
            y = _figure(paper, y, f"Figure 1. Ground plan of house {name}.")
            paper.prose(y, 6)
            if name == "A":
                paper.turn()
    return path


GRID_CAPTIONS = {
    "Exhibit 4": "Exhibit 4. Houses of the survey, by street.",
    "Schedule 2": "Schedule 2. Damp and heating, by street.",
    "Chart 3": "Chart 3. Streets and their houses.",
    "Figure 7": "Figure 7. Number of damp houses.",
}
"""Captions of tables that do not call them tables."""


def grids(path: Path) -> Path:
    """A page with a table for each of these captions, and a page with an exhibit that is a plan."""
    with Paper(path) as paper:
        for caption in GRID_CAPTIONS.values():
            y = paper.prose(60, 5)
            paper.write(LEFT, y + 20, caption, bold=True)
            paper.prose(paper.table(y + 30).y1 + 30, 5)
            paper.turn()
        _figure(paper, paper.prose(60, 6), "Exhibit 5. Plan of a yard.")
    return path


def letter(path: Path, *pages: str) -> Path:
    """Pages of text and nothing else."""
    return make_pdf(path, [Text(page) for page in pages])


def _figure(paper: Paper, y: float, caption: str) -> float:
    box = paper.drawing(Box(120, y + 20, 470, y + 220))
    paper.write(120, box.y1 + 20, caption)
    return box.y1 + 50
