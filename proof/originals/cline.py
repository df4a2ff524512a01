"""Cline's `read_files`, and the declared differences of the `cline` dialect from it."""

from __future__ import annotations

import base64
import json
import os
import random
import re
from pathlib import Path
from typing import Any

from eyespan.dialects.table import TableDialect
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


def parts(case: Case, answer: Answer) -> list[tuple[str, dict[str, Any], Answer]]:
    """Return the calls for each of several files that stand for one call, and their shares of its answer."""
    text, images = (answer[1], []) if isinstance(answer[1], str) else (answer[1][0]["text"], answer[1][1:])
    entries = next(iter(case.arguments.values()), None)
    files: list[dict[str, Any]] = []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and files and not {"path", "file_path", "filePath"} & set(entry):
            files[-1] = {**files[-1], **entry}  # a range of the file before it
        else:
            files.append({"path": entry} if isinstance(entry, str) else entry)
    if not text.startswith("[{") or len(files) != len(json.loads(text)):
        return []
    found = []
    for file, row in zip(files, json.loads(text), strict=True):
        share: Any = _written([row])
        if row["result"] == ["Successfully read image"]:
            share, images = [{"type": "text", "text": share}, *images[:1]], images[1:]
        found.append((case.tool, file, (not row["success"], share)))
    return found


def _written(rows: list[Any]) -> str:
    """Return the JSON of results, with escapes for half a pair of surrogates."""
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    return re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):x}", text)


def _answered(case: Case, own: Answer) -> Answer:
    """Return the answer of a call that reads nothing, which is no error in the original."""
    return (False, own[1]) if own[0] and str(own[1]).startswith("[{") else own


def _unescaped(case: Case, own: Answer) -> Answer:
    """Return the answer with half a pair of surrogates in an error as the original writes it."""
    return own[0], own[1].replace(r"\\ud800", "\ufffd") if isinstance(own[1], str) else own[1]


def _loop(case: Case, own: Answer) -> Answer:
    """Return the answer in which a loop of links is named without a slash."""
    return own[0], re.sub(r"(ELOOP: [^']*'[^']*?)/+'", r"\1'", own[1])


def _to_end(case: Case, own: Answer) -> Answer:
    """Return the answer with a notice that counts the lines up to the last one that was asked for."""
    files = case.arguments.get("files", case.arguments)
    end = int((files[0] if isinstance(files, list) else files)["end_line"])
    notice = r"(?<=\[Showing lines )(\d+-\d+ of )(\d+)"
    return own[0], re.sub(notice, lambda found: f"{found[1]}{min(end, int(found[2]))}", own[1])


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
    text = _written(rows)
    return False, [{"type": "text", "text": text}, *blocks] if blocks else text


_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}


def _is_odd(case: Case) -> bool:
    """Return True for numbers over 2**53, and texts that JavaScript takes for numbers, in the entries of a call."""
    text = json.dumps(case.arguments)
    numbers = re.findall(r'"(?:start|end)_line": (-?[\d.e+]+)[,}]', text)
    words = re.findall(r'"(?:start|end)_line": "([^"]*)"', text)
    return any(abs(float(one)) >= 2**53 for one in numbers) or not all(one.strip().isdigit() for one in words)


def _has_other_lines(case: Case) -> bool:
    """Return True if the line of an entry is neither a whole number nor a text."""
    return (
        re.search(r'"(?:start|end)_line": (?:true|false|[\[{]|-?\d+\.(?!0[,}]))', json.dumps(case.arguments))
        is not None
    )


RULES = (
    *GENERAL,
    Rule("numbers over 2**53, and texts that are no plain numbers", refused=_is_odd, refused_here=_is_odd),
    Rule("a notice counts the lines of the file, not those up to end_line", answer=_to_end),
    Rule("a loop of links is named as it was asked for", answer=_loop),
    Rule("lines that are no numbers", refused_here=_has_other_lines),
    Rule("a lone surrogate in an error is written with an escape", answer=_unescaped),
    Rule("a call that reads nothing is an error, with the same text", answer=_answered),
    Rule("a file that is not an image is not sent as one", answer=_by_name),
    Rule("a name that looks the same is read, with a slash after it as well", table={"opened": TableDialect.opened}),
)
