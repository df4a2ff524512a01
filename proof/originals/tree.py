"""Make a tree of odd files, and choose paths, numbers and arguments: ordinary ones mostly, odd ones seldom.

Nothing here is shared with the conformance cases or knows a dialect.
"""

from __future__ import annotations

import os
import random
import struct
import time
import unicodedata
import zlib
from pathlib import Path
from typing import Any

LINES = ["", "plain", "    indented", "\ttab", "trailing blanks   ", "na\u00efve caf\u00e9", "\u65e5\u672c\u8a9e"]
LINES += ["\U0001f642 smile", "x" * 120, "y" * 2100, "\u3042" * 700, "\ufeffmark", "\x1b[31mred\x1b[0m"]
LINES += [
    "\u05e9\u05dc\u05d5\u05dd",
    "e\u0301 composed",
    "{braces} and %s and {0}",
    "</content>",
    "  7\tnumbered",
    "&lt;\\n",
]
ODD_LINES = ["lone\rreturn", "a\u2028b", "c\x0bd\x0ce", "f\x1cg\x85h", "two\r\rreturns", "\r"]
"""Lines that some programs take for two."""
WIDE = (3, 1999, 2000, 2001, 4999, 20_000, 26_000, 30_000, 40_000, 0, 90_000, 7)
"""The lengths of the lines of one file."""
COUNTS = (99, 100, 101, 999, 1000, 1001, 1999, 2000, 2001)
"""The numbers of lines of some files."""
SIZES = (24_999, 25_000, 25_001, 48_000, 51_199, 51_200, 51_201, 64_000, 100_000, 102_400, 262_144, 262_145)
"""The sizes of some files, in rows of 64 bytes."""
NUMBERS = [1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 19, 20, 21, 89, 90, 91, 99, 100, 101, 102, 999, 1000, 1001]
NUMBERS += [1999, 2000, 2001, 2002, 4000, 4999, 5000, 5001, 9000]
ODD_NUMBERS = [0, -1, -2, -7, -90, -1000, -1001, -5001, 1.0, 2.0, -3.0, 1.5, 0.1, 1e300, 2**31 - 1, 2**31, 2**32]
ODD_NUMBERS += [2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, -(2**53) - 1, -(2**63) - 1]
ODD_NUMBERS += ["3", " 4 ", "+5", "-1", "0", "2.0", "1.5", "1e2", "0x10", "x", "", " ", "\u0663", "null", "NaN"]
ODD_NUMBERS += [True, False, None, [], [1], [1, 2], {}, {"value": 2}]
ENDS = [b"\n", b"\n", b"\n", b"\r\n"]
SPELLINGS = ["{root}/{name}"] * 4 + ["./{name}", "{name}/", "@{name}", "{root}/../{base}/{name}", "//{root}/{name}"]
SPELLINGS += ["{root}//{name}", "{root}/./{name}", "{root}/src/../{name}", "src/../{name}", "src//..//{name}"]
SPELLINGS += ["../{base}/{name}", "{name}/.", "{name}/..", "{name}//", "{root}/{name}/", "@{root}/{name}", "/{name}"]
SPELLINGS += ["nosuch/../{name}", "empty.txt/../{name}", "{root}/linked/../{name}"]
FOREIGN = ["file://{root}/{name}", "~/{name}", "~", "%2e%2e/{name}", "{name}%00", "{name}\0", " {name}", "{name} "]
FOREIGN += ['"{name}"', "'{name}'", "`{name}`", "{name}:1-3", "{name}#L2", ".\\{name}", "{name}\n", "$HOME/{name}"]
FOREIGN += ["{long}", "{long}/{name}", "{deep}", "{root}{name}", "\ud800{name}", "{name}?", "*", "@", ".."]
FOREIGN += ["a:b", "C:\\{name}", "@@{name}", "@/{name}", "https://example.org/{name}", "\u00a0{name}", ""]


