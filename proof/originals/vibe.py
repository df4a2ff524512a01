"""Mistral Vibe's `read_file`, and the declared differences of the `vibe` dialect from it."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

from eyespan.extras.families.vibe import TOO_LARGE
from proof.originals.child import Child
from proof.originals.rules import (
    BINARY,
    BLANKS,
    BOTH_OUTSIDE,
    OUTSIDE,
    STRICT,
    WRONG,
    Answer,
    Case,
    Rule,
    other_encoding,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "vibe"
PEER = ("mistral-vibe", "pip", ("mistral-vibe==2.26.1",), "bin/python", (3, 12))


class Original(Child):
    """The original, called in its own environment."""

    def __init__(self, place: Path, root: Path) -> None:
        program = Path(__file__).with_name("vibe_original.py")
        super().__init__([str(place / "bin/python"), "-P", str(program), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        text = re.sub(r"Output \([\d.]+ KiB\)", "Output", answer["text"])
        return answer["failed"], "[invalid]" if "validation error for" in text else text


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"file_path": random_path(rng, root, names)}
    for name in ("offset", "limit"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read_file", spoiled(rng, arguments, "file_path")


def _resolved(case: Case, own: Answer) -> Answer:
    """Return the answer with the path of a link's target."""
    try:
        real = os.path.realpath(case.root / case.arguments["file_path"])
    except (TypeError, ValueError):
        return own
    shown = os.path.normpath(case.root / case.arguments["file_path"])
    return own[0], own[1].replace(f"{shown}\n", f"{real}\n", 1).replace(f"{shown}<", f"{real}<", 1).replace(
        f"{shown}/<", f"{real}<", 1
    )


def _split(case: Case, own: Answer) -> Answer:
    """Return the answer in which other characters than a line feed end lines as well; those are numbered on."""
    found = re.search("(?s)content: (.*)\nnum_lines: [0-9]+\nstart_line: ([0-9]+)\n", own[1])
    if found is None or "\u2192" not in found[1]:
        return own
    rows = [row.partition("\u2192")[2] for row in re.split(r"\n(?= *\d+\u2192)", found[1])]
    lines = ("\n".join(rows) + "\n").splitlines()
    first = int(found[2])
    body = "\n".join([f"{number:9}\u2192{line}" for number, line in enumerate(lines, first)])
    return own[0], own[1].replace(found[0], f"content: {body}\nnum_lines: {len(lines)}\nstart_line: {first}\n")


def _without_bom(case: Case, own: Answer) -> Answer:
    return own[0], own[1].replace("\u2192\ufeff", "\u2192", 1)


def _bom_alone(case: Case, own: Answer) -> Answer:
    """Return the warning for a BOM that is the whole file."""
    text = "the file exists but is shorter than the provided offset (1). The file has 1 lines."
    warning = f"<vibe_warning>Warning: {text}</vibe_warning>\nnum_lines: 0"
    is_alone = case.contents("file_path") == b"\xef\xbb\xbf"
    return own[0], own[1].replace("        1\u2192\nnum_lines: 1", warning) if is_alone else own[1]


def _wide(case: Case, own: Answer) -> Answer:
    """Return the answer of a program that finds lines in the bytes of UTF-16, and decodes what it found."""
    data = case.contents("file_path")
    first, limit = int(case.arguments.get("offset") or 1), int(case.arguments.get("limit", 2000))
    rows = data.splitlines(keepends=True)
    chosen = b"".join(rows[first - 1 : first - 1 + limit])
    if not data.startswith(b"\xff\xfe") or first > len(rows):
        return own
    lines = chosen.decode("utf-16" if first == 1 else "utf-8", "replace").splitlines()
    body = "\n".join([f"{number:9}\u2192{line}" for number, line in enumerate(lines, first)])
    is_cut = first - 1 + limit < len(rows)
    fields = {
        "file_path": case.file("file_path").resolve(),
        "content": body,
        "num_lines": len(lines),
        "start_line": first,
        "requested_offset": case.arguments.get("offset"),
        "requested_limit": limit,
        "total_lines": None if is_cut else len(rows),
        "was_truncated": is_cut,
    }
    return False, "\n".join([f"{name}: {value}" for name, value in fields.items()])


def _without_slash(case: Case, own: Answer) -> Answer:
    path = os.path.normpath(case.root / str(case.arguments["file_path"]))
    return own[0], own[1].replace(f"file_path: {path}/\n", f"file_path: {path}\n", 1)


def _no_home(case: Case, own: Answer) -> Answer:
    """Return the refusal of a name that begins with the sign of a home directory."""
    name = str(case.arguments["file_path"])
    text = "<tool_error>read_file failed: Could not determine home directory.</tool_error>"
    return (True, text) if name.startswith("~") and name[1:2] not in ("", "/") else own


def _large(case: Case) -> bool:
    return any(type(value) is float and abs(value) >= 2**63 for value in case.arguments.values())


def _no_float(case: Case, own: Answer) -> Answer:
    """Return the refusal of a number that has no whole form."""
    if not _large(case):
        return own
    return True, "[invalid]"


RULES = (
    Rule("numbers over 2**53 are exact", answer=_no_float),
    WRONG,
    STRICT,
    BLANKS,
    Rule("`~` is a name", refused=lambda case: str(case.arguments["file_path"]).startswith("~")),
    Rule("names with lone surrogates", refused=lambda case: "\ud800" in str(case.arguments["file_path"])),
    OUTSIDE,
    BOTH_OUTSIDE,
    Rule("a slash after a name is shown", answer=_without_slash),
    Rule("`~` is a name", answer=_no_home),
    BINARY,
    Rule("a large answer is cut, not refused", table={"refused": {"full": TOO_LARGE}}),
    Rule("only a line feed ends a line", answer=_split),
    Rule("a path is named as it was asked for, without links resolved", answer=_resolved),
    Rule("a BOM is taken off at the start of a file only", answer=_without_bom),
    Rule("a BOM alone is a line", answer=_bom_alone),
    Rule("UTF-16 is decoded before its lines are counted", answer=_wide),
    other_encoding("cp437"),
    other_encoding("cp1250"),
    other_encoding("cp1006"),
    other_encoding("cp1256"),
    other_encoding("cp1257"),
    other_encoding("utf-16-be"),
    other_encoding("cp1252"),
    other_encoding("cp1251"),
    other_encoding("cp932"),
    other_encoding("cp866"),
)
