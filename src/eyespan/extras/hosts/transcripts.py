"""Find the reads in the transcripts of hosts: Claude Code's JSON lines, Codex sessions, Gemini CLI's chats.

A transcript is parsed value by value, and nothing in it is followed or run. Lines that are no JSON, records of unknown
form and results without a call are passed over; `Transcript.records` counts what was looked at, so that a file without
any known record can be reported.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyespan.dialects.forms import COUNT_FIELDS, FIRST_FIELDS, PATH_FIELDS, is_line

PLACES = ("~/.claude/projects", "~/.codex/sessions", "~/.gemini/tmp")
"""Where hosts keep their transcripts."""
MAX_LINE_BYTES = 64 << 20
"""A longer line of a transcript is passed over."""
READ_TOOLS = {"Read", "read_file", "ReadFile", "read", "view", "read_text_file"}
"""Names of read tools, without the prefix of an MCP server."""


@dataclass(frozen=True, slots=True)
class HostRead:
    """One read of a file by a host, and its answer."""

    path: str
    first: int | None
    last: int | None
    """The lines that were asked for; None: from the first, to the last that the tool shows."""
    answer: str


@dataclass(slots=True)
class Transcript:
    """The reads of one transcript, in their order."""

    source: str
    host: str = ""
    directory: str = ""
    """The directory that the host worked in."""
    records: int = 0
    reads: list[HostRead] = field(default_factory=list)


def sessions(paths: list[str]) -> Iterator[Transcript]:
    """Yield the sessions of transcripts and of directories of them, in the order of their names. Raises: OSError."""
    for path in [Path(path).expanduser() for path in paths]:
        files = sorted([*path.rglob("*.jsonl"), *path.rglob("*.json")]) if path.is_dir() else [path]
        for file in files:
            yield _session(file)


def _session(file: Path) -> Transcript:
    session = Transcript(str(file))
    calls: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for record in _records(file):
        for name, takes in FORMS.items():
            if takes(record, session, calls):
                session.host = session.host or name
                session.records += 1
                break
    return session


def _records(file: Path) -> Iterator[Mapping[str, Any]]:
    with open(file, "rb") as lines:
        read = lines.read if file.suffix == ".json" else lines.readline
        while data := read(MAX_LINE_BYTES + 1):
            yield from _objects(data)


def _objects(data: bytes) -> Iterator[Mapping[str, Any]]:
    try:
        value = json.loads(data) if len(data) <= MAX_LINE_BYTES else None
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value
        messages = value.get("messages")
        yield from [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else ()


# --- the forms of transcripts ----------------------------------------------------------------------------------------

_Calls = dict[str, tuple[str, Mapping[str, Any]]]


def _claude_code(record: Mapping[str, Any], session: Transcript, calls: _Calls) -> bool:
    blocks = _at(record, "message", "content")
    if record.get("type") not in ("assistant", "user") or not isinstance(blocks, list):
        return False
    session.directory = session.directory or _text(record.get("cwd"))
    for block in blocks:
        kind = _at(block, "type")
        if kind == "tool_use" and isinstance(block.get("input"), dict):
            calls[_text(block.get("id"))] = (_text(block.get("name")), block["input"])
        elif kind == "tool_result":
            name, arguments = calls.pop(_text(block.get("tool_use_id")), ("", {}))
            if not block.get("is_error"):
                _add(session, name, arguments, _joined(block.get("content")))
    return True


def _codex(record: Mapping[str, Any], session: Transcript, calls: _Calls) -> bool:
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return False
    session.directory = session.directory or _text(payload.get("cwd"))
    kind, call_id = payload.get("type"), _text(payload.get("call_id"))
    if kind in ("function_call", "local_shell_call"):
        calls[call_id] = (_text(payload.get("name")) or "shell", _arguments(payload))
    elif kind == "function_call_output":
        output = payload.get("output")
        if isinstance(output, str) and output.startswith("{"):
            output = next(_objects(output.encode("utf-8", "replace")), {}).get("output", output)
        _add(session, *calls.pop(call_id, ("", {})), _joined(output))
    return True


def _gemini(record: Mapping[str, Any], session: Transcript, calls: _Calls) -> bool:
    made = record.get("toolCalls")
    if not isinstance(made, list):
        return False
    project = Path(session.source).absolute().parent.parent / ".project_root"
    if not session.directory and project.is_file():
        session.directory = project.read_text("utf-8").strip()
    for call in made:
        arguments, results = _at(call, "args"), _at(call, "result")
        if isinstance(arguments, dict) and isinstance(results, list) and call.get("status") in (None, "success"):
            texts = [_text(_at(one, "functionResponse", "response", "output")) for one in results]
            _add(session, _text(call.get("name")), arguments, "\n".join(filter(None, texts)))
    return True


FORMS = {"Claude Code": _claude_code, "Codex": _codex, "Gemini CLI": _gemini}


def _at(value: Any, *keys: str) -> Any:
    """Return the value below some keys; None if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _joined(content: Any) -> str:
    return "\n".join([_text(_at(block, "text")) for block in content]) if isinstance(content, list) else _text(content)


