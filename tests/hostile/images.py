"""Image files that declare more than they contain, or reach the limits."""

import io
import struct
import zlib
from collections.abc import Callable
from itertools import chain

from PIL import Image

from tests.hostile.raw import MIB, flate_zeros

SIDE = 60_000
_GREY, _COLOUR_AND_ALPHA = 0, 6
_SHORT, _LONG = 3, 4
_DEFLATE = 8
# Where the template of a JBIG2 region looks, as the standard proposes.
_LOOKS_AT = b"\x03\xff\xfd\xff\x02\xfe\xfe\xfe"


def huge_png() -> bytes:
    """60,000 by 60,000 pixels, of which the file has one row."""
    return _png(SIDE, 8, _GREY, zlib.compress(bytes(SIDE + 1)))


def whole_png() -> bytes:
    """As many pixels, and all of them there."""
    return _png(SIDE, 8, _GREY, flate_zeros(SIDE * (SIDE + 1) + MIB))


def largest_png() -> bytes:
    """As many pixels as are read, in colours of sixteen bits that can be seen through."""
    side = 12_247
    return _png(side, 16, _COLOUR_AND_ALPHA, flate_zeros(side * (side * 8 + 1) + MIB))


def long_png() -> bytes:
    """As many pixels as are read, in a single column."""
    chunks = struct.pack(">IIBBBBB", 1, 150_000_000, 1, _GREY, 0, 0, 0)
    return _png_file((b"IHDR", chunks), (b"IDAT", flate_zeros(300 * MIB)), (b"IEND", b""))


def noted_png() -> bytes:
    """A small picture with notes of a gigabyte each."""
    note = b"Comment\0\0" + flate_zeros(1 << 30)
    header = struct.pack(">IIBBBBB", 9, 9, 8, _GREY, 0, 0, 0)
    notes = [(b"zTXt", note)] * 3
    return _png_file((b"IHDR", header), *notes, (b"IDAT", zlib.compress(bytes(90))), (b"IEND", b""))


def coloured_png() -> bytes:
    """A small picture with a colour profile of a gigabyte."""
    profile = b"ICC\0\0" + flate_zeros(1 << 30)
    header = struct.pack(">IIBBBBB", 9, 9, 8, _GREY, 0, 0, 0)
    data = zlib.compress(bytes(90))
    return _png_file((b"IHDR", header), (b"iCCP", profile), (b"IDAT", data), (b"IEND", b""))


