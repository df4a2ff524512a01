#!/bin/sh
# Line and branch coverage of guard, lines and readers, by their own tests: prints a table and the totals. Never a gate.
# Two runs are added up: the tests as they are, and those of documents with the decoders in the tests' own process, since
# a jailed child can write nothing down. Needs `pip install coverage`. PYTHON chooses the interpreter.
set -eu

root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
export COVERAGE_FILE="$work/coverage"
run() {
    "$python" -m coverage run --rcfile=tools/coverage.toml -m pytest -q "$@" ||
        echo "coverage: some tests failed; what they ran is counted all the same" >&2
}

run tests/guard tests/lines tests/readers tests/fuzz tests/dialects tests/test_conformance.py tests/test_kinds.py tests/test_deadline.py \
    --deselect tests/guard/test_race.py
PYTHONPATH="$root/tools" run -p decode_here tests/readers/test_office.py tests/readers/test_tables.py \
    tests/readers/test_reader_corners.py
EYESPAN_PURE=1 run tests/guard/test_special.py tests/guard/test_guard_corners.py tests/lines
"$python" -m coverage combine -q --rcfile=tools/coverage.toml "$work"
"$python" -m coverage report --rcfile=tools/coverage.toml
