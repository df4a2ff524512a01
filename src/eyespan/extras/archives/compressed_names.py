"""The names of compressed files, and of what was compressed."""

from __future__ import annotations

_SUFFIXES = {
    ".tgz": ".tar",
    ".tbz": ".tar",
    ".tbz2": ".tar",
    ".txz": ".tar",
    ".tzst": ".tar",
    ".gz": "",
    ".bz2": "",
    ".xz": "",
    ".zst": "",
}
"""The suffixes of compressed files, and their replacements after decoding."""
_HAS_EXTRA, _HAS_NAME = 4, 8
"""Flags in the header of gzip."""


def original_name(first_bytes: bytes) -> str:
    """Return the name of the file that was compressed, as the header of gzip has it; "" if there is none."""
    if first_bytes[:2] != b"\x1f\x8b" or len(first_bytes) < 10 or not first_bytes[3] & _HAS_NAME:
        return ""
    at = 10
    if first_bytes[3] & _HAS_EXTRA:
        at += 2 + int.from_bytes(first_bytes[at : at + 2], "little")
    return first_bytes[at:].partition(b"\0")[0].decode("utf-8", "surrogateescape")


def inner_name(name: str) -> str:
    """Return the name of the decoded file: `app.log` for `app.log.gz`."""
    lower = name.lower()
    for suffix, replacement in _SUFFIXES.items():
        if lower.endswith(suffix) and len(name) > len(suffix):
            return name[: -len(suffix)] + replacement
    return name
