"""Guess the legacy (non-Unicode) encoding of a text. Pure.

The detector, `charset-normalizer`, is reliable for long texts and for different scripts. For short
texts, and between encodings of Latin letters, it often takes the £ of an English letter for a
Polish character. So it only chooses among common encodings, and Windows-1252 wins when its score
is about as good.
"""

import io
import re

from charset_normalizer import from_bytes

# The encodings that the detector chooses from. With all that it supports, it takes a short line of
# Spanish for Japanese.
_COMMON = "cp1252"
_LATIN = (_COMMON, "cp1250", "cp1254", "cp1257", "iso8859_2", "cp850", "mac_roman")
_OTHER = (
    *("cp1251", "koi8_u", "cp866", "cp1253", "cp1255", "cp1256", "cp874"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
)
# ASCII, and the quotes, dashes, bullets and signs of English text.
_NO_ACCENTS = bytes(range(0x80)) + "‘’“”–—•…€£©®™°§·\xa0".encode(_COMMON)
# Below this share of other bytes a line is English; above the next it is not in Latin script.
_FEW_ACCENTS = 0.03
_MANY_ACCENTS = 0.3
# With fewer of them there is no evidence either way.
_MIN_ACCENTS = 3
# Symbols inside words: letters of another encoding decoded with the common one. Above this share
# of them the common encoding is ruled out.
_SYMBOL_IN_WORD = re.compile(
    rb"[A-Za-z][\x80-\x84\x87-\x89\x8b\x9b\xa1-\xa9\xb1-\xb4\xb8\xb9\xbc-\xbf][a-z]"
)
_MAX_SYMBOLS_IN_WORDS = 0.1
_SIMILAR_TO_COMMON = {_COMMON, "cp1254"}
# The common encoding is preferred when the detector's scores are within these margins of the best.
_CHAOS_MARGIN = 0.1
_COHERENCE_MARGIN = 0.03
_SAMPLE = 1 << 16


def guess_encoding(data: bytes) -> str:
    """Guess the encoding of a text that has bytes above 127 and is not in Unicode."""
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
    """Collect lines with bytes above 127, up to the sample size."""
    sample = b""
    for line in io.BytesIO(data):
        if not line.isascii():
            sample += line
        if len(sample) > _SAMPLE:
            # Do not cut in the middle of a multi-byte character.
            end = max(sample.rfind(b" ", 0, _SAMPLE), sample.rfind(b"\n", 0, _SAMPLE))
            return sample[:end] if end > 0 else sample[:_SAMPLE]
    return sample
