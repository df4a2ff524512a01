"""pi's `read`, and the declared differences of the `pi` dialect from it. Each is checked by computing it again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from eyespan.dialects.table import TableDialect
from proof.originals.child import Child
from proof.originals.rules import BOTH_OUTSIDE, GENERAL, SURROGATES, Answer, Case, Rule
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
    return own[0], own[1].replace(f"{case.root}/@", f"{case.root}/", 1) if isinstance(own[1], str) else own[1]


def _as_numbers(case: Case, own: Answer) -> Answer:
    """Return the error with a line number as JavaScript writes it."""
    offset = case.arguments.get("offset")
    if not isinstance(offset, (int, float)) or not own[0]:
        return own
    written = {2**63: "9223372036854776000", 2**64: "18446744073709552000", 10**30: "1e+30", 1e300: "1e+300"}
    written |= {2**53 + 1: str(2**53), 2**63 - 1: "9223372036854776000"}
    return own[0], str(own[1]).replace(f"Offset {int(offset)} ", f"Offset {written.get(offset, int(offset))} ", 1)


def _negative(case: Case, own: Answer) -> Answer:
    """Return what the original makes of a limit below 0: a range that ends before it starts."""
    limit, offset = case.arguments.get("limit"), case.arguments.get("offset") or 1
    if own[0] or not isinstance(limit, (int, float)) or limit >= 0 or not isinstance(offset, (int, float)):
        return own
    first, total = max(1, int(offset)), case.contents().decode("utf-8", "replace").count("\n") + 1
    last = first - 1 + int(limit)
    shown = case.contents().decode("utf-8", "replace").split("\n")[first - 1 : last]
    end = f"\n\n[{total - last} more lines in file. Use offset={last + 1} to continue.]"
    return False, "\n".join(shown) + end


def _wrong(case: Case) -> bool:
    numbers = [case.arguments.get(name) for name in ("offset", "limit")]
    return any(isinstance(one, (float, str, bool)) for one in numbers)


RULES = (
    *GENERAL,
    SURROGATES,
    BOTH_OUTSIDE,
    Rule("fractions and strings that are no whole numbers", refused_here=_wrong),
    Rule("the `@` of a missing name is shown", answer=_at_sign),
    Rule("numbers over 2**53 are exact", answer=_as_numbers),
    Rule("a negative limit is 0", answer=_negative),
    Rule("any name that looks the same is read", table={"opened": TableDialect.opened}),
    Rule("a line feed at the end of exactly 2,000 lines is not shown", table={"keeps_last_end": True}),
)
