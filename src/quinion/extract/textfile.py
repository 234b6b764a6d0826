"""Text files → their text, whatever encoding they are in.

What a file says of itself comes first: a byte order mark, a Python file's coding cookie. Then
UTF-8, which hardly anything else is by chance, then a guess. A wrong guess costs some accented
letters; only what is no text at all is refused.

In the result a line ends with a line feed, and nothing else ends a line: form feeds and Unicode's
line separators are characters like others, as they are to editors, so line numbers are theirs.
"""

import codecs
import io
import os
import re
import stat
import tokenize
import unicodedata
from collections import Counter
from pathlib import Path

from quinion.errors import ExtractionFailed, FileMissing
from quinion.extract.encoding import guess_encoding

MAX_BYTES = 64 << 20
"""Of a file. The longest novels have five million; what has more than this is a log or data, and
would be tens of thousands of passages that nobody searches for."""

# UTF-32 before UTF-16: in little-endian order its mark begins with the other's.
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# The least part of NULs in Latin text of that kind; other text has a few in its place.
_WIDE_NULS = 0.25
_SAMPLE = 1 << 16

# Bytes that text does not have; terminals' bells, backspaces and escapes are in logs.
_LAYOUT = "\t\n\r\f\v\a\b\x1a\x1b"
_CONTROLS = bytes({*range(32), 127} - {*_LAYOUT.encode()})
_INVALID_CATEGORIES = frozenset({"Cc", "Cn", "Co", "Cs"})
# The part of them that makes a file binary. Compressed data has a tenth, and some records of
# text have a separator in every few characters, but those are valid UTF-8.
_BINARY = 0.05
_BINARY_IN_UTF8 = 0.3
# The least part of a text that is not NULs.
_MIN_NON_NUL = 0.1

_SURROGATES = re.compile("[\ud800-\udfff]")


def read_text(path: Path, extension: str) -> str:
    """The text of a file that goes by this extension. Blocking.

    Raises:
        FileMissing: there is no such file.
        ExtractionFailed: it cannot be read, is no ordinary file, too large, or not text.
    """
    data = _read_bytes(path)
    if len(data) > MAX_BYTES:
        raise ExtractionFailed(
            f"{path.name} has more than {MAX_BYTES >> 20} MiB; longer texts are not read. "
            "Split it, or leave it out."
        )
    try:
        return decode(data, python=extension.lower() == ".py")
    except ExtractionFailed as cause:
        raise ExtractionFailed(f"{path.name} cannot be read. {cause}") from cause


def decode(data: bytes, *, python: bool = False) -> str:
    """The text that the bytes are, of a Python file or of another.

    Damaged bytes are U+FFFD in the result, NULs are blanks, and there are no lone surrogates.

    Raises:
        ExtractionFailed: it is not text.
    """
    text = _SURROGATES.sub("\ufffd", _decode(data, python)).lstrip("\ufeff")
    return text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n")


def _read_bytes(path: Path) -> bytes:
    """The first bytes of the file, one more than it may have."""
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ExtractionFailed(f"{path.name} is not an ordinary file. Leave it out.")
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as cause:
        raise FileMissing(f"There is no file {path}.") from cause
    except OSError as cause:
        raise ExtractionFailed(f"{path} cannot be read: {cause.strerror}.") from cause


def _open_nonblocking(path: str, flags: int) -> int:
    """Open without waiting for a writer, should the file be a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _decode(data: bytes, python: bool) -> str:
    readers = [_by_bom, _by_cookie, _as_utf16_or_utf32, _as_iso2022_jp, _as_utf8, _as_legacy]
    if not python:
        readers.remove(_by_cookie)
    return next(text for read in readers if (text := read(data)) is not None)


def _by_bom(data: bytes) -> str | None:
    for mark, encoding in _BOMS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    return None


def _by_cookie(data: bytes) -> str | None:
    """By what a comment in the first two lines says, unless it cannot be true."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding != "utf-8" and "coding".encode(encoding) == b"coding":
            return data.decode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        pass
    return None


def _as_utf16_or_utf32(data: bytes) -> str | None:
    """As UTF-16 or UTF-32 without a mark, if it has NULs and makes sense so."""
    nuls = data.count(0)
    if nuls == 0 or (nuls < len(data) * _WIDE_NULS and _is_text_with_nuls(data)):
        return None
    samples = {encoding: data[:_SAMPLE].decode(encoding, "replace") for encoding in _WIDE}
    likely = [encoding for encoding, sample in samples.items() if _is_plausible(sample)]
    if not likely:
        return None
    # In the wrong order of bytes Latin letters are Chinese.
    encoding = max(likely, key=lambda each: _count_ascii(samples[each]))
    return data.decode(encoding, "replace")


def _as_iso2022_jp(data: bytes) -> str | None:
    """As ISO-2022-JP: Japanese in seven bits, as it was mailed."""
    if b"\x1b$" not in data:
        return None
    try:
        return data.decode("iso2022_jp")
    except UnicodeDecodeError:
        return None


def _as_utf8(data: bytes) -> str | None:
    """As UTF-8, or what is so for the greater part and has been damaged."""
    if _is_utf8(data):
        # Where a machine went down, some of a log is NULs.
        non_nul = data.replace(b"\0", b"")
        _refuse_binary(
            non_nul if len(non_nul) > _MIN_NON_NUL * len(data) else data, _BINARY_IN_UTF8
        )
        return data.decode()
    _refuse_binary(data, _BINARY)
    text = data.decode(errors="replace")
    damaged = text.count("\ufffd")
    intact = len(text) - _count_ascii(text) - damaged
    return text if intact > damaged else None


def _as_legacy(data: bytes) -> str:
    return data.decode(guess_encoding(data), "replace")


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_text_with_nuls(data: bytes) -> bool:
    return _is_utf8(data) and not _is_binary(data.replace(b"\0", b""), _BINARY)


def _is_plausible(text: str) -> bool:
    """Whether nearly all characters mean something, some are ASCII, the others of one script."""
    odd = sum(
        unicodedata.category(each) in _INVALID_CATEGORIES and each not in _LAYOUT for each in text
    )
    odd += text.count("\ufffd")
    scripts = Counter(_script(each) for each in text if each.isalpha() and not each.isascii())
    strange = scripts.total() - max(scripts.values(), default=0)
    return odd * 100 <= len(text) <= _count_ascii(text) * 100 and strange * 20 <= scripts.total()


def _count_ascii(text: str) -> int:
    return len(text.encode("ascii", "ignore"))


def _script(letter: str) -> str:
    """The script of a letter, by the first word of its name; Japanese has three."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if script in {"HIRAGANA", "KATAKANA"} else script


def _is_binary(data: bytes, limit: float) -> bool:
    """Whether more than this part of the bytes are control characters."""
    return len(data) - len(data.translate(None, _CONTROLS)) > limit * len(data)


def _refuse_binary(data: bytes, limit: float) -> None:
    if data.startswith(b"%PDF-") or _is_binary(data, limit):
        raise ExtractionFailed(
            "This is binary data, not text. If it is a document, give it the extension of what "
            "it is; else leave it out."
        )
