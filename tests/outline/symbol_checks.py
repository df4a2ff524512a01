"""Helpers that the tests of outlines share."""

from __future__ import annotations

from pathlib import Path
from random import Random

from eyespan.outline import Outline, outline_here

FIXTURES = Path(__file__).parent / "fixtures"
EXPECTED = Path(__file__).parent / "expected"
ALL = sorted(FIXTURES.iterdir())
SOURCE = [path for path in ALL if "tree-sitter" in (EXPECTED / f"{path.name}.txt").read_text().split("\n")[0]]
"""The fixtures that grammars outline."""


def listing(found: Outline) -> str:
    """Return an outline in the form of the files in expected/: kind, first/line/last, depth, name, signature."""
    rows = [f"{found.language} by {found.how}, {'complete' if found.is_complete else 'not complete'}"]
    rows += [f"{s.kind} {s.first}/{s.line}/{s.last} {s.depth} {s.qualified} | {s.signature}" for s in found.symbols]
    return "\n".join(rows) + "\n"


def check_shape(found: Outline, data: bytes) -> None:
    """Check the invariants of any outline: inside the file, in order, children inside their parents."""
    total = data.count(b"\n") + 1
    around = []
    before = 0
    for symbol in found.symbols:
        assert 1 <= symbol.first <= symbol.line <= symbol.last <= total, symbol
        assert symbol.first >= before, symbol
        before = symbol.first
        del around[symbol.depth :]
        assert len(around) == symbol.depth, symbol
        for parent in around:
            assert parent.first <= symbol.first, (parent, symbol)
            assert symbol.last <= parent.last, (parent, symbol)
        around.append(symbol)
        assert symbol.qualified.endswith(symbol.name)
        assert "\n" not in symbol.signature
        symbol.signature.encode()


SPLICES = [bytes([char]) for char in b"\"'(){}[]\r\n\0\t\\\xff#`;:"]
SPLICES += b'""" /* ``` - $$ << => def class <!-- \xf0\x9f\x98\x80'.split()


def mutated(data: bytes, dice: Random, times: int) -> bytes:
    """Return the bytes with some replaced, removed, inserted or repeated."""
    out = bytearray(data)
    for _ in range(times):
        at = dice.randrange(len(out) + 1)
        match dice.randrange(4):
            case 0:
                out[at : at + 1] = bytes([dice.randrange(256)])
            case 1:
                del out[at : at + dice.randrange(1, 200)]
            case 2:
                out[at:at] = dice.choice(SPLICES)
            case 3:
                out[at:at] = out[at : at + dice.randrange(1, 300)]
    return bytes(out)


def outline(data: bytes, name: str) -> Outline:
    """Outline a file in this process, as the worker does."""
    return outline_here(data, name)
