"""The first bytes of drawings: images that are text."""

from __future__ import annotations

from eyespan.signatures import is_anymap


def drawing_type(first_bytes: bytes) -> str | None:
    """Return the media type of an image that is text, by its first bytes; None for others."""
    if first_bytes[:1] == b"P":
        return "image/x-portable-anymap" if first_bytes[1:2] in b"123" and is_anymap(first_bytes) else None
    start = first_bytes[:2048].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"#define ") and b"_width " in start[:80] and b"_bits[]" in start.replace(b" []", b"[]"):
        return "image/x-xbitmap"
    return "image/svg+xml" if start[:1] == b"<" and _is_svg(start) else None


def is_drawing(first_bytes: bytes) -> bool:
    """Return True if the file is an image that is text."""
    return drawing_type(first_bytes) is not None


def _is_svg(start: bytes) -> bool:
    """Return True if the root element of an XML text is one of SVG."""
    at = 0
    for _ in range(16):
        if start.startswith((b"<?", b"<!--", b"<!"), at):
            end = b"?>" if start.startswith(b"<?", at) else b"-->" if start.startswith(b"<!--", at) else b">"
            if end == b">" and b"[" in start[at : start.find(b">", at)]:
                end = b"]>"
            closing = start.find(end, at)
            if closing < 0:
                return False
            at = start.find(b"<", closing + len(end))
            if at < 0:
                return False
            continue
        name = start[at + 1 : at + 80].split(None, 1)[0].split(b">", 1)[0] if start[at + 1 : at + 80].strip() else b""
        return name.rpartition(b":")[2] == b"svg"
    return False
