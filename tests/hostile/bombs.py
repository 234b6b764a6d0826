"""Files that do harm to a careless reader, made by code: small on disk, the same each time.

Each is a function that gives the bytes of a file; `PDFS`, `IMAGES` and `TEXTS` have them by name,
and `make` writes one. Those of `LONG` are written by themselves, one of them as a hole.
"""

import io
import random
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.hostile import images, raw
from tests.hostile.raw import FONT, flate, flate_zeros, simple, stream, write

GIB = 1 << 30
_FONT_IN_USE = b"/Resources << /Font << /F1 5 0 R >> >>"
_WORDS = b"BT /F1 12 Tf 72 700 Td (The clerk shall keep a record of every meeting.) Tj ET"


def nested_flate() -> bytes:
    """A page's content: ten gigabytes of blanks, packed three times."""
    data = flate_zeros(10 * GIB, 3, b" ")
    return write(simple(stream(data, raw.filters(3)), {5: FONT}, _FONT_IN_USE))


def nested_flate_image() -> bytes:
    """The same as an image's pixels, which it has a hundred of by its own account."""
    data = flate_zeros(10 * GIB, 3)
    image = b"/Type /XObject /Subtype /Image /Width 10 /Height 10 /BitsPerComponent 8 "
    return _show_image(stream(data, image + b"/ColorSpace /DeviceGray " + raw.filters(3)))


def long_filter_chain() -> bytes:
    """A hundred thousand filters, one after the other."""
    return write(simple(stream(_WORDS, raw.filters(100_000)), {5: FONT}, _FONT_IN_USE))


def object_stream() -> bytes:
    """All objects in a stream of a gigabyte, the page's behind its end."""
    pages = simple(b"", {5: FONT}, _FONT_IN_USE)
    del pages[raw.FIRST_FREE]
    filler = GIB
    index, bodies, place = b"", b"", filler
    for number, body in pages.items():
        index += b"%d %d " % (number, place)
        bodies += body + b" "
        place += len(body) + 1
    # Blanks by the gigabyte between the index and the objects: one packed stream, in three parts.
    packer = zlib.compressobj(9)
    packed = packer.compress(index) + packer.flush(zlib.Z_FULL_FLUSH)
    one = packer.compress(b" " * raw.MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    packed += one * (filler // raw.MIB) + packer.compress(bodies) + packer.flush()
    entries = b"/Type /ObjStm /N %d /First %d " % (len(pages), len(index))
    holder, content, table = 10, 4, 11
    out = bytearray(b"%PDF-1.7\n")
    places = {}
    for number, body in (
        (content, stream(_WORDS)),
        (holder, stream(packed, entries + b"/Filter /FlateDecode")),
    ):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    rows = [(0, 0, 0)] * 12
    for index_, number in enumerate(pages):
        rows[number] = (2, holder, index_)
    for number, place in places.items():
        rows[number] = (1, place, 0)
    rows[table] = (1, len(out), 0)
    start = len(out)
    out += raw.cross_reference_stream(table, rows, 12)
    return bytes(out) + b"startxref\n%d\n%%%%EOF\n" % start


def _show_image(image: bytes, page: bytes = b"") -> bytes:
    shown = b"/Resources << /XObject << /Im 5 0 R >> >>" + page
    return write(simple(stream(b"q 612 0 0 792 0 0 cm /Im Do Q"), {5: image}, shown))


def _image_entries(side: int, colours: bytes, bits: int) -> bytes:
    return (
        b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent %d /ColorSpace /%s "
        % (side, side, bits, colours)
    )


def huge_image() -> bytes:
    """60,000 by 60,000 pixels in colour: 10.8 GB, all there."""
    data = flate_zeros(60_000 * 60_000 * 3 + raw.MIB, 2)
    return _show_image(stream(data, _image_entries(60_000, b"DeviceRGB", 8) + raw.filters(2)))


def huge_fax() -> bytes:
    """As many pixels in black and white, of which the file has the first few."""
    entries = _image_entries(60_000, b"DeviceGray", 1) + (
        b"/Filter /CCITTFaxDecode /DecodeParms << /K -1 /Columns 60000 /Rows 60000 >>"
    )
    return _show_image(stream(bytes(64), entries))


def huge_jpeg_in_pdf() -> bytes:
    """As many pixels of a JPEG."""
    entries = _image_entries(60_000, b"DeviceGray", 8) + b"/Filter /DCTDecode"
    return _show_image(stream(images.huge_jpeg(), entries))


def huge_jpeg2000() -> bytes:
    """A JPEG 2000 whose header says as much."""
    entries = b"/Type /XObject /Subtype /Image /Width 60000 /Height 60000 /Filter /JPXDecode"
    return _show_image(stream(images.huge_jpeg2000(), entries))


def endless_jbig2() -> bytes:
    """A JBIG2 page of unknown height, whose one region says that it has no end."""
    entries = _image_entries(60_000, b"DeviceGray", 1) + b"/Filter /JBIG2Decode"
    return _show_image(stream(images.endless_jbig2(), entries))


def lying_jbig2() -> bytes:
    """A JBIG2 with a dictionary of four thousand million symbols."""
    entries = _image_entries(1000, b"DeviceGray", 1) + b"/Filter /JBIG2Decode"
    return _show_image(stream(images.lying_jbig2(), entries))


def huge_page() -> bytes:
    """A page as wide as numbers go, without words, so that it is to be looked at by OCR."""
    objects = simple(stream(b"0 0 m 9e9 9e9 l S"), {})
    objects[raw.PAGE] = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [-2e9 -2e9 2e9 2e9] /UserUnit 1e9"
        b" /Contents 4 0 R >>"
    )
    return write(objects)


def many_images() -> bytes:
    """An image of 10,000 by 10,000 pixels, shown a thousand times on one page."""
    data = flate_zeros(10_000 * 10_000 * 3 + raw.MIB, 2)
    image = stream(data, _image_entries(10_000, b"DeviceRGB", 8) + raw.filters(2))
    content = b"".join(
        b"q 60 0 0 60 %d %d cm /Im Do Q\n" % (place % 600, place * 7 % 790) for place in range(1000)
    )
    shown = b"/Resources << /XObject << /Im 5 0 R >> >>"
    return write(simple(flate(content), {5: image}, shown))


def many_pages() -> bytes:
    """A hundred thousand pages, all of them the same."""
    kids = b" ".join([b"3 0 R"] * 100_000)
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.PAGES] = b"<< /Type /Pages /Kids [%s] /Count 100000 >>" % kids
    return write(objects)


