"""Kimi Code's `Read`, and the declared differences of the `kimi` dialect from it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from proof.originals.child import Child
from proof.originals.rules import BINARY, OUTSIDE, STRICT, WRONG, Answer
from proof.originals.tree import random_number, random_path, spoiled

DIALECT = "kimi"
PEER = ("kimi-code", "npm", ("@moonshot-ai/kimi-code@2.1.0",), "node_modules/@moonshot-ai/kimi-code/dist/main.mjs")


class Original(Child):
    """The original, called from a small program of its own language."""

    def __init__(self, place: Path, root: Path) -> None:
        super().__init__(["node", str(Path(__file__).with_name("kimi.mjs")), str(place), str(root)])

    def call(self, tool: str, arguments: dict[str, Any]) -> Answer:
        answer = self.ask(arguments)
        return answer["failed"], answer["text"]


def random_call(rng: random.Random, root: Path, names: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a random range of a random file."""
    arguments: dict[str, Any] = {"path": random_path(rng, root, names)}
    for name in ("line_offset", "n_lines"):
        if rng.random() < 0.6:
            arguments[name] = random_number(rng)
    if rng.random() < 0.2:
        arguments["line_offset"] = rng.choice([-1, -2, -5, -90, -1000, -5001])
    if rng.random() < 0.1:
        arguments["column_offset"] = random_number(rng)
    if rng.random() < 0.2:
        arguments["max_chars"] = rng.choice([1, 150, 220, 300, 1000, 5000, 40_000, 600_000, random_number(rng)])
    return "Read", spoiled(rng, arguments, "path")


RULES = (WRONG, STRICT, OUTSIDE, BINARY)
