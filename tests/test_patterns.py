"""Regular expressions mean the same on every supported Python."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import eyespan

PACKAGE = Path(eyespan.__file__).parent
BROKEN = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>")
"""A possessive repeat of a group, or an atomic group. Python before 3.11.5 does not return to the start of a repetition
that fails. A possessive repeat of one character is right everywhere."""


def test_no_pattern_repeats_a_group_possessively():
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        calls = [node for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.Constant)]
        for node in calls:
            text = node.value.decode("latin-1") if isinstance(node.value, bytes) else node.value
            if isinstance(text, str) and BROKEN.search(text):
                found.append(f"{file.relative_to(PACKAGE)}:{node.lineno}")

    assert found == []