def _arguments(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    given = payload.get("arguments") or payload.get("action")
    if isinstance(given, str):
        return next(_objects(given.encode("utf-8", "replace")), {})
    return given if isinstance(given, dict) else {}


# --- reads of tools and of shell commands ----------------------------------------------------------------------------


def _add(session: Transcript, name: str, arguments: Mapping[str, Any], answer: str) -> None:
    tool = name.rpartition("__")[2]
    if not answer:
        return
    if tool == "read" and "files" in arguments:
        parts = re.split(r"^(?=> )", answer, flags=re.MULTILINE)[1:]
        session.reads += [read for read in map(_native_part, parts) if read]
        return
    if tool in READ_TOOLS:
        if path := next((arguments[key] for key in PATH_FIELDS if _text(arguments.get(key))), ""):
            session.reads.append(HostRead(path, *_range(arguments), answer))
        return
    command = arguments.get("command") or arguments.get("cmd")
    if isinstance(command, list):
        is_shell = command[:1] and _text(command[0]).endswith("sh")
        command = command[-1] if is_shell else shlex.join(map(str, command))
    if read := shell_read(_text(command)):
        session.reads.append(HostRead(*read, answer))


def _range(arguments: Mapping[str, Any]) -> tuple[int | None, int | None]:
    first = next((arguments[key] for key in FIRST_FIELDS if is_line(arguments.get(key))), None)
    count = next((arguments[key] for key in COUNT_FIELDS if is_line(arguments.get(key))), None)
    last = arguments.get("end_line")
    if not is_line(last):
        last = None if count is None else (first or 1) + count - 1
    return first if first is not None or last is None else 1, last


def _native_part(part: str) -> HostRead | None:
    """Return the read of one part of an answer of `native`, whose header is `> a.py:1-9/80 #hash` or
    `> a.py::name 1-9/80 #hash`. The path of a part that is no range of lines has its selector."""
    selector, _, total = part.partition("\n")[0].rpartition(" #")[0].removeprefix("> ").rpartition("/")
    path, _, lines = selector.rpartition(" " if "::" in selector else ":")
    first, _, last = lines.partition("-")
    if not total.isdecimal():
        return None
    if first.isdecimal() and (last or first).isdecimal():
        return HostRead(path.partition("::")[0], int(first), int(last or first), part)
    return HostRead(selector, None, None, part)


def shell_read(command: str) -> tuple[str, int | None, int | None] | None:
    """Return the path and the lines that a command prints, if it is `cat`, `nl`, `head` or `sed -n` of one file."""
    try:
        words = shlex.split(command.rpartition("&&")[2])
    except ValueError:
        return None
    if any(mark in words for mark in (";", ">", ">>", "||", "<")):
        return None
    stages: list[list[str]] = [[]]
    for word in words:
        stages.append([]) if word == "|" else stages[-1].append(word)
    path, first, last = "", None, None
    for stage in stages:
        names = [word for word in stage[1:] if not word.startswith("-")]
        match = next((found for word in names if (found := re.fullmatch(r"(\d+)(?:,(\d+|\$))?p", word))), None)
        if stage[:1] == ["sed"] and "-n" in stage and match:
            first, last = int(match[1]), None if match[2] == "$" else int(match[2] or match[1])
            names.remove(match[0])
        elif stage[:1] == ["head"]:
            count = next((word.lstrip("-n") for word in stage[1:] if word.lstrip("-n").isdecimal()), "10")
            first, last = 1, int(count)
            names = [word for word in names if word != count]
        elif stage[:1] not in (["cat"], ["nl"]):
            return None
        if len(names) > 1 or (names and path):
            return None
        path = path or "".join(names)
    return (path, first, last) if path else None
