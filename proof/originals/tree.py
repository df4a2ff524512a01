"""Make a tree of odd files, and choose paths in it."""

from __future__ import annotations

import os
import random
import struct
import zlib
from pathlib import Path
from typing import Any

LINES = [
    *(
        "",
        "plain",
        "    indented",
        "\ttab",
        "tailing blanks   ",
        "na\u00efve caf\u00e9",
        "\u65e5\u672c\u8a9e",
        "\U0001f642 smile",
    ),
    *(
        "x" * 120,
        "y" * 2100,
        "\u3042" * 700,
        "\ufeffmark",
        "\x1b[31mred\x1b[0m",
    ),
]
ODD_LINES = ["lone\rreturn", "a\u2028b", "c\x0bd\x0ce"]
"""Lines that some programs take for two."""
WIDE = (3, 1999, 2000, 2001, 4999, 20_000, 26_000, 30_000, 40_000, 0, 90_000, 7)
"""The lengths of the lines of one file."""
NUMBERS = [1, 1, 1, 2, 3, 5, 8, 10, 11, 19, 20, 21, 89, 90, 91, 999, 1000, 1999, 2000, 2001, 4999, 5000, 5001, 9000]
ENDS = [b"\n", b"\n", b"\n", b"\r\n"]


def make_tree(root: Path, seed: int, files: int = 60) -> list[str]:
    """Fill a directory; return relative paths, some of which name nothing that can be read."""
    rng = random.Random(seed)
    names = []
    directories = ["", "src", "src/deep", "docs", ".hidden", "a b"]
    for directory in directories:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for number in range(files):
        suffix = rng.choice([".txt", ".py", ".md", "", ".log", ".json", ".csv", ".TXT"])
        name = os.path.join(rng.choice(directories), f"{rng.choice(['file', 'Data', 'x', '_y'])}{number}{suffix}")
        (root / name).write_bytes(_contents(rng))
        names.append(name)
    (root / "empty.txt").write_bytes(b"")
    (root / "image.png").write_bytes(png(5, 4))
    (root / "text.png").write_text("not an image\n")
    (root / "binary.bin").write_bytes(bytes(range(256)) * 8)
    (root / "latin1.txt").write_bytes("caf\u00e9 cr\u00e8me\n".encode("latin-1") * 9)
    (root / "utf16.txt").write_bytes("wide text\nmore\n".encode("utf-16"))
    (root / "long.log").write_bytes(b"".join(b"row %d of many\n" % row for row in range(1, 5001)))
    (root / "link.txt").symlink_to("long.log")
    (root.parent / "beside.txt").write_text("beside the root")
    (root / "out.txt").symlink_to(root.parent / "beside.txt")
    (root / "dangling.txt").symlink_to("nowhere")
    (root / "linked").symlink_to("src")
    (root / "bom.txt").write_bytes(b"\xef\xbb\xbffirst\nsecond\n")
    (root / "only_bom.txt").write_bytes(b"\xef\xbb\xbf")
    (root / "late_nul.txt").write_bytes(b"line of text\n" * 900 + b"a\0b\nend\n")
    (root / "blank.txt").write_bytes(b"\n\n  \n\n")
    (root / "wide.txt").write_text("\n".join([size * "w" for size in WIDE]))
    (root / "notes.pdf").write_text("plain notes\n")
    (root / "loop").symlink_to("loop")
    names += ["bom.txt", "only_bom.txt", "late_nul.txt", "blank.txt", "wide.txt", "wide.txt", "notes.pdf", "loop"]
    names += ["empty.txt", "image.png", "text.png", "binary.bin", "latin1.txt", "utf16.txt", "long.log", "link.txt"]
    names += [
        "out.txt",
        "dangling.txt",
        "linked",
        "src",
        ".",
        "",
        "missing.txt",
        "missing/below.txt",
        "empty.txt/below",
    ]
    names += ["src/../long.log", "./long.log", "../outside.txt", "src/./deep/../../empty.txt"]
    return names


def random_path(rng: random.Random, root: Path, names: list[str]) -> str:
    """Return a path in one of its spellings."""
    name = rng.choice(names)
    if rng.random() < 0.5 or not name:
        return name
    forms = [
        "{root}/{name}",
        "{root}/{name}",
        "./{name}",
        "{name}/",
        "@{name}",
        "{root}/../{base}/{name}",
        "//{root}/{name}",
    ]
    return rng.choice(forms).format(root=root, base=root.name, name=name)


def random_number(rng: random.Random) -> Any:
    """Return the number of a line or a count of lines; seldom a value of another type or size."""
    if rng.random() < 0.93:
        return rng.choice(NUMBERS)
    return rng.choice([0, -1, -7, 2.0, 1.5, "3", " 4 ", "x", "", True, [1], {}, None, 2**31, 2**53, 2**63])


def _contents(rng: random.Random) -> bytes:
    count = rng.choice([0, 1, 2, 3, 5, 20, 90])
    end = rng.choice(ENDS)
    lines = [*LINES, *ODD_LINES] if rng.random() < 0.2 else LINES
    text = end.join([rng.choice(lines).encode() for _ in range(count)])
    if rng.random() < 0.7 and count:
        text += end
    if rng.random() < 0.1:
        text += b"\xff\xfe broken \xc3"
    return text


def png(width: int, height: int) -> bytes:
    """Return a small image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([60, 120, 180]) * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
