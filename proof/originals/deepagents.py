"""Deep Agents' `read_file`, and the declared differences of the `deepagents` dialect from it."""

from __future__ import annotations

import base64
import mimetypes
import os
import random
import re
from pathlib import Path
from typing import Any

from eyespan.extras.families.deepagents import CUT, EMPTY, MAX_CHARS
from proof.originals.child import Child
from proof.originals.rules import GENERAL, INVALID, PYDANTIC, Answer, Case, Rule, whole
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "deepagents"
PEER = "deepagents"
ADVICE = 177
"""The characters of the advice in the notice of the original, without the path in it."""
SEPARATORS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""The characters other than CR and LF that end a line of the original, and are shown."""


class Original(Child):
    """The original, called in its own environment."""

    def __init__(self, place: Path, root: Path) -> None:
        self._root = root
        program = Path(__file__).with_name("deepagents_original.py")
        super().__init__([str(place / "bin/python"), "-P", str(program)])  # -P: this module has the package's name

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self.ask({"root": str(self._root), "arguments": arguments})
        content = answer["content"]
        if isinstance(content, list):
            content = [{"type": one["type"], "data": one["base64"], "mimeType": one["mime_type"]} for one in content]
        elif content.startswith("ValidationError: "):
            content = INVALID
        else:  # advice about shell commands, of which only the length counts
            content = re.sub(
                r"(?<=easier to navigate\.)( For example, .*)(?=\]\n@@)", lambda one: "~" * len(one[1]), content
            )
        return answer["failed"], content


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    path = random_path(rng, root, names)
    if rng.random() < 0.5 and not path.startswith("/"):
        path = f"/{path}"
    arguments: dict[str, Any] = {"file_path": path}
    for name in ("offset", "limit"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read_file", spoiled(rng, arguments, "file_path")


def _file(case: Case) -> Path:
    """Return the file that the original reads: the root is the top of its tree, and a backslash is a slash."""
    return case.root / os.path.normpath(case.arguments["file_path"]).replace("\\", "/").lstrip("/")


def _shown(case: Case) -> str:
    """Return the path as the original shows it."""
    path = os.path.normpath(case.arguments["file_path"]).replace("\\", "/")
    return path if path.startswith("/") else f"/{path}"


def _virtual(case: Case, own: Answer) -> Answer:
    """Return the error for an absolute path of the machine, or for one with a backslash."""
    path = _shown(case)
    is_other = path.startswith(f"{case.root}/") or "\\" in case.arguments["file_path"]
    return (True, f"Error: File '{path}' not found") if is_other else own


def _blank(case: Case, own: Answer) -> Answer:
    """Return the reminder for a file of blank lines alone, as the only line of a text."""
    if _file(case).read_bytes().decode().strip():
        return own
    offset = whole(case.arguments.get("offset", 0))
    notice = f"[Requested offset {offset} is before the start of the file; read from line 1 instead.]\n"
    first = max(offset, 0) + 1
    return False, f"{notice if offset < 0 else ''}@@ lines {first}-{first} @@\n{EMPTY}"


def _blank_window(case: Case, own: Answer) -> Answer:
    """Return the reminder for a range of blank lines that is the file."""
    found = re.fullmatch(r"(?s)(?:\[Requested .*\n)?@@ lines 1-(\d+) of (\d+) @@\n(.*)", own[1])
    return (False, EMPTY) if found and found[1] == found[2] and not found[3].strip() else own


def _by_name(case: Case, own: Answer) -> Answer:
    """Return a file whose suffix is that of an image, a video or the like as one."""
    path = _file(case)
    kind = _KINDS.get(path.suffix.lower())
    if kind is None or not path.is_file():
        return own
    data, media_type = path.read_bytes(), mimetypes.guess_type(path.name)[0]
    block = {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": media_type}
    return False, [block] if data else EMPTY


_KINDS = dict.fromkeys((".png", ".jpg", ".gif", ".webp"), "image") | {".mp4": "video", ".mp3": "audio", ".pdf": "file"}


def _whole_file(case: Case, own: Answer) -> Answer:
    """Return the refusal of a file that is not UTF-8 at any place."""
    try:
        _file(case).read_bytes().decode()
    except UnicodeDecodeError as error:
        return True, f"Error: Error reading file '{_shown(case)}': {error}"
    return own


def _advised(case: Case, own: Answer) -> Answer:
    """Return the lines that fit after a notice with advice about shell commands."""
    advice = ADVICE * "~" + "~" * len(_shown(case))
    header = r"@@ lines (\d+)-(\d+) of (\d+)(?: \| next offset \d+)? \| truncated "
    found = re.match(f"(?s)(\\[Requested [^\n]*\n)?{re.escape(CUT)}\n{header}(due to size|mid-line .*?) @@\n", own[1])
    if found is None:
        return own
    lead, first, total = f"{found[1] or ''}{CUT[:-1]}{advice}]\n", int(found[2]), int(found[4])
    body = own[1][found.end() :]
    rows = body.split("\n") if found[5] == "due to size" else []
    for count in range(len(rows), 0, -1):
        last = first + count - 1
        more = f" | next offset {last}" if last < total else ""
        text = f"{lead}@@ lines {first}-{last} of {total}{more} | truncated due to size @@\n" + "\n".join(rows[:count])
        if len(text) <= MAX_CHARS:
            return False, text
    lines = _file(case).read_bytes().decode().replace("\r\n", "\n").split("\n")
    line = lines[first - 1]
    header = f"{lead}@@ lines {first}-{first} of {total} | truncated mid-line | %d of {len(line)} chars @@\n"
    shown = MAX_CHARS - len(header % len(line))
    return False, header % shown + line[:shown]


def _split(data: bytes) -> bytes:
    """Return a text in which a line feed follows the characters that end lines of the original as well."""
    if b"\0" in data:
        return data
    text = re.sub("\r\n?", "\n", data.decode("utf-8", "surrogateescape"))
    return re.sub(f"([{SEPARATORS}])", "\\1\n", text).encode("utf-8", "surrogateescape")


def _joined(case: Case, own: Answer) -> Answer:
    """Return the answer without the line feeds of `_split`; the original writes as many after the lines."""
    lead, end, body = own[1].partition(" @@\n")
    body, count = re.subn(f"([{SEPARATORS}])\n", "\\1", body)
    return own[0], lead + end + body + count * "\n"


def _is_not_utf8(case: Case) -> bool:
    try:
        _file(case).read_bytes().decode()
    except UnicodeDecodeError:
        return True
    return False


def _leads_outside(case: Case) -> bool:
    return not f"{os.path.realpath(_file(case))}/".startswith(f"{case.root}/")


RULES = (
    Rule("files outside the roots", refused=_leads_outside),
    *GENERAL,
    Rule("only a line feed ends a line", files=_split, answer=_joined),
    *PYDANTIC,
    Rule("a file that is not UTF-8", refused=_is_not_utf8),
    Rule("a reminder is no line of the file, and blank lines are lines", answer=_blank),
    Rule("blank lines are lines", answer=_blank_window),
    Rule("a file that is not an image is not sent as one", answer=_by_name),
    Rule("the first 8,192 bytes decide on binary files", answer=_whole_file),
    Rule("advice about shell commands is left out", answer=_advised),
    Rule("a backslash is part of a name", refused_here=lambda case: "\\" in case.arguments["file_path"]),
    Rule("an absolute path below a root is that file, and a backslash is part of a name", answer=_virtual),
)
