"""The reference MCP server for file systems, and the declared differences of the `filesystem` dialect from it."""

from __future__ import annotations

import base64
import json
import os
import random
import re
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

from eyespan.extras.families.filesystem import size_text
from proof.originals.rules import BOTH_OUTSIDE, GENERAL, Answer, Case, Rule, collated, counted_empty
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
        if blocks[0]["type"] != "text":
            return False, blocks
        text = re.sub(r"(?s)\AMCP error -32602: .*", "[invalid]", blocks[0]["text"])
        if tool == "get_file_info":
            text = re.sub("created: .*", "created: [time]", text).replace("(Coordinated Universal Time)", "(UTC)")
        return bool(result.get("isError")), text

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


def parts(case: Case, answer: Answer) -> list[tuple[str, dict[str, Any], Answer]]:
    """Return the calls for each of several files that stand for one call, and their shares of its answer."""
    if answer[0] or case.tool != "read_multiple_files":
        return []
    found, rest = [], str(answer[1])
    paths = case.arguments["paths"]
    for path, after in zip(paths, [*paths[1:], None], strict=True):
        share = re.split(f"\n---\n(?={_shown(after)}:)", rest, maxsplit=1)[0] if after is not None else rest
        rest = rest[len(share) + len("\n---\n") :]
        text = re.sub(rf"\A{_shown(path)}:(\n| Error - )", "", share)
        is_error = len(text) < len(share) and share[: -len(text)].endswith(" Error - ")
        found.append(("read_text_file", {"path": path}, (is_error, text if is_error else text.removesuffix("\n"))))
    return found


def _shown(path: str) -> str:
    """Return what finds a path in an answer; half a pair of surrogates may be written with an escape."""
    return re.escape(path).replace("\ud800", r"(?:\ud800|\\ud800)")


def _listed(case: Case, own: Answer) -> Answer:
    """Return a listing in the order of a locale, or by the sizes of targets."""
    if own[0] or case.tool != "list_directory_with_sizes":
        return own
    directory = case.file()
    names = sorted(os.listdir(directory), key=os.fsencode)
    sizes = {}
    for name in names:
        try:
            sizes[name] = (directory / name).stat().st_size
        except OSError:
            sizes[name] = 0
    by_name = case.arguments.get("sortBy", "name") == "name"
    chosen = collated(tuple(names)) if by_name else sorted(names, key=lambda name: -sizes[name])
    lines, total = [], 0
    for name in chosen:
        is_directory = (directory / name).is_dir() and not (directory / name).is_symlink()
        total += 0 if is_directory else sizes[name]
        end = "" if is_directory else size_text(sizes[name]).rjust(10)
        lines.append(f"{'[DIR]' if is_directory else '[FILE]'} {name.ljust(30)} {end}")
    return own[0], "\n".join([*lines, *str(own[1]).split("\n")[-3:-1], f"Combined size: {size_text(total)}"])


def _from_the_end(case: Case, own: Answer) -> Answer:
    """Return last lines without the line feed at their end."""
    is_tail = "tail" in case.arguments and not own[0]
    return own[0], own[1].removesuffix("\n") if is_tail else own[1]


def _invalid(case: Case, own: Answer) -> Answer:
    return (True, "[invalid]") if case.is_invalid else own


def _created(case: Case, own: Answer) -> Answer:
    return own[0], own[1].replace("created: unknown", "created: [time]") if isinstance(own[1], str) else own[1]


def _by_suffix(case: Case, own: Answer) -> Answer:
    """Return a file with the type that its suffix has in the original."""
    if own[0] or case.tool != "read_media_file":
        return own
    suffix = case.file().suffix.lower().removeprefix(".")
    kind = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "svg": "image/svg+xml"}
    kind |= {"bmp": "image/bmp", "mp3": "audio/mpeg"}
    media_type = kind.get(suffix, "application/octet-stream")
    what = media_type.partition("/")[0] if suffix in kind else "file"
    return False, [{"type": what, "data": base64.b64encode(case.contents()).decode(), "mimeType": media_type}]


def _targets(case: Case, own: Answer) -> Answer:
    """Return the answer with links that lead nowhere or outside refused as the original refuses them."""

    def refusal(found: re.Match[str]) -> str:
        path = os.path.normpath(case.root / found[1])
        real = os.path.realpath(path)
        if found[0].startswith("ENOTDIR"):
            return found[0].replace(found[1], real)
        if found[0].startswith("ENOENT"):
            known = os.path.isdir(os.path.dirname(path))
            return found[0] if known else f"Parent directory does not exist: {os.path.dirname(path)}"
        is_link = path != real and f"{path}/".startswith(f"{case.root}/")
        what, path = ("symlink target", real) if is_link else ("path", path)
        return f"Access denied - {what} outside allowed directories: {path} not in"

    text = str(own[1])
    text = re.sub(r"Access denied - path outside allowed directories: (.*) not in", refusal, text)
    return own[0], re.sub(r"(?:ENOENT|ENOTDIR): [a-z ]+, \w+ '(.*)'", refusal, text) if own[0] else text


def _no_lines(case: Case, own: Answer) -> Answer:
    """Return nothing for a directory of which a negative number of lines is asked for."""
    is_negative = min(case.arguments.get("head") or 0, case.arguments.get("tail") or 0) < 0
    return (False, "") if own[0] and is_negative and case.file().is_dir() else own


def _large(case: Case) -> bool:
    return any(type(value) in (int, float) and abs(value) >= 2**53 for value in case.arguments.values())


def _looks_alike(case: Case) -> bool:
    path = case.file()
    names = [unicodedata.normalize("NFC", name) for name in os.listdir(path.parent)]
    return not path.exists() and unicodedata.normalize("NFC", path.name) in names


RULES = (
    BOTH_OUTSIDE,
    *GENERAL,
    Rule("numbers over 2**53 are refused", refused=_large, refused_here=_large),
    Rule("composed and decomposed letters are unlike", refused_here=_looks_alike),
    Rule("null is absent", answer=_invalid),
    Rule("the time of creation is not known", answer=_created),
    Rule("a final line feed ends the last line", files=counted_empty, answer=_from_the_end),
    Rule("names are sorted by code point, and a link that leads outside has no size", answer=_listed),
    Rule("kinds of media by their contents", answer=_by_suffix),
    Rule("an error names a link, not its target", answer=_targets),
    Rule("a directory is an error, also for a negative number of lines", answer=_no_lines),
)
