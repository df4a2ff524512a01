"""Detect the encoding of a file: first by proof, then by likelihood.

A BOM, valid UTF-8 and the pattern of NULs are proofs. Everything else is a guess: `latin` recognises text that reads
like a language of the Latin script, charset-normalizer the rest. The sample ends at a line feed, because half a
character would distort it. Loaded only if a host sets `encoding="auto"`.
"""

from __future__ import annotations

import codecs
import logging

from eyespan.errors import Missing, shortage
from eyespan.lines.encodings import Encoding, by_bom, canonical_name, wide_without_bom
from eyespan.lines.latin import likeliest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE_BYTES = 64 * 1024
VALID_PER_INVALID = 4
"""With so many valid characters to each invalid byte, a text is UTF-8."""
SEARCH_BYTES = 8 * 1024 * 1024
"""The first byte beyond ASCII is searched so far into a file: a few milliseconds."""


def detect(first_bytes: bytes, read_more: Callable[[int, int], bytes] | None = None) -> Encoding | None:
    """Return the encoding, or None if these bytes are no text in any known encoding.

    Raises: Missing, if a guess is needed and charset-normalizer is not installed.
    """
    with_bom = by_bom(first_bytes)
    if with_bom is not None:
        return with_bom
    if first_bytes.startswith(codecs.BOM_UTF8):
        return Encoding("utf-8", bom=codecs.BOM_UTF8, how="bom")
    wide = wide_without_bom(first_bytes[:SAMPLE_BYTES])
    if wide is not None:
        return wide
    if b"\0" in first_bytes:
        return None
    sample = first_bytes
    if first_bytes.isascii() and read_more is not None:
        sample = _sample_beyond_ascii(len(first_bytes), read_more)
    if _is_utf8(sample) or _is_damaged_utf8(sample):
        return Encoding("utf-8", how="utf-8")
    return _guess(_whole_lines(sample))


def _sample_beyond_ascii(offset: int, read_more: Callable[[int, int], bytes]) -> bytes:
    """Return a sample around the first byte that is not ASCII; b"" if there is none within `SEARCH_BYTES`."""
    end, step = offset + SEARCH_BYTES, 16 * SAMPLE_BYTES
    before = b""
    while offset < end:
        block = read_more(offset, step)
        if not block:
            return b""
        if not block.isascii():
            place = next(i for i, byte in enumerate(block) if byte > 127)
            start = block.rfind(b"\n", 0, place) + 1
            lead = b"" if start else before
            rest = block[start:]
            if len(rest) < SAMPLE_BYTES:
                rest += read_more(offset + len(block), SAMPLE_BYTES)
            return (lead + rest)[:SAMPLE_BYTES]
        before = block[block.rfind(b"\n") + 1 :][-SAMPLE_BYTES // 2 :]
        offset += len(block)
    return b""


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        # The sample may end within a character, which proves nothing about the rest.
        return error.reason == "unexpected end of data" and error.end == len(sample) and error.start > 0
    return True


def _is_damaged_utf8(sample: bytes) -> bool:
    """Return True if far more characters beyond ASCII are valid than not; no other encoding does that by chance.

    A few invalid bytes in a text of another script must not make all of it the letters of a guess.
    """
    text = sample.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return beyond - invalid >= VALID_PER_INVALID * invalid


def _whole_lines(sample: bytes) -> bytes:
    if len(sample) < SAMPLE_BYTES:
        return sample
    return sample[: sample.rfind(b"\n") + 1] or sample


def _guess(sample: bytes) -> Encoding | None:
    try:
        from charset_normalizer import from_bytes
        from charset_normalizer.constant import IANA_SUPPORTED
    except ImportError as error:
        if shortage(error):
            raise
        raise Missing("", what="detecting an encoding", install="pip install charset-normalizer") from None
    latin = likeliest(sample)
    if latin is not None:
        return Encoding(latin[0], how="detected", confidence=latin[1])
    logging.getLogger("charset_normalizer").setLevel(logging.ERROR)
    matches = list(from_bytes(sample, cp_exclusion=[name for name in IANA_SUPPORTED if not _is_candidate(name)]))
    if not matches:
        return None
    best = matches[0]
    if canonical_name(best.encoding) in EAST:
        name = max(EVERYDAY, key=lambda name: _everyday_share(sample, name))
        return Encoding(name, how="detected", confidence=round(_everyday_share(sample, name), 2))
    likely = [match for match in matches if match.chaos <= best.chaos + AS_GOOD]
    best = next((match for match in likely if match.encoding == "cp1252"), best)
    return Encoding(canonical_name(best.encoding) or "utf-8", how="detected", confidence=round(1.0 - best.chaos, 2))


AS_GOOD = 0.05
"""Guesses closer together than this count as equal; then cp1252 wins, the most common code page of the West."""

# Encodings of East Asia share their byte ranges: nearly any text of one is valid in another, but in rare characters.
# For each: the encoding in which its everyday characters are one range of two bytes, and that range (level 1 of its
# standard).
_JAPANESE, _KOREAN = ("euc_jp", b"\xa4\xa1", b"\xcf\xd3"), ("euc_kr", b"\xb0\xa1", b"\xc8\xfe")
_SIMPLIFIED, _TRADITIONAL = ("gb2312", b"\xb0\xa1", b"\xd7\xf9"), ("big5", b"\xa4\x40", b"\xc6\x7e")
EVERYDAY = {
    "cp932": _JAPANESE,
    "shift-jis-2004": _JAPANESE,
    "euc-jp": _JAPANESE,
    "euc-jis-2004": _JAPANESE,
    "cp949": _KOREAN,
    "johab": _KOREAN,
    "gb18030": _SIMPLIFIED,
    "big5": _TRADITIONAL,
    "big5hkscs": _TRADITIONAL,
    "cp950": _TRADITIONAL,
}


EAST = (*EVERYDAY, "shift-jis", "shift-jisx0213", "euc-jisx0213", "euc-kr", "gb2312", "gbk")


def _everyday_share(sample: bytes, name: str) -> float:
    """Return the share of everyday characters among those of East Asia; -1 if the text is not in this encoding.

    If two languages tie, the first in the table has the smaller range and is more likely.
    """
    base, low, high = EVERYDAY[name]
    try:
        text = sample[: sample.rfind(b"\n", 0, SAMPLE_BYTES // 8) + 1 or len(sample)].decode(name)
    except UnicodeDecodeError:
        return -1.0
    letters = [char for char in text if ord(char) > 0x3040]
    share = sum(low <= char.encode(base, "ignore") <= high for char in letters) / (len(letters) or 1)
    if base == "euc_jp" and sum(char <= "\u30ff" for char in letters) * 20 < len(letters):
        return share / 2  # every Japanese text has kana
    return share


def _is_candidate(name: str) -> bool:
    """Return True if a guess may be this encoding: lines can be found in it, and no proof has decided it before."""
    try:
        found = canonical_name(name)
    except ValueError:
        return False
    return found is not None and not found.startswith("utf-")
