"""pi's `read`, and the declared differences of the `pi` dialect from it. Each is checked by computing it again."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import GENERAL
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "pi"
PEER = "pi-coding-agent"


class Original(Child):
    """The original, called in its own environment."""

    def __init__(self, place: Path, root: Path) -> None:
        module = place / "node_modules/@earendil-works/pi-coding-agent/dist/core/tools/read.js"
        super().__init__(["node", str(Path(__file__).with_name("pi.mjs")), str(module), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self.ask({"arguments": arguments})
        blocks = answer["content"]
        is_text = all(block["type"] == "text" for block in blocks)
        return answer["failed"], "".join([block["text"] for block in blocks]) if is_text else blocks


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    arguments: dict[str, Any] = {"path": random_path(rng, root, names)}
    for name in ("offset", "limit"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    return "read", spoiled(rng, arguments, "path")


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None."""
    (their_error, text), (our_error, own) = theirs, ours
    if our_error and "outside" in str(own):
        return "files outside the roots are refused"
    if our_error and their_error:
        file = root / arguments["path"].lstrip("@")
        if "beyond end of file" in text and "beyond end of file" in own and file.is_file():
            lines = file.read_bytes().split(b"\n")
            existing = len(lines) - (not lines[-1])
            is_counted = f"({len(lines)} lines total)" in text and f"({existing} lines total)" in own
            return "lines that exist are counted" if is_counted else None
        return "an error has other words" if type(text) is type(own) and text[:6] == own[:6] else None
    if isinstance(text, list) or isinstance(own, list):
        return "an image is scaled or transcoded in another way" if type(text) is type(own) else None
    if "exceeds 50.0KB limit" in text and "exceeds 50.0KB limit" in own:
        return "advice about shell commands is left out"
    file = root / arguments["path"].lstrip("@")
    contents = file.read_bytes().decode("utf-8", "replace") if file.is_file() else ""
    has_empty_piece = contents.endswith("\n") or not contents
    if not has_empty_piece and "\r" not in contents:
        return None
    again = _without_empty_piece(text, contents)
    if again == own:
        return "LF stands between lines, and lines that exist are counted"
    return "lines that exist are counted" if our_error and has_empty_piece and again == "" else None


def _without_empty_piece(text: str, contents: str) -> str:
    """Return the original's answer as it is if the empty piece after the last line feed were no line."""
    total = contents.count("\n") + 1
    text = text.replace("\r\n", "\n").removesuffix("\r")
    if contents.endswith("\n") or not contents:
        text = re.sub(rf"of {total}( |\.)", rf"of {total - 1}\1", text)
        left = re.search(r"\n\n\[(\d+) more lines in file\. Use offset=(\d+) to continue\.\]$", text)
        if left is None:
            return text.removesuffix("\n")
        count = int(left[1]) - 1
        text = text[: left.start()] + (
            f"\n\n[{count} more lines in file. Use offset={left[2]} to continue.]" if count else ""
        )
    return text


RULES = GENERAL