def make_tree(root: Path, seed: int, files: int = 60) -> list[str]:
    """Fill a directory; return relative paths, some of which name nothing that can be read."""
    rng = random.Random(seed)
    names = []
    directories = ["", "src", "src/deep", "docs", ".hidden", "a b", "caf\u00e9", "%41", "many"]
    for directory in directories:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for number in range(files):
        suffix = rng.choice([".txt", ".py", ".md", "", ".log", ".json", ".csv", ".TXT", ".html", ".c", ".rs"])
        name = os.path.join(rng.choice(directories[:-1]), f"{rng.choice(['file', 'Data', 'x', '_y'])}{number}{suffix}")
        (root / name).write_bytes(_contents(rng))
        names.append(name)
    contents = {
        "empty.txt": b"",
        "image.png": png(5, 4),
        "text.png": b"not an image\n",
        "image.txt": png(3, 2),
        "binary.bin": bytes(range(256)) * 8,
        "latin1.txt": "caf\u00e9 cr\u00e8me\n".encode("latin-1") * 9,
        "utf16.txt": "wide text\nmore\n".encode("utf-16"),
        "long.log": b"".join(b"row %d of many\n" % row for row in range(1, 5001)),
        "bom.txt": b"\xef\xbb\xbffirst\nsecond\n",
        "only_bom.txt": b"\xef\xbb\xbf",
        "late_nul.txt": b"line of text\n" * 900 + b"a\0b\nend\n",
        "blank.txt": b"\n\n  \n\n",
        "newline.txt": b"\n",
        "no_end.txt": b"one\ntwo",
        "returns.txt": b"one\rtwo\rthree\r",
        "crlf.txt": b"one\r\ntwo\r\n\r\nfour",
        "mixed.txt": b"one\r\ntwo\nthree\rfour\n",
        "feeds.txt": b"page one\x0c\npage two\x0c\x0c\nend\n",
        "separators.txt": "a\u2028b\u2029c\x85d\ne\n".encode(),
        "surrogate.txt": b"half \xed\xa0\x80 pair\nnext\n",
        "cut.txt": b"whole\nhalf \xe2\x82",
        "wide.txt": "\n".join([size * "w" for size in WIDE]).encode(),
        "notes.pdf": b"plain notes\n",
        "scan.pdf": b"%PDF-1.4\nno more of it\n",
        "page.html": b"<html><body>text</body></html>\n",
        "draw.svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>\n',
        "@at.txt": b"a name with an at\n",
        "~tilde.txt": b"a name with a tilde\n",
        "a b/two words.txt": b"blanks in names\n",
        "%41/percent%20.txt": b"percent\n",
        unicodedata.normalize("NFC", "caf\u00e9.txt"): b"composed\n",
        unicodedata.normalize("NFD", "re\u0301sume\u0301.txt"): b"decomposed\n",
        "it\u2019s.txt": b"a curly quote\n",
        "Screenshot 1.02.03\u202fPM.txt": b"a narrow blank\n",
        "colon:1.txt": b"a colon\n",
        "back\\slash.txt": b"a backslash\n",
    }
    suffixes = ("zip", "exe", "docx", "mp4", "mp3", "gz", "so", "class", "jpg", "gif", "webp", "ico", "xlsx", "wasm")
    contents |= {f"text.{suffix}": b"text under another name\nand more\n" for suffix in suffixes}
    contents |= {f"lines{count}.txt": b"line of a file\n" * count for count in COUNTS}
    contents |= {f"size{size}.txt": (b"%63s\n" % b"row" * (size // 64 + 1))[:size] for size in SIZES}
    contents |= {f"many/entry{number:03}.txt": b"entry\n" for number in range(120)}
    for name, data in contents.items():
        (root / name).write_bytes(data)
    (root / "zipped.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    (root.parent / "beside.txt").write_text("beside the root")
    links = {"link.txt": "long.log", "out.txt": str(root.parent / "beside.txt"), "dangling.txt": "nowhere"}
    links |= {"linked": "src", "loop": "loop", "ring": "ring2", "ring2": "ring", "far.txt": "link.txt"}
    links |= {"src/up": "..", "outside": str(root.parent), "absolute.txt": str(root / "bom.txt")}
    for name, target in links.items():
        (root / name).symlink_to(target)
    later = int(time.time()) + 3600  # a time of access that reads by others, and by eyespan, leave as it is
    for path in (root, *root.rglob("*")):
        if not path.is_symlink():
            os.utime(path, (later, int(path.stat().st_mtime)))  # whole seconds: programs round otherwise
    names += [name for name in contents if not name.startswith("many/")]
    names += ["wide.txt"] * 3 + ["long.log"] * 3 + ["lines2000.txt", "lines2001.txt"]
    names += [*links, "zipped.zip", "linked/deep", "src/up/bom.txt", "outside/beside.txt"]
    names += ["src", "many", ".", "", "missing.txt", "missing/below.txt", "empty.txt/below", "src/deep/"]
    names += ["src/../long.log", "./long.log", "../outside.txt", "src/./deep/../../empty.txt", "Long.log", "emty.txt"]
    names += [unicodedata.normalize("NFD", "caf\u00e9.txt"), unicodedata.normalize("NFC", "re\u0301sume\u0301.txt")]
    names += ["it's.txt", "Screenshot 1.02.03 PM.txt"]
    return names


def random_path(rng: random.Random, root: Path, names: list[str]) -> str:
    """Return a path in one of its spellings."""
    name = rng.choice(names)
    chance = rng.random()
    if chance < 0.5 or not name:
        return name
    values = {"root": root, "base": root.name, "name": name, "long": "n" * 300, "deep": "d/" * 2100 + "f"}
    return rng.choice(SPELLINGS if chance < 0.94 else FOREIGN).format(**values)


def random_number(rng: random.Random) -> Any:
    """Return the number of a line or a count of lines; seldom a value of another type or size."""
    return rng.choice(NUMBERS if rng.random() < 0.9 else ODD_NUMBERS)


def spoiled(rng: random.Random, arguments: dict[str, Any], path: str) -> dict[str, Any]:
    """Return arguments, seldom with a wrong path, without one of them, or with one that the tool does not know."""
    chance = rng.random()
    if chance < 0.01:
        arguments[path] = rng.choice([None, 3, True, 1.5, [], ["long.log"], {}, {"path": "long.log"}])
    elif chance < 0.015:
        del arguments[rng.choice(list(arguments))]
    elif chance < 0.02:
        arguments[rng.choice(["encoding", "unknown", "Offset"])] = rng.choice(["utf-8", 1, None])
    return arguments


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