def many_own_pages() -> bytes:
    """A hundred thousand pages, each an object of its own."""
    first, count = 6, 100_000
    kids = b" ".join(b"%d 0 R" % number for number in range(first, first + count))
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.PAGES] = b"<< /Type /Pages /Kids [%s] /Count %d /MediaBox [0 0 99 99] >>" % (
        kids,
        count,
    )
    for number in range(first, first + count):
        objects[number] = b"<</Type/Page/Parent 2 0 R>>"
    return write(objects)


def counted_pages() -> bytes:
    """One page that says it is two thousand million."""
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.PAGES] = b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>"
    return write(objects)


def cyclic_pages() -> bytes:
    """Page trees that contain themselves, and each other."""
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.PAGES] = b"<< /Type /Pages /Kids [2 0 R 6 0 R 3 0 R] /Count 9 /Parent 6 0 R >>"
    objects[6] = b"<< /Type /Pages /Kids [2 0 R 6 0 R] /Count 9 /Parent 2 0 R >>"
    return write(objects)


def deep_pages() -> bytes:
    """A page under fifty thousand branches of the tree."""
    first, depth = 6, 50_000
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.PAGES] = b"<< /Type /Pages /Kids [%d 0 R] /Count 1 >>" % first
    for number in range(first, first + depth):
        following = raw.PAGE if number == first + depth - 1 else number + 1
        objects[number] = b"<< /Type /Pages /Kids [%d 0 R] /Count 1 /Parent %d 0 R >>" % (
            following,
            max(raw.PAGES, number - 1),
        )
    return write(objects)


def long_font_name() -> bytes:
    """A font with a name of a megabyte."""
    font = b"<< /Type /Font /Subtype /TrueType /BaseFont /%s >>" % (b"A" * raw.MIB)
    return write(simple(stream(_WORDS), {5: font}, _FONT_IN_USE))


