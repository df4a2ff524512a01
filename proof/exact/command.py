"""Read every file in every dialect and print a table."""

from __future__ import annotations

import argparse
import collections
import sys
import tempfile
import time
from pathlib import Path

from eyespan import Workspace
from proof.exact.callers import Server, Wrong, library
from proof.exact.reading import read_claude, read_codex, read_forge, read_native, read_workspace
from proof.exact.rules import (
    EXACT,
    REFUSED,
    WITH_LOSS,
    judge_claude,
    judge_codex,
    judge_forge,
    judge_native,
    judge_workspace,
)
from proof.exact.tree import SEED, make_tree

WAYS = {
    "codex": (read_codex, judge_codex, {}),
    "codex-upstream": (read_codex, judge_codex, {}),
    "workspace": (read_workspace, judge_workspace, {}),
    "workspace-upstream": (read_workspace, judge_workspace, {}),
    # A range may have to scan all of a large file; the default stops after 2 MiB.
    "forge": (read_forge, judge_forge, {"max_scan_bytes": 1 << 30}),
    "claude": (read_claude, judge_claude, {}),
    "claude-upstream": (lambda call, root, name: read_claude(call, root, name, 1, "→"), judge_claude, {}),
    "native": (read_native, judge_native, {}),
}


def check(root: Path, names: list[str], dialect: str, call) -> tuple[collections.Counter[str], list[str]]:
    """Read every file in one dialect and return the number of each outcome and the failures."""
    read, judge, _ = WAYS[dialect]
    counts: collections.Counter[str] = collections.Counter()
    failures = []
    for name in names:
        data = (root / name).read_bytes()
        try:
            counts[judge(name, data, read(call, root, name))] += 1
        except Wrong as wrong:
            failures.append(f"{dialect}: {name[:100]!r} ({len(data)} bytes): {wrong}")
    return counts, failures


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare what a caller gets with what is on disk.")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--dialect", action="append", choices=tuple(WAYS))
    parser.add_argument("--mcp", action="append", choices=tuple(WAYS), help="also over MCP (stdio), in this dialect")
    parser.add_argument("--directory", help="make the tree here and keep it")
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as made:
        root = Path(given.directory or made, "tree")
        names = make_tree(root, given.files, given.seed)
        size = sum((root / name).stat().st_size for name in names)
        print(f"{len(names)} files, {size / 1e6:.0f} MB, seed {given.seed}\n")
        print(f"| dialect | {EXACT} | {WITH_LOSS} | {REFUSED} | wrong | seconds |\n|---|---|---|---|---|---|")
        failures = []
        with Workspace(root) as workspace:
            ways = [(name, library(workspace, name, **WAYS[name][2])) for name in given.dialect or WAYS]
            for dialect in given.mcp or ["workspace"]:
                ways.append((f"{dialect}, MCP", Server(root, dialect)))
            for title, call in ways:
                started = time.monotonic()
                counts, wrong = check(root, names, title.removesuffix(", MCP"), call)
                failures += wrong
                row = [
                    counts[EXACT],
                    counts[WITH_LOSS],
                    counts[REFUSED],
                    len(wrong),
                    f"{time.monotonic() - started:.0f}",
                ]
                print(f"| {title} | {' | '.join(map(str, row))} |", flush=True)
                if isinstance(call, Server):
                    call.close()
    for failure in failures[:40]:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
