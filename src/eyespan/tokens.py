"""Estimate how many tokens a text costs, offline, from the classes of neighbouring characters.

A vocabulary splits text where the class of the characters changes (a word, a number, a run of signs, a line end), then
cuts long or unusual pieces further. So the cost is, to a few per cent, a weighted count of characters by class and of
places where two classes meet. The weights below are in thousandths of a token. `tools/calibrate_tokens.py` fitted them
to o200k and measures the error: within 10 % for each of code, prose, CJK text and logs, 3 to 6 % for a usual file, up
to 30 % for an unusual one. Answers that show the number call it an estimate.

**Guarantees.** Weights are whole numbers and never negative, so a longer prefix never costs less and `fit` is exact by
this measure. Nothing is imported, downloaded or remembered.
"""

from __future__ import annotations

import sys

from eyespan._native import scale, weigh
from eyespan.search import first_true

# Classes of characters, by the first byte of their UTF-8 form. Continuation bytes are dropped, so one byte of the
# classified text is one character.
#   a lower case   A upper case   0 digit   _ underscore   p other signs   " " space   t tab   n line end
#   L accented Latin   g Greek   C Cyrillic   h Armenian, Hebrew   R Arabic and near   D scripts of India and Thai
#   v Georgian, Vietnamese, Khmer...   S symbols, dashes, quotes   K kana, CJK signs   H Chinese characters
#   G Hangul   F full width, private   E emoji and rare scripts


def _classes() -> bytes:
    table = bytearray(b"p" * 256)
    for first, last, name in (
        (0x61, 0x7A, "a"),
        (0x41, 0x5A, "A"),
        (0x30, 0x39, "0"),
        (0x5F, 0x5F, "_"),
        (0x20, 0x20, " "),
        (0x09, 0x09, "t"),
        (0x0A, 0x0A, "n"),
        (0x0D, 0x0D, " "),  # alone; before a line feed it is removed
        (0xC2, 0xC2, "S"),
        (0xC3, 0xCA, "L"),
        (0xCB, 0xCF, "g"),
        (0xD0, 0xD3, "C"),
        (0xD4, 0xD7, "h"),
        (0xD8, 0xDF, "R"),
        (0xE0, 0xE0, "D"),
        (0xE1, 0xE1, "v"),
        (0xE2, 0xE2, "S"),
        (0xE3, 0xE3, "K"),
        (0xE4, 0xE9, "H"),
        (0xEA, 0xED, "G"),
        (0xEE, 0xEF, "F"),
        (0xF0, 0xFF, "E"),
    ):
        table[first : last + 1] = name.encode() * (last + 1 - first)
    return bytes(table)


CLASSES = _classes()
CONTINUATION = bytes(range(0x80, 0xC0))

# fmt: off
WEIGHTS = {
    b"a": 136, b"A": 279, b"0": 492, b"p": 345, b"_": 398, b"t": 300, b" ": 10, b"n": 1000, b" a": 446, b"pa": 605,
    b"aA": 391, b"pA": 1114, b"a0": 1001, b"A0": 1600, b"0A": 1600, b" 0": 1600, b"p0": 738, b"an": 1004, b"n  ": 187,
    b"p  ": 1600, b" p": 350, b"at": 1600,
}
# fmt: on
"""Thousandths of a token for each class, and for each pair of neighbouring classes, in ASCII text.

No pattern overlaps itself and none is longer than `_REACH` characters, so the counts of two halves add up.
"""

# fmt: off
OTHER_WEIGHTS = {
    b"L": 1171, b"pL": 1169, b"g": 405, b"pg": 1292, b"ag": 1600, b"ng": 319, b"C": 262, b"pC": 1600, b"aC": 1600,
    b"nC": 1600, b"h": 292, b" h": 714, b"ph": 1482, b"nh": 832, b"R": 160, b" R": 905, b"pR": 1600, b"aR": 1600,
    b"nR": 1106, b"D": 361, b"pD": 1377, b"nD": 987, b"v": 162, b" v": 1600, b"pv": 1600, b"nv": 1600, b"S": 326,
    b" S": 1391, b"aS": 25, b"nS": 244, b"K": 415, b" K": 1491, b"pK": 1600, b"aK": 1600, b"nK": 13, b"H": 682,
    b" H": 1251, b"pH": 1386, b"aH": 638, b"nH": 149, b"G": 586, b" G": 405, b"pG": 1237, b"aG": 1600, b"F": 1000,
    b" F": 761, b"pF": 1600, b"nF": 1600, b"E": 2195, b" E": 15, b"pE": 1600, b"HK": 1465,
}
# fmt: on
"""The same for other scripts; counted only if the class in the last byte of the pattern occurs."""

_ALL_WEIGHTS = WEIGHTS | OTHER_WEIGHTS
_REACH = 4
_BLOCK_CHARS = 4096
_DENSE = (b"a", b"p", b" ")
"""Counted by removing them, which is faster for the classes that make up most of a text."""


def features(text: str) -> dict[bytes, int]:
    """Count how often each pattern of the weights occurs."""
    data = text.encode("utf-8", "surrogatepass")
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    kinds = data.translate(CLASSES, CONTINUATION)
    count = kinds.count
    found = {pattern: count(pattern) for pattern in WEIGHTS if pattern not in _DENSE}
    for pattern in _DENSE:
        found[pattern] = len(kinds) - len(kinds.translate(None, pattern))
    if not text.isascii():
        for pattern in OTHER_WEIGHTS:
            if pattern[-1:] in kinds:
                found[pattern] = count(pattern)
    return found


