"""Kinds of damage; each is a function `(dice, data, other) -> bytes`.

`dice` is the only source of randomness, so the same seed gives the same damage. `other` is a second undamaged input.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
import zlib

MAX_BYTES = 200_000
"""A longer input is cut, so that repeated damage stays quick."""

NUMBERS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)


# --- bytes ---------------------------------------------------------------------------------------------------------


def flip_bits(dice, data, other):
    data = bytearray(data)
    for _ in range(dice.choice((1, 2, 4, 16, 64))):
        if data:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def flip_near_start(dice, data, other):
    return data[:16] + flip_bits(dice, data[16:128], other) + data[128:]


def flip_near_end(dice, data, other):
    return data[:-128] + flip_bits(dice, data[-128:], other)


def cut(dice, data, other):
    return data[: dice.randrange(len(data) + 1)]


def remove(dice, data, other):
    start = dice.randrange(len(data) + 1)
    return data[:start] + data[start + dice.choice((1, 2, 4, 16, 100)) :]


def splice(dice, data, other):
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def repeat(dice, data, other):
    start = dice.randrange(len(data) + 1)
    end = min(len(data), start + dice.choice((8, 64, 512, 4096)))
    return data[:end] + data[start:end] * dice.choice((1, 3, 40)) + data[end:]


def overwrite(dice, data, other):
    """Write a number that is an edge case for decoders at a random offset."""
    raw = dice.choice(NUMBERS).to_bytes(4, dice.choice(("big", "little")))[: dice.choice((1, 2, 4))]
    at = dice.randrange(len(data) + 1)
    return data[:at] + raw + data[at + len(raw) :]


def change_digits(dice, data, other):
    """Change digits of numbers in decimal, as in a PDF."""
    data = bytearray(data)
    for _ in range(dice.choice((1, 3, 9))):
        start = dice.randrange(len(data) + 1)
        at = next((at for at in range(start, min(len(data), start + 4096)) if 48 <= data[at] < 58), None)
        if at is not None:
            data[at] = 48 + dice.randrange(10)
    return bytes(data)


BYTES = (flip_bits, flip_near_start, flip_near_end, cut, remove, splice, repeat, overwrite, change_digits)


# --- text ----------------------------------------------------------------------------------------------------------

PIECES = (
    *(b"<", b">", b"&", b'"', b"'", b"\\", b"[", b"{", b"(", b"]", b"}", b")", b"</", b"<!DOCTYPE x [", b"]]>"),
    *(b"<!--", b"\0", b"\xff", b"\n", b"\r", b"\r\n", b"\t", b" ", b"#", b"-", b"=", b"::", b":", b"!", b"@", b"/"),
    *(b"../", b"*", b"\\ud800", b"\\u0000", b"\xed\xa0\x80", b"\xf3\xa0\x81\x81", b"\xe2\x80\xae", b"\xe2\x80\xa8"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xff\xfe\0\0", b"\n\0", b"\0\n", b"\xc3", b"\xe2\x82"),
    *(b"\xf0\x9f\x98", b"\x1b[31m", b"0", b"-1", b"1e999", b"99999999999999999999", b"NaN", b"null", b"true", b"1-"),
    *(b"-50", b"10+5", b"p3-5", b'"""', b"```", b"---\n", b"%", b"$", b"lambda:", b"if 1:\n ", b"async ", b"f'{"),
    *(b"key = ", b"\\N{", b"\x0c"),
)


def insert_token(dice, data, other):
    """Insert a token that parsers look for at a random offset."""
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(PIECES) * dice.choice((1, 1, 1, 1, 200)) + data[at:]


def nest(dice, data, other):
    """Open more brackets than fit in a parser's stack; close them or not."""
    at = dice.randrange(len(data) + 1)
    left, right = dice.choice(
        ((b"[", b"]"), (b"{", b"}"), (b"(", b")"), (b"<a>", b"</a>"), (b'{"a":', b"}"), (b"-", b""))
    )
    depth = dice.choice((50, 200, 1000, 5000))
    return data[:at] + left * depth + (b"1" + right * depth if dice.random() < 0.5 else b"") + data[at:]


def swap_lines(dice, data, other):
    lines = data.split(b"\n")
    for _ in range(dice.choice((1, 2, 5))):
        one, two = dice.randrange(len(lines)), dice.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]
    return b"\n".join(lines)


def borrow_a_line(dice, data, other):
    lines = data.split(b"\n")
    lines.insert(dice.randrange(len(lines) + 1), dice.choice(other.split(b"\n")))
    return b"\n".join(lines)


