"""Regular expressions mean the same on every supported Python."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path
from re import _constants as constants
from re import _parser as parser

import pytest

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


# --- backtracking --------------------------------------------------------------------------------------------------

SAMPLE = frozenset({*range(128), 0xE9, 0x2028})
"""The characters by which two parts of a pattern are compared."""
REPEATS = (constants.MAX_REPEAT, constants.MIN_REPEAT)
IN_WORKER = ("eyespan.decoders", "eyespan.extras.documents", "eyespan.extras.languages", "eyespan.outline")
"""Packages whose patterns run in the decoding process, which is killed at its deadline, or on one name."""
KNOWN = {
    "eyespan.dialects.redaction": 1,  # a dot or a parenthesis divides its repeats
    "eyespan.recorder": 1,  # ranges that an answer of the tree itself has; each begins with a comma
    "eyespan.tokens": 1,  # the words of a text; none of its repeats can fail
}
"""The number of patterns of other modules that match in several ways, and why they do no harm. On a text that does not
match, such a pattern may take quadratic time or more, and holds all threads meanwhile."""


def members(kind, value) -> set[int]:
    """Return the characters of the sample in a set of a pattern."""
    if kind is constants.LITERAL:
        return {value}
    if kind is constants.RANGE:
        return {code for code in SAMPLE if value[0] <= code <= value[1]}
    if kind is constants.CATEGORY:
        name = str(value).removeprefix("CATEGORY_").replace("UNI_", "").replace("LOC_", "")
        letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.removeprefix("NOT_")]
        pattern = re.compile("\\" + (letter.upper() if name.startswith("NOT_") else letter))
        return {code for code in SAMPLE if pattern.match(chr(code))}
    return set()


def chars_of(nodes) -> set[int]:
    """Return the characters of the sample that parts of a pattern can match."""
    found: set[int] = set()
    for kind, value in nodes:
        if kind is constants.ANY:
            found |= SAMPLE - {10}
        elif kind is constants.NOT_LITERAL:
            found |= SAMPLE - {value}
        elif kind is constants.IN:
            inner = set().union(*[members(*each) for each in value])
            found |= SAMPLE - inner if value[0][0] is constants.NEGATE else inner
        elif kind in (*REPEATS, constants.POSSESSIVE_REPEAT):
            found |= chars_of(value[2])
        elif kind is constants.SUBPATTERN:
            found |= chars_of(value[3])
        elif kind is constants.BRANCH:
            found |= set().union(*[chars_of(branch) for branch in value[1]])
        else:
            found |= members(kind, value)
    return found


def ways(nodes) -> list[list]:
    """Return the sequences that a pattern stands for, without groups and alternatives."""
    sequences: list[list] = [[]]
    for kind, value in nodes:
        if kind is constants.SUBPATTERN:
            further = ways(value[3])
        elif kind is constants.BRANCH:
            further = [way for branch in value[1] for way in ways(branch)]
        else:
            further = [[(kind, value)]]
        sequences = [[*sequence, *more] for sequence in sequences for more in further]
    return sequences


def is_endless(kind, value) -> bool:
    return kind in REPEATS and value[1] is constants.MAXREPEAT


def is_ambiguous(nodes) -> bool:
    """Return True if two repeats without end can share a text, with nothing between them that ends the first."""
    return any(map(is_ambiguous_way, ways(nodes)))


def is_ambiguous_way(parts) -> bool:
    for place, (kind, value) in enumerate(parts):
        if is_endless(kind, value):
            shared = chars_of(value[2])
            for other, inner in parts[place + 1 :]:
                common = shared & chars_of([(other, inner)])
                if is_endless(other, inner) and common:
                    return True
                if not common and not is_optional(other, inner):
                    break
            turns = ways(value[2])
            if any(is_ambiguous_way([*one, *next_one]) for one in turns for next_one in turns):
                return True
        elif kind in REPEATS and is_ambiguous(value[2]):
            return True
    return False


def is_optional(kind, value) -> bool:
    return kind in (constants.AT, constants.ASSERT, constants.ASSERT_NOT) or (
        kind in (*REPEATS, constants.POSSESSIVE_REPEAT) and value[0] == 0
    )


@pytest.mark.parametrize(
    ("pattern", "is_slow"),
    [
        *((r"(a+)+$", True), (r"(a|b+)*c", True), (r".*,.*", True), (r"\s*x?\s*$", True), (r"<a>.*?<b>.*?</b>", True)),
        *((r"[a-z]+,[a-z]+", False), (r"(?:[A-Z]+ )*KEY", False), (r"\s*+x?\s*$", False), (r"a{1,9}b+", False)),
    ],
)
def test_patterns_that_match_in_several_ways_are_recognised(pattern, is_slow):
    assert is_ambiguous(parser.parse(pattern)) is is_slow


def patterns_of(module):
    """Return the patterns of a module: those that it compiles, at once or on first use, and those of its functions."""
    values = [value() if is_compiled_late(value) else value for value in vars(module).values()]
    made = [value.pattern for value in values if isinstance(value, re.Pattern)]
    tree = ast.parse(Path(module.__file__).read_bytes())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    used = [node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant) and is_of_re(node.func)]
    return {text for text in [*made, *used] if isinstance(text, (str, bytes))}


def is_compiled_late(value) -> bool:
    return hasattr(value, "cache_info") and value.__annotations__.get("return", "").startswith("re.Pattern")


def is_of_re(function) -> bool:
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def test_no_new_pattern_of_the_main_process_backtracks():
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(("eyespan", *file.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        if name.startswith(IN_WORKER) or "import re\n" not in file.read_text():
            continue
        slow = [text for text in patterns_of(import_module(name)) if is_ambiguous(parser.parse(text))]
        if slow:
            found[name] = len(slow)

    assert found == KNOWN
