"""Run the tests under coverage and compare the shares with the promise."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from proof import REPOSITORY

CONFIGURATION = "--rcfile=proof/coverage/coverage.toml"
MIN_BRANCH_SHARE = 0.98
RUNS: tuple[tuple[dict[str, str], tuple[str, ...]], ...] = (
    (
        {},
        (
            *("tests/guard", "tests/lines", "tests/sources", "tests/decoders", "tests/readers", "tests/dialects"),
            *("tests/proof/test_fuzz.py", "tests/test_conformance.py", "tests/test_kinds.py", "tests/test_deadline.py"),
            *("--deselect", "tests/guard/test_race.py"),
        ),
    ),
    (
        {},
        (
            *("-p", "proof.coverage.decode_here"),
            *("tests/decoders", "tests/extras/documents"),
            # This test hides a package from the process of the worker.
            *(
                "--deselect",
                "tests/extras/documents/tables/test_reader.py::test_without_its_package_it_says_what_to_install",
            ),
        ),
    ),
    ({"EYESPAN_PURE": "1"}, ("tests/guard/test_special.py", "tests/guard/test_openat.py", "tests/lines")),
)
"""The environment and the arguments of pytest of each run."""


def main(argv: list[str] | None = None) -> int:
    argparse.ArgumentParser(description="Measure the coverage of guard, lines, readers and decoders.").parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="eyespan-coverage-") as made:
        environment = {**os.environ, "COVERAGE_FILE": f"{made}/coverage", "PYTHONPATH": str(REPOSITORY)}
        environment["EYESPAN_TESTS"] = "long"
        failed = False
        for variables, arguments in RUNS:
            # The plugin must load before the package does.
            options = ("-q", "-p", "proof.coverage.trace_threads")
            status = _coverage("run", "-m", "pytest", *options, *arguments, environment={**environment, **variables})
            failed = failed or status != 0
        _coverage("combine", "-q", made, environment=environment)
        _coverage("report", environment=environment)
        _coverage("json", "-q", "-o", f"{made}/coverage.json", environment=environment)
        totals = json.loads(Path(made, "coverage.json").read_text(encoding="utf-8"))["totals"]
    lines, all_lines = totals["covered_lines"], totals["num_statements"]
    branches, all_branches = totals["covered_branches"], totals["num_branches"]
    print(
        f"lines: {lines} of {all_lines} ({lines / all_lines:.2%}); "
        f"branches: {branches} of {all_branches} ({branches / all_branches:.2%})"
    )
    if failed:
        print("coverage: a test failed", file=sys.stderr)
    is_short = lines < all_lines or branches < MIN_BRANCH_SHARE * all_branches
    if is_short:
        print("coverage: less than the 100 % of lines and 98 % of branches of docs/security.md", file=sys.stderr)
    return 1 if failed or is_short else 0


def _coverage(command: str, *arguments: str, environment: dict[str, str]) -> int:
    words = [sys.executable, "-m", "coverage", command, CONFIGURATION, *arguments]
    return subprocess.run(words, cwd=REPOSITORY, env=environment).returncode
