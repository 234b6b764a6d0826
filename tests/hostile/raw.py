"""PDF files assembled byte by byte, because no library writes such invalid files."""

import zlib
from collections.abc import Iterable, Mapping

MIB = 1 << 20
_ADLER = 65_521

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
CATALOG, PAGES, PAGE, FIRST_FREE = 1, 2, 3, 4
"""The numbers that the first objects of a simple file have."""


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def simple(content: bytes, others: Mapping[int, bytes], page: bytes = b"") -> dict[int, bytes]:
    """A document of one page: its content, the objects that it uses, more of its dictionary.

    `content` is object 4, so the others begin with 5.
    """
    return {
        CATALOG: b"<< /Type /Catalog /Pages 2 0 R >>",
        PAGES: b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        PAGE: b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %s >>" % page,
        FIRST_FREE: content,
        **others,
    }


def write(objects: Mapping[int, bytes], trailer: bytes = b"") -> bytes:
    """The file with these objects, by their numbers; the first is the catalogue."""
    out = bytearray(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
    places = {}
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    size = max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        place = places.get(number)
        out += b"0000000000 00001 f \n" if place is None else b"%010d 00000 n \n" % place
    out += b"trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n" % (
        size,
        trailer,
        start,
    )
    return bytes(out)


def flate_zeros(size: int, layers: int = 1, byte: bytes = b"\0") -> bytes:
    """What inflates to so many bytes of one value, packed so many times; whole MiB of them.

    A flush makes the packed form of a MiB independent of what stands before it, so it is made
    once and repeated.
    """
    packer = zlib.compressobj(9)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    one = packer.compress(byte * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    count = size // MIB
    low = (1 + count * MIB * byte[0]) % _ADLER
    length = count * MIB
    high = (length + byte[0] * (length * (length + 1) // 2)) % _ADLER
    packed = head + one * count + b"\x03\x00" + ((high << 16) | low).to_bytes(4, "big")
    for _ in range(layers - 1):
        packed = zlib.compress(packed, 9)
    return packed


def flate(data: bytes, entries: bytes = b"") -> bytes:
    """A packed stream object."""
    return stream(zlib.compress(data, 9), b"/Filter /FlateDecode " + entries)


def filters(count: int) -> bytes:
    """The entry of a stream that was packed so many times."""
    return b"/Filter [%s]" % b" ".join([b"/FlateDecode"] * count)


def cross_reference_stream(
    number: int, rows: Iterable[tuple[int, int, int]], size: int, root: int = CATALOG
) -> bytes:
    """An object that says where the others are: kind, place, index of each, from number 0 on."""
    table = b"".join(
        kind.to_bytes(1, "big") + place.to_bytes(8, "big") + index.to_bytes(4, "big")
        for kind, place, index in rows
    )
    return b"%d 0 obj\n%s\nendobj\n" % (
        number,
        flate(table, b"/Type /XRef /W [1 8 4] /Size %d /Root %d 0 R" % (size, root)),
    )
