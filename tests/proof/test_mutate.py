"""The list of deliberate defects fits the code; `make mutate` inserts them."""

from __future__ import annotations

import ast
import shlex

import pytest

from proof import REPOSITORY
from proof.mutate.defects import DEFECTS


def test_the_text_of_every_defect_is_found_exactly_once():
    problems = [problem for defect in DEFECTS if (problem := defect.problem())]

    assert problems == [], "code moved or changed: adjust the defects in proof/mutate/defects"


@pytest.mark.parametrize("tests", sorted({defect.tests for defect in DEFECTS}))
def test_the_tests_of_every_defect_exist(tests):
    """-k words must occur in a test's name, or in its file for names of parameters."""
    paths, words = _split(tests)
    source = ""
    for path, _, function in (path.partition("::") for path in paths):
        target = REPOSITORY / path
        assert target.exists(), path
        files = sorted(target.rglob("test_*.py")) if target.is_dir() else [target]
        texts = [file.read_text(encoding="utf-8") for file in files]
        if function:
            assert function.partition("[")[0] in _functions(texts[0])
        source += "".join(texts)

    assert words == [] or any(word in source for word in words)


def _split(tests):
    """Return the paths and the words of `-k`, of which one must match."""
    arguments = shlex.split(tests)
    if "-k" not in arguments:
        return arguments, []
    at = arguments.index("-k")
    return arguments[:at], arguments[at + 1].split(" or ")


def _functions(source):
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
