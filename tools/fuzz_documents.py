#!/usr/bin/env python3
"""Feeds damaged documents to the read tool and looks at every answer.

    python tools/fuzz_documents.py --count 2000              so many of every kind
    python tools/fuzz_documents.py --count 500 --kind pdf    one kind
    python tools/fuzz_documents.py --seed 7                  other damage

The same seed gives the same damage. A new kind of document is one row in `KINDS`. Exit status 0 only if no answer broke
a promise: the process lives, every call answers in time with a reply, no reply is over the limits of the model APIs,
every picture in one can be decoded, and an undamaged file is still read afterwards.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import tempfile
import time
import zipfile
import zlib
from collections import Counter
from pathlib import Path

FIXTURES = Path(__file__).resolve().parent.parent / "tests" / "fixtures"
KINDS = {
    # kind: (patterns below tests/fixtures, arguments of the call; None: read as the text that it is converted to)
    "picture": ("pictures/*.*", {}),
    "pdf": ("pdfs/*.pdf", {"pages": "1-2"}),
    "notebook": ("notebooks/*.ipynb", {}),
    "office": ("office/*.docx office/*.pptx office/*.xls* office/*.ods", None),
    "web": ("office/*.epub office/*.html office/*.eml", None),
}
MAX_SEED_BYTES = 100_000
MAX_REPLY_BYTES = 32_000_000
MAX_IMAGE_BASE64_BYTES = 5 * 1024 * 1024
MAX_SIDE_PX = 8000
GRACE_SECONDS = 35  # a job has 10; a start of the worker on a busy machine is added


def seeds(kind: str) -> list[tuple[str, bytes]]:
    """The undamaged files of a kind: name and contents."""
    patterns = KINDS[kind][0].split()
    paths = sorted(path for each in patterns for path in FIXTURES.glob(each) if path.suffix != ".json")
    found = [(path.name, path.read_bytes()) for path in paths if path.stat().st_size <= MAX_SEED_BYTES]
    assert found, f"no fixtures for {kind}"
    return found


def mutated(kind: str, count: int, seed: int):
    """`count` damaged files of a kind, as (name, bytes), the same for the same seed."""
    dice = random.Random(f"{kind} {seed}")
    originals = seeds(kind)
    for number in range(count):
        name, data = originals[number % len(originals)]
        other = dice.choice(originals)[1]
        for _ in range(dice.choice((1, 1, 1, 2, 3))):
            data = dice.choice(DAMAGES if kind in ("picture", "pdf") else OFFICE_DAMAGES)(dice, data, other)
        yield name, data


def flip_bits(dice, data, other):
    data = bytearray(data)
    for _ in range(dice.choice((1, 2, 4, 16, 64))):
        if data:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(data)


def flip_near_start(dice, data, other):
    head = flip_bits(dice, data[16:128], other)
    return data[:16] + head + data[128:]


def cut(dice, data, other):
    return data[: dice.randrange(len(data) + 1)]


def splice(dice, data, other):
    return data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]


def repeat(dice, data, other):
    start = dice.randrange(len(data) + 1)
    end = min(len(data), start + dice.choice((8, 64, 512, 4096)))
    return data[:end] + data[start:end] * dice.choice((1, 3, 40)) + data[end:]


def overwrite(dice, data, other):
    """Puts a number that decoders like to trip over in a random place."""
    value = dice.choice((0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))
    raw = value.to_bytes(4, dice.choice(("big", "little")))[: dice.choice((1, 2, 4))]
    at = dice.randrange(len(data) + 1)
    return data[:at] + raw + data[at + len(raw) :]


def change_digits(dice, data, other):
    """Another number where one is written out, as PDFs do."""
    places = [at for at in range(len(data)) if 48 <= data[at] < 58] if len(data) < 200_000 else []
    if not places:
        return flip_bits(dice, data, other)
    data = bytearray(data)
    for _ in range(dice.choice((1, 3, 9))):
        data[dice.choice(places)] = 48 + dice.randrange(10)
    return bytes(data)


def damage_a_part(dice, data, other):
    """A sound package with one damaged part, so that the damage gets as far as the part's own decoder."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            parts = {name: package.read(name) for name in package.namelist()}
    except (zipfile.BadZipFile, zlib.error, OSError, ValueError, NotImplementedError, EOFError, RuntimeError):
        return dice.choice(DAMAGES)(dice, data, other)
    if parts:
        victim = dice.choice(sorted(parts))
        parts[victim] = dice.choice((flip_bits, cut, repeat, change_digits, mark_up))(dice, parts[victim], other)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        for name, part in parts.items():
            package.writestr(name, part)
    return made.getvalue()


