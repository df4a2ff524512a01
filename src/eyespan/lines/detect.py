"""Detect the encoding of a file: first by proof, then by likelihood.

A BOM, valid UTF-8, the pattern of NULs and the sequences that switch alphabets are proofs. Next comes the encoding that
the text declares itself, if the text is valid in it. Everything else is a guess: `latin` decides a text of the Latin
script whose letters are those of one language, chardet the rest, unless its guess is another script for letters between
ASCII. The confidence is the share of texts that were read right in a trial, see
docs/decisions/011-chardet-for-encodings.md. The sample ends at a line feed, because half a character would distort it.
Loaded only for the rule "auto". chardet takes 40 MB and runs in the worker: `Ask` passes a sample to it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from eyespan.errors import Missing, shortage
from eyespan.lines.declared import SUPERSETS, codec, declared
from eyespan.lines.encodings import UNSURE, Encoding, by_bom, canonical_name, is_text_after_bom, wide_without_bom
from eyespan.lines.latin import likeliest
from eyespan.signatures import is_utf8

Ask = Callable[[bytes], tuple[str | None, float]]
"""Returns the encoding of a sample by chardet, None if nothing fits, and its score. Raises: Missing."""

SAMPLE_BYTES = 64 * 1024
VALID_PER_INVALID = 4
"""With so many valid characters to each invalid byte, a text is UTF-8."""
SEARCH_BYTES = 8 * 1024 * 1024
"""The first byte beyond ASCII is searched so far into a file: a few milliseconds."""


GUESS_BYTES = 16 * 1024
"""The most that chardet judges."""


VALID_UTF8 = Encoding("utf-8", how="utf-8")


def detect(
    first_bytes: bytes, read_more: Callable[[int, int], bytes] | None = None, ask: Ask | None = None
) -> Encoding | None:
    """Return the encoding, or None if these bytes are no text in any known encoding.

    Without `ask`, chardet runs in this process.

    Raises: Missing, if a guess is needed and chardet is not installed.
    """
    with_bom = by_bom(first_bytes)
    if with_bom is not None and is_text_after_bom(first_bytes, with_bom):
        return with_bom
    if first_bytes.startswith(codecs.BOM_UTF8):
        return Encoding("utf-8", bom=codecs.BOM_UTF8, how="bom")
    wide = wide_without_bom(first_bytes[:SAMPLE_BYTES])
    if wide is not None:
        return wide
    if b"\0" in first_bytes:
        return None
    sample = first_bytes
    if first_bytes.isascii():
        switching = _by_escapes(first_bytes)
        if switching is not None:
            return switching
        if read_more is not None:
            sample = _sample_beyond_ascii(len(first_bytes), read_more)
    if sample.isascii() or is_utf8(sample):
        return VALID_UTF8
    global _last
    judged, found = _last
    if judged is not first_bytes or sample is not first_bytes:
        found = _by_declaration(first_bytes, _whole_lines(sample)) or (
            VALID_UTF8 if _is_damaged_utf8(sample) else _guess(_whole_lines(sample), ask)
        )
        if sample is first_bytes:
            _last = first_bytes, found
    return found


_last: tuple[bytes, Encoding | None] = (b"", None)
"""The bytes judged last, and their encoding: the kind and the text of an opened file are read from the same object."""


_SWITCHING = ("iso2022-kr", "iso2022-jp", "iso2022-jp-1", "iso2022-jp-2", "iso2022-jp-ext", "iso2022-jp-2004")
"""Encodings of East Asia whose sequences switch to an alphabet. Terminals use other sequences."""


def _by_escapes(first_bytes: bytes) -> Encoding | None:
    """Return the encoding of ASCII bytes that switch to another alphabet, if all of them are valid in it."""
    # One byte is found many times as fast as two, and hardly any text has it.
    if b"\x1b" in first_bytes and (b"\x1b$" in first_bytes or b"\x1b(I" in first_bytes):
        sample = _whole_lines(first_bytes)
        for name in _SWITCHING:
            if _is_valid(sample, name):
                return Encoding(name, how="escapes", has_lines=False)
    return None


def _is_valid(sample: bytes, name: str) -> bool:
    try:
        sample.decode(name)
    except (UnicodeDecodeError, ValueError):
        return False
    return True


def _by_declaration(first_bytes: bytes, sample: bytes) -> Encoding | None:
    """Return the encoding that the text declares, if nearly all of the sample is valid in it."""
    name = declared(first_bytes)
    if name is None or name.startswith(("utf-16", "utf-32", "utf-7")):
        return None  # the declaration itself could not be read in them
    if not _is_mostly_valid(sample, name, MOSTLY_VALID):
        return None
    return Encoding(name, how="utf-8" if name == "utf-8" else "declared", has_lines=_has_lines(name))


MOSTLY_VALID = 50
"""With so many valid characters to each invalid one, a declaration is right."""


def _has_lines(name: str) -> bool:
    try:
        canonical_name(name)
    except ValueError:
        return False
    return True


_WIDE_BYTE = re.compile(rb"[\x80-\xff]")


def _sample_beyond_ascii(offset: int, read_more: Callable[[int, int], bytes]) -> bytes:
    """Return a sample around the first byte that is not ASCII; b"" if there is none within `SEARCH_BYTES`."""
    end, step = offset + SEARCH_BYTES, 16 * SAMPLE_BYTES
    before = b""
    while offset < end:
        block = read_more(offset, step)
        if not block:
            return b""
        if (beyond := _WIDE_BYTE.search(block)) is not None:
            place = beyond.start()
            start = block.rfind(b"\n", 0, place) + 1
            lead = b"" if start else before
            rest = block[start:]
            if len(rest) < SAMPLE_BYTES:
                rest += read_more(offset + len(block), SAMPLE_BYTES)
            return (lead + rest)[:SAMPLE_BYTES]
        before = block[block.rfind(b"\n") + 1 :][-SAMPLE_BYTES // 2 :]
        offset += len(block)
    return b""


def is_plain(data: bytes) -> bool:
    """Return True if all bytes of a file are its text in UTF-8, as they are: `detect` returns `VALID_UTF8`."""
    if b"\0" in data:
        return False
    return _by_escapes(data) is None if data.isascii() else not data.startswith(codecs.BOM_UTF8) and is_utf8(data)


def _is_damaged_utf8(sample: bytes) -> bool:
    """Return True if far more characters beyond ASCII are valid than not; no other encoding does that by chance.

    A few invalid bytes in a text of another script must not make all of it the letters of a guess.
    """
    return _is_mostly_valid(sample, "utf-8", VALID_PER_INVALID)


def _is_mostly_valid(sample: bytes, name: str, valid_per_invalid: int) -> bool:
    """Return True if a sample has so many valid characters beyond ASCII to each that is invalid."""
    text = sample.decode(name, "replace")
    invalid = text.count("\ufffd")
    beyond = len(text) - len(text.encode("ascii", "ignore"))
    return beyond - invalid >= valid_per_invalid * invalid


def _whole_lines(sample: bytes) -> bytes:
    if len(sample) < SAMPLE_BYTES:
        return sample
    return sample[: sample.rfind(b"\n") + 1] or sample


def ask_here(sample: bytes) -> tuple[str | None, float]:
    """Ask chardet in this process, which loads it. Raises: Missing."""
    try:
        import chardet
    except ImportError as error:
        if shortage(error):
            raise
        raise Missing("", what="detecting an encoding", install="pip install chardet") from None
    found = chardet.detect(sample, compat_names=False, prefer_superset=False, exclude_encodings=UNLIKELY)
    return found["encoding"], found["confidence"]


def _guess(sample: bytes, ask: Ask | None = None) -> Encoding | None:
    """Return the most likely encoding, with the share of such guesses that is right; None for other data than text."""
    beyond = len(sample) - len(sample.translate(None, _BEYOND_ASCII))
    latin = likeliest(sample)
    if latin is not None and latin[1] == 1.0 and (beyond < FEW_BYTES or latin[0] == COMMON):
        confidence = FEW_CONFIDENCE if beyond < FEW_BYTES else CALIBRATION[1][1]
        return Encoding(latin[0], how="detected", confidence=confidence)
    name = None
    for part in dict.fromkeys((_lines_beyond_ascii(sample), sample)):
        encoding, score = (ask or ask_here)(part)
        name = None if encoding is None or score <= 0.0 else codec(encoding)
        if name is not None and _is_valid(sample, name):
            break
    if latin is not None and latin[1] >= SHARE_OF_LETTERS and name not in LATIN:
        return Encoding(latin[0], how="detected", confidence=UNSURE)
    if name is None or name.startswith("utf-"):
        return _mostly_ascii(sample)
    superset = SUPERSETS.get(name, name)
    if _is_valid(sample, superset):
        name = superset
    if not _reads_like_text(sample, name):
        name = WINDOWS.get(name, "")
        if not name or not _reads_like_text(sample, name):
            return _mostly_ascii(sample)
    confidence = next(share for least, share in CALIBRATION if score >= least)
    if beyond < 4 * FEW_BYTES:
        confidence = min(confidence, FEW_CONFIDENCE)
    return Encoding(name, how="detected", confidence=confidence, has_lines=_has_lines(name))


def _mostly_ascii(sample: bytes) -> Encoding | None:
    """Return the most common code page for a text with some strange bytes; None if it is no text."""
    printable = len(sample.translate(None, _NOT_PRINTABLE))
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    is_sparse = printable * 10 < len(sample) * 7 and (controls or printable * 2 < len(sample) or len(sample) < 24)
    if is_sparse or controls * STRANGE_ONE_IN > len(sample):
        return None
    name = COMMON if _is_valid(sample, COMMON) else "iso8859-1"
    return Encoding(name, how="detected", confidence=UNSURE)


COMMON = "cp1252"
_CONTROLS = bytes([*set(range(32)) - set(b"\t\n\r\f\x1b"), 127])
_NOT_PRINTABLE = _CONTROLS + bytes(range(128, 256))


def _lines_beyond_ascii(sample: bytes) -> bytes:
    """Return the first lines that are not ASCII: a guess takes a third of a millisecond for each kilobyte."""
    kept: list[bytes] = []
    size = 0
    for line in sample.split(b"\n"):
        if not line.isascii():
            size += len(line) + 1
            if kept and size > GUESS_BYTES:
                break
            kept.append(line)
    return b"\n".join(kept)


_BEYOND_ASCII = bytes(range(128, 256))
FEW_BYTES = 8
"""A text with fewer bytes beyond ASCII is judged by its letters alone."""
FEW_CONFIDENCE = 0.75
SHARE_OF_LETTERS = 0.9
"""The letters beyond ASCII that belong to one language, of a text in the Latin script."""
LATIN = frozenset(
    (
        *(f"iso8859-{n}" for n in (1, 2, 9, 13, 15)),
        *(f"cp{n}" for n in (437, 775, 850, 852, 857, 858)),
        *(f"cp125{n}" for n in (0, 2, 4, 7, 8)),
        "mac-roman",
        "mac-latin2",
        "mac-turkish",
    )
)
"""Code pages of the Latin script. A guess of any other for text between ASCII letters is less likely than `latin`."""
CALIBRATION = ((0.3, 0.98), (0.2, 0.92), (0.1, 0.75), (0.0, UNSURE))
"""The share of right guesses, by the least score of chardet, which is no probability."""
UNLIKELY = ("koi8-t", "cp1006", "cp720", "kz1048", "ptcp154", "cp1125", "iso8859-3", "iso8859-4", "iso8859-16")
"""Rare encodings that are guessed for texts of common ones far more often than they occur."""


WINDOWS = {
    "iso8859-2": "cp1250",
    "iso8859-5": "cp1251",
    "iso8859-7": "cp1253",
    "iso8859-8": "cp1255",
    "iso8859-6": "cp1256",
    "iso8859-13": "cp1257",
}
"""The code pages of Windows for the same languages, with letters where the standards have control characters."""


def _reads_like_text(sample: bytes, name: str) -> bool:
    """Return True if the decoded text has nearly no control characters."""
    text = sample.decode(name, "replace")
    strange = sum([text.count(char) for char in _STRANGE.intersection(set(text))])
    return strange * STRANGE_ONE_IN <= len(text)


# The new line of EBCDIC, U+0085, is none of them.
_STRANGE = frozenset(map(chr, {*range(0x20), *range(0x7F, 0xA0), 0xFFFD} - {*b"\t\n\r\f\x1b", 0x85}))


STRANGE_ONE_IN = 100
"""A text has fewer control and invalid characters than one in so many."""
