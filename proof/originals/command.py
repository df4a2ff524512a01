"""Compare a dialect with its original: the same random calls to both, each difference declared or reported."""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from proof.originals.rules import Judge
from proof.originals.tree import make_tree

ORIGINALS = tuple(
    sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\nDIALECT = " in path.read_text("utf-8"))
)
"""The modules that know an original; each names its dialect."""
MAX_SHOWN = 10
MAX_ROWS = 20
"""The most rules of a group on a page."""
MAX_EXAMPLE = 100
"""The most characters of the arguments of a call on a page."""


def main(argv: list[str]) -> int:
    """Run the comparison. Returns 1 if a difference is undeclared or an original cannot be installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=ORIGINALS, help="the dialects; all of them by default")
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the figures into the pages of the dialects")
    options = parser.parse_args(argv)
    return max([compare(name, options.calls, options.seed, writes=options.write) for name in options.names])


def compare(name: str, calls: int, seed: int, *, writes: bool = False) -> int:
    """Compare one dialect. Returns 1 if a difference is undeclared."""
    module = import_module(f"proof.originals.{name.replace('-', '_')}")
    place = install(module.PEER)
    rng = random.Random(seed)
    recomputed: Counter[str] = Counter()
    worded: Counter[str] = Counter()
    undeclared = []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve() / "tree00"
        root.mkdir()
        names = make_tree(root, seed)
        if hasattr(module, "more_files"):
            names += module.more_files(root)
        original = module.Original(place, root)
        judge = Judge(module.DIALECT, getattr(module, "RULES", ()), root, getattr(module, "parts", None))
        try:
            made = [module.random_call(rng, root, names) for _ in range(calls)]
            for (tool, arguments), theirs in zip(made, answers(original, made), strict=True):
                case = judge.case(tool, arguments)
                ours = judge.answer(case)
                if theirs == ours:
                    continue
                reason = judge.reason(case, theirs, ours)
                if reason is None:
                    undeclared.append((tool, arguments, theirs, ours))
                else:
                    (recomputed if reason[1] else worded)[reason[0]] += 1
        finally:
            original.end()
            judge.close()
    equal = calls - recomputed.total() - worded.total() - len(undeclared)
    print(
        f"{name}: {calls} calls, {equal} equal, {recomputed.total()} recomputed, {worded.total()} refused, "
        f"{len(undeclared)} undeclared"
    )
    for reason, count in [*recomputed.most_common(), *worded.most_common()]:
        print(f"  {count:5} {reason}")
    for tool, arguments, theirs, ours in undeclared[:MAX_SHOWN]:
        print(f"  undeclared: {tool} {str(arguments)[:300]}")
        pairs = enumerate(zip(f"{theirs[1]}\0", f"{ours[1]}\1", strict=False))
        at = max(0, next((at for at, (one, other) in pairs if one != other), 0) - 40)
        for side, (is_error, answer) in (("original", theirs), ("eyespan", ours)):
            print(f"    {side:8} {'failed ' if is_error else ''}...{str(answer)[at : at + 200]!r}")
    if writes:
        peer = peer_of(module.PEER)
        groups = {"recomputed": recomputed, "refused": worded}
        groups["undeclared"] = Counter(_by_tool([(tool, arguments) for tool, arguments, *_ in undeclared], root))
        newer = newest(peer)
        original = f"{peer.name} {peer.version}" + (f" ({newer} is newer, and not compared)" if newer else "")
        write_figures(module.DIALECT, original, f"{name} --calls {calls} --seed {seed}", (calls, equal), groups)
    return 1 if undeclared else 0


def _by_tool(calls: list[tuple[str, dict[str, Any]]], root: Path) -> dict[str, int]:
    """Return the number of calls of each tool, named with the shortest of them that names no page of these docs."""
    found = {}
    for tool in {tool for tool, _ in calls}:
        texts = [str(arguments).replace(str(root), "ROOT") for name, arguments in calls if name == tool]
        example = min(texts, key=lambda text: ("docs/" in text, len(text)))
        found[f"calls of `{tool}`, for example `{example[:MAX_EXAMPLE]}`"] = len(texts)
    return found


def newest(peer: Any) -> str:
    """Return the newest release of an original that its registry has; "" if that is the one compared, or not known."""
    name = peer.packages[0].rpartition("@" if peer.source == "npm" else "==")[0].rstrip("=")
    words = ["npm", "view", name, "version"]
    if peer.source == "pip":
        words = [_peers().find_python(peer.needs) or sys.executable, "-m", "pip", "index", "versions", name]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"\d+\.\d[\w.]*", done.stdout.partition("\n")[0])
    return found[0] if found and found[0] != peer.version else ""


def write_figures(
    dialect: str, original: str, options: str, figures: tuple[int, int], groups: Mapping[str, Counter[str]]
) -> None:
    """Write the result of a comparison at the end of the page of a dialect, in place of the one before."""
    page = Path(__file__).resolve().parents[2] / "docs/dialects" / f"{dialect.partition('@')[0]}.md"
    start = f"## `{dialect}` and its original"
    before, _, after = page.read_text("utf-8").partition(start)
    after = after.partition("\n## ")[2]
    counts = [*figures, *[group.total() for group in groups.values()]]
    lines = [
        start,
        "",
        f"Random calls to both by `python -m proof originals {options}`. A difference is",
        "declared if eyespan's answer, computed again under rules, is exactly the original's (recomputed), or if the",
        "arguments give a reason to refuse the call (refused; the words are not compared).",
        "",
        "| true to | calls | equal | recomputed | refused | undeclared |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| {original} | {' | '.join([f'{count:,}' for count in counts])} |",
        "",
        *[
            f"- {count:,} {name}: {rule}"
            for name, group in groups.items()
            for rule, count in group.most_common(MAX_ROWS)
        ],
    ]
    text = "\n".join([before.rstrip(), "", *lines]).rstrip() + "\n"
    page.write_text(text + (f"\n## {after}" if after else ""), "utf-8")


def answers(original: Any, calls: list[tuple[str, dict[str, Any]]]) -> Iterator[tuple[bool, Any]]:
    """Yield the answers of an original: one call after the other, or as many at a time as it takes."""
    if hasattr(original, "call_all"):
        yield from original.call_all(calls)
    else:
        for tool, arguments in calls:
            yield original.call(tool, arguments)


def install(peer: str | tuple[Any, ...]) -> Path:
    """Return the place where the original is installed. Raises: SystemExit, if it cannot be installed.

    `peer` names a peer of the benchmark, or is the row of one that only these proofs use.
    """
    peers, row = _peers(), peer_of(peer)
    cache = peers.cache_folder()
    problem = peers.install(cache, row)
    if problem:
        raise SystemExit(f"{row.name} cannot be installed: {problem}")
    place: Path = peers.place(cache, row)
    return place


def peer_of(peer: str | tuple[Any, ...]) -> Any:
    """Return the row of an original."""
    peers = _peers()
    return peers.Peer(*peer) if isinstance(peer, tuple) else next(one for one in peers.PEERS if one.name == peer)


def _peers() -> Any:
    bench = str(Path(__file__).resolve().parents[2] / "bench")
    if bench not in sys.path:
        sys.path.insert(0, bench)
    return import_module("peers")
