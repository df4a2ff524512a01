"""Cut text at a number of bytes. Python's own codecs are as fast as C here, so this has no twin."""

from __future__ import annotations


def cut_bytes(line: str, max_bytes: int) -> str:
    """Return the longest prefix of whole characters that takes at most `max_bytes` bytes of UTF-8."""
    raw = line.encode("utf-8")
    return line if len(raw) <= max_bytes else raw[:max_bytes].decode("utf-8", "ignore")