def mark_up(dice, data, other):
    """Puts something that parsers look for in a random place."""
    at = dice.randrange(len(data) + 1)
    pieces = (b"<", b">", b"&", b'"', b"\\", b"[", b"{", b"\\ud800", b"</", b"<!DOCTYPE x [", b"]]>", b"\0", b"\xff")
    return data[:at] + dice.choice(pieces) * dice.choice((1, 1, 200)) + data[at:]


DAMAGES = (flip_bits, flip_near_start, cut, splice, repeat, overwrite, change_digits)
OFFICE_DAMAGES = (*DAMAGES, mark_up, damage_a_part, damage_a_part, damage_a_part)


def faults(reply) -> list[str]:
    """What is wrong with a reply, whatever the file was."""
    found = []
    total = 0
    for block in reply.content:
        if block.type == "text":
            total += len(block.text.encode("utf-8"))
            continue
        size = (len(block.data) + 2) // 3 * 4
        total += size
        if block.type == "image":
            if size > MAX_IMAGE_BASE64_BYTES:
                found.append(f"a picture of {size} bytes as base64")
            found += _picture_faults(block)
    if total > MAX_REPLY_BYTES:
        found.append(f"a reply of {total} bytes")
    if reply.is_error and (reply.error.code == "internal" or not reply.error.message):
        found.append(f"an error that explains nothing: {reply.error.message!r}")
    if not reply.content:
        found.append("a reply without a block")
    return found


def _picture_faults(block) -> list[str]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(block.data)) as picture:
            if max(picture.size) > MAX_SIDE_PX:
                return [f"a picture of {picture.size} pixels"]
            if Image.MIME.get(picture.format or "") != block.media_type and picture.format != "MPO":
                return [f"{picture.format} called {block.media_type}"]
            picture.load()
    except Exception as error:
        return [f"a picture that cannot be decoded: {error!r}"]
    return []


def answer(workspace, tool, path, arguments):
    """What the tool says of a file; for a kind that it does not show, what the engine converts it to."""
    if arguments is not None:
        return tool.call({"file_path": str(path), **arguments})
    from eyespan import kinds
    from eyespan.errors import ReadError
    from eyespan.model import ReadRequest, Reply, ReplyError, TextContent

    try:
        part = workspace.engine.read(ReadRequest(str(path), documents=kinds.OFFICE)).parts[0]
    except ReadError as error:
        return Reply((TextContent(str(error)),), None, ReplyError(error.code, str(error)))
    return Reply((TextContent(bytes(part.data).decode("utf-8")),))


def run(kind: str, count: int, seed: int, *, report=lambda text: None) -> tuple[list[str], Counter]:
    """Reads `count` damaged files; the promises broken, and how often each outcome was seen."""
    from eyespan import Workspace

    broken: list[str] = []
    outcomes: Counter = Counter()
    with tempfile.TemporaryDirectory() as folder, Workspace(folder) as workspace:
        tool = workspace.tool("claude")
        for number, (name, data) in enumerate(mutated(kind, count, seed)):
            path = Path(folder).resolve() / name
            path.write_bytes(data)
            start = time.monotonic()
            reply = answer(workspace, tool, path, KINDS[kind][1])
            seconds = time.monotonic() - start
            wrong = faults(reply)
            if seconds > GRACE_SECONDS:
                wrong.append(f"answered after {seconds:.0f} s")
            broken += [f"{kind} {number} ({name}): {fault}" for fault in wrong]
            outcomes[reply.error.code if reply.error else "+".join(sorted({b.type for b in reply.content}))] += 1
            if wrong:
                report(broken[-1])
        name, data = seeds(kind)[-1]
        (Path(folder) / name).write_bytes(data)
        reply = answer(workspace, tool, Path(folder).resolve() / name, KINDS[kind][1])
        if reply.is_error:
            broken.append(f"{kind}: the undamaged {name} is no longer read: {reply.error.message}")
    return broken, outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="files of each kind")
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="only this kind (repeatable)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total = 0
    for kind in options.kind or KINDS:
        start = time.monotonic()
        broken, outcomes = run(kind, options.count, options.seed, report=lambda text: print(text, file=sys.stderr))
        seen = ", ".join(f"{name} {count}" for name, count in outcomes.most_common())
        seconds = time.monotonic() - start
        print(f"{kind}: {options.count} damaged files in {seconds:.0f} s, {len(broken)} promises broken ({seen})")
        total += len(broken)
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
