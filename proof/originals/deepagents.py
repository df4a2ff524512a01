"""Deep Agents' `read_file`, and the declared differences of the `deepagents` dialect from it."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

from eyespan.extras.families.deepagents import CUT
from proof.originals.child import Child
from proof.originals.rules import GENERAL, Answer, Case, Rule
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "deepagents"
PEER = "deepagents"


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
        return answer["failed"], "[invalid]" if str(content).startswith("ValidationError: ") else content


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


def explain(
    tool: str, arguments: dict[str, Any], theirs: tuple[bool, Any], ours: tuple[bool, Any], root: Path
) -> str | None:
    """Return the declared difference that explains two unlike answers, or None."""
    (their_error, their_text), (our_error, our_text) = theirs, ours
    text, own = str(their_text), str(our_text)
    if text == "[invalid]":
        return "wrong arguments are refused in other words" if our_error or None in arguments.values() else None
    if "outside" in own:
        return "files outside the roots are refused in other words" if their_error else None
    if isinstance(their_text, list):
        return "a file that is not an image is not sent as one"
    if "binary" in own and our_error:
        return "a file that is not UTF-8 is refused in other words" if their_error else "a file with NUL is refused"
    file = root / arguments["file_path"].lstrip("/")
    contents = file.read_bytes() if file.is_file() else b""
    if "codec can't decode" in text and b"\xff\xfe broken" in contents[8192 - 9 :]:
        return "bytes after the first 8,192 that are not UTF-8 are shown as U+FFFD"
    if "exceeds file length" in own + text or "System reminder" in own + text:
        if not contents.strip():
            return "a reminder is no line of the file, and blank lines are lines"
        if "empty contents" in text:
            return "blank lines are lines"
    if re.search("[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", contents.replace(b"\r\n", b"").decode("utf-8", "replace")):
        return "only a line feed ends a line"
    if CUT in own and "[Output was truncated" in text:
        # The original's notice is longer, so fewer lines fit after it: its lines are the first of ours.
        body, own_body = [one.partition("@@\n")[2] for one in (text, own)]
        return "advice about shell commands is left out" if own_body.startswith(body) else None
    return None


def _virtual(case: Case, own: Answer) -> Answer:
    """Return the error for an absolute path of the machine, or for one with a backslash."""
    path = os.path.normpath("/" + case.arguments["file_path"].lstrip("/").replace("\\", "/"))
    is_other = path.startswith(f"{case.root}/") or "\\" in case.arguments["file_path"]
    return (True, f"Error: File '{path}' not found") if is_other else own


def _is_not_utf8(case: Case) -> bool:
    try:
        (case.root / case.arguments["file_path"].lstrip("/")).read_bytes().decode()
    except UnicodeDecodeError:
        return True
    return False


def _refused(case: Case, own: Answer) -> Answer:
    """Return the refusal of a number that has no whole form."""
    return (True, "[invalid]") if _large(case) else own


def _large(case: Case) -> bool:
    return any(type(value) is float and value >= 2**63 for value in case.arguments.values())


RULES = (
    *GENERAL,
    Rule("numbers over 2**53 are exact", answer=_refused),
    Rule("a file that is not UTF-8", refused=_is_not_utf8),
    Rule("a backslash is part of a name", refused_here=lambda case: "\\" in case.arguments["file_path"]),
    Rule("an absolute path below a root is that file, and a backslash is part of a name", answer=_virtual),
)
