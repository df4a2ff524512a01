"""Cline's `read_files`, and the declared differences of the `cline` dialect from it."""

from __future__ import annotations

import base64
import json
import os
import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import GENERAL, Answer, Case, Rule
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


def _answered(case: Case, own: Answer) -> Answer:
    """Return the answer of a call that reads nothing, which is no error in the original."""
    return (False, own[1]) if own[0] and str(own[1]).startswith("[{") else own


def _by_name(case: Case, own: Answer) -> Answer:
    """Return files by the suffixes of images as images."""
    is_text = isinstance(own[1], str)
    rows, blocks = json.loads(own[1] if is_text else own[1][0]["text"]), [] if is_text else own[1][1:]
    for at, row in enumerate(rows):
        path = Path(os.path.normpath(case.root / re.sub(r":\d+-(\d+|EOF)$", "", row["query"])))
        if row.get("error", "").startswith(("Error reading file: ENOENT", "Path is not")) or not path.is_file():
            continue
        if kind := _IMAGES.get(path.suffix.lower()):
            data = base64.b64encode(path.read_bytes()).decode()
            rows[at] = {"query": row["query"], "result": ["Successfully read image"], "success": True}
            if not any(block["data"] == data for block in blocks):
                blocks = [*blocks, {"type": "image", "data": data, "mimeType": kind}]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return False, [{"type": "text", "text": text}, *blocks] if blocks else text


_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}


def _is_odd(case: Case) -> bool:
    """Return True for numbers over 2**53, and texts that JavaScript takes for numbers, in the entries of a call."""
    text = json.dumps(case.arguments)
    numbers = re.findall(r'"(?:start|end)_line": (-?[\d.e+]+)[,}]', text)
    words = re.findall(r'"(?:start|end)_line": "([^"]*)"', text)
    return any(abs(float(one)) >= 2**53 for one in numbers) or not all(one.strip().isdigit() for one in words)


RULES = (
    *GENERAL,
    Rule("numbers over 2**53, and texts that are no plain numbers", refused=_is_odd, refused_here=_is_odd),
    Rule("a call that reads nothing is an error, with the same text", answer=_answered),
    Rule("a file that is not an image is not sent as one", answer=_by_name),
)
