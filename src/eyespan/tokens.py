"""Estimate the tokens of a text word by word, offline.

A vocabulary first splits a text into words with the sign or space before them, up to three digits, runs of signs, and
blanks; the pattern here does the same. The cost of one such piece is 1 and the sum of weights for its length, its case,
the character before it and every three and four neighbouring characters, or more than 1 if that sum is positive. A
letter combination of ordinary words has a weight near zero or below, an unusual one (base64, a rare script, a language
with few texts) a higher one. `tools/fit_token_weights.py` fits the weights to o200k and writes `token_weights.bin`.

The result is raised by `SAFETY`, so that 99 of 100 texts cost less than 1.02 times the estimate. Nothing is downloaded;
the weights are read with the first call.
"""

from __future__ import annotations

import os
import re
import zlib
from bisect import bisect_left
from collections import Counter
from functools import cache, lru_cache

from eyespan._native import weigh_words

SAFETY = 1.022
"""The factor above the fitted cost."""
IMAGE_TOKENS = 1600
"""The cost of an image whose size is not known."""
_PIXELS_PER_TOKEN = 750
UNIT = 32
"""The weights of one token."""
_MAX_REMEMBERED = 8192
"""The pieces whose cost is remembered, 1 MB at most: most pieces of an answer occur in the next answer too."""
_MAX_REMEMBERED_CHARS = 24

_LONG_CHARS = 65536
"""The pieces of a longer text are never all in memory: a short one takes fifty times the text."""
_BATCH = 8192
"""The pieces of a longer text that are in memory at once."""
_LONG_PIECE_CHARS = 1024
"""A longer piece costs as much as the dearest of a few samples of this length, as often as it is longer."""

# --- the pieces of a text ---------------------------------------------------------------------------------------------

_LETTERS = (  # outside ASCII: without spaces, signs and symbols, with the marks that letters carry
    "\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u1fff\u2c00-\u2dff\u3005-\u3007\u3031-\u3035\u3040-\ud7ff"
    "\uf900-\ufdff\ufe70-\ufefc\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U00010000-\U0001cfff\U0001e000-\U0001eeff"
    "\U00020000-\U0003ffff"
)
_ENDING = "(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL][lL]))?"


