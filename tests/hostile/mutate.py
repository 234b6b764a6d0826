"""Mutations of good PDFs: case number → bytes, deterministic.

A case is a good file with a few changes, chosen by the seed and the case's number alone. Some
changes ignore the PDF syntax; others respect its tokens and reach deeper code, because the file
still opens.
"""

import os
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from quinion.extract.pdf.mupdf import pymupdf
from tests.documents import PROSE, AnyPage, Drawing, Scan, Text, make_pdf
from tests.hostile import raw

SEED = 9
MOST_CHANGES = 4
MOST_BYTES = 300_000
MOST_REAL = 40
"""Of the files and of their number that are taken from the corpus."""

Random = random.Random
Change = Callable[[Random, bytes, Sequence[bytes]], bytes]

_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_REFERENCE = re.compile(rb"\b(\d+) (\d+) R\b")
_OBJECT = re.compile(rb"\b(\d+) \d+ obj\b")
_LENGTH = re.compile(rb"/Length \d+")
_NAME = re.compile(rb"/[A-Za-z][A-Za-z0-9]*")
_FILTER = re.compile(rb"/(?:Flate|LZW|ASCII85|ASCIIHex|RunLength|CCITTFax|DCT|JPX|JBIG2)Decode")
_OPERATOR = re.compile(rb"(?<=[\s\)\]>])(?:Tj|TJ|Tf|Td|TD|Tm|Do|cm|re|gs|scn|sh|q|Q|BT|ET)(?=\s)")

_EXTREMES = (
    *(b"0", b"-1", b"1", b"255", b"65535", b"65536", b"2147483647", b"-2147483648"),
    *(b"4294967295", b"9999999999", b"99999999999999999999", b"1e38", b"0.0000001", b"-0"),
)
_FILTERS = (
    *(b"/FlateDecode", b"/LZWDecode", b"/ASCII85Decode", b"/ASCIIHexDecode", b"/RunLengthDecode"),
    *(b"/CCITTFaxDecode", b"/DCTDecode", b"/JPXDecode", b"/JBIG2Decode", b"/Crypt", b"/None"),
)


@dataclass(frozen=True, slots=True)
class Case:
    """A file to try, and how it was made."""

    number: int
    base: str
    changes: tuple[str, ...]
    data: bytes


def make_case(number: int, seed: int = SEED) -> Case:
    """The case of that number."""
    chance = Random(f"{seed}/{number}")
    names, files = zip(*good_files().items(), strict=True)
    place = chance.randrange(len(files))
    data, done = files[place], []
    for _ in range(chance.randint(1, MOST_CHANGES)):
        change = chance.choice(CHANGES)
        data = change(chance, data, files)
        done.append(change.__name__)
    return Case(number, names[place], tuple(done), data)


@cache
def good_files() -> dict[str, bytes]:
    """Small ones that are made here, and where there is a corpus, small ones of it."""
    return {**_made(), **_real()}


def _made() -> dict[str, bytes]:
    pages: list[AnyPage] = [
        Text(PROSE),
        Text(PROSE.upper()),
        Scan(PROSE, cover=1.0, dpi=100),
        Drawing(),
    ]
    with _open(pages) as document:
        document.set_metadata({"title": "Cycle parking", "keywords": "cycles, parking"})
        document.set_toc([[1, "One", 1], [2, "Two", 2], [1, "Three", 3]])
        note = document[0].add_highlight_annot(pymupdf.Rect(20, 20, 90, 40))
        document.xref_set_key(note.xref, "M", "(D:20260101000000Z)")
        packed = document.tobytes(garbage=4, deflate=True, use_objstms=1, no_new_id=True)
        open_ = document.tobytes(garbage=4, expand=255, pretty=True, no_new_id=True)
    with _open([Text(PROSE)]) as document:
        small = document.tobytes(garbage=4, expand=255, no_new_id=True)
    form = raw.stream(
        b"BT /F1 9 Tf 9 9 Td (in a form) Tj ET",
        b"/Type /XObject /Subtype /Form /BBox [0 0 300 300] /Resources << /Font << /F1 5 0 R >> >>",
    )
    words = b"BT /F1 12 Tf 72 700 Td (%s) Tj ET /X Do" % PROSE.replace("\n", " ").encode()
    shown = b"/Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >>"
    plain = raw.write(raw.simple(raw.stream(words), {5: raw.FONT, 6: form}, shown))
    return {"packed": packed, "open": open_, "small": small, "plain": plain}


