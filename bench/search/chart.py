"""SVG chart of `docs/search.md`: quality of each mode, by set."""

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, ROW, BAR, TOP, LEFT = 860, 92, 14, 56, 170
SCALE = 600
FONT = "ui-sans-serif, system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
INK, FAINT = "#1f2937", "#64748b"
COLOURS = ("#cbd5e1", "#94a3b8", "#0d9488", "#d97706", "#2563eb")


def draw(scores: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> str:
    """Render horizontal bars: one group per set, one bar per column."""
    height = TOP + ROW * len(scores) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="{FONT}" font-size="12" '
        'aria-label="nDCG@10 of the search modes on judged sets.">',
        f'<rect width="{WIDTH}" height="{height}" rx="12" fill="#ffffff"/>',
        _text(24, 30, "nDCG@10", INK, 'font-weight="600" font-size="15"'),
    ]
    for place, (column, colour) in enumerate(zip(columns, COLOURS, strict=True)):
        x = LEFT + 130 * place
        lines.append(f'<rect x="{x}" y="20" width="12" height="12" fill="{colour}"/>')
        lines.append(_text(x + 18, 30, column, FAINT))
    for row, (name, found) in enumerate(scores.items()):
        y = TOP + ROW * row
        lines.append(_text(24, y + 40, name, INK))
        for place, (column, colour) in enumerate(zip(columns, COLOURS, strict=True)):
            top, width = y + (BAR + 1) * place, SCALE * found[column]
            lines.append(
                f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>'
            )
            lines.append(_text(LEFT + width + 6, top + 11, f"{found[column]:.3f}", FAINT))
    return "\n".join([*lines, "</svg>\n"])


def _text(x: float, y: float, text: str, colour: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y}" fill="{colour}" {more}>{escape(text)}</text>'