@cache
def piece_pattern() -> re.Pattern[str]:
    """Return the pattern of a piece. To compile it takes 8 ms, and most texts do not need it."""
    return re.compile(
        f"[^\r\nA-Za-z0-9{_LETTERS}]?(?:[A-Z{_LETTERS}]*[a-z{_LETTERS}]+|[A-Z{_LETTERS}]+){_ENDING}"
        rf"|[0-9]{{1,3}}| ?[^\sA-Za-z0-9{_LETTERS}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )


# --- the weights ------------------------------------------------------------------------------------------------------

_LEADS = {sign: number for number, sign in enumerate("^ .,/-_:;>}\"'`#$*(\t[{@=<", 1)}
"""The characters before a word that have weights of their own; 0: any other, `^`: none."""
_CASES = 4  # lower, upper, capitalised, mixed
_WORD_LENGTHS, _LEAD_LENGTHS, _BLANK_LENGTHS, _OTHER_LENGTHS = 20, 6, 24, 3

WORDS = 0
"""By what is before a word (nothing, a space, a sign), its case and its length."""
BY_LEAD = WORDS + 3 * _CASES * (_WORD_LENGTHS + 1)
LONG_WORDS = BY_LEAD + (len(_LEADS) + 1) * _CASES * (_LEAD_LENGTHS + 1)
BLANKS = LONG_WORDS + _CASES
SIGNS = BLANKS + 2 * (_BLANK_LENGTHS + 1) + 1
OTHER_WORDS = SIGNS + 2 * (_BLANK_LENGTHS + 1) + 1
BLOCKS = OTHER_WORDS + 3 * _CASES * (_OTHER_LENGTHS + 1)
"""By character outside ASCII: 128 neighbours have one weight."""
OTHER_PAIRS = BLOCKS + 2048
GROUPS = OTHER_PAIRS + 2048
"""Three and four neighbouring ASCII characters."""
SIZE = GROUPS + 32768

_RUNS = re.compile("[\0-\x7f]{9,}|.", re.DOTALL)
"""Beside other characters, a long run of ASCII blanks or signs has the weights that it has alone."""


@cache
def _common_letters() -> re.Pattern[str]:
    """Return a pattern of the letters with weights for pairs; the others are so rare that each is some tokens."""
    return re.compile(
        "[\0-\u024f\u0370-\u052f\u0590-\u06ff\u0900-\u097f\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]"
    )


def places(piece: str) -> list[int]:
    """Return the places of the weights of one piece; a weight can occur several times."""
    if piece.isdigit() and piece.isascii():
        return []
    body = piece
    lead = "^"
    if len(piece) > 1 and not piece[0].isalnum() and piece[1].isalpha():
        lead, body = piece[0], piece[1:]
    length = len(body)
    if not body[0].isalpha() and not any(char.isalpha() for char in body):
        if not body.isascii():
            numbers = []
            for run in _RUNS.findall(body):
                numbers += places(run) if len(run) > 1 else [BLOCKS + (ord(run) >> 7 & 2047)]
            return numbers
        start = BLANKS if body.isspace() else SIGNS
        numbers = [start + 2 * min(length, _BLANK_LENGTHS) + ("\n" in body)]
        if length > _BLANK_LENGTHS:
            numbers += [start + 2 * (_BLANK_LENGTHS + 1)] * (length - _BLANK_LENGTHS)
        return numbers if start == BLANKS else numbers + _groups(f"^{body}$".encode())
    case = 0 if body.islower() else 1 if body.isupper() else 2 if body[1:].islower() else 3
    before = 0 if lead == "^" else 1 if lead == " " else 2
    if not body.isascii():
        numbers = [OTHER_WORDS + (before * _CASES + case) * (_OTHER_LENGTHS + 1) + min(length, _OTHER_LENGTHS)]
        last, common = lead, _common_letters()
        for char in body.lower() + "$":
            if char != "$":
                numbers.append(BLOCKS + (ord(char) >> 7 & 2047))
            if common.match(char):
                if char != "$":
                    numbers.append(OTHER_PAIRS + (ord(char) * 0x9E5 & 2047))
                if common.match(last):
                    numbers.append(OTHER_PAIRS + (ord(last) * 0x51B + ord(char) * 0x7A3 & 2047))
            last = char
        return numbers
    numbers = [
        WORDS + (before * _CASES + case) * (_WORD_LENGTHS + 1) + min(length, _WORD_LENGTHS),
        BY_LEAD + (_LEADS.get(lead, 0) * _CASES + case) * (_LEAD_LENGTHS + 1) + min(length, _LEAD_LENGTHS),
    ]
    if length > _WORD_LENGTHS:
        numbers += [LONG_WORDS + case] * (length - _WORD_LENGTHS)
    return numbers + _groups(f"{lead}{body.lower() if case == 2 else body}$".encode("ascii", "replace"))


def _groups(data: bytes) -> list[int]:
    """Return the places of all three and four neighbouring characters."""
    following, third = data[1:], data[2:]
    groups = [
        GROUPS + (a * 0x9E5 + b * 0x1A3B + c * 0x3D & 32767) for a, b, c in zip(data, following, third, strict=False)
    ]
    groups += [
        GROUPS + (a * 0x2F51 + b * 0x71D + c * 0x1C6F + d * 0xB3 & 32767)
        for a, b, c, d in zip(data, following, third, data[3:], strict=False)
    ]
    return groups


def estimate(text: str) -> int:
    """Return about how many tokens a text is, rather too many than too few: 0 for none, 1 for one character."""
    if len(text) < 2:
        return len(text)
    return (_estimated if len(text) <= _LONG_CHARS else _estimated.__wrapped__)(text)


@lru_cache(maxsize=8)  # an answer is estimated when it is fitted, when it is limited, and for its facts
def _estimated(text: str) -> int:
    return _as_tokens(sum(map(_total_of_block, [text] if text.isascii() else _blocks(text))))


def estimate_image(data: bytes) -> int:
    """Return about how many tokens an image is: one for 750 pixels, by the size in its first bytes."""
    width, height = _image_size(data)
    return max(1, -(-width * height // _PIXELS_PER_TOKEN)) if width else IMAGE_TOKENS


def _image_size(data: bytes) -> tuple[int, int]:
    """Return width and height of a PNG, GIF, JPEG or WebP image; zeros if they are not found."""
    if data[:4] == b"\x89PNG" and len(data) >= 24:
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data[:4] == b"GIF8" and len(data) >= 10:
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    if data[:4] == b"RIFF" and data[12:16] == b"VP8 " and len(data) >= 30:
        return int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF
    if data[:4] == b"RIFF" and data[12:16] == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[:4] == b"RIFF" and data[12:16] == b"VP8X" and len(data) >= 30:
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    at = 2
    while data[:2] == b"\xff\xd8" and at + 9 <= len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return 0, 0


def fit(text: str, tokens: int) -> int:
    """Return how many characters from the start of a text cost at most `tokens`, by `estimate`.

    At least 1 if there is a character and `tokens` is not 0. A prefix may cost a little more than a longer one, where
    its end divides a word; the result costs no more than `tokens` itself.
    """
    if tokens < 1 or not text:
        return 0
    high = min(len(text), 8 * tokens)
    while high < len(text) and estimate(text[:high]) <= tokens:
        high = min(len(text), 2 * high)
    if estimate(text[:high]) <= tokens:
        return high
    return max(1, bisect_left(range(1, high), True, key=lambda end: estimate(text[:end]) > tokens))


def _as_tokens(total: int) -> int:
    return -(-int(total * SAFETY) // UNIT)


def _total_of_block(text: str) -> int:
    """Return the cost of a block of lines in parts of a token, by the accelerator if it can."""
    if weigh_words is not None and text.isascii():
        total = weigh_words(text, _loaded_weights()[1])
        if total >= 0:
            return total
    return _total(text)


def _blocks(text: str) -> list[str]:
    """Return a text in blocks of lines, each of them of ASCII or not. No piece is in two blocks."""
    blocks: list[str] = []
    start = at = 0
    is_ascii = True
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        is_same = text[at:end].isascii() == is_ascii
        # After a line end, only blanks and slashes belong to the piece before it.
        if not is_same and (at == 0 or not (text[at].isspace() or text[at] == "/")):
            if at:
                blocks.append(text[start:at])
            start, is_ascii = at, not is_ascii
        elif not is_same:
            is_ascii = False  # both in one block
        at = end
    return [*blocks, text[start:]]


def _total(text: str) -> int:
    """Return the cost of a text in parts of a token."""
    if len(text) <= _LONG_CHARS:
        return _count_pieces(piece_pattern().findall(text), _remembered)
    # Strings that stay, between so many that are freed, would keep the memory of the others from being returned.
    remembered: dict[str, int] = {}
    total = 0
    pieces: list[str] = []
    for match in piece_pattern().finditer(text):
        pieces.append(match.group())
        if len(pieces) == _BATCH:
            total += _count_pieces(pieces, remembered)
            pieces.clear()
    return total + _count_pieces(pieces, remembered)


def _count_pieces(pieces: list[str], remembered: dict[str, int]) -> int:
    """Return the cost of some pieces, in parts of a token."""
    times_of: Counter[str] = Counter(pieces)
    if len(remembered) >= _MAX_REMEMBERED:
        remembered.clear()
    total = 0
    for piece, times in times_of.items():
        cost = remembered.get(piece)
        if cost is None:
            cost = _cost(piece)
            if len(piece) <= _MAX_REMEMBERED_CHARS and len(remembered) < _MAX_REMEMBERED:
                remembered[piece] = cost
        total += cost * times
    return total


def _cost(piece: str) -> int:
    """Return the cost of one piece in parts of a token: no less than one token."""
    weights, _ = _loaded_weights()
    if len(piece) > _LONG_PIECE_CHARS:
        last = len(piece) - _LONG_PIECE_CHARS
        samples = {piece[at : at + _LONG_PIECE_CHARS] for at in (0, last // 3, last * 2 // 3, last)}
        return max([_cost(sample) for sample in samples]) * -(-len(piece) // _LONG_PIECE_CHARS)
    return UNIT + max(0, sum([weights[place] for place in places(piece)]))


def load_weights() -> memoryview:
    """Return the fitted weights, one signed byte each."""
    path = os.path.join(os.path.dirname(__file__), "token_weights.bin")
    data = zlib.decompress(__loader__.get_data(path))  # type: ignore[name-defined]  # of every module
    if len(data) != SIZE:
        raise ValueError("token_weights.bin does not match this version")
    return memoryview(data).cast("b")


@cache
def _loaded_weights() -> tuple[memoryview, bytes]:
    """Return the weights as numbers and as bytes."""
    weights = load_weights()
    return weights, bytes(weights)


_remembered: dict[str, int] = {}
