"""Office and web files as text: parts with the heading, slide, sheet or message to cite."""
