"""The reference MCP server for file systems, and the declared differences of the `filesystem` dialect from it."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path
from typing import Any

from proof.originals.rules import GENERAL
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "filesystem"
PEER = "server-filesystem"


class Original:
    """The original, running over stdio."""

    def __init__(self, place: Path, root: Path) -> None:
        entry = place / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
        self._process = subprocess.Popen(
            ["node", str(entry), str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._id = 0
        client = {"name": "proof", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return True, answer["error"]["message"]
        result = answer["result"]
        blocks = result["content"]
        blocks = [
            {"type": "file", "data": one["resource"]["blob"], "mimeType": one["resource"]["mimeType"]}
            if one["type"] == "resource"
            else one
            for one in blocks
        ]
        return bool(result.get("isError")), blocks[0]["text"] if blocks[0]["type"] == "text" else blocks

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdout is not None
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        while True:
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
            if answer.get("id") == self._id:
                return answer


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random tool and arguments."""

    def path() -> str:
        return random_path(rng, root, names)

    tool = rng.choice(
        ["read_text_file"] * 6
        + ["read_file", "read_media_file", "read_multiple_files", "list_directory", "list_directory_with_sizes"]
        + ["directory_tree", "search_files", "get_file_info", "list_allowed_directories"]
    )
    arguments: dict[str, Any] = {"path": path()}
    count = random_number(rng)
    if tool in ("read_text_file", "read_file"):
        choice = rng.random()
        if choice < 0.4:
            arguments["head"] = count
        elif choice < 0.8:
            arguments["tail"] = count
        if rng.random() < 0.05:
            arguments.update(head=2, tail=2)
    elif tool == "read_multiple_files":
        arguments = {"paths": [path() for _ in range(rng.choice([0, 1, 2, 5]))]}
    elif tool == "list_directory_with_sizes":
        arguments["path"] = rng.choice([".", "src", "docs", "linked", path()])
        if rng.random() < 0.5:
            arguments["sortBy"] = rng.choice(["name", "size", "date"])
    elif tool in ("directory_tree", "search_files"):
        base = rng.choice([".", "src", "linked", "a b", path()])
        arguments["path"] = base if base.startswith("/") else f"{root}/{base}"
        globs = ["*", "**", "**/*.py", "*.txt", "src/**", "**/deep", "{src,docs}/*", "?ink*", "[a-l]*", "**/*[0-3].*"]
        if tool == "search_files":
            arguments["pattern"] = rng.choice(globs)
        if rng.random() < 0.6:
            arguments["excludePatterns"] = rng.sample([*globs[2:], "deep", "docs", "file1.txt"], rng.choice([1, 2]))
    elif tool == "list_directory":
        arguments["path"] = rng.choice([".", "src", "linked", path()])
    elif tool == "list_allowed_directories":
        arguments = {}
    return tool, spoiled(rng, arguments, "path") if "path" in arguments else arguments


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None."""
    (their_error, their_text), (our_error, our_text) = theirs, ours
    text, own = str(their_text), str(our_text)
    if None in arguments.values() and "received null" in text:
        return "null is absent"
    if their_error and our_error:
        if "validation" in text or text.startswith("MCP error -32602"):
            return "wrong arguments are refused in other words" if own.startswith("Invalid arguments: ") else None
        if text.startswith("Parent directory does not exist"):
            return "a link that leads nowhere is a missing file"
        if "outside allowed directories" in text and "outside allowed directories" in own:
            return "a link that leads outside is refused without its target"
        codes = [re.match(r"E[A-Z]+", one) for one in (text, own)]
        if codes[0] and codes[1] and codes[0][0] == codes[1][0]:
            return "an error of the system names another system call"
    if not their_error and own.startswith("EISDIR") and -1 in (arguments.get("head"), arguments.get("tail")):
        return "a directory is an error, also for a negative number of lines"
    if tool in ("read_text_file", "read_file") and "tail" in arguments and not their_error and not our_error:
        # The original counts the empty piece after a final line feed as a line.
        if own.endswith("\n") and own.removesuffix("\n").partition("\n")[2] + "\n" == text:
            return "a final line feed ends the last line"
        if own.endswith("\n") and text == "" and own.count("\n") == 1:
            return "a final line feed ends the last line"
    if tool == "list_directory_with_sizes" and not their_error and not our_error:
        rows = [
            [row for row in one.split("\n") if "out.txt" not in row and "Combined" not in row] for one in (text, own)
        ]
        if rows[0] == rows[1]:
            return "a link that leads outside has no size"
        return "names are sorted by code point" if sorted(rows[0]) == sorted(rows[1]) else None
    if tool == "get_file_info":
        plain = [re.sub(r"created: .*|\(.*\)", "", one) for one in (text, own)]
        return "the creation time is not known, and zones have their short names" if plain[0] == plain[1] else None
    if tool == "read_media_file" and not their_error and not our_error:
        block, mine = their_text[0], our_text[0]
        kinds = block["type"], mine["type"]
        if kinds == ("image", "resource"):
            return "a file that is not an image is not sent as one"
        if kinds == ("resource", "resource") and block["resource"]["blob"] == mine["resource"]["blob"]:
            return "a resource has the type of its suffix"
    if tool == "read_multiple_files" and not their_error and not our_error:
        cut = [re.sub(r"Error - .*", "Error", one) for one in (text, own)]
        return "an error of the system names another system call" if cut[0] == cut[1] else None
    if tool == "directory_tree" and their_error and not our_error:
        return "a directory that cannot be listed does not stop the tree"
    return None


RULES = GENERAL
