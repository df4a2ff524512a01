"""Kimi CLI's `ReadFile`, and the declared differences of the `kimi` dialect from it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import GENERAL
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "kimi@1.52"
PEER = "kimi-cli"


class Original(Child):
    """The original, called in its own environment."""

    def __init__(self, place: Path, root: Path) -> None:
        self._root = root
        super().__init__([str(place / "bin/python"), "-P", str(Path(__file__).with_name("kimi_cli_original.py"))])

    def call(self, tool: str, arguments: dict[str, Any], root: Path | None = None) -> tuple[bool, Any]:
        """Return whether the call failed, and the note and the text of its answer."""
        answer = self.ask({"root": str(root or self._root), "arguments": arguments})
        lead = "ERROR: " if answer["failed"] else ""
        return answer["failed"], f"<system>{lead}{answer['message']}</system>" + (answer["output"] or "")


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    arguments: dict[str, Any] = {"path": random_path(rng, root, names)}
    for name in ("line_offset", "n_lines"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    if rng.random() < 0.2:
        arguments["line_offset"] = rng.choice([-1, -2, -5, -90, -1000, -1001])
    return "ReadFile", spoiled(rng, arguments, "path")


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None."""
    (their_error, text), (our_error, own) = theirs, ours
    if "Invalid arguments" in text or "Invalid arguments" in own:
        return "wrong arguments are refused in other words"
    if "out.txt" in str(arguments) or "outside" in str(arguments):
        return "files outside the roots are refused"
    if their_error and our_error:
        return "an error has other words"
    if "not readable" in text + own or "a image file" in text + own or "video file" in text + own:
        return "the contents decide on binary files and images, not the name"
    if "lone\rreturn" in own or "\r" in own:
        return "only a line feed ends a line"
    if their_error != our_error:
        return None
    contents = (root / arguments["path"]).read_bytes() if not their_error else b""
    if b"\r" in contents.replace(b"\r\n", b""):
        return "only a line feed ends a line"
    if text.startswith("<system>No lines read") and own.startswith("<system>No lines read"):
        return "an empty range of the end has other words"
    return None


RULES = GENERAL
