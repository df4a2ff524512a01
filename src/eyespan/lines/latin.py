"""Guess the code page of a text in the Latin script, by how often each letter is used.

These code pages share their bytes, and a letter of one is a letter of another, so only the frequency of letters
distinguishes them. For each language the table has the letters beyond ASCII, out of a thousand of them; the most likely
language decides the code page. tools/latin_letters.py makes the table and names the texts it counts.
"""

from __future__ import annotations

import math
import re

# fmt: off
LETTERS = (
    ("cp1252", "é745 à77 è71 ê63 ô17 î11 ç5 â4 û2"),  # fr
    ("cp1252", "ü558 ä223 ö155 ß62"),  # de
    ("cp1252", "ó455 á229 í124 ú93 ñ49 é48"),  # es
    ("cp1252", "ã308 ç211 í119 á114 é77 ó49 õ41 ú41 ê22 â7 à6 º6"),  # pt
    ("cp1252", "ã309 ç182 á132 í109 é79 ó50 ú44 õ40 ê35 ô7 â6 º4 à2"),  # pt_BR
    ("cp1252", "è598 à202 ò83 ù79 é29 ì3 í2 á2"),  # it
    ("cp1252", "ï393 é322 ë213 ó38 á16 ü5 ñ3 â3 í3 ã3"),  # nl
    ("cp1252", "ä455 ö317 å227"),  # sv
    ("cp1252", "æ395 ø352 å222 é29"),  # da
    ("cp1252", "å503 ø439 æ48 é9"),  # nb
    ("cp1252", "ä907 ö92"),  # fi
    ("cp1252", "ð317 á178 í108 æ94 þ83 ó61 ö55 ý53 ú37 é14"),  # is
    ("cp1252", "ó253 à190 é189 í92 ò62 ç61 ú57 è54 ï28 ü12"),  # ca
    ("cp1252", "ó337 á242 í127 é123 ú90 ñ73 º6"),  # gl
    ("cp1250", "ł202 ś139 ą138 ż136 ę126 ó117 ć99 ń31 ź10"),  # pl
    ("cp1250", "í264 á180 ř105 é80 č78 ž76 ý66 ě60 š39 ů31 ú8 ň5 ó4 ť3"),  # cs
    ("cp1250", "á190 í114 ú107 č102 ý96 ť95 é85 ž83 š46 ľ44 ô8 ó8 ä7 ň6 ĺ5 ď4"),  # sk
    ("cp1250", "á337 é252 í107 ó93 ö73 ő59 ü43 ú23 ű12"),  # hu
    ("cp1250", "ă644 î151 ş84 ţ76 â44"),  # ro
    ("cp1250", "č334 š237 ć181 ž158 đ84 ô6"),  # hr
    ("cp1250", "č585 š266 ž148"),  # sl
    ("cp1254", "ı461 ç131 ş126 ü121 ğ97 ö64"),  # tr
    ("cp1257", "ė212 š185 į139 ų138 ą111 ž80 ū56 č40 ę38"),  # lt
    ("cp1257", "ā354 ē239 ī154 š99 ņ51 ū36 ļ25 ķ21 ž12 ģ7 č2"),  # lv
    ("cp1257", "ä384 õ358 ü208 ö39 ž5 š4"),  # et
)
# fmt: on
COMMON = "cp1252"
"""Preferred if it makes no difference."""
RARE = 0.5
"""The frequency, out of a thousand, of letters that a language does not have."""
SEVERAL = 0.9
"""The share of letters that counts for a text with names of several languages."""
LEAST = -3.5
"""The lowest mean logarithm of a text in one of these languages; real texts have -1 to -2.5."""
ALIKE = "\N{NO-BREAK SPACE}\N{SOFT HYPHEN}“”„‘’‚‹›«»–—…•·°§©®™€£±×"
"""Signs that have the same byte in all these code pages, and so decide nothing."""
_ALIKE = str.maketrans("", "", ALIKE)
SIGNS = "£¥¢¡¿½¼¾²³¹µ"
"""Signs of the common code page, which are letters in others."""
_SIGNS = str.maketrans("", "", SIGNS)
_LETTER_SIGN = re.compile(rf"[a-zà-ÿ][{SIGNS}][a-zà-ÿ]")
_LONG_RUN = re.compile(rb"[\x80-\xff]{3,}")
_RUN = re.compile(rb"[\x80-\xff]+")
_WESTERN = frozenset([word[0] for page, row in LETTERS if page == COMMON for word in row.split()])
"""The letters of all languages of the common code page."""
_ASCII = re.compile(r"[\0-\x7f]+")


def _logarithms(row: str) -> dict[str, float]:
    return {each[0]: math.log(int(each[1:]) / 1000) for each in row.split()}


_LOGARITHMS = [(page, _logarithms(row)) for page, row in LETTERS]


def _is_mixed_with_ascii(sample: bytes) -> bool:
    """Return True if bytes beyond ASCII stand alone or in pairs, as in the Latin script; other scripts have words."""
    return 10 * sum(map(len, _LONG_RUN.findall(sample))) <= sum(map(len, _RUN.findall(sample)))


def likeliest(sample: bytes) -> tuple[str, float] | None:
    """Return the code page and the share of letters that its language has; None if no language fits.

    A text whose only characters beyond ASCII are signs (`25 °C`) is of the common code page.
    """
    if not _is_mixed_with_ascii(sample):
        return None
    texts = {page: _decoded(sample, page) for page in dict(LETTERS)}
    letters = {page: _ASCII.sub("", text).translate(_ALIKE).lower() for page, text in texts.items()}
    if not _LETTER_SIGN.search(texts[COMMON]):
        letters[COMMON] = letters[COMMON].translate(_SIGNS)
    if texts[COMMON] and not letters[COMMON]:
        return COMMON, 1.0
    rare = math.log(RARE / 1000)
    found, best = None, LEAST
    for page, logarithms in _LOGARITHMS:
        if letters[page]:
            mean = sum([logarithms.get(letter, rare) for letter in letters[page]]) / len(letters[page])
            if mean > best:
                known = sum([letter in logarithms for letter in letters[page]]) / len(letters[page])
                found, best = (page, known), mean
    if texts[COMMON] and (found is None or found[1] < 1.0) and _WESTERN.issuperset(letters[COMMON]):
        return COMMON, SEVERAL
    return (COMMON, found[1]) if found and texts[found[0]] == texts[COMMON] else found


def _decoded(sample: bytes, page: str) -> str:
    try:
        return sample.decode(page)
    except UnicodeDecodeError:
        return ""
