"""Kimi CLI's `ReadFile`, and the declared differences of the `kimi` dialect from it."""

from __future__ import annotations

import mimetypes
import os
import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import BOTH_OUTSIDE, GENERAL, INVALID, PYDANTIC, Answer, Case, Rule
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
        if answer["message"].startswith("Invalid arguments: "):
            return True, INVALID
        lead = "ERROR: " if answer["failed"] else ""
        message = re.sub(r"(?s)(?<=seems not readable)\. You .*", ": it is a binary file.", answer["message"])
        return answer["failed"], f"<system>{lead}{message}</system>" + (answer["output"] or "")


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    arguments: dict[str, Any] = {"path": random_path(rng, root, names)}
    for name in ("line_offset", "n_lines"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    if rng.random() < 0.2:
        arguments["line_offset"] = rng.choice([-1, -2, -5, -90, -1000, -1001])
    return "ReadFile", spoiled(rng, arguments, "path")


def _by_name(case: Case, own: Answer) -> Answer:
    """Return the refusal of a file whose suffix is that of an image, a video or another binary kind."""
    path = os.path.realpath(case.file())
    kind = (mimetypes.guess_type(path)[0] or "").partition("/")[0]
    data = case.contents()
    if not os.path.isfile(path):
        return own
    if kind in ("image", "video") and not path.endswith(".svg"):
        text = f"is a {kind} file. Use other appropriate tools to read image or video files."
    elif data.startswith(b"\x89PNG"):
        text = "is a image file. Use other appropriate tools to read image or video files."
    elif b"\0" in data[:512] or os.path.splitext(path)[1].lower() in _BINARIES:
        text = "seems not readable: it is a binary file."
    else:
        return own
    return True, f"<system>ERROR: `{case.arguments['path']}` {text}</system>"


_BINARIES = frozenset((".zip", ".exe", ".docx", ".mp3", ".gz", ".so", ".class", ".xlsx", ".wasm", ".pdf", ".bin"))


def _is_wrong(case: Case) -> bool:
    offset = int(case.arguments.get("line_offset", 1))
    return offset == 0 or offset < -1000


RULES = (
    BOTH_OUTSIDE,
    *GENERAL,
    *PYDANTIC,
    Rule("a `line_offset` of 0, or below -1,000", refused=_is_wrong),
    Rule("the contents decide on binary files and images, not the name", answer=_by_name),
)
