"""Server icons: SVG line drawings that a client can show beside the name."""

import base64

from mcp.types import Icon

_FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="#3b82c4" '
    'stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round">{}</svg>'
)
"""The blue is visible on white and on black."""


def draw_icon(lines: str) -> Icon:
    """Create an icon from SVG elements on a 24 by 24 canvas."""
    drawing = base64.b64encode(_FRAME.format(lines).encode()).decode()
    return Icon(
        src=f"data:image/svg+xml;base64,{drawing}", mime_type="image/svg+xml", sizes=["any"]
    )
