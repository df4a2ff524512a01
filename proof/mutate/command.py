"""Insert every defect and print a table of the tests that failed."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from proof.mutate.checkout import Checkout
from proof.mutate.defect import Defect
from proof.mutate.defects import DEFECTS


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Insert deliberate defects and check that a test fails.")
    parser.add_argument("--only", nargs="*", help="words of the names of the defects to insert")
    parser.add_argument("--whole", action="store_true", help="run the whole suite where the expected tests pass")
    parser.add_argument("--list", action="store_true", help="only check that every text is found exactly once")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="copies of the checkout, one per core")
    given = parser.parse_args(argv)
    problems = [problem for defect in DEFECTS if (problem := defect.problem())]
    for problem in problems:
        print(f"text not found exactly once: {problem}", file=sys.stderr)
    if problems or given.list:
        print(f"{len(DEFECTS)} defects")
        return 1 if problems else 0
    chosen = [defect for defect in DEFECTS if not given.only or any(word in defect.name for word in given.only)]
    with tempfile.TemporaryDirectory(prefix="eyespan-mutate-") as made:
        checkouts = [Checkout(Path(made).resolve() / str(number)) for number in range(given.jobs)]
        return _report(chosen, checkouts, is_whole=given.whole)


def _report(chosen: list[Defect], checkouts: list[Checkout], *, is_whole: bool) -> int:
    """Insert the defects, print the table, and return the exit status."""
    free: SimpleQueue[Checkout] = SimpleQueue()
    for checkout in checkouts:
        free.put(checkout)

    def first_failure(defect: Defect) -> str | None:
        started = time.monotonic()
        checkout = free.get()
        try:
            by = checkout.first_failure(defect)
            if by is None and is_whole and not defect.equivalent:
                by = checkout.first_failure(defect._replace(tests="tests"))
            return by
        finally:
            free.put(checkout)
            print(f"{time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    survivors = 0
    failed: set[str] = set()
    print("| defect | file | verdict | by |\n|---|---|---|---|")
    with ThreadPoolExecutor(len(checkouts)) as threads:
        for defect, by in zip(chosen, threads.map(first_failure, chosen), strict=True):
            if by is not None:
                verdict = "caught"
                failed.update([by] if by.startswith("tests/") else ())
            elif defect.equivalent:
                verdict, by = "changes nothing", defect.equivalent
            else:
                verdict, by = "**survived**", f"not by {defect.tests}"
                survivors += 1
            by = by.replace("|", "\\|").replace("\n", " ")
            print(f"| {defect.name} | {defect.file.removeprefix('src/eyespan/')} | {verdict} | {by} |", flush=True)
    print(f"\n{len(chosen)} defects, {survivors} survived")
    without_defect = checkouts[0].failures(sorted(failed)) if failed else []
    for test in without_defect:
        print(f"fails without a defect too: {test}")
    return 1 if survivors or without_defect else 0
