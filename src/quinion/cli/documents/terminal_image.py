"""Images in terminals: the protocols of kitty, iTerm2 and sixel.

Which of them a terminal has is read from its environment variables. A terminal that does not say
so gets no image: unknown escape sequences would fill the screen.
"""

import base64
import io
from collections.abc import Callable, Mapping
from itertools import groupby

import numpy as np
from PIL import Image

Encode = Callable[[bytes], str]

KITTY_PART = 4_096
SIXEL_SIDE = 1_000
SIXEL_COLOURS = 64
SIXEL_ROWS = 6
_BLANK = 63
_KITTY, _ITERM = ("kitty", "ghostty"), ("iTerm", "WezTerm", "mintty", "rio")
_SIXEL = ("foot", "mlterm", "yaft", "contour", "sixel")


def choose_encoding(environment: Mapping[str, str], *, is_terminal: bool) -> Encode | None:
    """Choose how to send an image to the terminal; None if it cannot show images."""
    term, program = environment.get("TERM", ""), environment.get("TERM_PROGRAM", "")
    # tmux and screen do not pass images on.
    if not is_terminal or term.startswith(("tmux", "screen", "dumb")):
        return None
    if "KITTY_WINDOW_ID" in environment or any(name in term for name in _KITTY):
        return encode_kitty
    if program.startswith(_ITERM) or environment.get("LC_TERMINAL") == "iTerm2":
        return encode_iterm
    return encode_sixel if any(name in term for name in _SIXEL) else None


def encode_kitty(png: bytes) -> str:
    """Encode a PNG for kitty's protocol, in parts of a limited size."""
    data = base64.b64encode(png).decode()
    parts = [data[start : start + KITTY_PART] for start in range(0, len(data), KITTY_PART)]
    last = len(parts) - 1
    return "".join(
        f"\x1b_G{'a=T,f=100,' if not number else ''}m={int(number < last)};{part}\x1b\\"
        for number, part in enumerate(parts)
    )


def encode_iterm(png: bytes) -> str:
    """Encode a PNG for iTerm2's protocol."""
    data = base64.b64encode(png).decode()
    return f"\x1b]1337;File=inline=1;size={len(png)};preserveAspectRatio=1:{data}\a"


def encode_sixel(png: bytes) -> str:
    """Encode a PNG as sixels: bands of six rows, one colour after the other."""
    with Image.open(io.BytesIO(png)) as image:
        image.thumbnail((SIXEL_SIDE, SIXEL_SIDE))
        indexed = image.convert("RGB").quantize(SIXEL_COLOURS, dither=Image.Dither.NONE)
    pixels = np.asarray(indexed)
    palette = np.asarray(indexed.getpalette()).reshape(-1, 3) * 100 // 255
    colours = "".join(
        f"#{number};2;{red};{green};{blue}" for number, (red, green, blue) in enumerate(palette)
    )
    height, width = pixels.shape
    bands = (_encode_band(pixels[top : top + SIXEL_ROWS]) for top in range(0, height, SIXEL_ROWS))
    return f'\x1bPq"1;1;{width};{height}{colours}{"".join(bands)}\x1b\\'


def _encode_band(rows: "np.ndarray[tuple[int, int], np.dtype[np.uint8]]") -> str:
    weights = 1 << np.arange(len(rows))
    lines = []
    for colour in np.unique(rows):
        runs = groupby((_BLANK + weights @ (rows == colour)).tolist())
        line = "".join(f"!{len(list(run))}{chr(letter)}" for letter, run in runs)
        lines.append(f"#{colour}{line}")
    return "$".join(lines) + "-"
