"""OpenCode's `read`, and the declared differences of the `opencode` dialect from it.

The original is a program without a library. It runs as a server with a fake model on loopback, which answers each
prompt with the tool calls to make.
"""

from __future__ import annotations

import base64
import codecs
import json
import os
import random
import re
import subprocess
import tempfile
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from proof.originals.rules import BOTH_OUTSIDE, GENERAL, INVALID, LARGE, NULL, Answer, Case, Rule, collated
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "opencode"
PEER = ("opencode", "npm", ("opencode-linux-x64@1.18.34",), "node_modules/opencode-linux-x64/bin/opencode")
BATCH = 40
"""The calls of one prompt; the program makes them at the same time."""


class Original:
    """The original: its server, and the model that it asks."""

    def __init__(self, place: Path, root: Path) -> None:
        self._model = _Model()
        self._home = tempfile.TemporaryDirectory()
        options = {"baseURL": f"http://127.0.0.1:{self._model.port}/v1", "apiKey": "none"}
        model = {"name": "fake", "tool_call": True, "limit": {"context": 10**9, "output": 10**6}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "fake", "options": options, "models": {"fake": model}}
        config = {
            "provider": {"fake": provider},
            "model": "fake/fake",
            "small_model": "fake/fake",
            "permission": {"*": "allow", "external_directory": "allow", "doom_loop": "allow"},
            "autoupdate": False,
            "share": "disabled",
            "snapshot": False,
            "lsp": False,
            "formatter": False,
        }
        home = self._home.name
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_DATA_HOME": f"{home}/data",
            "XDG_CACHE_HOME": f"{home}/cache",
            "XDG_STATE_HOME": f"{home}/state",
            "OPENCODE_CONFIG_CONTENT": json.dumps(config),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }
        self._process = subprocess.Popen(
            [str(place / "node_modules/opencode-linux-x64/bin/opencode"), "serve", "--port", "0", "--pure"],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        self._address = ""
        for line in self._process.stdout:
            found = re.search(r"http://\S+", line)
            if found:
                self._address = found[0]
                break
        threading.Thread(target=self._process.stdout.read, daemon=True).start()

    def call_all(self, calls: list[tuple[str, dict[str, Any]]]) -> list[tuple[bool, Any]]:
        """Return for each call whether it failed, and its text or its blocks."""
        answers = []
        for at in range(0, len(calls), BATCH):
            answers += self._call_some([arguments for _, arguments in calls[at : at + BATCH]])
        return answers

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._model.end()
        self._home.cleanup()

    def _call_some(self, calls: list[dict[str, Any]]) -> list[tuple[bool, Any]]:
        self._model.calls = calls
        session = self._ask("/session", {})["id"]
        self._ask(f"/session/{session}/message", {"parts": [{"type": "text", "text": "read"}]})
        found: dict[str, tuple[bool, Any]] = {}
        for message in self._ask(f"/session/{session}/message"):
            for part in message["parts"]:
                if part["type"] == "tool":
                    found[part["callID"]] = _answer(part["state"])
        return [found[f"call{number}"] for number in range(len(calls))]

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._address + path, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as response:
            return json.loads(response.read())


def _answer(state: dict[str, Any]) -> tuple[bool, Any]:
    if state["status"] == "error":
        return True, INVALID if "SchemaError" in state["error"] else state["error"]
    blocks = [{"type": "text", "text": state["output"]}]
    for one in state.get("attachments") or []:
        data, kind = one["url"].partition("base64,")[2], one["mime"].partition("/")[0]
        blocks.append({"type": kind, "data": data, "mimeType": one["mime"]})
    return False, blocks[0]["text"] if len(blocks) == 1 else blocks


class _Model:
    """A model that makes the given calls once, and then ends its turn."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.end_headers()
                for delta, reason in model.turn(request):
                    choice = {"index": 0, "delta": delta, "finish_reason": reason}
                    chunk = {"id": "1", "object": "chat.completion.chunk", "model": "fake", "choices": [choice]}
                    self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
                self.wfile.write(b"data: [DONE]\n\n")

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def turn(self, request: dict[str, Any]) -> list[tuple[dict[str, Any], str | None]]:
        """Return what the model streams."""
        is_answered = any(message["role"] == "tool" for message in request["messages"])
        if is_answered or not request.get("tools"):
            return [({"role": "assistant", "content": "done"}, None), ({}, "stop")]
        calls = [
            {
                "index": number,
                "id": f"call{number}",
                "type": "function",
                "function": {"name": "read", "arguments": json.dumps(arguments)},
            }
            for number, arguments in enumerate(self.calls)
        ]
        return [({"role": "assistant", "tool_calls": calls}, None), ({}, "tool_calls")]

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    arguments: dict[str, Any] = {"filePath": random_path(rng, root, names)}
    for name in ("offset", "limit"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read", spoiled(rng, arguments, "filePath")


def _path(case: Case) -> str:
    """Return the path that the original names."""
    path = case.arguments["filePath"]
    return str(path if os.path.isabs(path) else os.path.normpath(case.root / path))


def _below_file(case: Case, own: Answer) -> Answer:
    """Return the error for a path below something that is no directory, or that the system refuses."""
    path = _path(case)
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        if not isinstance(error, FileNotFoundError):
            return True, f"BadResource: FileSystem.stat ({path})"
    return own


def _by_kind(case: Case, own: Answer) -> Answer:
    """Return the file as the original shows its kind, by its name and the share of control characters."""
    path, data = _path(case), case.contents("filePath")
    suffix = os.path.splitext(path)[1].lower()
    if not os.path.isfile(path):
        return own
    if suffix in _MEDIA:
        kind = _MEDIA[suffix]
        text = f"{'PDF' if suffix == '.pdf' else 'Image'} read successfully"
        if suffix != ".pdf" and not data.startswith(b"\x89PNG"):
            return False, f"{text}\n\n[1 image omitted: could not be resized below the image size limit.]"
        block = {"type": kind.partition("/")[0], "data": base64.b64encode(data).decode(), "mimeType": kind}
        return False, [{"type": "text", "text": text}, block]
    sample = data[:4096]
    share = sum([byte < 9 or 13 < byte < 32 for byte in sample]) / (len(sample) or 1)
    is_binary = suffix.removeprefix(".") in _BINARIES or b"\0" in sample or share > 0.3
    return (True, f"Cannot read binary file: {path}") if is_binary else own


_MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp"}
_MEDIA[".pdf"] = "application/pdf"
_BINARIES = frozenset(["zip", "tar", "gz", "exe", "dll", "so", "class", "docx", "xlsx", "bin", "dat", "wasm", "pyc"])


def _listed(case: Case, own: Answer) -> Answer:
    """Return the listing of a directory in the order of a locale."""
    path = _path(case)
    if not os.path.isdir(path):
        return own
    names = [name + "/" * os.path.isdir(f"{path}/{name}") for name in os.listdir(path)]
    names = collated(tuple(names))
    first, limit = case.arguments.get("offset") or 1, case.arguments.get("limit")
    shown = names[int(first) - 1 :][: 2000 if limit is None else int(limit)]
    listed = "\n".join(shown)
    return own[0], re.sub(r"(?s)(?<=<entries>\n).*(?=\n\n\()", lambda _: listed, own[1])


def _suggested(case: Case, own: Answer) -> Answer:
    """Return the error for a missing file with the first names in the order of the file system."""
    path = _path(case)
    if os.path.lexists(path) or not own[0]:
        return own
    directory, base = os.path.dirname(path), os.path.basename(path).lower()
    names = os.listdir(directory) if os.path.isdir(directory) else []
    similar = [f"{directory}/{name}" for name in names if base in name.lower() or name.lower() in base][:3]
    lines = ["", "Did you mean one of these?", *similar] if similar else []
    return True, "\n".join([f"File not found: {path}", *lines])


def _whole_text(data: bytes) -> bytes:
    """Return a text without a character that its end cuts off."""
    return codecs.getincrementaldecoder("utf-8")("replace").decode(data).encode() if data else data


RULES = (
    *GENERAL,
    NULL,
    LARGE,
    BOTH_OUTSIDE,
    Rule("an error of the system has other words", answer=_below_file),
    Rule("suggestions are other names, in order", answer=_suggested),
    Rule("the contents decide on kinds, not the name", answer=_by_kind),
    Rule("names are sorted by code point", answer=_listed),
    Rule("a character that is cut off at the end of the file is shown as U+FFFD", files=_whole_text),
)
