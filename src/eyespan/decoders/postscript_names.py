"""Names that PostScript programs use: glyphs, the letters of the font Symbol, operators without an effect here."""

from __future__ import annotations

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_NAMES = """
exclam quotedbl numbersign dollar percent ampersand quotesingle quoteright parenleft parenright
asterisk plus comma hyphen minus period slash colon semicolon less greater question at
bracketleft backslash bracketright asciicircum underscore quoteleft grave braceleft bar
braceright asciitilde degree plusminus mu multiply divide endash emdash bullet section
copyright registered germandbls Adieresis Odieresis Udieresis adieresis odieresis udieresis
eacute egrave ecircumflex agrave aacute acircumflex ccedilla ntilde oacute iacute uacute aring
Aring oslash Oslash ae AE alpha beta gamma delta epsilon theta lambda pi rho sigma tau phi chi
psi omega Omega Delta Sigma infinity lessequal greaterequal notequal
"""
_CHARACTERS = (
    "!\"#$%&'\u2019()*+,-\u2212./:;<>?@[\\]^_\u2018`{|}~\u00b0\u00b1\u00b5\u00d7\u00f7\u2013\u2014\u2022"
    "\u00a7\u00a9\u00ae\u00df\u00c4\u00d6\u00dc\u00e4\u00f6\u00fc\u00e9\u00e8\u00ea\u00e0\u00e1\u00e2"
    "\u00e7\u00f1\u00f3\u00ed\u00fa\u00e5\u00c5\u00f8\u00d8\u00e6\u00c6\u03b1\u03b2\u03b3\u03b4\u03b5"
    "\u03b8\u03bb\u03c0\u03c1\u03c3\u03c4\u03c6\u03c7\u03c8\u03c9\u03a9\u0394\u03a3\u221e\u2264\u2265"
    "\u2260"
)
GLYPHS = {
    **{name: str(digit) for digit, name in enumerate(_DIGITS)},
    **dict(zip(_NAMES.split(), _CHARACTERS, strict=True)),
    "equal": "=",
    "space": " ",
}
"""The characters of names of glyphs; a name of one letter is that letter."""
_LATIN = "abgdezhqiklmnxoprstufcywVJjABGDEZHQIKLMNXOPRSTUFCYW"
_GREEK = (
    "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba\u03bb\u03bc\u03bd\u03be\u03bf\u03c0\u03c1"
    "\u03c3\u03c4\u03c5\u03c6\u03c7\u03c8\u03c9\u03c2\u03d1\u03d5"
    "\u0391\u0392\u0393\u0394\u0395\u0396\u0397\u0398\u0399\u039a\u039b\u039c"
    "\u039d\u039e\u039f\u03a0\u03a1\u03a3\u03a4\u03a5\u03a6\u03a7\u03a8\u03a9"
)
SYMBOL = dict(zip(_LATIN, _GREEK, strict=True))
NO_OPERATIONS = {
    **dict.fromkeys(("bind", "clip", "eoclip", "initclip", "flattenpath", "reversepath", "readonly"), 0),
    **dict.fromkeys(("executeonly", "noaccess", "flush", "erasepage", "nulldevice"), 0),
    **dict.fromkeys(("setlinecap", "setlinejoin", "setmiterlimit", "setflat", "setoverprint", "setpacking"), 1),
    **dict.fromkeys(("setstrokeadjust", "settransfer", "setblackgeneration", "setundercolorremoval", "srand"), 1),
    **dict.fromkeys(("setpagedevice", "setglobal", "sethalftone", "setsmoothness"), 1),
    **dict.fromkeys(("setscreen",), 3),
}
"""Operators that change nothing here, and the number of values that they take."""
