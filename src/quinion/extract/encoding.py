"""Which encoding a text from before Unicode is in. A guess, and pure.

The detector, `charset-normalizer`, is good at telling scripts from each other and with long texts.
With short ones, and among the encodings of Latin letters, it is as likely to make the £ of an
English letter Polish. So it is asked about what is common, and the most common is preferred where
it is about as likely.
"""

import io
import re

from charset_normalizer import from_bytes

# What else text is in. The detector is asked about these alone: with all that it knows, it takes
# a short line of Spanish for Japanese.
_COMMON = "cp1252"
_LATIN = (_COMMON, "cp1250", "cp1254", "cp1257", "iso8859_2", "cp850", "mac_roman")
_OTHER = (
    *("cp1251", "koi8_u", "cp866", "cp1253", "cp1255", "cp1256", "cp874"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
# ASCII, and what English has besides: its quotes, dashes, bullets and signs.
_NO_ACCENTS = bytes(range(0x80)) + "‘’“”–—•…€£©®™°§·\xa0".encode(_COMMON)
# Below this part of other bytes lines are English, and above the next they are not Latin;
_FEW_ACCENTS = 0.03
_MANY_ACCENTS = 0.3
# and so few of them tell nothing.
_MIN_ACCENTS = 3
# Symbols in the midst of words, as which the common encoding shows letters of others, and the part
# of them that is too much.
_SYMBOL_IN_WORD = re.compile(
    rb"[A-Za-z][\x80-\x84\x87-\x89\x8b\x9b\xa1-\xa9\xb1-\xb4\xb8\xb9\xbc-\xbf][a-z]"
)
_MAX_SYMBOLS_IN_WORDS = 0.1
_SIMILAR_TO_COMMON = {_COMMON, "cp1254"}
# The detector's measures of two encodings that are as likely; then the common one is taken.
_CHAOS_MARGIN = 0.1
_COHERENCE_MARGIN = 0.03
_SAMPLE = 1 << 16


def guess_encoding(data: bytes) -> str:
    """The likeliest encoding of a text that has bytes above 127 and is not in Unicode."""
    sample = _sample_accents(data)
    accents = len(sample.translate(None, _NO_ACCENTS))
    is_odd = len(_SYMBOL_IN_WORD.findall(sample)) > _MAX_SYMBOLS_IN_WORDS * accents
    if accents <= max(_MIN_ACCENTS, _FEW_ACCENTS * len(sample)) and not is_odd:
        return _COMMON
    encodings = {*_LATIN} if accents < _MANY_ACCENTS * len(sample) else {*_LATIN, *_OTHER}
    matches = from_bytes(
        sample, cp_isolation=sorted(encodings - _SIMILAR_TO_COMMON if is_odd else encodings)
    )
    best = matches.best()
    if best is None:
        return _COMMON
    common = next((each for each in matches if _COMMON in each.could_be_from_charset), None)
    if (
        common is not None
        and best.encoding in _LATIN
        and common.chaos <= best.chaos + _CHAOS_MARGIN
        and common.coherence >= best.coherence - _COHERENCE_MARGIN
    ):
        return _COMMON
    return best.encoding


def _sample_accents(data: bytes) -> bytes:
    """Lines with bytes above 127, up to a number that is soon looked through."""
    sample = b""
    for line in io.BytesIO(data):
        if not line.isascii():
            sample += line
        if len(sample) > _SAMPLE:
            # Not in the middle of a character of several bytes.
            end = max(sample.rfind(b" ", 0, _SAMPLE), sample.rfind(b"\n", 0, _SAMPLE))
            return sample[:end] if end > 0 else sample[:_SAMPLE]
    return sample
