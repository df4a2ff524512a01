"""Insert every defect and print a table of the tests that failed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from proof.mutate.checkout import Checkout
from proof.mutate.defects import DEFECTS


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Insert deliberate defects and check that a test fails.")
    parser.add_argument("--only", nargs="*", help="words of the names of the defects to insert")
    parser.add_argument("--whole", action="store_true", help="run the whole suite where the expected tests pass")
    parser.add_argument("--list", action="store_true", help="only check that every text is found exactly once")
    given = parser.parse_args(argv)
    problems = [problem for defect in DEFECTS if (problem := defect.problem())]
    for problem in problems:
        print(f"text not found exactly once: {problem}", file=sys.stderr)
    if problems or given.list:
        print(f"{len(DEFECTS)} defects")
        return 1 if problems else 0
    chosen = [defect for defect in DEFECTS if not given.only or any(word in defect.name for word in given.only)]
    survivors = 0
    print("| defect | file | verdict | by |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="eyespan-mutate-") as made:
        checkout = Checkout(Path(made).resolve())
        for defect in chosen:
            started = time.monotonic()
            by = checkout.first_failure(defect)
            if by is None and given.whole and not defect.equivalent:
                by = checkout.first_failure(defect._replace(tests="tests"))
            if by is not None:
                verdict = "caught"
            elif defect.equivalent:
                verdict, by = "changes nothing", defect.equivalent
            else:
                verdict, by = "**survived**", f"not by {defect.tests}"
                survivors += 1
            by = by.replace("|", "\\|").replace("\n", " ")
            print(f"| {defect.name} | {defect.file.removeprefix('src/eyespan/')} | {verdict} | {by} |", flush=True)
            print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    print(f"\n{len(chosen)} defects, {survivors} survived")
    return 1 if survivors else 0
