"""Gemini CLI's `read_file`, and the declared differences of the `gemini` dialect from it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

from proof.originals.child import Child

DIALECT = "gemini"
PEER = "gemini-cli-core"


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("gemini.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
        """Return whether the call failed, and its text or its blocks."""
        answer = self.ask(arguments)
        content = answer["content"]
        if isinstance(content, dict):
            data = content["inlineData"]
            content = [{"type": "image", "data": data["data"], "mimeType": data["mimeType"]}]
        return answer["failed"], content


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    name = rng.choice(names)
    arguments: dict[str, Any] = {"file_path": f"{root}/{name}" if rng.random() < 0.5 else name}
    numbers = [0, 1, 1, 2, 3, 5, 19, 20, 21, 89, 90, 91, 1999, 2000, 2001, 4999, 5000, 5001, 9000, -1]
    if rng.random() < 0.6:
        arguments["start_line"] = rng.choice(numbers)
    if rng.random() < 0.5:
        arguments["end_line"] = rng.choice(numbers)
    if rng.random() < 0.04:
        arguments[rng.choice(["start_line", "end_line", "file_path"])] = rng.choice(["3", True, [1], 1.5])
    return "read_file", arguments


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None."""
    (their_error, their_text), (our_error, our_text) = theirs, ours
    text, own = str(their_text), str(our_text)
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
    # The original counts the empty piece after a final line feed as a line, and always names a next section.
    plain = [re.sub(r"lines \d+-\d+ of \d+ total lines", "lines", one) for one in (text, own)]
    plain = [re.sub(r" For example, .*\.", "", one) for one in plain]
    bodies = [one.partition("--- FILE CONTENT (truncated) ---\n")[2] or one for one in plain]
    if plain[0] == plain[1]:
        return "the notice counts lines that exist, and names a next section only if there is one"
    if bodies[0].rstrip("\n") == bodies[1].rstrip("\n"):
        return "a final line feed ends the last line"
    return None
