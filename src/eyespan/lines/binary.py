"""Decide whether the first bytes of a file are text or binary, by the rule of a dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyespan.errors import Missing
from eyespan.lines.encodings import by_bom, choose, is_text_after_bom, wide_without_bom
from eyespan.model import ANY_IS_TEXT, NUL_OR_BAD_UTF8_IS_BINARY, SNIFF_BYTES, TextRule

if TYPE_CHECKING:
    from eyespan.lines.detect import Ask


_COMPRESSED_DATA = (b"\x1f\x9d", b"\x1f\xa0", b"\x04\x22\x4d\x18")
"""Signatures of compressed data, of which a short file may look like text."""


def is_binary(first_bytes: bytes, rule: TextRule, encoding_rule: str, *, whole: bool, ask: Ask | None = None) -> bool:
    """Return True if these first bytes are binary by a dialect's rule.

    `whole`: the file has no other bytes. `ask` passes a sample to the detector of encodings.
    """
    if rule == ANY_IS_TEXT:
        return False
    if encoding_rule not in ("utf-8", "utf-8-sig"):
        wide = _reads_wide(first_bytes, encoding_rule)
        if wide is not None:
            return not wide
    sample = first_bytes[:SNIFF_BYTES]
    if b"\0" in sample:
        return True
    if encoding_rule == "auto" and not sample.isascii():
        # The reader guesses from the same bytes, so that they are judged once.
        judged = sample if b"\0" in first_bytes else first_bytes
        if not _is_guessable(judged, ask):
            return True
    if rule == NUL_OR_BAD_UTF8_IS_BINARY:
        try:
            sample.decode("utf-8")
        except UnicodeDecodeError as error:
            # A character cut by the end of the sample is valid; one cut by the end of the file is not.
            cut_by_us = error.reason == "unexpected end of data" and error.end == len(sample)
            if cut_by_us and not (whole and len(first_bytes) <= SNIFF_BYTES):
                return False
            return encoding_rule != "auto" or not _is_guessable(sample, ask)
    return False


def _reads_wide(first_bytes: bytes, encoding_rule: str) -> bool | None:
    """Return True if the bytes are text in a wide encoding; None if the rule gives no wide encoding."""
    with_bom = by_bom(first_bytes)
    if with_bom is not None and encoding_rule in ("bom", "auto", "utf-16", "utf-32"):
        return encoding_rule != "auto" or is_text_after_bom(first_bytes, with_bom)
    if encoding_rule == "auto":
        return True if wide_without_bom(first_bytes[:SNIFF_BYTES]) is not None else None
    if not encoding_rule.startswith(("utf-16", "utf-32")):
        return None
    # The host names the encoding, but text holds no NUL characters in any encoding.
    encoding = choose(encoding_rule, first_bytes)
    sample = first_bytes[: SNIFF_BYTES * encoding.unit_bytes]
    return "\0" not in sample.decode(encoding.name, "replace")


def _is_guessable(sample: bytes, ask: Ask | None) -> bool:
    from eyespan.lines.detect import detect

    if sample.startswith(_COMPRESSED_DATA):
        return False
    try:
        return detect(sample, None, ask) is not None
    except Missing:
        return True  # shown as UTF-8, with marks for the rest