def recursive_forms() -> bytes:
    """A form that draws itself, and two that draw each other."""
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject %s >>"
    inside = b"<< /A 6 0 R /B 7 0 R >>"
    others = {
        5: FONT,
        6: stream(b"/A Do /B Do", form % inside),
        7: stream(b"/B Do /A Do", form % inside),
    }
    shown = b"/Resources << /Font << /F1 5 0 R >> /XObject << /A 6 0 R >> >>"
    return write(simple(stream(_WORDS + b" /A Do"), others, shown))


def doubling_forms() -> bytes:
    """Forms that each draw the next twice, thirty deep: a thousand million times the last."""
    first, depth = 6, 30
    others = {5: FONT}
    for number in range(first, first + depth):
        entries = (
            b"/Type /XObject /Subtype /Form /BBox [0 0 612 792]"
            b" /Resources << /Font << /F1 5 0 R >> /XObject << /X %d 0 R >> >>" % (number + 1)
        )
        others[number] = stream(b"/X Do /X Do", entries)
    others[first + depth] = stream(
        b"BT /F1 9 Tf (ha) Tj ET",
        b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >>",
    )
    shown = b"/Resources << /Font << /F1 5 0 R >> /XObject << /X 6 0 R >> >>"
    return write(simple(stream(_WORDS + b" /X Do"), others, shown))


def recursive_patterns() -> bytes:
    """A pattern of which it is itself made, in tiles of a thousandth of a point."""
    pattern = stream(
        b"/Pattern cs /P scn 0 0 600 700 re f",
        b"/Type /Pattern /PatternType 1 /PaintType 1 /TilingType 1 /BBox [0 0 1 1]"
        b" /XStep 0.001 /YStep 0.001 /Resources << /Pattern << /P 5 0 R >> >>",
    )
    shown = b"/Resources << /Pattern << /P 5 0 R >> >>"
    return write(simple(stream(b"/Pattern cs /P scn 0 0 600 700 re f"), {5: pattern}, shown))


def many_operators() -> bytes:
    """A million operators that show text, on one page."""
    content = b"BT /F1 1 Tf\n" + _down_the_page(b"(word) Tj", 1_000_000) + b"ET"
    return write(simple(flate(content), {5: FONT}, _FONT_IN_USE))


def _down_the_page(line: bytes, times: int) -> bytes:
    """The operator so many times, over and over from top to bottom."""
    column = b"".join(b"1 0 0 1 9 %d Tm %s\n" % (780 - place, line) for place in range(770))
    return column * (times // 770)


def many_paths() -> bytes:
    """A million lines on one page, and no words."""
    lines = b"".join(b"%d %d m %d %d l S\n" % _crossing(place) for place in range(1_000_000))
    return write(simple(flate(lines), {}))


def _crossing(place: int) -> tuple[int, int, int, int]:
    return place * 7 % 612, place * 11 % 792, place * 13 % 612, place * 17 % 792


def many_words() -> bytes:
    """A page of a hundred megabytes of text."""
    line = b"(%s) Tj" % (b"words " * 200)
    content = b"BT /F1 1 Tf\n" + _down_the_page(line, 83_000) + b"ET"
    return write(simple(flate(content), {5: FONT}, _FONT_IN_USE))


def mixed_states() -> bytes:
    """Graphics states saved a million times, and never restored."""
    return write(simple(flate(b"q " * 1_000_000 + _WORDS), {5: FONT}, _FONT_IN_USE))


def deep_arrays() -> bytes:
    """Arrays in arrays, a million deep, in the page and in its content."""
    deep = b"[" * 1_000_000 + b"]" * 1_000_000
    objects = simple(flate(deep + b" TJ " + _WORDS), {5: FONT}, _FONT_IN_USE + b" /Annots " + deep)
    return write(objects)


def deep_dictionaries() -> bytes:
    """Dictionaries in dictionaries, a hundred thousand deep."""
    deep = b"<</A" * 100_000 + b" 1 " + b">>" * 100_000
    return write(simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE + b" /PieceInfo " + deep))


def deep_outlines() -> bytes:
    """An outline of fifty thousand levels, and one that is its own successor."""
    first, depth = 6, 50_000
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.CATALOG] = b"<< /Type /Catalog /Pages 2 0 R /Outlines %d 0 R >>" % first
    for number in range(first, first + depth):
        objects[number] = (
            b"<< /Title (T) /First %d 0 R /Last %d 0 R /Next %d 0 R /Dest [3 0 R /Fit] >>"
            % (number + 1, number + 1, number)
        )
    return write(objects)