def swell(dice, data, other):
    """Repeat a short piece so often that work that grows faster than the length becomes visible."""
    at = dice.randrange(len(data) + 1)
    piece = data[at : at + dice.choice((1, 1, 2, 3, 8, 30))] or b" "
    if dice.random() < 0.3:
        piece = dice.choice(PIECES)
    return data[:at] + piece * (dice.choice((1000, 20_000, 100_000)) // len(piece)) + data[at:]


TEXT = (*BYTES, insert_token, insert_token, insert_token, nest, swap_lines, borrow_a_line, borrow_a_line)


# --- packages ------------------------------------------------------------------------------------------------------


def damage_a_part(dice, data, other):
    """Damage one part of a valid package, so that the damage reaches the part's own decoder."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            parts = {name: package.read(name) for name in package.namelist()}
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError, RuntimeError):
        return dice.choice(BYTES)(dice, data, other)
    if parts:
        victim = dice.choice(sorted(parts))
        how = dice.choice(
            (flip_bits, cut, repeat, remove, change_digits, insert_token, insert_token, nest, swap_tags, swap_tags)
        )
        parts[victim] = how(dice, parts[victim], other)[:MAX_BYTES]
        if dice.random() < 0.05:
            del parts[dice.choice(sorted(parts))]
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as package:
        for name, part in parts.items():
            package.writestr(zipfile.ZipInfo(name), part, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def swap_tags(dice, data, other):
    """Move, repeat or remove a whole tag of XML, which often stays well formed."""
    pieces = data.split(b"<")
    if len(pieces) < 3:
        return insert_token(dice, data, other)
    at = dice.randrange(1, len(pieces))
    match dice.randrange(3):
        case 0:
            pieces.insert(dice.randrange(1, len(pieces)), pieces[at])
        case 1:
            del pieces[at]
        case _:
            to = dice.randrange(1, len(pieces))
            pieces[at], pieces[to] = pieces[to], pieces[at]
    return b"<".join(pieces)


WEB = (*TEXT, swap_tags, swap_tags, swap_tags)
PACKAGES = (*BYTES, damage_a_part, damage_a_part, damage_a_part, damage_a_part, damage_a_part, damage_a_part)


# --- JSON ----------------------------------------------------------------------------------------------------------

STRANGE = (
    *(None, True, False, 0, 1, -1, 2, 3, 10, 2**31, -(2**63), 2**64, 10**400, 0.5, -0.0, 1e308, 2.0, float("nan")),
    *(float("inf"), "", " ", "0", "1", "-1", "1.5", "true", "null", "\0", "\ud800", "a\udfffb", "\U000e0041", "é"),
    *("e\u0301", "日本", "😀", "\u202e", "x" * 300, "x" * 5000, "\n", "\r\n", "..", "../..", "/", "//", ".", "~"),
    *("$HOME", "/etc/passwd", "/proc/self/environ", "file:///etc/passwd", "C:\\x", "\\\\host\\x", "1-5", "5-1", "-50"),
    *("p3-5", "[]", [], {}, [[]], [None], [1, 2], {"": None}, {"a": {"b": []}}, ["\ud800"], {"\ud800": 1}),
)


def strange_value(dice, words=()):
    """Return an unexpected value, or (nearly as often) a word that the target knows, for a wrong place."""
    if words and dice.random() < 0.4:
        return dice.choice(words)
    if dice.random() < 0.03:
        value: object = dice.choice(STRANGE)
        for _ in range(dice.choice((3, 50, 300))):
            value = [value] if dice.random() < 0.5 else {"a": value}
        return value
    return dice.choice(STRANGE)


def strange_text(dice, text, words=()):
    """Insert, remove or repeat a part of a string."""
    at = dice.randrange(len(text) + 1)
    piece = dice.choice(words) if words and dice.random() < 0.5 else dice.choice(STRANGE)
    if not isinstance(piece, str):
        piece = dice.choice(PIECES).decode("utf-8", "surrogateescape")
    match dice.randrange(4):
        case 0:
            return text[:at] + piece + text[at:]
        case 1:
            return text[:at] + text[at + 1 + dice.randrange(4) :]
        case 2:
            return text[:at] + dice.choice("\0\n:!@#/-+,~^{}[]()*?\\\"'") + text[at:]
        case _:
            times = 20_000 if dice.random() < 0.02 else dice.choice((1, 2, 40))
            return text[:at] + (text[: dice.choice((1, 2, 8, 64))] * times)[:100_000] + text[at:]


def change_value(dice, value, words=(), keys=()):
    """Change one place of a JSON value: a key, an item, a number, a text, or all of it."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        found = dict(value)
        key = dice.choice(sorted(found, key=repr))
        match dice.randrange(6):
            case 0:
                del found[key]
            case 1:
                found[dice.choice(keys) if keys and dice.random() < 0.8 else strange_text(dice, str(key), words)] = (
                    strange_value(dice, words)
                )
            case 2:
                other = dice.choice(keys) if keys and dice.random() < 0.7 else strange_text(dice, str(key), words)
                found[other] = found.pop(key)
            case _:
                found[key] = change_value(dice, found[key], words, keys)
        return found
    if isinstance(value, list) and value and dice.random() < 0.9:
        items = list(value)
        at = dice.randrange(len(items))
        match dice.randrange(5):
            case 0:
                del items[at]
            case 1:
                items[at:at] = items[at : at + 1] * dice.choice((1, 5, 120))
            case 2:
                items.insert(at, strange_value(dice, words))
            case _:
                items[at] = change_value(dice, items[at], words, keys)
        return items
    if isinstance(value, str) and dice.random() < 0.7:
        return strange_text(dice, value, words)
    if type(value) is int and dice.random() < 0.6:
        return value + dice.choice((-1, 1, -value, 1000, 10**6, -2 * value))
    if dice.random() < 0.1:
        return [value]
    return strange_value(dice, words)


def dumps(value) -> bytes:
    """Write JSON as Python does: lone surrogates as escapes, NaN as a word."""
    return json.dumps(value).encode("ascii")


def loads(data: bytes):
    """Return the value, or the text itself where damage has made it invalid."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data.decode("utf-8", "surrogateescape")


def damaged(dice: random.Random, data: bytes, other: bytes, how) -> bytes:
    """Apply one to three kinds of damage, one after the other."""
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        data = dice.choice(how)(dice, data, other)
    return data[:MAX_BYTES]
