"""Which encoding a file without a label is in: what its bytes prove, then what they make likely.

Marks, valid UTF-8 and the pattern of NULs prove; everything else is a guess over a sample that ends at a line feed (a
character cut in two would spoil it): what reads like a language of the Latin script is that, and for the rest
charset-normalizer is asked. Loaded when a host sets `encoding="auto"`.
"""

from __future__ import annotations

import codecs
import logging

from eyespan.errors import Missing, shortage
from eyespan.lines.encodings import Encoding, by_mark, checked, plain_wide
from eyespan.lines.latin import likeliest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE_BYTES = 64 * 1024
STRAY_BYTES = 4
"""So many characters in valid UTF-8 to each stray byte leave no doubt."""
LOOK_BYTES = 8 * 1024 * 1024
"""How far into a file that starts in ASCII the first other byte is looked for: a few milliseconds."""


def detect(head: bytes, more: Callable[[int, int], bytes] | None = None) -> Encoding | None:
    """The encoding, or None if these bytes are no text in any that is known.

    Raises: Missing, if a guess is needed and charset-normalizer is not installed.
    """
    marked = by_mark(head)
    if marked is not None:
        return marked
    if head.startswith(codecs.BOM_UTF8):
        return Encoding("utf-8", 1, codecs.BOM_UTF8, b"\n", "bom")
    plain = plain_wide(head[:SAMPLE_BYTES])
    if plain is not None:
        return plain
    if b"\0" in head:
        return None
    sample = head
    if head.isascii() and more is not None:
        sample = _first_beyond_ascii(len(head), more)
    if _is_utf8(sample) or _is_damaged_utf8(sample):
        return Encoding("utf-8", how="utf-8")
    return _guess(_whole_lines(sample))


def _first_beyond_ascii(position: int, more: Callable[[int, int], bytes]) -> bytes:
    """A sample around the first byte that is not ASCII; b"" if there is none within reach."""
    end, step = position + LOOK_BYTES, 16 * SAMPLE_BYTES
    before = b""
    while position < end:
        block = more(position, step)
        if not block:
            return b""
        if not block.isascii():
            at = next(i for i, byte in enumerate(block) if byte > 127)
            start = block.rfind(b"\n", 0, at) + 1
            lead = b"" if start else before
            rest = block[start:]
            if len(rest) < SAMPLE_BYTES:
                rest += more(position + len(block), SAMPLE_BYTES)
            return (lead + rest)[:SAMPLE_BYTES]
        before = block[block.rfind(b"\n") + 1 :][-SAMPLE_BYTES // 2 :]
        position += len(block)
    return b""


def _is_utf8(sample: bytes) -> bool:
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        # The end of the sample may have cut a character in two; that proves nothing against the rest.
        return error.reason == "unexpected end of data" and error.end == len(sample) and error.start > 0
    return True


def _is_damaged_utf8(sample: bytes) -> bool:
    """Whether far more characters beyond ASCII are valid than not: in no other encoding does that happen by chance.

    A few stray bytes in a text of another script must not turn all of it into the letters of a guess.
    """
    text = sample.decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return beyond - wrong >= STRAY_BYTES * wrong


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
    matches = list(from_bytes(sample, cp_exclusion=[name for name in IANA_SUPPORTED if not _readable(name)]))
    if not matches:
        return None
    best = matches[0]
    if checked(best.encoding) in EAST:
        name = max(EVERYDAY, key=lambda name: _everyday(sample, name))
        return Encoding(name, how="detected", confidence=round(_everyday(sample, name), 2))
    likely = [match for match in matches if match.chaos <= best.chaos + AS_GOOD]
    best = next((match for match in likely if match.encoding == "cp1252"), best)
    return Encoding(checked(best.encoding) or "utf-8", how="detected", confidence=round(1.0 - best.chaos, 2))


AS_GOOD = 0.05
"""Guesses closer together than this are equally good; then the commoner encoding wins, which in the West is cp1252."""

# Encodings of East Asia share their byte ranges: nearly any text of one is letters of another, but rare ones. For each
# the encoding in which its everyday characters lie in one range of two bytes, and that range (level 1 of its standard).
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


def _everyday(sample: bytes, name: str) -> float:
    """Which share of the East Asian characters is everyday in the language of this encoding; -1 if it is not this one.

    Where two languages tie, the first in the table has the smaller range and is the likelier.
    """
    base, low, high = EVERYDAY[name]
    try:
        text = sample[: sample.rfind(b"\n", 0, SAMPLE_BYTES // 8) + 1 or len(sample)].decode(name)
    except UnicodeDecodeError:
        return -1.0
    letters = [char for char in text if ord(char) > 0x3040]
    share = sum(low <= char.encode(base, "ignore") <= high for char in letters) / (len(letters) or 1)
    if base == "euc_jp" and sum(char <= "\u30ff" for char in letters) * 20 < len(letters):
        return share / 2  # no Japanese text is without kana
    return share


def _readable(name: str) -> bool:
    """Whether the guess may be this: an encoding with lines in it, and none that was proved or ruled out before."""
    try:
        found = checked(name)
    except ValueError:
        return False
    return found is not None and not found.startswith("utf-")