def huge_xref() -> bytes:
    """A table of ten million objects, of which five are there."""
    whole = write(simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE))
    return whole.replace(b"xref\n0 6", b"xref\n0 10000000").replace(b"/Size 6", b"/Size 10000000")


def far_xref() -> bytes:
    """An object with the largest number, and a table that says it is in it."""
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    return write(objects).replace(
        b"trailer", b"8388600 3\n" + b"0000000009 00000 n \n" * 3 + b"trailer"
    )


def cyclic_xref() -> bytes:
    """A table whose predecessor is itself."""
    whole = write(simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE))
    start = whole.rindex(b"xref\n0 ")
    return whole.replace(b"/Root", b"/Prev %d /Root" % start)


def packed_xref() -> bytes:
    """A cross-reference stream that inflates to ten gigabytes."""
    out = b"%PDF-1.7\n"
    for number, body in simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE).items():
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    entries = b"/Type /XRef /W [1 8 4] /Size 800000000 /Root 1 0 R " + raw.filters(3)
    table = stream(flate_zeros(10 * GIB, 3), entries)
    return out + b"9 0 obj\n%s\nendobj\nstartxref\n%d\n%%%%EOF\n" % (table, len(out))


def predictor() -> bytes:
    """A predictor for rows of two thousand million bytes."""
    entries = (
        b"/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 2000000000 /Colors 32"
        b" /BitsPerComponent 16 >>"
    )
    return write(simple(stream(zlib.compress(_WORDS), entries), {5: FONT}, _FONT_IN_USE))


def endless_function() -> bytes:
    """A shading whose function has samples in as many dimensions as it can."""
    function = stream(
        bytes(4096),
        b"/FunctionType 0 /Domain [%s] /Range [0 1 0 1 0 1] /Size [%s] /BitsPerSample 8"
        % (b"0 1 " * 32, b"60000 " * 32),
    )
    shading = (
        b"<< /ShadingType 1 /ColorSpace /DeviceRGB /Domain [0 1 0 1] /Function 6 0 R"
        b" /Matrix [612 0 0 792 0 0] >>"
    )
    shown = b"/Resources << /Shading << /S 5 0 R >> >>"
    return write(simple(stream(b"/S sh"), {5: shading, 6: function}, shown))


def many_annotations() -> bytes:
    """A hundred thousand notes on one page."""
    notes = (
        b"<< /Type /Annot /Subtype /FreeText /Rect [9 9 99 99] /Contents (note) /DA (/F1 9 Tf)>>"
    )
    page = _FONT_IN_USE + b" /Annots [%s]" % (notes * 100_000)
    return write(simple(stream(_WORDS), {5: FONT}, page))


def cyclic_length() -> bytes:
    """A stream whose length is in itself, and one as long as a disk."""
    objects = simple(b"<< /Length 4 0 R >>\nstream\n%s\nendstream" % _WORDS, {5: FONT})
    objects[6] = b"<< /Length 999999999999 >>\nstream\n\nendstream"
    return write(objects)


def cyclic_fonts() -> bytes:
    """A font that is made of itself, and a map of characters that uses itself."""
    others = {
        5: b"<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding 6 0 R /DescendantFonts [5 0 R]"
        b" /ToUnicode 6 0 R >>",
        6: stream(
            b"/CIDInit /ProcSet findresource begin begincmap 6 0 R usecmap"
            b" 1 begincidrange <00000000> <ffffffff> 0 endcidrange endcmap",
            b"/Type /CMap /CMapName /X /UseCMap 6 0 R",
        ),
    }
    return write(simple(stream(_WORDS), others, _FONT_IN_USE))


def drawn_font() -> bytes:
    """A font whose letters are drawn with the font itself."""
    font = (
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1000 1000] /FontMatrix [.001 0 0 .001 0 0]"
        b" /CharProcs << /a 6 0 R >> /Encoding << /Differences [97 /a] >> /FirstChar 97"
        b" /LastChar 97 /Widths [1000] /Resources << /Font << /F1 5 0 R >> >> >>"
    )
    letter = stream(b"1000 0 d0 BT /F1 1 Tf (aaaaaaaaaa) Tj ET")
    content = stream(b"BT /F1 12 Tf 72 700 Td (aaaaaaaaaa) Tj ET")
    return write(simple(content, {5: font, 6: letter}, _FONT_IN_USE))