def _open(pages: Sequence[AnyPage]) -> pymupdf.Document:
    with tempfile.TemporaryDirectory() as folder:
        data = make_pdf(Path(folder, "good.pdf"), pages).read_bytes()
    document = pymupdf.open(stream=data, filetype="pdf")
    # It would be another each time.
    document.xref_set_key(-1, "ID", "[(one)(two)]")
    return document


def _real() -> dict[str, bytes]:
    corpus = os.environ.get("QUINION_CORPUS")
    if not corpus:
        return {}
    found = sorted(
        path
        for path in Path(corpus).rglob("*.pdf")
        if "hostile" not in path.parts and path.stat().st_size <= MOST_BYTES
    )
    step = max(1, len(found) // MOST_REAL)
    return {
        path.relative_to(corpus).as_posix(): path.read_bytes() for path in found[::step][:MOST_REAL]
    }


def flip_bytes(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """A few bytes have other values."""
    changed = bytearray(data)
    for _count in range(chance.randint(1, 20) if data else 0):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def delete_chunk(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """A piece is gone."""
    start, end = _piece(chance, data)
    return data[:start] + data[end:]


def repeat_chunk(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """A piece is there several times."""
    start, end = _piece(chance, data)
    return data[:end] + data[start:end] * chance.randint(1, 8) + data[end:]


def truncate(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """The end is missing."""
    return data[: chance.randint(min(16, len(data)), len(data))]


def splice(chance: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """The beginning of one file and the end of another."""
    other = chance.choice(others)
    return data[: chance.randint(0, len(data))] + other[chance.randint(0, len(other)) :]


def change_numbers(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Numbers become very large, very small, or none."""
    return _replace(chance, data, _NUMBER, lambda _: chance.choice(_EXTREMES))


def redirect(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """References lead to other objects, or to none."""
    objects = _OBJECT.findall(data) or [b"1"]
    targets = (*objects, b"0", b"8388607", b"99999999")
    return _replace(chance, data, _REFERENCE, lambda _: b"%s 0 R" % chance.choice(targets))


def change_lengths(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Streams say that they are longer or shorter than they are."""
    return _replace(chance, data, _LENGTH, lambda _: b"/Length " + chance.choice(_EXTREMES))


def change_filters(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Streams say that they are packed in another way."""
    return _replace(chance, data, _FILTER, lambda _: chance.choice(_FILTERS))


def swap_names(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Names stand where others were."""
    names = _NAME.findall(data) or [b"/Type"]
    return _replace(chance, data, _NAME, lambda _: chance.choice(names))


def swap_operators(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Operators of a page's content stand where others were."""
    operators = _OPERATOR.findall(data) or [b"q"]
    return _replace(chance, data, _OPERATOR, lambda _: chance.choice(operators))


def nest(chance: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Brackets that are never closed."""
    place = chance.randint(0, len(data))
    opening = chance.choice((b"[", b"<<", b"(", b"<</A ", b"q ", b"BT "))
    return data[:place] + opening * chance.choice((1, 100, 5000)) + data[place:]


CHANGES: tuple[Change, ...] = (
    *(flip_bytes, delete_chunk, repeat_chunk, truncate, splice),
    *(change_numbers, redirect, change_lengths, change_filters),
    *(swap_names, swap_operators, nest),
)


def _piece(chance: Random, data: bytes) -> tuple[int, int]:
    start = chance.randint(0, len(data))
    return start, min(len(data), start + chance.choice((1, 16, 256, 4096)))


def _replace(
    chance: Random, data: bytes, what: "re.Pattern[bytes]", by: Callable[[bytes], bytes]
) -> bytes:
    """Some of what is found, at most five, replaced."""
    found = list(what.finditer(data))
    for match in sorted(
        chance.sample(found, min(len(found), chance.randint(1, 5))),
        key=lambda match: match.start(),
        reverse=True,
    ):
        data = data[: match.start()] + by(match[0]) + data[match.end() :]
    return data
