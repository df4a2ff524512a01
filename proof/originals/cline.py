"""Cline's `read_files`, and the declared differences of the `cline` dialect from it."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import GENERAL
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "cline"
PEER = ("cline-core", "npm", ("@cline/core@0.0.86",), "node_modules/@cline/core/dist/index.js")


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("cline.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self.ask(arguments)
        images = [{"type": "image", "data": one["data"], "mimeType": one["mediaType"]} for one in answer["blocks"]]
        return answer["failed"], [{"type": "text", "text": answer["text"]}, *images] if images else answer["text"]


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return random ranges of random files, in one of the forms that the original takes."""

    def entry() -> dict[str, Any]:
        one: dict[str, Any] = {"path": random_path(rng, root, names)}
        for name in ("start_line", "end_line"):
            if rng.random() < 0.5:
                one[name] = random_number(rng)
        return spoiled(rng, one, "path") if len(one) > 1 else one

    form = rng.random()
    if form < 0.6:
        return "read_files", {"files": [entry() for _ in range(rng.choice([0, 1, 1, 1, 2, 4]))]}
    if form < 0.7:
        return "read_files", entry()
    if form < 0.75:
        one = entry()
        one[rng.choice(["file_path", "filePath"])] = one.pop("path", "long.log")
        return "read_files", one
    key = rng.choice(["files", "paths", "file_paths"])
    if form < 0.85:
        return "read_files", {key: [random_path(rng, root, names) for _ in range(3)]}
    if form < 0.9:
        return "read_files", {key: random_path(rng, root, names)}
    if form < 0.95:
        return "read_files", {"files": [rng.choice(names), {"start_line": rng.choice([1, 2, 5])}, entry()]}
    return "read_files", rng.choice([{}, {"files": 3}, {"files": [{"start_line": 2}]}, {"files": entry()}])


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None: the first of its files."""
    (their_error, their_text), (our_error, our_text) = theirs, ours
    is_list = isinstance(our_text, str) and our_text.startswith("[")
    if our_error and not their_error and is_list and not any(row["success"] for row in json.loads(our_text)):
        if their_text == our_text:
            return "a call that reads nothing is an error, with the same text"
        our_error = False
    if their_error or our_error:
        is_wrong = str(our_text).startswith("Invalid input: ") or '"start_line": true' in json.dumps(arguments)
        return "wrong arguments are refused in other words" if is_wrong else None
    lists = [json.loads(one if isinstance(one, str) else one[0]["text"]) for one in (their_text, our_text)]
    if [row["query"] for row in lists[0]] != [row["query"] for row in lists[1]]:
        return None
    reasons = [_reason(*rows, root) for rows in zip(*lists, strict=True) if rows[0] != rows[1]]
    return None if None in reasons or not reasons else reasons[0]


def _reason(theirs: dict[str, Any], ours: dict[str, Any], root: Path) -> str | None:
    error = ours.get("error", "")
    if "is outside the directories" in error:
        return "files outside the roots are refused"
    if "Binary files" in error:
        return "binary files are refused"
    if theirs["result"] == ["Successfully read image"]:
        return "a file that is not an image is not sent as one"
    if "is after the end" in error and theirs["result"] == "":
        return "a start after the end is an error with the number of lines"
    if "error" in theirs and error:
        codes = [re.match(r"Error reading file: (E[A-Z]+)", one) for one in (theirs["error"], error)]
        return "an error of the system has other words" if codes[0] and codes[1] else None
    contents = (root / re.sub(r":\d+-(\d+|EOF)$", "", ours["query"])).read_bytes()
    if b"\r" in contents.replace(b"\r\n", b""):
        return "only a line feed ends a line"
    plain = [re.sub(r"(Showing lines \d+-\d+) of \d+", r"\1", one["result"]) for one in (theirs, ours)]
    if plain[0] == plain[1]:
        return "the notice names the number of lines of the file, not the end of the range"
    if "\U0001f642" in ours["result"]:
        return "limits count code points"
    return None


RULES = GENERAL
