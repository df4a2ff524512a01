#!/bin/sh
# Line and branch coverage of guard, lines and readers, by their own tests: prints what is missing and the two shares.
# Fails if a test fails, if a line is missing, or if fewer than 98 of 100 branches were taken: docs/security.md says so.
# Three runs are added up: the tests as they are; those of documents with the decoders in the tests' own process, since
# a sandboxed child can write no file; and those of guard and lines without the C accelerator.
# Needs `pip install coverage`. PYTHON chooses the interpreter.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
export COVERAGE_FILE="$work/coverage" PYTHONPATH="$root/tools"
failed=no
run() {
    # A seed of its own: the figure is the same each time.
    "$python" -m coverage run --rcfile=tools/coverage.toml -m pytest -q -p trace_threads --hypothesis-seed=0 "$@" ||
        failed=yes
}

run tests/guard tests/lines tests/readers tests/fuzz tests/dialects tests/test_conformance.py tests/test_kinds.py \
    tests/test_deadline.py --deselect tests/guard/test_race.py
# The test left out hides a package from the worker's own process.
run -p decode_here tests/readers/test_office.py tests/readers/test_tables.py tests/readers/test_reader_corners.py \
    --deselect tests/readers/test_tables.py::test_without_its_package_it_says_what_to_install
EYESPAN_PURE=1 run tests/guard/test_special.py tests/guard/test_guard_corners.py tests/lines

"$python" -m coverage combine -q --rcfile=tools/coverage.toml "$work"
"$python" -m coverage report --rcfile=tools/coverage.toml
"$python" -m coverage json -q --rcfile=tools/coverage.toml -o "$work/coverage.json"
"$python" - "$work/coverage.json" <<'PYTHON'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    totals = json.load(file)["totals"]
lines, all_lines = totals["covered_lines"], totals["num_statements"]
branches, all_branches = totals["covered_branches"], totals["num_branches"]
print(f"lines: {lines} of {all_lines} ({lines / all_lines:.2%}); branches: {branches} of {all_branches}"
      f" ({branches / all_branches:.2%})")
if lines < all_lines or branches < 0.98 * all_branches:
    sys.exit("coverage: less than the 100 % of lines and 98 % of branches that docs/security.md promises")
PYTHON
if [ "$failed" = yes ]; then
    echo "coverage: a test failed" >&2
    exit 1
fi
