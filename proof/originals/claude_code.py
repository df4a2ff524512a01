"""Claude Code's `Read`, and the declared differences of the `claude@2.1` dialect from it.

The program runs against a model on loopback whose turns are the calls. That model counts tokens as eyespan does.
"""

from __future__ import annotations

import base64
import errno
import json
import os
import random
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from eyespan.dialects.claude import too_large
from eyespan.extras.families.claude_code import ClaudeUpstream
from eyespan.tokens import estimate
from proof.originals.rules import (
    BINARY,
    BLANKS,
    BOM_LINE,
    BOTH_OUTSIDE,
    EMPTY_PIECE,
    HALF,
    OUTSIDE,
    STRICT,
    SURROGATES,
    WRONG,
    Answer,
    Case,
    Rule,
)
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "claude@2.1"
_PROGRAM = "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
PEER = ("claude-code", "npm", ("@anthropic-ai/claude-code@2.1.328",), _PROGRAM)
TURN_CALLS = 50
RUN_CALLS = 200
"""Each request repeats the results before it, so a conversation has so many calls."""


class Original:
    """The program, without settings of this user and with loopback as its only network."""

    def __init__(self, place: Path, root: Path) -> None:
        self._program, self._root = place / _PROGRAM, root

    def call_all(self, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[Answer]:
        for at in range(0, len(calls), RUN_CALLS):
            yield from self._run([arguments for _, arguments in calls[at : at + RUN_CALLS]])

    def _run(self, calls: Sequence[dict[str, Any]]) -> list[Answer]:
        with tempfile.TemporaryDirectory() as home, _Model(calls) as model:
            environment = {
                "HOME": home,
                "PATH": os.environ["PATH"],
                "CLAUDE_CONFIG_DIR": f"{home}/config",
                "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "dummy",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "IS_SANDBOX": "1",
                "HTTP_PROXY": "http://127.0.0.1:9",
                "HTTPS_PROXY": "http://127.0.0.1:9",
                "NO_PROXY": "127.0.0.1",
            }
            command = [self._program, "-p", "read", "--strict-mcp-config", "--allowedTools", "Read"]
            done = subprocess.run(
                command, cwd=self._root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120
            )
        if done.returncode or len(model.results) < len(calls):
            raise SystemExit(f"Claude Code answered {len(model.results)} of {len(calls)} calls: {done.stderr!r}")
        return [_answer(model.results[f"toolu_{at}"]) for at in range(len(calls))]

    def end(self) -> None:
        pass


class _Model(ThreadingHTTPServer):
    """A model on loopback that makes the calls, so many in each turn, and keeps their results."""

    def __init__(self, calls: Sequence[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.calls = calls
        self.results: dict[str, dict[str, Any]] = {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> _Model:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def turn(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the blocks of the next message."""
        blocks = [block for message in request["messages"] for block in message["content"] if isinstance(block, dict)]
        results = [block for block in blocks if block["type"] == "tool_result"]
        self.results.update({block["tool_use_id"]: block for block in results})
        first = len(results)
        more = range(first, min(first + TURN_CALLS, len(self.calls))) if request.get("tools") else ()
        calls = [{"type": "tool_use", "id": f"toolu_{at}", "name": "Read", "input": self.calls[at]} for at in more]
        return calls or [{"type": "text", "text": "done"}]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Model

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)))
        path = self.path.partition("?")[0]
        if path == "/v1/messages":
            blocks = self.server.turn(request)
            self._send("".join([f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in _events(blocks)]))
        elif path == "/v1/messages/count_tokens":
            text = request["messages"][-1]["content"]
            text = text if isinstance(text, str) else "".join([block.get("text", "") for block in text])
            self._send(json.dumps({"input_tokens": estimate(text.removesuffix("\n"))}))
        else:
            self._send("{}")

    def do_GET(self) -> None:
        self._send("{}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def _send(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if text.startswith("event") else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def _events(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the events of a message in a stream."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "usage": usage}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}}
    for at, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": at, "content_block": start}
        yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    reason = "end_turn" if blocks[0]["type"] == "text" else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


_MARKS = (
    (r"</?tool_use_error>", ""),
    (r"\n\n\[This file (has NUL bytes|is not valid UTF-8)[^\]]*\]\Z", r"[\1]"),
    (r"(?<=\AFile does not exist\.) Note: .*", "[note]"),
    (r" To read it anyway, .*", ""),
    (r"\AFile has an image extension .*", "[image by name]"),
    (r"\AFile is not a valid PDF .*", "[PDF by name]"),
    (r"(?<=\AEISDIR: illegal operation on a directory, read ).*", "[path]"),
    (r"\AInputValidationError: .*", "InputValidationError"),
)
"""Marks in place of long notices and refusals of the program."""


def _answer(result: dict[str, Any]) -> Answer:
    content = result.get("content") or ""
    if isinstance(content, list) and all(block["type"] == "text" for block in content):
        content = "".join([block["text"] for block in content])
    if isinstance(content, str):
        for pattern, mark in _MARKS:
            content = re.sub(pattern, mark, content, flags=re.DOTALL)
        return bool(result.get("is_error")), content
    blocks = []
    for block in content:
        source = block.get("source")
        kind = "image" if block["type"] == "image" else "file"
        is_text = source is None
        blocks.append(block if is_text else {"type": kind, "data": source["data"], "mimeType": source["media_type"]})
    return False, blocks


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"file_path": random_path(rng, root, names)}
    for name in ("offset", "limit"):
        if rng.random() < 0.5:
            arguments[name] = random_number(rng)
    if rng.random() < 0.03:
        arguments["allow_large"] = rng.choice([True, False, "true", None, 1])
    return "Read", spoiled(rng, arguments, "file_path")


_BINARY_NAMES = re.compile(r"(?i).*\.(zip|exe|docx|mp4|mp3|gz|so|class|ico|xlsx|wasm|bin)(/\.?)*")
_IMAGE_NAMES = re.compile(r"(?i).*\.(png|jpg|gif|webp)/*")


def _by_name(case: Case, own: Answer) -> Answer:
    """Return the refusal of a name whose suffix says that the file is binary, or an image or PDF that it is not."""
    path = str(case.arguments["file_path"]).strip()
    data = case.contents("file_path")
    if found := _BINARY_NAMES.fullmatch(path):
        suffix = found[1].lower()
        return True, ClaudeUpstream.own_texts["binary"].replace("{suffix_}", f".{suffix} ")
    if data and _IMAGE_NAMES.fullmatch(path) and not data.startswith(b"\x89PNG"):
        return True, "[image by name]"
    if data and path.rstrip("/").lower().endswith(".pdf") and not data.startswith(b"%PDF-"):
        return True, "[PDF by name]"
    return own


def _with_note(case: Case, own: Answer) -> Answer:
    """Return the answer with the mark of a notice on the encoding of the file."""
    data = case.contents("file_path")
    if own[0] or not isinstance(own[1], str) or data.startswith(b"\xff\xfe"):
        return own
    try:
        data.decode()
    except UnicodeDecodeError:
        return False, own[1] + ("[has NUL bytes]" if b"\0" in data[:8192] else "[is not valid UTF-8]")
    return False, own[1] + ("[has NUL bytes]" if b"\0" in data[:8192] else "")


def _missing(case: Case, own: Answer) -> Answer:
    return (True, f"{own[1]}[note]") if own == (True, "File does not exist.") else own


def _from_zero(case: Case, own: Answer) -> Answer:
    """Return lines that count from 0, as the program numbers them for an `offset` of 0."""
    if int(case.arguments["offset"]) or not isinstance(own[1], str):
        return own
    return own[0], re.sub(r"(?m)^(\d+)\t", lambda found: f"{int(found[1]) - 1}\t", own[1])


def _refused_rest(case: Case, own: Answer) -> Answer:
    """Return the refusal of lines without an end that are too many, or of a file that is too large."""
    arguments = case.arguments
    first, limit = int(arguments.get("offset") or 1), int(arguments.get("limit") or 0)
    data = case.contents("file_path")
    if own[0] or limit > 0 or first < 2 or arguments.get("allow_large") is True:
        return own
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
    cost = estimate("\n".join(text.split("\n")[first - 1 :]).removesuffix("\n"))
    fact = f"({cost} tokens) exceeds maximum allowed tokens (25000)"
    if len(data) > 262_144:
        fact = "(256KB) exceeds maximum allowed size (256KB)"
    return (True, too_large(fact).message) if len(data) > 262_144 or cost > 25_000 else own


def _without_notice(case: Case, own: Answer) -> Answer:
    return own[0], re.sub(r"\[Truncated: PARTIAL view .*\]\Z", "", own[1])


def _whole_pdf(case: Case, own: Answer) -> Answer:
    """Return a PDF as a whole, as the program sends one without `pages`."""
    data, path = case.contents("file_path"), os.path.normpath(case.root / case.arguments["file_path"])
    if not data.startswith(b"%PDF-") or not path.lower().endswith(".pdf"):
        return own
    text = {"type": "text", "text": f"PDF file read: {path} ({len(data)} bytes)"}
    block = {"type": "file", "data": base64.b64encode(data).decode(), "mimeType": "application/pdf"}
    return False, [text, block]


def _feeds(case: Case, own: Answer) -> Answer:
    return own[0], re.sub(r"\r+(?=\n|\Z)", "", own[1])


def _large(case: Case) -> bool:
    return any(type(value) is int and abs(value) >= 2**53 for value in case.arguments.values())


def _no_name(case: Case) -> bool:
    return "\0" in case.arguments["file_path"]


def _directory(case: Case, own: Answer) -> Answer:
    return own[0], re.sub(r"(?<=\AEISDIR: illegal operation on a directory, read ).*", "[path]", own[1])


def _largest(case: Case, own: Answer) -> Answer:
    """Return the answer with the empty piece of a text that is as large as a text may be."""
    data = case.contents("file_path")
    is_largest = len(data) == 262_144 and data.endswith(b"\n") and not own[0]
    return own[0], f"{own[1]}\n{data.count(10) + 1}\t" if is_largest else own[1]


def _loops(case: Case) -> bool:
    try:
        os.stat(os.path.normpath(case.root / str(case.arguments["file_path"])))
    except OSError as error:
        return error.errno in (errno.ELOOP, errno.ENAMETOOLONG)
    return False


def _forbidden(case: Case, own: Answer) -> Answer:
    return (True, "InputValidationError") if case.is_invalid else own


RULES = (
    BLANKS,
    Rule("`~` is a name", refused=lambda case: str(case.arguments["file_path"]).startswith("~")),
    HALF,
    Rule("the empty piece after the last line feed is no line", answer=_largest),
    Rule("a loop of links, and a name that is too long", refused=_loops),
    Rule("a NUL in a path", refused=_no_name),
    Rule("a directory is named as it was asked for", answer=_directory),
    WRONG,
    Rule("numbers of JavaScript that are not exact", refused=_large),
    STRICT,
    OUTSIDE,
    Rule("the working directory and similar names are not named", answer=_missing),
    EMPTY_PIECE,
    BINARY,
    BOM_LINE,
    Rule("kinds by their contents, not by names", answer=_by_name),
    Rule("images by their contents", table={"documents": frozenset()}),
    Rule("the notices on encodings are not written", answer=_with_note),
    Rule("arguments that the schema forbids are taken if they mean something", answer=_forbidden),
    Rule("a PDF comes page by page", answer=_whole_pdf),
    Rule("numbers begin with 1", answer=_from_zero),
    Rule("lines without an end are cut, not refused", answer=_refused_rest),
    Rule("the notice of a first page has other words", answer=_without_notice),
    Rule("one CR is part of a line end", answer=_feeds),
    SURROGATES,
    BOTH_OUTSIDE,
)
