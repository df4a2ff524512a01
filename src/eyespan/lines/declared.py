"""Find the encoding that a text declares itself: in XML, HTML, CSS, PO files, mails and comments of source code.

A declaration is searched where its format allows it and nowhere else, because a text may also write about encodings.
The result is a codec of Python, or None for a name that Python does not know.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

XML_BYTES = 256
HEADER_BYTES = 2048
_NAME = rb"([A-Za-z][A-Za-z0-9_.:()+-]{1,40})"
_XML = re.compile(rb"\s{0,64}<\?xml\s[^>]{0,160}?encoding\s{0,8}=\s{0,8}[\"']" + _NAME)
_CSS = re.compile(rb"@charset \"" + _NAME)
_META = re.compile(rb"<meta\s[^>]{0,400}?charset\s{0,8}=\s{0,8}[\"']?\s{0,8}" + _NAME, re.IGNORECASE)
_MARKUP = re.compile(rb"\s{0,64}<(?:!doctype|!--|html|head|meta|\?xml|title|body)", re.IGNORECASE)
# Python's own rule, which also covers the lines of Emacs and Vim; a comment sign must come first.
_COMMENT = re.compile(rb"[ \t\f]*(?:#|//|/\*|;|%|--|\"|<!--|\.\\\").{0,200}?coding[:=][ \t]*" + _NAME)
_HEADER = re.compile(rb"(?:^|\n)\"?content-type:[ \t][^\n]{0,120}?charset=[\"']?" + _NAME, re.IGNORECASE)

# Names that browsers give to a superset, because pages use its characters under the name of the smaller one.
SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc-kr": "cp949",
    "shift-jis": "cp932",
    "big5": "big5hkscs",
}
_ALIASES = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "x-euc-jp": "euc-jp",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "cn-big5": "big5hkscs",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-roman": "mac-roman",
    "macintosh": "mac-roman",
    "ks_c_5601-1987": "cp949",
    "windows-949": "cp949",
    "windows-874": "cp874",
    "dos-874": "cp874",
    "iso-8859-8-i": "iso8859-8",
    "unicode": "utf-16",
}


def declared(first_bytes: bytes) -> str | None:
    """Return the codec of the first declaration, with the superset that browsers read for it; None if there is none."""
    for name in _declarations(first_bytes):
        known = codec(name)
        if known is not None:
            return SUPERSETS.get(known, known)
    return None


def codec(name: str) -> str | None:
    """Return Python's name of a text encoding, with hyphens; None for a name that Python does not know."""
    name = _ALIASES.get(name.lower(), name)
    try:
        info = codecs.lookup(name)
    except (LookupError, ValueError):
        return None
    module = getattr(info.incrementaldecoder, "__module__", "")
    if not getattr(info, "_is_text_encoding", True) or not module.startswith(("encodings.", "codecs")):
        return None
    return info.name.replace("_", "-")


def _declarations(first_bytes: bytes) -> Iterator[str]:
    for pattern, data in ((_XML, first_bytes[:XML_BYTES]), (_CSS, first_bytes[:XML_BYTES])):
        if found := pattern.match(data):
            yield found[1].decode("ascii")
    if _MARKUP.match(first_bytes) and (found := _META.search(first_bytes[:4096])):
        yield found[1].decode("ascii")
    for line in first_bytes[:HEADER_BYTES].split(b"\n", 2)[:2]:
        if found := _COMMENT.match(line):
            yield found[1].decode("ascii")
    if found := _HEADER.search(first_bytes[:HEADER_BYTES]):
        yield found[1].decode("ascii")
