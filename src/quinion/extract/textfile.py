"""Read text files in any encoding.

The order of detection: a byte order mark or a Python coding cookie, then UTF-8, which other data
rarely is by chance, then a guess. A wrong guess costs some accented letters. Only binary data is
refused.

In the result lines end with a line feed only. Form feeds and Unicode line separators do not end a
line, so line numbers match those of text editors.
"""

import codecs
import io
import os
import re
import stat
import tokenize
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from quinion.errors import ExtractionFailed, FileMissing
from quinion.extract.encoding import guess_encoding
from quinion.model.text_part import Syntax, TextPart

MAX_BYTES = 64 << 20
"""Maximum size of a text file. The longest novels have five million bytes. A larger file is a log
or data, and would add tens of thousands of chunks that are of no use in search."""

# UTF-32 before UTF-16: the little-endian BOM of UTF-32 begins with that of UTF-16.
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
# The minimum share of NUL bytes in Latin text in UTF-16 or UTF-32.
_WIDE_NULS = 0.25
_SAMPLE = 1 << 16

# Control characters that do not occur in text. Terminal logs have bells, backspaces and escapes.
_LAYOUT = "\t\n\r\f\v\a\b\x1a\x1b"
_CONTROLS = bytes({*range(32), 127} - {*_LAYOUT.encode()})
_INVALID_CATEGORIES = frozenset({"Cc", "Cn", "Co", "Cs"})
# Above this share of control characters a file is binary. Compressed data has a tenth. Some text
# records have a separator every few characters, but those are valid UTF-8.
_BINARY = 0.05
_BINARY_IN_UTF8 = 0.3
# The minimum share of a text that is not NUL bytes.
_MIN_NON_NUL = 0.1

_SYNTAX = {".md": Syntax.MARKDOWN, ".py": Syntax.PYTHON}
_SURROGATES = re.compile("[\ud800-\udfff]")


def read_parts(path: Path, extension: str) -> Iterator[TextPart]:
    """Read a text file for `extract.formats`, as one part.

    Raises:
        FileMissing, ExtractionFailed: see `read_text`.
    """
    yield TextPart(read_text(path, extension), _SYNTAX.get(extension.lower(), Syntax.PLAIN))


def read_text(path: Path, extension: str) -> str:
    """Read the text of a file with this extension. Blocking.

    Raises:
        FileMissing: the file does not exist.
        ExtractionFailed: unreadable, not a regular file, too large, or not text.
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
    """Decode bytes to text; `python` honours a coding cookie.

    Invalid bytes become U+FFFD, NULs become spaces, and lone surrogates are replaced.

    Raises:
        ExtractionFailed: the data is not text.
    """
    text = _SURROGATES.sub("\ufffd", _decode(data, python)).lstrip("\ufeff")
    return text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n")


def _read_bytes(path: Path) -> bytes:
    """Read the file up to one byte over the maximum size."""
    try:
        with open(path, "rb", opener=_open_nonblocking) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ExtractionFailed(f"{path.name} is not a regular file. Leave it out.")
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError as cause:
        raise FileMissing(f"File not found: {path}.") from cause
    except OSError as cause:
        raise ExtractionFailed(f"{path} cannot be read: {cause.strerror}.") from cause


def _open_nonblocking(path: str, flags: int) -> int:
    """Open without blocking, even if the file is a pipe without a writer."""
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
    """Decode by the coding cookie in the first two lines, unless it is wrong."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        if encoding != "utf-8" and "coding".encode(encoding) == b"coding":
            return data.decode(encoding)
    except (SyntaxError, LookupError, UnicodeError):
        pass
    return None


def _as_utf16_or_utf32(data: bytes) -> str | None:
    """Decode as UTF-16 or UTF-32 without a BOM, if there are NULs and the result is plausible."""
    nuls = data.count(0)
    if nuls == 0 or (nuls < len(data) * _WIDE_NULS and _is_text_with_nuls(data)):
        return None
    samples = {encoding: data[:_SAMPLE].decode(encoding, "replace") for encoding in _WIDE}
    likely = [encoding for encoding, sample in samples.items() if _is_plausible(sample)]
    if not likely:
        return None
    # In the wrong byte order Latin letters become Chinese characters.
    encoding = max(likely, key=lambda each: _count_ascii(samples[each]))
    return data.decode(encoding, "replace")


def _as_iso2022_jp(data: bytes) -> str | None:
    """Decode as ISO-2022-JP, the seven-bit encoding of Japanese mail."""
    if b"\x1b$" not in data:
        return None
    try:
        return data.decode("iso2022_jp")
    except UnicodeDecodeError:
        return None


def _as_utf8(data: bytes) -> str | None:
    """Decode as UTF-8, also when a minority of its characters is damaged."""
    if _is_utf8(data):
        # After a system crash parts of a log may be NULs.
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
    """Whether nearly all characters are valid, some are ASCII, and the others of one script."""
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
    """The script of a letter: the first word of its Unicode name. Japanese uses three."""
    script = unicodedata.name(letter, "").partition(" ")[0]
    return "CJK" if script in {"HIRAGANA", "KATAKANA"} else script


def _is_binary(data: bytes, limit: float) -> bool:
    """Whether more than this share of the bytes are control characters."""
    return len(data) - len(data.translate(None, _CONTROLS)) > limit * len(data)


def _refuse_binary(data: bytes, limit: float) -> None:
    if data.startswith(b"%PDF-") or _is_binary(data, limit):
        raise ExtractionFailed(
            "This is binary data, not text. If it is a document, give it the extension of its "
            "format; else leave it out."
        )
