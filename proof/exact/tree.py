"""The tree of odd files."""

from __future__ import annotations

import codecs
import random
from pathlib import Path

SEED = 20_260_131
LOOKED_AT_BYTES = 8192
"""The first bytes of a file in which the documents look for signs of a binary file."""

WORDS = [
    *(
        "harbour",
        "net",
        "tide",
        "keel",
        "rope",
        "lamp",
        "gull",
        "mast",
        "anchor",
        "drift",
        "→",
        "über",
        "naïve",
        "漢字",
    ),
    *("🦀", "=", "(", ")", "{", "}", "'x'", '"y"', "0", "17", "-3.5", "#", "//", "\t"),
]
SEPARATORS = ("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\u200b", "\u202e", "\ufeff", "\U000e0041")
ODD_NAMES = (
    "with blank {n}", "-dash{n}", "a..b{n}", "ünï{n}", "漢字{n}", "q'uo\"te{n}", "$(x){n}", "semi;{n}", "{n}.tar",
    "~{n}", "%41{n}", "star*{n}",
    "a:10-20 {n}", "x::y{n}", "v@1{n}", "[{n}]", "new\nline{n}", "{n}" + "n" * 200, "e\u0301{n}",
)  # fmt: skip


def make_tree(root: Path, count: int, seed: int, most: int = 2_500_000) -> list[str]:
    """Make `count` files under `root` and return their names.

    The same seed gives the same files; none has many more than `most` bytes.
    """
    chance = random.Random(seed)
    names = []
    for n in range(count):
        style = chance.choice(STYLES)
        directory = f"d{n % 97}/s{n % 7}"
        pattern = chance.choice(ODD_NAMES) if chance.random() < 0.2 else "plain{n}"
        name = f"{directory}/{pattern.format(n=n)}{chance.choice(('.txt', '.log', '.py', '', '.md'))}"
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(style(chance, min(most, _size(chance))))
        names.append(name)
    return names


def _size(chance: random.Random) -> int:
    """Choose a size: most files are small, one in two hundred has some MB."""
    most = chance.choices((0, 60, 2_000, 20_000, 150_000, 2_500_000), (4, 15, 60, 16, 4.5, 0.5))[0]
    return chance.randrange(most + 1)


def _lines(chance: random.Random, size: int, *, end: tuple[str, ...] = ("\n",), extra: tuple[str, ...] = ()) -> str:
    pieces = []
    while size > 0:
        words = chance.choices((*WORDS, *extra), k=chance.randrange(0, 12))
        line = " " * chance.choice((0, 0, 2, 4, 8)) + " ".join(words) + chance.choice(end)
        if size > 20_000:
            line *= chance.randrange(1, 40)
        pieces.append(line)
        size -= len(line)
    text = "".join(pieces)
    return text if chance.random() < 0.75 else text.rstrip("\r\n")


def _long(chance: random.Random, size: int) -> str:
    """Return lines around and beyond every limit: 500 bytes, 2,000 characters, a block, 64 KiB."""
    pieces = []
    while size > 0:
        length = chance.choice((499, 500, 501, 1999, 2000, 2001, 2002, 4000, 8191, 8192, 66_000))
        character = chance.choice("xé漢🦀")
        line = character * min(length, size + 1) + chance.choice(("", "\r", "é")) + "\n"
        pieces.append(line)
        size -= len(line)
    return "".join(pieces)


def _damaged(chance: random.Random, size: int) -> bytes:
    data = bytearray(_lines(chance, size).encode())
    for _ in range(chance.randrange(1, 6)):
        bad = chance.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f", b"\xe9", b"\x80\x80", b"\xc0\xaf"))
        at = chance.randrange(len(data) + 1)
        data[at:at] = bad
    return bytes(data)


def _late_nul(chance: random.Random, size: int) -> bytes:
    data = _lines(chance, size + LOOKED_AT_BYTES + 100).encode()
    at = chance.randrange(LOOKED_AT_BYTES, len(data))
    return data[:at] + b"\0" + data[at:]


def _latin(chance: random.Random, size: int) -> bytes:
    return "".join(c for c in _lines(chance, size, extra=("é", "ß", "Ñandú")) if ord(c) < 256).encode("latin-1")


STYLES = (
    lambda chance, size: _lines(chance, size).encode(),
    lambda chance, size: _lines(chance, size).encode("ascii", "ignore"),
    lambda chance, size: _lines(chance, size, end=("\r\n",)).encode(),
    lambda chance, size: _lines(chance, size, end=("\n", "\r\n", "\r", "\n\n\n", "\r\r\n")).encode(),
    lambda chance, size: _lines(chance, size, end=("\r",)).encode(),
    lambda chance, size: _lines(chance, size, extra=SEPARATORS).encode(),
    lambda chance, size: _long(chance, size).encode(),
    lambda chance, size: codecs.BOM_UTF8 + _lines(chance, size).encode(),
    lambda chance, size: ("\ufeff" + _lines(chance, size)).encode("utf-16-le"),
    lambda chance, size: ("\ufeff" + _lines(chance, size, end=("\n", "\r\n"))).encode("utf-16-be"),
    _damaged,
    _latin,
    _late_nul,
    lambda chance, size: chance.randbytes(size),
    lambda chance, size: b"\n" * chance.randrange(5) if size < 1000 else b"\r\n" * (size // 2),
)
