"""Mistral Vibe's `read_file`, and the declared differences of the `vibe` dialect from it."""

from __future__ import annotations

import io
import json
import os
import random
import re
from functools import partial
from pathlib import Path
from typing import Any

from eyespan.extras.families.vibe import MAX_BYTES, TOO_LARGE
from proof.originals.child import Child
from proof.originals.rules import (
    BINARY,
    BLANKS,
    BOTH_OUTSIDE,
    INVALID,
    OUTSIDE,
    PYDANTIC,
    STRICT,
    WRONG,
    Answer,
    Case,
    Rule,
    whole,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "vibe"
PEER = ("mistral-vibe", "pip", ("mistral-vibe==2.26.1",), "bin/python", (3, 12))
ENCODINGS: dict[str, str] = {}
"""The encoding that the original took for the lines of a call."""


def _key(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


class Original(Child):
    """The original, called in its own environment."""

    def __init__(self, place: Path, root: Path) -> None:
        program = Path(__file__).with_name("vibe_original.py")
        super().__init__([str(place / "bin/python"), "-P", str(program), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        ENCODINGS[_key(arguments)] = answer["encoding"]
        text = re.sub(r"Output \([\d.]+ KiB\)", "Output", answer["text"])
        return answer["failed"], INVALID if "validation error for" in text else text


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"file_path": random_path(rng, root, names)}
    for name in ("offset", "limit"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read_file", spoiled(rng, arguments, "file_path")


def _resolved(case: Case, own: Answer) -> Answer:
    """Return the answer with the path of a link's target."""
    shown = os.path.normpath(case.root / case.arguments["file_path"])
    real = os.path.realpath(shown)
    return own[0], own[1].replace(f"{shown}\n", f"{real}\n", 1).replace(f"{shown}<", f"{real}<", 1)


def _shown(case: Case, own: Answer, *, is_guessed: bool, is_split: bool) -> Answer:
    """Return the answer of a program that finds lines in bytes, decodes what it found, and splits it again.

    `is_guessed` takes the encoding that the original took, and `is_split` ends lines where `str.splitlines` does.
    """
    if own[0] or not case.contents("file_path"):
        return own
    offset, limit = whole(case.arguments.get("offset")), whole(case.arguments.get("limit", 2000))
    first = offset or 1
    rows = io.BytesIO(case.contents("file_path")).readlines()
    chosen = b"".join(rows[first - 1 : first - 1 + limit])
    is_cut = first - 1 + limit < len(rows) or len(chosen) > MAX_BYTES
    encoding = ENCODINGS.get(_key(case.arguments), "utf-8") if is_guessed else "utf-8"
    text = chosen[:MAX_BYTES].decode(encoding, "replace")
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    lines = text.splitlines() if is_split else lines
    body = "\n".join([f"{number:9}\u2192{line}" for number, line in enumerate(lines, first)])
    if not lines:
        text = f"the file exists but is shorter than the provided offset ({first}). The file has {len(rows)} lines."
        body = f"<vibe_warning>Warning: {text}</vibe_warning>"
    fields = {
        "content": body,
        "num_lines": len(lines),
        "start_line": first,
        "requested_offset": offset,
        "requested_limit": limit,
        "total_lines": None if is_cut else len(rows),
        "was_truncated": is_cut,
    }
    path = own[1].partition("\n")[0]
    return False, "\n".join([path, *[f"{name}: {value}" for name, value in fields.items()]])


def _no_home(case: Case, own: Answer) -> Answer:
    """Return the refusal of a name that begins with the sign of a home directory."""
    name = os.path.normpath(case.arguments["file_path"])
    text = "<tool_error>read_file failed: Could not determine home directory.</tool_error>"
    return (True, text) if name.startswith("~") and name[1:2] not in ("", "/") else own


RULES = (
    *PYDANTIC,
    WRONG,
    STRICT,
    BLANKS,
    Rule("`~` is a name", refused=lambda case: str(case.arguments["file_path"]).startswith("~")),
    Rule("names with lone surrogates", refused=lambda case: "\ud800" in str(case.arguments["file_path"])),
    OUTSIDE,
    BOTH_OUTSIDE,
    Rule("`~` is a name", answer=_no_home),
    BINARY,
    Rule("a large answer is cut, not refused", table={"refused": {"full": TOO_LARGE}}),
    Rule("only a line feed ends a line", answer=partial(_shown, is_guessed=False, is_split=True)),
    Rule(
        "a text is decoded as a whole, and its encoding not guessed",
        answer=partial(_shown, is_guessed=True, is_split=False),
    ),
    Rule(
        "only a line feed ends a line, and a text is decoded as a whole, and its encoding not guessed",
        answer=partial(_shown, is_guessed=True, is_split=True),
    ),
    Rule("a path is named as it was asked for, without links resolved", answer=_resolved),
)
