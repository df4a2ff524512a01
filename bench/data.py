"""The files that are read: made once in a directory outside the checkout, with the same bytes on every machine.

Every log line contains its own number, so that an answer with other lines than the requested ones is noticed.
"""

from __future__ import annotations

import os
import random
import re
import sys
from pathlib import Path
from typing import NamedTuple

_WORDS = (
    "request response cache index buffer session user token error retry worker queue stream chunk offset window "
    "render parse commit branch merge upstream timeout connect close flush schedule shard replica leader follower"
)
WORDS = _WORDS.split()
SMALL_FILES = 1000
APPEND_LINES = 9900
"""About 1 MB of log."""
MARK = re.compile(r"#(\d{10}) ")


class Data(NamedTuple):
    """The paths of the files and their properties."""

    directory: Path
    source: Path
    log: Path
    deep_line: int
    one_line: Path
    small: tuple[Path, ...]
    grow: Path
    module: Path
    """A Python module of 90 KB."""
    modules: tuple[Path, ...]
    """Small Python modules in a directory of their own; each has a line with `SEARCHED`."""


def make(directory: Path, quick: bool) -> Data:
    """Make the files that are missing."""
    directory.mkdir(parents=True, exist_ok=True)
    source = _once(directory / "w1_source_50k.py", lambda path: write_source(path, 50_000))
    size, one_line = ("100m", "20m") if quick else ("1g", "200m")
    small = directory / "small"
    if len(list(small.glob("*.py"))) != SMALL_FILES:
        small.mkdir(exist_ok=True)
        chance, pool = random.Random(5), phrases(4096, 2, 75, seed=4)
        for k in range(SMALL_FILES):
            (small / f"f{k:04d}.py").write_bytes(source_lines(chance.randint(20, 180), chance, pool))
    return Data(
        directory=directory,
        source=source,
        log=_once(directory / f"log_{size}.log", lambda path: write_log(path, _bytes(size))),
        deep_line=900_000 if quick else 9_000_000,
        one_line=_once(directory / f"oneline_{one_line}.txt", lambda path: write_one_line(path, _bytes(one_line))),
        small=tuple(sorted(small.glob("*.py"))),
        grow=directory / "grow.log",
        module=_once(directory / "module_90k.py", lambda path: path.write_text(module_text(0, 1250))),
        modules=_make_modules(directory / "modules"),
    )


MODULES = 100
SEARCHED = "searched_word"


def _make_modules(directory: Path) -> tuple[Path, ...]:
    if len(list(directory.glob("*.py"))) != MODULES:
        directory.mkdir(exist_ok=True)
        for k in range(MODULES):
            text = module_text(k, 16) + f"\n\n{SEARCHED} = {k}\n"
            (directory / f"m{k:03d}.py").write_text(text)
    return tuple(sorted(directory.glob("*.py")))


def module_text(number: int, functions: int) -> str:
    """Return a Python module; the name of each function has the number of the module and its own."""
    return "\n\n".join(
        [
            f"def call_{number}_{k}(value, other=None):\n    total = value + {k}\n    return total\n"
            for k in range(functions)
        ]
    )


def _bytes(size: str) -> int:
    return int(size[:-1]) * {"m": 10**6, "g": 10**9}[size[-1]]


def _once(path: Path, write) -> Path:
    if not path.exists():
        part = path.with_name(f"{path.name}.part")
        write(part)
        part.rename(path)
        print(f"made {path.name}: {path.stat().st_size:,} bytes", file=sys.stderr, flush=True)
    return path


def phrases(count: int, shortest: int, longest: int, seed: int) -> list[str]:
    """Return random sentences of evenly distributed lengths."""
    chance = random.Random(seed)
    out = []
    for _ in range(count):
        wanted = chance.randint(shortest, longest)
        text = ""
        while len(text) < wanted:
            text += chance.choice(WORDS) + chance.choice([" ", "=", ": ", "_", ".", "(", ") "])
        out.append(text[:wanted])
    return out


def log_lines(first: int, count: int, pool: list[str]) -> bytes:
    """Return lines of about 100 bytes with their numbers, counted from 1."""
    last = len(pool) - 1
    lines = [
        f"2026-03-01T{(i // 3600) % 24:02d}:{(i // 60) % 60:02d}:{i % 60:02d}.{i % 1000:03d}Z "
        f"#{i:010d} INFO {pool[i * 2654435761 & last]}\n"
        for i in range(first, first + count)
    ]
    return "".join(lines).encode()


def log_pool() -> list[str]:
    return phrases(8192, 20, 96, seed=1)


def write_log(path: Path, size: int) -> None:
    pool, done, line, step = log_pool(), 0, 1, max(8, min(20_000, size // 1500))
    with open(path, "wb", buffering=0) as file:
        while done < size:
            block = log_lines(line, step, pool)
            file.write(block)
            done += len(block)
            line += step


def append_log(path: Path, pool: list[str], last: int) -> int:
    """Append a megabyte after line `last` and return the number of the new last line."""
    with open(path, "ab", buffering=0) as file:
        file.write(log_lines(last + 1, APPEND_LINES, pool))
    return last + APPEND_LINES


def last_line(path: Path) -> int:
    """Return the number in the last line of a log, which is its number of lines."""
    with open(path, "rb") as file:
        file.seek(-4096, os.SEEK_END)
        return int(MARK.findall(file.read().decode())[-1])


def offset_behind(path: Path, line: int) -> int:
    """Return the offset of line `line + 1` of a log, found by the numbers in its lines."""
    low, high = 0, path.stat().st_size
    with open(path, "rb", buffering=0) as file:
        while high - low > 4096:
            middle = (low + high) // 2
            file.seek(middle)
            found = MARK.search(file.read(1024).decode())
            if found is None or int(found[1]) > line:
                high = middle
            else:
                low = middle
        start = max(0, low - 1024)
        file.seek(start)
        text = file.read(8192)
    at = text.find(b"#%010d " % line)
    return start + text.find(b"\n", at) + 1


def source_lines(count: int, chance: random.Random, pool: list[str]) -> bytes:
    """Return lines shaped like source code, 40 characters on average."""
    lines = []
    for _ in range(count):
        blank = chance.random() < 0.12
        lines.append("" if blank else " " * (4 * chance.randint(0, 3)) + chance.choice(pool))
    return ("\n".join(lines) + "\n").encode()


def write_source(path: Path, size: int) -> None:
    block = source_lines(size // 20, random.Random(2), phrases(4096, 2, 75, seed=2))[:size]
    path.write_bytes(block[: block.rfind(b"\n") + 1])


def write_one_line(path: Path, size: int) -> None:
    block = (" ".join(phrases(8192, 20, 96, seed=3)) + " ").encode()
    with open(path, "wb") as file:
        for at in range(0, size, len(block)):
            file.write(block[: size - at])
