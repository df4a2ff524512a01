"""Kimi Code's `Read`, and the declared differences of the `kimi` dialect from it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import (
    BINARY,
    BOTH_OUTSIDE,
    LARGE,
    OUTSIDE,
    STRICT,
    SURROGATES,
    WRONG,
    Answer,
    Case,
    Rule,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "kimi"
PEER = ("kimi-code", "npm", ("@moonshot-ai/kimi-code@2.1.0",), "node_modules/@moonshot-ai/kimi-code/dist/main.mjs")


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("kimi.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        return answer["failed"], answer["text"]


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    arguments: dict[str, Any] = {"path": random_path(rng, root, names)}
    for name in ("line_offset", "n_lines"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    if rng.random() < 0.2:
        arguments["line_offset"] = rng.choice([-1, -2, -5, -90, -1000, -5001])
    if rng.random() < 0.1:
        arguments["column_offset"] = random_number(rng)
    if rng.random() < 0.2:
        arguments["max_chars"] = rng.choice([1, 150, 220, 300, 1000, 5000, 40_000, 600_000, random_number(rng)])
    return "Read", spoiled(rng, arguments, "path")


def _by_name(case: Case, own: Answer) -> Answer:
    """Return the refusal of a file whose suffix is that of a binary kind."""
    if Path(str(case.arguments["path"])).suffix.lower() not in _SUFFIXES or not os.path.isfile(
        os.path.normpath(case.file())
    ):
        return own
    text = f'"{case.arguments["path"]}" is not readable as UTF-8 text. Only text files can be read.'
    if str(case.file()).endswith(".mp4"):
        text = f'"{case.arguments["path"]}" is a video file. Only text files can be read.'
    return True, f"<system>ERROR: Tool execution failed.</system>\n{text}"


def _below_file(case: Case, own: Answer) -> Answer:
    """Return the error for a slash after the absolute name of a file."""
    path = str(case.arguments["path"])
    if not (path.startswith("/") and path.endswith("/")) or not os.path.isfile(path.rstrip("/")):
        return own
    return True, f'<system>ERROR: Tool execution failed.</system>\n"{path}" does not exist.'


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _whole_file(case: Case, own: Answer) -> Answer:
    """Return the refusal of a file that holds NUL or is not UTF-8 at any place."""
    data, path = case.contents(), case.arguments["path"]
    if b"\0" in data:
        text = f'"{path}" is not readable as UTF-8 text. Only text files can be read.'
    elif not _is_utf8(data):
        text = (
            f'"{path}" is not valid UTF-8 or UTF-16 text. Only UTF-8 and UTF-16 text files can be read; for other '
            "encodings (e.g. GBK), convert the file to UTF-8 first (e.g. with `iconv`)."
        )
    else:
        return own
    return True, f"<system>ERROR: Tool execution failed.</system>\n{text}"


def _encoding_named(case: Case, own: Answer) -> Answer:
    """Return the status with the encoding of a text in UTF-16."""
    if own[0] or not case.contents().startswith(b"\xff\xfe"):
        return own
    lossy = "\ufffd" in case.contents().decode("utf-16", "replace")
    note = (
        "Detected file encoding: UTF-16 LE; content transcoded to UTF-8 for display. Edit and Write expect UTF-8 "
        "\u2014 convert the file's encoding first (e.g. `iconv` via Bash)."
    )
    more = (
        " Lossy UTF-16 decoding: malformed sequences were replaced with U+FFFD. The decoded text may differ from the "
        "original file."
    )
    return False, f"{own[1].removesuffix('</system>')} {note}{more if lossy else ''}</system>"


def _is_mixed(data: bytes) -> bool:
    feeds, pairs, returns = data.count(b"\n"), data.count(b"\r\n"), data.count(b"\r")
    return returns > pairs or 0 < pairs < feeds


def _escaped(data: bytes) -> bytes:
    """Return a file of mixed line ends with escapes for its returns."""
    return data.replace(b"\r", b"\\r") if _is_mixed(data) else data


def _mixed(case: Case, own: Answer) -> Answer:
    """Return the status for line ends that are mixed anywhere in the file."""
    note = (
        "Mixed or lone carriage-return line endings are shown as \\r. Use exact \\r\\n or \\r escapes in "
        "Edit.old_string for those lines."
    )
    is_mixed = not own[0] and _is_mixed(case.contents())
    return own[0], f"{own[1].removesuffix('</system>')} {note}</system>" if is_mixed else own[1]


def _with_slashes(case: Case, own: Answer) -> Answer:
    """Return the error for a backslash, which the original takes for a slash."""
    path = str(case.arguments["path"])
    text = f'<system>ERROR: Tool execution failed.</system>\n"{path}" does not exist.'
    return (True, text) if "\\" in path else own


def _null(case: Case, own: Answer) -> Answer:
    """Return the refusal of null."""
    texts = [
        f"/{name} must be integer; /{name} must be integer; /{name} must match a schema in anyOf"
        if name == "line_offset"
        else f"/{name} must be integer"
        for name in ("line_offset", "column_offset", "n_lines", "max_chars")
        if name in case.arguments and case.arguments[name] is None
    ]
    text = f'Invalid args for tool "Read": {"; ".join(texts)}'
    return (True, f"<system>ERROR: Tool execution failed.</system>\n{text}") if texts else own


def _holds_nul(case: Case) -> bool:
    return b"\0" in case.contents()


def _no_room(case: Case, own: Answer) -> Answer:
    """Return the refusal of an answer whose status has no room."""
    most = case.arguments.get("max_chars")
    if own[0] or type(most) is not int or len(own[1]) <= most:
        return own
    is_status = "No lines read" in own[1] or (case.arguments.get("line_offset") or 1) < 0
    what = "the Read status" if is_status else "file text and the Read status"
    text = f"max_chars={most} is too small for {what}. Increase max_chars."
    return True, f"<system>ERROR: Tool execution failed.</system>\n{text}"


def _too_small(case: Case) -> bool:
    most = case.arguments.get("max_chars")
    return type(most) is int and most < 1000


_SUFFIXES = frozenset(
    [
        ".zip",
        ".exe",
        ".docx",
        ".mp3",
        ".gz",
        ".so",
        ".class",
        ".jpg",
        ".gif",
        ".webp",
        ".ico",
        ".xlsx",
        ".wasm",
        ".pdf",
        ".png",
        ".bin",
        ".mp4",
        ".tar",
        ".7z",
    ]
)
RULES = (
    WRONG,
    STRICT,
    LARGE,
    OUTSIDE,
    Rule("the first 8,192 bytes decide on binary files", answer=_whole_file),
    Rule("the encoding of a text in UTF-16 is not named", answer=_encoding_named),
    Rule("max_chars is too small", refused=_too_small),
    BOTH_OUTSIDE,
    Rule("the contents decide on binary files, not the name", answer=_by_name),
    Rule("a slash after a name is ignored", answer=_below_file),
    BINARY,
    SURROGATES,
    Rule("binary files are refused", refused=_holds_nul, refused_here=_holds_nul),
    Rule("the line ends of the answer decide on mixed ones", files=_escaped, answer=_mixed),
    Rule("null is absent", answer=_null),
    Rule("a status has room that max_chars does not give", answer=_no_room),
    Rule("a backslash is part of a name", answer=_with_slashes),
    Rule("a backslash is part of a name", refused_here=lambda case: "\\" in case.arguments["path"]),
    Rule("a path that names no file", refused=lambda case: case.names_nothing),
)