def zip_in_pdf() -> bytes:
    """A PDF that is also a ZIP archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo("word/document.xml", (2026, 1, 1, 0, 0, 0))
        archive.writestr(entry, b"<w:document/>" * 1000)
    return write(simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)) + packed.getvalue()


def html_before_pdf() -> bytes:
    """A PDF that is also a page of HTML."""
    page = b"<!doctype html><script>alert(1)</script><!--\n"
    return page + write(simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)) + b"\n-->"


def script_in_pdf() -> bytes:
    """A PDF that is also a script for the shell, and runs one when it is opened."""
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.CATALOG] = (
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /JavaScript /JS"
        b" (while (true) app.alert\\(1\\)) >> >>"
    )
    return b"#!/bin/sh\nexit 1\n" + write(objects)


def image_and_pdf() -> bytes:
    """A PNG by its first bytes, and a PDF after them."""
    return images.huge_png() + write(simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE))


def embedded_files() -> bytes:
    """A PDF with itself attached, packed to a gigabyte."""
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[raw.CATALOG] = (
        b"<< /Type /Catalog /Pages 2 0 R /Names << /EmbeddedFiles << /Kids [6 0 R] >> >> >>"
    )
    objects[6] = b"<< /Names [(a) 7 0 R] /Kids [6 0 R] >>"
    objects[7] = b"<< /Type /Filespec /F (../../../etc/passwd) /EF << /F 8 0 R >> >>"
    objects[8] = stream(flate_zeros(GIB, 2), b"/Type /EmbeddedFile " + raw.filters(2))
    return write(objects)


def encrypted_by_nothing() -> bytes:
    """An encryption dictionary that is a stream of a gigabyte."""
    objects = simple(stream(_WORDS), {5: FONT}, _FONT_IN_USE)
    objects[6] = stream(flate_zeros(GIB, 2), b"/Filter /Standard /V 5 /R 6 " + raw.filters(2))
    return write(objects, b"/Encrypt 6 0 R /ID [(a) (b)]")


def bad_numbers() -> bytes:
    """Sizes of print and places that are no numbers, or too large ones."""
    sizes = (b"1e38", b"-1e38", b"99999999999999999999", b"nan", b"0", b"1e-38", b"--5", b"+-+")
    content = b"".join(
        b"BT /F1 %s Tf %s %s Td %s Tz (word) Tj ET\n" % (size, size, size, size) for size in sizes
    )
    return write(simple(stream(content + _WORDS), {5: FONT}, _FONT_IN_USE))


def page_of_noise() -> bytes:
    """A scan of nothing: specks over an A0 page, on which OCR never ends."""
    dots = random.Random(9)
    content = bytearray(b"1 w\n")
    for _ in range(60_000):
        x, y = dots.randrange(2384), dots.randrange(3370)
        content += b"%d %d m %d %d l S\n" % (x, y, x + dots.randrange(9), y + dots.randrange(9))
    objects = simple(flate(bytes(content)), {})
    objects[raw.PAGE] = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2384 3370] /Contents 4 0 R >>"
    return write(objects)


def slow_pages() -> bytes:
    """Five thousand pages that share a content of thirty thousand operators."""
    first, count = 6, 5_000
    kids = b" ".join(b"%d 0 R" % number for number in range(first, first + count))
    content = b"BT /F1 1 Tf\n" + _down_the_page(b"(words) Tj", 30_000) + b"ET"
    objects = simple(flate(content), {5: FONT})
    objects[raw.PAGES] = b"<< /Type /Pages /Kids [%s] /Count %d %s /MediaBox [0 0 612 792] >>" % (
        kids,
        count,
        _FONT_IN_USE,
    )
    for number in range(first, first + count):
        objects[number] = b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>"
    return write(objects)


def markdown_quotes() -> bytes:
    """Quotations in quotations, and lists in lists, thousands deep."""
    return b">" * 100_000 + b" deep\n\n" + b"".join(b" " * n + b"- x\n" for n in range(2_000))


def markdown_brackets() -> bytes:
    """Brackets and emphasis that a careless parser tries in all ways."""
    return b"[" * 200_000 + b"](" * 200_000 + b"\n\n" + b"*a_ " * 200_000 + b"\n" + b"`" * 99_999


def markdown_headings() -> bytes:
    """Thirty thousand headings, each of another level."""
    return b"".join(b"#" * (n % 6 + 1) + b" Heading %d\n" % n for n in range(30_000))


def python_nesting() -> bytes:
    """Brackets in brackets, a hundred thousand deep."""
    return b"value = " + b"(" * 100_000 + b")" * 100_000 + b"\n"


def python_functions() -> bytes:
    """Functions in functions, five hundred deep, and a sum of a hundred thousand terms."""
    deep = b"".join(b" " * n + b"def f%d():\n" % n for n in range(500)) + b" " * 500 + b"pass\n"
    return deep + b"total = " + b"1 + " * 100_000 + b"1\n"


def python_operators() -> bytes:
    """Signs before a number, and comparisons, that make a tree as deep as the line is long."""
    return b"x = " + b"-" * 200_000 + b"1\ny = " + b"not " * 100_000 + b"x\n"


def nul_text() -> bytes:
    """A megabyte of NULs."""
    return bytes(raw.MIB)


def wide_text() -> bytes:
    """UTF-16 by its mark, and half a character at its end."""
    return b"\xff\xfe" + "słowo ".encode("utf-16-le") * 10_000 + b"\xd8"


def broken_text() -> bytes:
    """Every byte there is, and surrogates that UTF-8 does not have."""
    return (bytes(range(256)) + b"\xed\xa0\x80\xed\xbf\xbf words ") * 500


def combining_text() -> bytes:
    """One letter with a million accents."""
    return ("a" + "\u0301" * 1_000_000 + " end").encode()


Make = Callable[[], bytes]

PDFS: dict[str, Make] = {
    function.__name__: function
    for function in (
        *(nested_flate, nested_flate_image, long_filter_chain, object_stream, packed_xref),
        *(huge_image, huge_fax, huge_jpeg_in_pdf, huge_jpeg2000, huge_page, many_images),
        *(endless_jbig2, lying_jbig2, predictor, endless_function),
        *(many_pages, many_own_pages, counted_pages, cyclic_pages, deep_pages, slow_pages),
        *(long_font_name, cyclic_fonts, drawn_font, recursive_forms, doubling_forms),
        *(recursive_patterns, many_operators, many_paths, many_words, mixed_states),
        *(deep_arrays, deep_dictionaries, deep_outlines, many_annotations, bad_numbers),
        *(huge_xref, far_xref, cyclic_xref, cyclic_length, encrypted_by_nothing),
        *(zip_in_pdf, html_before_pdf, script_in_pdf, image_and_pdf, embedded_files),
        page_of_noise,
    )
}
IMAGES: dict[str, tuple[str, Make]] = images.BOMBS
TEXTS: dict[str, tuple[str, Make]] = {
    "markdown_quotes": (".md", markdown_quotes),
    "markdown_brackets": (".md", markdown_brackets),
    "markdown_headings": (".md", markdown_headings),
    "python_nesting": (".py", python_nesting),
    "python_functions": (".py", python_functions),
    "python_operators": (".py", python_operators),
    "nul_text": (".txt", nul_text),
    "wide_text": (".txt", wide_text),
    "broken_text": (".txt", broken_text),
    "combining_text": (".txt", combining_text),
    "nul_python": (".py", nul_text),
    "pdf_as_text": (".txt", nested_flate),
}


def make(folder: Path, name: str) -> Path:
    """Write a bomb; where it is."""
    if name in LONG:
        path = folder / f"{name}.txt"
        LONG[name](path)
        return path
    extension, build = {**{pdf: (".pdf", PDFS[pdf]) for pdf in PDFS}, **IMAGES, **TEXTS}[name]
    path = folder / f"{name}{extension}"
    path.write_bytes(build())
    return path


def long_line(path: Path) -> None:
    """One line of 500 megabytes: words, and then a hole."""
    with path.open("wb") as file:
        file.write(b"word " * 1_000)
        file.truncate(500_000_000)


def readable_line(path: Path) -> None:
    """One line as long as a text may be."""
    path.write_bytes(b"x" * (64 << 20))


LONG: dict[str, Callable[[Path], None]] = {
    "long_line": long_line,
    "readable_line": readable_line,
}
NAMES = (*PDFS, *IMAGES, *TEXTS, *LONG)
