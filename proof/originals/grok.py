"""Grok CLI's `view_file`, and the declared differences of the `grok` dialect from it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import (
    BINARY,
    CRLF,
    DOUBLES,
    EMPTY_PIECE,
    OUTSIDE,
    STRICT,
    SURROGATES,
    WRONG,
    Answer,
    Case,
    Rule,
    javascript,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "grok"
_EDITOR = "node_modules/@vibe-kit/grok-cli/dist/tools/text-editor.js"
PEER = ("grok-cli", "npm", ("@vibe-kit/grok-cli@0.0.34",), _EDITOR)


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("grok.mjs")), str(place / _EDITOR), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        return answer["failed"], answer["text"]


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"path": random_path(rng, root, names)}
    for name in ("start_line", "end_line"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "view_file", spoiled(rng, arguments, "path")


def _check(self: Any, values: dict[str, Any]) -> None:
    """Take only both lines together, as the original does."""
    first, last = values["start_line"], values["end_line"]
    values.update(start_line=None, end_line=None, has_end=True)
    if first and last:
        values.update(start_line=first, end_line=last)


def _from_the_end(case: Case, own: Answer) -> Answer:
    """Return the lines that `slice` of JavaScript returns for a negative number."""
    first, last = case.arguments.get("start_line"), case.arguments.get("end_line")
    if not (first and last and min(first, last) < 0):
        return own
    first, last = int(first), int(last)
    lines = case.contents().decode("utf-8", "replace").split("\n")
    start = max(0, len(lines) + first - 1) if first < 1 else first - 1
    rows = [f"{javascript(float(first) + at)}: {line}" for at, line in enumerate(lines[start:last])]
    return False, "\n".join(
        [f"Lines {javascript(first)}-{javascript(last)} of {case.arguments['path']}:", *(rows or [""])]
    )


RULES = (
    WRONG,
    STRICT,
    OUTSIDE,
    EMPTY_PIECE,
    CRLF,
    DOUBLES,
    BINARY,
    Rule("negative lines are absent", answer=_from_the_end),
    SURROGATES,
    Rule("a path that names no file", refused=lambda case: case.names_nothing),
    Rule("one line without the other is honoured", table={"check": _check}),
)
