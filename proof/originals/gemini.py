"""Gemini CLI's `read_file` and `read_many_files`, and the declared differences of the `gemini` dialect from it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import BINARY, EMPTY_PIECE, STRICT, WRONG
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "gemini"
PEER = "gemini-cli-core"


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("gemini.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self.ask({"tool": tool, "args": arguments})
        content = answer["content"]
        if isinstance(content, dict):
            content = [_block(content)]
        elif isinstance(content, list):
            blocks = [_block(one) for one in content]
            is_text = all(block["type"] == "text" for block in blocks)
            content = "".join([block["text"] for block in blocks]) if is_text else blocks
        return answer["failed"], content


def _block(content: Any) -> dict[str, Any]:
    if isinstance(content, str):
        return {"type": "text", "text": content}
    data = content["inlineData"]
    return {"type": "image", "data": data["data"], "mimeType": data["mimeType"]}


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file, or random patterns."""
    if rng.random() < 0.15:
        return "read_many_files", _random_patterns(rng, root, names)
    arguments: dict[str, Any] = {"file_path": random_path(rng, root, names)}
    for name in ("start_line", "end_line"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read_file", spoiled(rng, arguments, "file_path")


PATTERNS = [
    *("*", "**", "**/*", "*.txt", "**/*.py", "src/**", "src/*", "src/**/*.md", "**/*.{md,json}", "{src,docs}/*"),
    *(
        "?ong.log",
        "[a-l]*",
        "[^a-l]*",
        "**/*[0-3].*",
        "SRC/*",
        "Src/Deep/*",
        "*.TXT",
        ".hidden/*",
        "linked/*",
        "**/deep/**",
    ),
    *(".", "src", "src/", "./long.log", "./src/*", "../outside*", "src/../long.log", "*.png", "**/*.png"),
    *(
        "a b/*",
        "nosuch*",
        "no/such/*",
        "!*",
        "#*",
        "**/.env",
        "*.bin",
        "binary*",
        "build/*",
        "**/node_modules/**",
        "link*",
    ),
    *("GEMINI.md", "*.md", "dangling*", "out.txt", "linked", "linked/deep/*", "**/linked/*", "*/*", "src/*/*", "*.pak"),
]


def _random_patterns(rng: random.Random, root: Path, names: list[str]) -> dict[str, Any]:
    if not (root / "build").exists():
        for name in (
            "build/out.js",
            "node_modules/p/index.js",
            "src/Build/x.txt",
            "GEMINI.md",
            "a.pak",
            "[x].md",
            "x.pyc",
        ):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(f"text of {name}\n")

    def pattern() -> str:
        chance = rng.random()
        if chance < 0.7:
            return rng.choice(PATTERNS)
        name = rng.choice([*names, "[x].md", "build/out.js"])
        return name.upper() if chance < 0.75 else f"{root}/{name}" if chance < 0.8 and name else name or "*.csv"

    arguments: dict[str, Any] = {"include": [pattern() for _ in range(rng.choice([0, 1, 1, 1, 2, 3]))]}
    if rng.random() < 0.4:
        arguments["exclude"] = [pattern() for _ in range(rng.choice([0, 1, 2]))]
    if rng.random() < 0.3:
        arguments["useDefaultExcludes"] = rng.random() < 0.3
    if rng.random() < 0.03:
        arguments[rng.choice(["include", "exclude", "useDefaultExcludes"])] = rng.choice(["x", 3, [3], [""], None])
    return arguments


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None."""
    (their_error, their_text), (our_error, our_text) = theirs, ours
    text, own = str(their_text), str(our_text)
    if tool == "read_many_files" and not their_error and not our_error:
        return _explain_many(their_text, our_text)
    if text == "Error during file search: empty pattern list":
        return "an exclusion that matches nothing is no error"
    if their_error and our_error:
        if text.startswith("params/") or own.startswith("params/"):
            return "wrong arguments are refused in other words"
        if "Path not in workspace" in text and "Path not in workspace" in own:
            return "a refusal names the path that was asked for"
        if "Could not read file" in own or "Error reading file" in own:
            return "an error of the system has other words"
        return "wrong arguments are refused first" if own.startswith("start_line cannot") else None
    if their_error and own.startswith("Cannot display"):
        return None
    if not their_error and our_error and "is after the end" in own:
        return "a start after the end is an error with the number of lines"
    if their_error or our_error:
        return "wrong arguments are refused in other words" if "must be" in text + own else None
    if not isinstance(their_text, str):
        return "a file that is not an image is not sent as one" if isinstance(our_text, str) else None
    if "binary file" in text or "binary file" in own:
        return "NUL in the first 8,192 bytes makes a file binary, and nothing else does"
    if own.replace("\ufffd", "") == text:
        return "half a character of UTF-16 is shown as U+FFFD"
    # The original counts the empty piece after a final line feed as a line, and always names a next section.
    plain = [re.sub(r"lines \d+-\d+ of \d+ total lines", "lines", one) for one in (text, own)]
    plain = [re.sub(r" For example, .*\.", "", one) for one in plain]
    bodies = [one.partition("--- FILE CONTENT (truncated) ---\n")[2] or one for one in plain]
    if plain[0] == plain[1]:
        return "the notice counts lines that exist, and names a next section only if there is one"
    if bodies[0].rstrip("\n") == bodies[1].rstrip("\n"):
        return "a final line feed ends the last line"
    return None


def _explain_many(theirs: Any, ours: Any) -> str | None:
    files, own_files = _files(theirs), _files(ours)
    reasons = {_reason(name, files.get(name), own_files.get(name)) for name in {*files, *own_files}} - {""}
    if None in reasons:
        return None
    return min([reason for reason in reasons if reason], default="skipped files are listed after the content")


def _reason(name: str, text: str | None, own: str | None) -> str | None:
    """Return the declared difference between the texts of one file, "" if they are equal, or None."""
    if text == own:
        return ""
    if text is None:
        if "[" in name:
            return "a name with the signs of a pattern is found in any case, and as an absolute path"
        return "a file that is not an image is not sent as one" if own == "\n\nnot an image\n\n\n" else None
    if own is None and Path(name).parent.resolve() != Path(name).parent:
        return "a link to a directory is followed only where a pattern names it"
    if own is None:
        return "a file that is not an image is not sent as one" if text == "bm90IGFuIGltYWdlCg==" else None
    if "Cannot display content of binary file" in text + own:
        return "NUL in the first 8,192 bytes makes a file binary, and nothing else does"
    return "half a character of UTF-16 is shown as U+FFFD" if own.replace("\ufffd", "") == text else None


def _files(content: Any) -> dict[str, str]:
    """Return the text of each file, and images by their data."""
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    images = {block["data"]: block["data"] for block in blocks if block["type"] != "text"}
    text = "".join([block["text"] for block in blocks if block["type"] == "text"])
    text = text.partition("\n--- End of content ---")[0]
    pieces = re.split(r"^--- (/.*) ---$", text, flags=re.MULTILINE)
    return {**images, **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


RULES = (WRONG, STRICT, EMPTY_PIECE, BINARY)
