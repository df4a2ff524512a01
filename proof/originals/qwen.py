"""Qwen Code's `read_file`, and the declared differences of the `qwen` dialect from it."""

from __future__ import annotations

import base64
import os
import random
import re
import struct
from pathlib import Path
from typing import Any

from eyespan.extras.families.qwen import MAX_CHARS
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
    whole,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "qwen"
PEER = ("qwen-code", "npm", ("@qwen-code/qwen-code@0.24.4",), "node_modules/@qwen-code/qwen-code/cli.js")
_JPEG = {"type": "image", "data": "[JPEG]", "mimeType": "image/jpeg"}


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
        elif isinstance(content, list):  # an image after a line with its size, as a JPEG of the program's own making
            content = [{"type": "text", "text": content[0]["text"]}, _JPEG]
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
        name = os.path.relpath(os.path.normpath(path), case.root).replace("\\", "/")
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


def _lines(case: Case) -> list[str]:
    """Return the lines of the file, the empty piece after a final line feed among them."""
    data = case.contents("file_path")
    return data.decode("utf-16" if data.startswith(b"\xff\xfe") else "utf-8", "replace").split("\n")


def _cut_in_line(case: Case, own: Answer) -> Answer:
    """Return the text that is cut after 25,000 characters, in the midst of a line."""
    offset, limit = whole(case.arguments.get("offset")) or 0, whole(case.arguments.get("limit")) or 1000
    lines = [line.rstrip() for line in _lines(case)]
    rows = lines[offset : offset + limit]
    if own[0] or len("\n".join(rows)) <= MAX_CHARS:
        return (False, "\n".join(rows)) if not own[0] and not offset and limit >= len(lines) else own
    count = size = 0
    while size + len(rows[count]) + (count > 0) <= MAX_CHARS:
        size += len(rows[count]) + (count > 0)
        count += 1
    part = rows[count][: max(MAX_CHARS - size - (count > 0), 10)]
    lead = f"Showing lines {offset + 1}-{offset + count + 1} of {len(lines)} total lines.\n\n---\n\n"
    return False, lead + "\n".join([*rows[:count], f"{part}... [truncated]"])


def _counted(case: Case, own: Answer) -> Answer:
    """Return the answer that counts the empty piece after a final line feed."""
    count, limit = len(_lines(case)) - 1, whole(case.arguments.get("limit")) or 1000
    if _lines(case)[-1] or not count or not isinstance(own[1], str):
        return own
    found = re.match(r"Showing lines (\d+)-(\d+) of (\d+) total lines\.", own[1])
    if found is None:
        lead = f"Showing lines 1-{count} of {count + 1} total lines.\n\n---\n\n"
        return own if limit != count else (own[0], lead + own[1].removesuffix("\n"))
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


def _signed(case: Case, own: Answer) -> Answer:
    """Return the refusal of a number with a plus."""
    names = [name for name, value in case.arguments.items() if str(value).strip().startswith("+")]
    return (True, f"params/{names[0]} must be integer,null") if names else own


def _overview(case: Case, own: Answer) -> Answer:
    """Return an image as a JPEG after a line with its size."""
    data = case.contents("file_path")
    if own[0] or isinstance(own[1], str) or not data.startswith(b"\x89PNG"):
        return own
    width, height = struct.unpack(">II", data[16:24])
    text = f"Image overview: {width}x{height}; oriented source: {width}x{height}."
    return False, [{"type": "text", "text": text}, _JPEG]


RULES = (
    BLANKS,
    HALF,
    Rule("a relative path", refused=lambda case: not str(case.arguments["file_path"]).startswith("/")),
    Rule("a path that names no file", refused=lambda case: case.names_nothing),
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
    Rule("a number in a string may have a plus", answer=_signed),
    Rule("blanks at the ends of lines are kept", answer=_trimmed),
    Rule("a text is cut between lines", answer=_cut_in_line),
    Rule("a binary file is an error that names the path as it was asked for", answer=_described),
    Rule("a slash after a name is ignored", answer=_below_file),
    Rule("the contents decide on kinds, not the name", answer=_by_name),
    Rule(
        "an image is sent as it is, not as JPEG (whose bytes are not compared) after a line with its size",
        answer=_overview,
    ),
    Rule("an SVG is a text of lines", answer=_svg),
    SURROGATES,
    BOTH_OUTSIDE,
    Rule("`..` is resolved in the text of a path", answer=_by_file_system),
)