def _cost_by_counting(text: str) -> int:
    """Return the cost of a text in thousandths of a token."""
    return sum([times * _ALL_WEIGHTS[pattern] for pattern, times in features(text).items()])


def _cost_by_weighing(text: str) -> int:
    """Return the same in one pass of the accelerator, fifty times as fast."""
    assert weigh is not None
    return weigh(text if text.isascii() else text.encode("utf-8", "surrogatepass"), _scale or weighing_scale())


def weighing_scale() -> bytes:
    """Return the tables of `weigh`, prepared once. Only with the accelerator."""
    global _scale
    if not _scale:
        assert scale is not None
        _scale = scale(*_packed_tables())
    return _scale


_base_cost = _cost_by_counting if weigh is None else _cost_by_weighing


def _cost(text: str) -> int:
    """Return the cost of a text in thousandths of a token, with that of characters that no vocabulary holds."""
    return _base_cost(text) if text.isascii() else _base_cost(text) + _rare_cost(text)


# fmt: off
_RARE = (
    (0x0700, 0x08FF, 1500),  # Syriac, Thaana, N'Ko, Samaritan
    (0x0A00, 0x0A7F, 270),  # Gurmukhi
    (0x0B00, 0x0B7F, 300),  # Odia
    (0x0D80, 0x0DFF, 300),  # Sinhala
    (0x0E80, 0x0EFF, 700),  # Lao
    (0x0F00, 0x0FFF, 900),  # Tibetan
    (0x1000, 0x109F, 320),  # Burmese
    (0x1100, 0x11FF, 2000),  # letters of Hangul
    (0x1200, 0x139F, 1600),  # Ethiopic
    (0x13A0, 0x177F, 2400),  # Cherokee, Canadian syllabics, runes and others
    (0x1780, 0x17FF, 350),  # Khmer
    (0x1800, 0x1DFF, 2400),  # Mongolian, Balinese, Santali and others
    (0x1E00, 0x1E9F, 900),  # Latin with rare accents
    (0x1F00, 0x1FFF, 1700),  # Greek with accents of old texts
    (0x2C00, 0x2DFF, 2100),  # Glagolitic, Coptic, Tifinagh
    (0x3400, 0x4DBF, 1900),  # rare Chinese characters
    (0xA000, 0xABFF, 1900),  # Yi, Vai, Javanese and others
    (0xFB00, 0xFDFF, 1400),  # forms of Arabic letters
    (0x10000, 0x1CFFF, 1300), (0x1D000, 0x1DFFF, 350), (0x1E000, 0x1EFFF, 1300), (0x20000, 0x3FFFF, 1300),
)
# fmt: on
"""Thousandths of a token that a character of these blocks costs above the weight of its class: the scripts are so rare
in the vocabulary that a character is one token for almost every byte."""
_FIRST_RARE = "\u0700"


def _rare_cost(text: str) -> int:
    total = 0
    for character in set(text):
        if character >= _FIRST_RARE:
            code = ord(character)
            if 0x4E00 <= code < 0xA000 or 0xAC00 <= code < 0xD7A4 or 0x2000 <= code < 0x2C00:
                continue
            for first, last, extra in _RARE:
                if first <= code <= last:
                    total += extra * text.count(character)
                    break
    return total


def _packed_tables() -> tuple[bytes, bytes]:
    """Return classes and weights in the form of `scale`: classes by number, weights by pairs of classes."""
    names = sorted({*CLASSES})
    number = {name: place for place, name in enumerate(names)}
    classes = bytes([_NO_CLASS if byte in CONTINUATION else number[CLASSES[byte]] for byte in range(256)])
    weights = [0] * (32 * 32 + 32)
    for pattern, weight in _ALL_WEIGHTS.items():
        last = number[pattern[-1]]
        if len(pattern) == 1:
            for before in range(32):
                weights[before * 32 + last] += weight
        elif len(pattern) == 2:
            weights[number[pattern[0]] * 32 + last] += weight
        else:  # the only patterns of three are two spaces after another class
            weights[32 * 32 + number[pattern[0]]] += weight
    return classes, b"".join([weight.to_bytes(4, sys.byteorder) for weight in weights])


_NO_CLASS = 255
_scale = b""
"""The tables as `weigh` takes them; prepared on first use."""


def estimate(text: str) -> int:
    """Return about how many tokens a text is: 0 for none, 1 for one character, never more for a prefix."""
    if len(text) < 2:
        return len(text)
    return tokens_of_cost(_cost(text))


def tokens_of_cost(cost: int) -> int:
    """Return the estimate for a text of this cost in thousandths of a token."""
    return max(1, -(-cost // 1000))


def fit(text: str, tokens: int) -> int:
    """Return how many characters from the start of the text cost at most `tokens`, by `estimate`.

    The largest such number; at least 1 if there is a character and `tokens` is not 0.
    """
    if tokens < 1 or not text:
        return 0
    left = tokens * 1000
    done = 0
    while done < len(text):
        start = max(0, done - _REACH + 1)
        left += _cost(text[start:done])  # the patterns across the border need these characters again
        end = min(len(text), done + _BLOCK_CHARS)
        cost = _cost(text[start:end])
        if cost > left:
            return max(1, _first_beyond(text, start, done + 1, end, left) - 1)
        done, left = end, left - cost
    return len(text)


def _first_beyond(text: str, start: int, low: int, high: int, limit: int) -> int:
    """Return the first end from `low` on for which `text[start:end]` costs more than `limit`, or `high`."""
    return first_true(low, high, lambda end: _cost(text[start:end]) > limit)