def _png(side: int, bits: int, kind: int, data: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", side, side, bits, kind, 0, 0, 0)
    return _png_file((b"IHDR", header), (b"IDAT", data), (b"IEND", b""))


def _png_file(*chunks: tuple[bytes, bytes]) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def huge_jpeg() -> bytes:
    """A small JPEG whose header says that it has 60,000 by 60,000 pixels."""
    return _jpeg(SIDE, SIDE)


def largest_jpeg() -> bytes:
    """As many pixels as are read, of which the file has sixty-four."""
    return _jpeg(12_247, 12_247)


def _jpeg(width: int, height: int) -> bytes:
    out = io.BytesIO()
    Image.new("L", (8, 8), 128).save(out, "JPEG")
    data = bytearray(out.getvalue())
    frame = data.index(b"\xff\xc0")
    data[frame + 5 : frame + 9] = struct.pack(">HH", height, width)
    return bytes(data)


def scanned_jpeg() -> bytes:
    """A progressive JPEG of many pixels, with a thousand scans that say nothing."""
    out = io.BytesIO()
    Image.new("L", (8, 8), 128).save(out, "JPEG", progressive=True)
    data = bytearray(out.getvalue())
    frame = data.index(b"\xff\xc2")
    data[frame + 5 : frame + 9] = struct.pack(">HH", 10_000, 10_000)
    last = data.rindex(b"\xff\xda")
    return bytes(data[:last] + data[last:-2] * 1000 + b"\xff\xd9")


def huge_tiff() -> bytes:
    """60,000 by 60,000 pixels in a strip that inflates to as many."""
    return _tiff(SIDE, SIDE, flate_zeros(SIDE * SIDE + MIB))


def largest_tiff() -> bytes:
    """As many pixels as are read, in four colours of sixteen bits."""
    side = 12_247
    return _tiff(side, side, flate_zeros(side * side * 8 + MIB), samples=4, bits=16)


def framed_tiff() -> bytes:
    """A hundred thousand frames."""
    count = 100_000
    data = zlib.compress(bytes(64))
    out = bytearray(b"II*\0" + struct.pack("<I", 8 + len(data)) + data)
    for number in range(count):
        after = 0 if number == count - 1 else -1
        out += _directory(8, 8, 8, len(data), len(out), after=after)
    return bytes(out)


def cyclic_tiff() -> bytes:
    """A frame that comes after itself."""
    data = zlib.compress(bytes(64))
    start = 8 + len(data)
    return (
        b"II*\0"
        + struct.pack("<I", start)
        + data
        + _directory(8, 8, 8, len(data), start, after=start)
    )


def many_stripped_tiff() -> bytes:
    """A frame that says it has four thousand million strips."""
    entries = [
        (256, _LONG, 1, 8),
        (257, _LONG, 1, 8),
        (258, _SHORT, 1, 8),
        (259, _SHORT, 1, 1),
        (262, _SHORT, 1, 1),
        (273, _LONG, 0xFFFFFFF0, 8),
        (278, _LONG, 1, 1),
        (279, _LONG, 0xFFFFFFF0, 8),
    ]
    return b"II*\0" + struct.pack("<I", 8) + _entries(entries, 0) + bytes(64)


def _tiff(width: int, height: int, data: bytes, samples: int = 1, bits: int = 8) -> bytes:
    start = 8 + len(data) + len(data) % 2
    head = b"II*\0" + struct.pack("<I", start) + data + bytes(len(data) % 2)
    return head + _directory(width, height, 8, len(data), start, samples=samples, bits=bits)


def _directory(
    width: int,
    height: int,
    place: int,
    length: int,
    start: int,
    *,
    samples: int = 1,
    bits: int = 8,
    after: int = 0,
) -> bytes:
    """A frame; `after` is where the next is, -1 for right behind it."""
    many = samples > 1
    count = 11 if many else 10
    end = start + 2 + 12 * count + 4
    entries = [
        (256, _LONG, 1, width),
        (257, _LONG, 1, height),
        (258, _SHORT, samples, end if many else bits),
        (259, _SHORT, 1, _DEFLATE),
        (262, _SHORT, 1, 2 if many else 1),
        (273, _LONG, 1, place),
        (277, _SHORT, 1, samples),
        (278, _LONG, 1, height),
        (279, _LONG, 1, length),
        (284, _SHORT, 1, 1),
        *([(338, _SHORT, 1, 2)] if many else []),
    ]
    sizes = struct.pack(f"<{samples}H", *[bits] * samples) if many else b""
    return _entries(entries, end + len(sizes) if after < 0 else after) + sizes


def _entries(entries: list[tuple[int, int, int, int]], after: int) -> bytes:
    packed = chain.from_iterable(struct.pack("<HHII", *entry) for entry in entries)
    return struct.pack("<H", len(entries)) + bytes(packed) + struct.pack("<I", after)


def huge_bmp() -> bytes:
    """60,000 by 60,000 pixels, run-length encoded, of which there are none."""
    info = struct.pack("<IiiHHIIiiII", 40, SIDE, SIDE, 1, 8, 1, 0, 0, 0, 256, 0)
    body = info + bytes(1024) + b"\0\1"
    return b"BM" + struct.pack("<IHHI", 14 + len(body), 0, 0, 14 + 40 + 1024) + body


def huge_gif() -> bytes:
    """60,000 by 60,000 pixels of a GIF that ends after a few."""
    screen = struct.pack("<HHBBB", SIDE, SIDE, 0x80, 0, 0) + bytes(6)
    image = b"," + struct.pack("<HHHHB", 0, 0, SIDE, SIDE, 0) + b"\x02\x02\x4c\x01\0;"
    return b"GIF89a" + screen + image


def huge_webp() -> bytes:
    """A WebP with the largest canvas that its header can name."""
    canvas = bytes(4) + (16_383).to_bytes(3, "little") * 2
    body = b"WEBPVP8X" + struct.pack("<I", 10) + canvas
    return b"RIFF" + struct.pack("<I", len(body)) + body


def huge_jpeg2000() -> bytes:
    """A JPEG 2000 codestream of 60,000 by 60,000 pixels, in tiles of one pixel."""
    size = struct.pack(">HIIIIIIIIH", 0, SIDE, SIDE, 0, 0, 1, 1, 0, 0, 3) + b"\x07\x01\x01" * 3
    style = b"\0\0\0\1\0\5\4\4\0\1"
    quality = b"\x40" + bytes(16)
    out = b"\xff\x4f"
    for marker, body in ((b"\xff\x51", size), (b"\xff\x52", style), (b"\xff\x5c", quality)):
        out += marker + struct.pack(">H", len(body) + 2) + body
    tile = b"\xff\x90" + struct.pack(">HHIBB", 10, 0, 0, 0, 1) + b"\xff\x93" + bytes(32)
    return out + tile + b"\xff\xd9"


def endless_jbig2() -> bytes:
    """A page of unknown height with a region of unknown length."""
    page = struct.pack(">IIIIBH", SIDE, 0xFFFFFFFF, 0, 0, 0, 0x8000 | 0x7FFF)
    region = struct.pack(">IIIIB", SIDE, SIDE, 0, 0, 0) + b"\0" + _LOOKS_AT
    return _segment(0, 48, page) + _segment(1, 38, region + bytes(256), 0xFFFFFFFF)


def lying_jbig2() -> bytes:
    """A dictionary that says it has four thousand million symbols."""
    page = struct.pack(">IIIIBH", 1000, 1000, 0, 0, 0, 0)
    symbols = b"\0\0" + _LOOKS_AT + struct.pack(">II", 2**32 - 1, 2**32 - 1)
    return _segment(0, 48, page) + _segment(1, 0, symbols + bytes(256))


def _segment(number: int, kind: int, data: bytes, length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    return struct.pack(">IBBBI", number, kind, 0, 1, size) + data


BOMBS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "huge_png": (".png", huge_png),
    "whole_png": (".png", whole_png),
    "largest_png": (".png", largest_png),
    "long_png": (".png", long_png),
    "noted_png": (".png", noted_png),
    "coloured_png": (".png", coloured_png),
    "huge_jpeg": (".jpg", huge_jpeg),
    "largest_jpeg": (".jpeg", largest_jpeg),
    "scanned_jpeg": (".jpg", scanned_jpeg),
    "huge_tiff": (".tif", huge_tiff),
    "largest_tiff": (".tiff", largest_tiff),
    "framed_tiff": (".tif", framed_tiff),
    "cyclic_tiff": (".tif", cyclic_tiff),
    "many_stripped_tiff": (".tif", many_stripped_tiff),
    "huge_bmp": (".bmp", huge_bmp),
    "huge_gif": (".gif", huge_gif),
    "huge_webp": (".webp", huge_webp),
}
