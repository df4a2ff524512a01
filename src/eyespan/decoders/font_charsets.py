"""The character sets of Windows fonts, as RTF files and Windows metafiles name them."""

from __future__ import annotations

import codecs

FONT_CHARSETS = {
    0: "cp1252",
    2: "cp1252",
    77: "mac-roman",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "big5",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp437",
}
"""Encodings by the number of the character set of a font."""

for _encoding in FONT_CHARSETS.values():
    codecs.lookup(_encoding)  # in the sandbox no module can be imported
