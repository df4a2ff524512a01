"""Qwen Code's `read_file`, and the declared differences of the `qwen` dialect from it."""

from __future__ import annotations

import base64
import os
import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import (
    BINARY,
    BLANKS,
    BOM_LINE,
    BOTH_OUTSIDE,
    CRLF,
    DOUBLES,
    HALF,
    OUTSIDE,
    STRICT,
    SURROGATES,
    WRONG,
    Answer,
    Case,
    Rule,
    javascript,
    other_encoding,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "qwen"
PEER = ("qwen-code", "npm", ("@qwen-code/qwen-code@0.24.4",), "node_modules/@qwen-code/qwen-code/cli.js")


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("qwen.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        content = answer["content"]
        if isinstance(content, str):
            content = re.sub(r"(?s)\A\[Unsupported (audio|video) file: .*", r"[\1]", content)
        if isinstance(content, dict) and "inlineData" in content:
            inline = content["inlineData"]
            content = [{"type": "image", "data": inline["data"], "mimeType": inline["mimeType"]}]
        return answer["failed"], content


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    path = random_path(rng, root, names)
    if rng.random() < 0.9 and not path.startswith("/"):
        path = f"{root}/{path}"
    arguments: dict[str, Any] = {"file_path": path}
    for name in ("offset", "limit"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read_file", spoiled(rng, arguments, "file_path")


def _past_end(case: Case, own: Answer) -> Answer:
    """Return the empty range that the original answers with."""
    offset = case.arguments.get("offset")
    total = case.contents("file_path").count(b"\n") + 1
    if not own[0] or "is after the end" not in own[1] or offset is None:
        return own
    number = javascript(float(offset) + 1)
    return False, f"Showing lines {number}-{number} of {total} total lines.\n\n---\n\n"


def _by_file_system(case: Case, own: Answer) -> Answer:
    """Return the error for `..` after something that is no directory."""
    path = str(case.arguments["file_path"])
    above = [path[: found.start()] for found in re.finditer("/", path) if os.path.isfile(path[: found.start()] or "/")]
    if above and os.path.exists(os.path.normpath(path)):
        name = os.path.relpath(os.path.normpath(path), case.root)
        return True, f"Error reading file {name}: ENOTDIR: not a directory, stat '{path}'"
    text = "Could not read file because no file was found at the specified path."
    return own if os.path.exists(str(case.arguments["file_path"])) else (True, text)


def _trimmed(case: Case, own: Answer) -> Answer:
    """Return the lines without blanks at their ends."""
    return own[0], "\n".join([line.rstrip() for line in own[1].split("\n")]) if isinstance(own[1], str) else own[1]


def _below_file(case: Case, own: Answer) -> Answer:
    """Return the error for a slash after the name of a file."""
    path = str(case.arguments.get("file_path"))
    if not path.endswith(("/", "/.")) or not os.path.isfile(os.path.normpath(path)):
        return own
    name = os.path.relpath(path, case.root).replace("\\", "/")
    return True, f"Error reading file {name}: ENOTDIR: not a directory, stat '{path}'"


def _cut_in_line(case: Case, own: Answer) -> Answer:
    """Return the text that is cut after 25,000 characters, in the midst of a line."""
    offset, limit = int(case.arguments.get("offset") or 0), int(case.arguments.get("limit") or 1000)
    lines = [line.rstrip() for line in case.contents("file_path").decode("utf-8", "replace").split("\n")]
    text = "\n".join(lines[offset : offset + limit])
    if own[0] or len(text) <= 25_000:
        return (False, text) if not own[0] and not offset and limit >= len(lines) else own
    last = offset + text[:25_000].count("\n") + 1
    lead = f"Showing lines {offset + 1}-{last} of {len(lines)} total lines.\n\n---\n\n"
    return False, f"{lead}{text[:25_000]}... [truncated]"


def _counted(case: Case, own: Answer) -> Answer:
    """Return the answer that counts the empty piece after a final line feed."""
    data, limit = case.contents("file_path"), case.arguments.get("limit") or 1000
    if not data.endswith(b"\n") or not isinstance(own[1], str):
        return own
    found = re.match(r"Showing lines (\d+)-(\d+) of (\d+) total lines\.", own[1])
    if found is None:
        total = data.count(b"\n")
        lead = f"Showing lines 1-{total} of {total + 1} total lines.\n\n---\n\n"
        return own if limit != total else (own[0], lead + own[1].removesuffix("\n"))
    first, last, total = map(int, found.groups())
    has_all = last == total and last - first + 1 < limit
    lead = f"Showing lines {first}-{last + has_all} of {total + 1} total lines."
    is_end = last == total and not has_all
    return own[0], lead + (own[1].removesuffix("\n") if is_end else own[1])[found.end() :]


def _described(case: Case, own: Answer) -> Answer:
    """Return the note on a binary file."""
    if not own[0] or not own[1].startswith("Cannot display"):
        return own
    path = os.path.normpath(case.arguments["file_path"])
    return False, f"Cannot display content of binary file: {os.path.relpath(path, case.root)}"


def _by_name(case: Case, own: Answer) -> Answer:
    """Return the note on a file whose suffix is that of a binary kind, or the file as a PDF or image."""
    path = os.path.normpath(str(case.arguments["file_path"]))
    suffix = os.path.splitext(path)[1].lower()
    if not os.path.isfile(path):
        return own
    if suffix in (".mp3", ".mp4"):
        return False, "[audio]" if suffix == ".mp3" else "[video]"
    if suffix in _MEDIA:
        data = base64.b64encode(Path(path).read_bytes()).decode()
        return False, [{"type": "image", "data": data, "mimeType": _MEDIA[suffix]}]
    text = f"Cannot display content of binary file: {os.path.relpath(path, case.root)}"
    return (False, text) if suffix in _BINARIES else own


def _svg(case: Case, own: Answer) -> Answer:
    """Return an SVG whole, whatever the range."""
    path = os.path.normpath(str(case.arguments["file_path"]))
    return (False, Path(path).read_text("utf-8")) if path.endswith(".svg") and os.path.isfile(path) else own


_MEDIA = {".pdf": "application/pdf"}
_BINARIES = frozenset(
    f".{name}" for name in ("zip", "exe", "docx", "gz", "so", "class", "ico", "xlsx", "wasm", "bin", "tar", "7z")
)


def explain(tool: str, arguments: dict[str, Any], theirs: Answer, ours: Answer, root: Path) -> str | None:
    if "Image overview" in str(theirs[1]) and isinstance(ours[1], list):
        return "an image is sent as it is, not as JPEG after a line with its size"
    return None


RULES = (
    BLANKS,
    HALF,
    Rule("a relative path", refused=lambda case: not str(case.arguments["file_path"]).startswith("/")),
    Rule("a file that does not exist", refused=lambda case: case.names_nothing),
    WRONG,
    STRICT,
    OUTSIDE,
    CRLF,
    DOUBLES,
    other_encoding("cp1250"),
    other_encoding("shift_jis"),
    other_encoding("cp1252"),
    other_encoding("cp1254"),
    other_encoding("koi8_r"),
    Rule("the empty piece after the last line feed is no line", answer=_counted),
    BINARY,
    BOM_LINE,
    Rule("a start after the end is an error", answer=_past_end),
    Rule("blanks at the ends of lines are kept", answer=_trimmed),
    Rule("a text is cut between lines", answer=_cut_in_line),
    Rule("a binary file is an error that names the path as it was asked for", answer=_described),
    Rule("a slash after a name is ignored", answer=_below_file),
    Rule("the contents decide on kinds, not the name", answer=_by_name),
    Rule("an SVG is a text of lines", answer=_svg),
    SURROGATES,
    BOTH_OUTSIDE,
    Rule("`..` is resolved in the text of a path", answer=_by_file_system),
)
