"""The list of proofs: every row can be run, is described, and names tests that exist."""

from __future__ import annotations

from importlib import import_module

import pytest

from proof import REPOSITORY
from proof.__main__ import PROOFS, main
from proof.coverage.command import RUNS
from proof.sanitizers import TESTS


@pytest.mark.parametrize("name", PROOFS)
def test_every_proof_can_be_run_and_is_described(name):
    readme = (REPOSITORY / "proof" / "README.md").read_text(encoding="utf-8")

    assert callable(import_module(PROOFS[name][0]).main)
    assert f"\n## {name.capitalize()}\n" in readme


def test_without_a_known_name_the_proofs_are_listed(capsys):
    assert main(["nothing"]) == 2

    listed = [line.split()[0] for line in capsys.readouterr().err.splitlines()[2:]]
    assert listed == list(PROOFS)


def test_coverage_and_sanitizers_run_tests_that_exist():
    named = {word.partition("::")[0] for _, arguments in RUNS for word in arguments if word.startswith("tests/")}

    assert [path for path in sorted({*named, *TESTS}) if not (REPOSITORY / path).exists()] == []
