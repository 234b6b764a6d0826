"""Office and web files for tests, written as their programs write them, reduced to the minimum."""

from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
SHEETS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def docx(path: Path, *paragraphs: tuple[str, str]) -> Path:
    """Write a Word document of paragraphs: style (or empty) and text."""
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{escape(text)}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    document = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    return _archive(
        path,
        {
            "[Content_Types].xml": _types(
                "word/document",
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml",
            ),
            "_rels/.rels": _relations([("officeDocument", "word/document.xml")]),
            "word/document.xml": document,
            "word/_rels/document.xml.rels": _relations([]),
        },
    )


def pptx(path: Path, *slides: tuple[str, str, str]) -> Path:
    """Write a presentation of slides: title, text and notes. They are stored in reverse order."""
    count = len(slides)
    names = [f"slides/slide{count - index}.xml" for index in range(count)]
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rId{n}"/>' for n in range(1, count + 1))
    files = {
        "_rels/.rels": _relations([("officeDocument", "ppt/presentation.xml")]),
        "ppt/presentation.xml": f'<p:presentation xmlns:p="{SLIDES}" xmlns:r="{RELATIONS}">'
        f"<p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": _relations([("slide", name) for name in names]),
    }
    for name, (title, text, notes) in zip(names, slides, strict=True):
        number = name.removeprefix("slides/slide").removesuffix(".xml")
        files[f"ppt/{name}"] = _slide(("title", title), ("body", text), ("sldNum", number))
        files[f"ppt/slides/_rels/slide{number}.xml.rels"] = _relations(
            [("notesSlide", f"../notesSlides/notesSlide{number}.xml")] if notes else []
        )
        files[f"ppt/notesSlides/notesSlide{number}.xml"] = _slide(("body", notes))
    return _archive(path, files)


def xlsx(path: Path, **sheets: Sequence[Sequence[str | float]]) -> Path:
    """Write a workbook with these sheets, by name."""
    names = list(sheets)
    listed = "".join(
        f'<sheet name="{name}" sheetId="{n}" r:id="rId{n}"/>' for n, name in enumerate(names, 1)
    )
    files = {
        "[Content_Types].xml": _types(
            "xl/workbook",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml",
        ),
        "_rels/.rels": _relations([("officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{SHEETS}" xmlns:r="{RELATIONS}">'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            [("worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)]
        ),
    }
    for number, rows in enumerate(sheets.values(), 1):
        data = "".join(
            f'<row r="{r}">{"".join(_cell(r, c, value) for c, value in enumerate(row))}</row>'
            for r, row in enumerate(rows, 1)
            if row
        )
        files[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{SHEETS}"><sheetData>{data}</sheetData></worksheet>'
        )
    return _archive(path, files)


def epub(path: Path, *chapters: tuple[str, str]) -> Path:
    """Write a book of chapters: heading and text."""
    names = [f"c{number}.xhtml" for number in range(len(chapters))]
    items = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in names
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    opf = "http://www.idpf.org/2007/opf"
    files = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>",
        "b.opf": f'<package xmlns="{opf}" version="2.0" unique-identifier="i"><metadata/>'
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    for name, (heading, text) in zip(names, chapters, strict=True):
        files[name] = (
            '<html xmlns="http://www.w3.org/1999/xhtml"><body>'
            f"<h1>{heading}</h1><p>{text}</p></body></html>"
        )
    return _archive(path, files)


def eml(path: Path, subject: str, text: str, inner: EmailMessage | None = None) -> Path:
    """Write a message with a PDF attached, and another message if it is given."""
    message = make_message(subject, text)
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="plan.pdf")
    if inner:
        message.add_attachment(inner)
    path.write_bytes(bytes(message))
    return path


def make_message(subject: str, text: str, subtype: str = "plain") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"] = subject, "Ada Byron <ada@example.org>"
    message["Date"] = "Mon, 03 Mar 2025 09:00:00 +0000"
    message.set_content(text, subtype=subtype)
    return message


def _archive(path: Path, files: Mapping[str, str]) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def _types(part: str, kind: str) -> str:
    return (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/{part}.xml" ContentType="{kind}"/></Types>'
    )


def _relations(targets: Sequence[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{n}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for n, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{listed}</Relationships>'


def _slide(*shapes: tuple[str, str]) -> str:
    tree = "".join(
        f'<p:sp><p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r>'
        f"<a:t>{escape(text)}</a:t></a:r></a:p></p:txBody></p:sp>"
        for kind, text in shapes
    )
    return (
        f'<p:sld xmlns:a="{DRAWING}" xmlns:p="{SLIDES}"><p:cSld><p:spTree>{tree}</p:spTree>'
        "</p:cSld></p:sld>"
    )


def _cell(row: int, column: int, value: str | float) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
