"""E-mail messages as text; the subject of the message is cited.

Forwarded messages are parts of their own. Attachments are named but not read.
"""

from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path

from quinion.errors import ExtractionFailed
from quinion.extract.office.reflowable import read_markdown
from quinion.extract.textfile import MAX_BYTES, decode
from quinion.model.text_part import Lines, Syntax, TextPart

HEADERS = ("From", "To", "Cc", "Date")
NO_SUBJECT = "(no subject)"


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a message for `extract.formats`: one part for it and each message inside.

    Raises:
        ExtractionFailed: not a message, or too large.
    """
    if path.stat().st_size > MAX_BYTES:
        raise ExtractionFailed(f"{path.name} has more than {MAX_BYTES >> 20} MiB. Split it.")
    message = BytesParser(policy=policy.default).parsebytes(path.read_bytes())
    assert isinstance(message, EmailMessage)
    if not any(message[name] for name in ("From", "Subject", "Date")):
        raise ExtractionFailed(
            f"{path.name} is not an e-mail message: it has no header. Save it again as .eml."
        )
    for one in message.walk():
        assert isinstance(one, EmailMessage)
        if one is message or _is_forwarded(message, one):
            yield _read_message(one, path.name)


def _is_forwarded(whole: EmailMessage, part: EmailMessage) -> bool:
    return any(
        one.get_content_type() == "message/rfc822" and part in one.iter_parts()
        for one in whole.walk()
        if isinstance(one, EmailMessage)
    )


def _read_message(message: EmailMessage, name: str) -> TextPart:
    subject = " ".join(str(message["Subject"] or NO_SUBJECT).split())
    headers = [f"{header}: {message[header]}" for header in HEADERS if message[header]]
    attached = [one.get_filename() for one in message.iter_attachments()]
    if names := ", ".join(filter(None, attached)):
        headers.append(f"Attachments: {names}")
    text = "\n\n".join([f"# {subject}", "\n".join(headers), _read_body(message, name)])
    return TextPart(text, Syntax.MARKDOWN, {"message": subject}, Lines.NONE)


def _read_body(message: EmailMessage, name: str) -> str:
    body = message.get_body(("plain", "html"))
    if body is None:
        return ""
    content = body.get_payload(decode=True)
    assert isinstance(content, bytes)
    try:
        text = content.decode(body.get_content_charset("utf-8"))
    except (LookupError, UnicodeDecodeError):
        text = decode(content)
    if body.get_content_type() == "text/html":
        return "\n\n".join(read_markdown(text.encode(), "html", name))
    return text
