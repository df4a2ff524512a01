"""pi's `read`, and the declared differences of the `pi` dialect from it. Each is checked by computing it again."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

from eyespan.dialects.table import TableDialect
from proof.originals.child import Child
from proof.originals.rules import BOTH_OUTSIDE, DOUBLES, GENERAL, SURROGATES, Answer, Case, Rule
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


def _at_sign(case: Case, own: Answer) -> Answer:
    """Return the error for a missing name without the `@` that the original takes off first."""
    path = str(case.arguments.get("path"))
    name = os.path.normpath(case.root / re.sub("[\xa0\u2000-\u200a\u202f\u205f\u3000]", " ", path[1:]))
    if not path.startswith("@") or os.path.exists(name):
        return own
    return True, f"ENOENT: no such file or directory, access '{name}'"


def _with_command(case: Case, own: Answer) -> Answer:
    """Return the notice of a long first line with its size and a shell command."""
    found = re.match(r"\[Line (\d+) exceeds 50\.0KB limit", own[1])
    if found is None:
        return own
    size = len(case.contents().split(b"\n")[int(found[1]) - 1]) / 1024
    command = f"sed -n '{found[1]}p' {case.arguments['path']} | head -c 51200"
    return False, f"[Line {found[1]} is {size:.1f}KB, exceeds 50.0KB limit. Use bash: {command}]"


def _negative(case: Case) -> bool:
    return float(case.arguments["limit"]) < 0


def _wrong(case: Case) -> bool:
    numbers = [case.arguments.get(name) for name in ("offset", "limit")]
    return any(isinstance(one, (float, str, bool)) for one in numbers)


RULES = (
    *GENERAL,
    SURROGATES,
    BOTH_OUTSIDE,
    Rule("URIs are no paths", refused_here=lambda case: "://" in str(case.arguments.get("path"))),
    Rule("fractions and strings that are no whole numbers", refused_here=_wrong),
    Rule("a name with `@` is tried as it is, and from a root on; the `@` is shown", answer=_at_sign),
    Rule("advice about shell commands is left out", answer=_with_command),
    DOUBLES,
    Rule("a negative limit is refused", refused=_negative, refused_here=_negative),
    Rule("any name that looks the same is read", table={"opened": TableDialect.opened}),
    Rule("a line feed at the end of exactly 2,000 lines is not shown", table={"keeps_last_end": True}),
)
