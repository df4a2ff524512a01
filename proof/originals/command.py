"""Compare a dialect with its original: the same random calls to both, every difference explained or reported."""

from __future__ import annotations

import argparse
import base64
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.server.service import Service
from proof.originals.tree import make_tree

ORIGINALS = tuple(
    sorted(path.stem for path in Path(__file__).parent.glob("*.py") if "\nDIALECT = " in path.read_text("utf-8"))
)
"""The modules that know an original; each names its dialect."""
MAX_SHOWN = 10


def main(argv: list[str]) -> int:
    """Run the comparison. Returns 1 if a difference is unexplained or an original cannot be installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=ORIGINALS, help="the dialects; all of them by default")
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write the figures into the pages of the dialects")
    options = parser.parse_args(argv)
    return max([compare(name, options.calls, options.seed, writes=options.write) for name in options.names])


def compare(name: str, calls: int, seed: int, *, writes: bool = False) -> int:
    """Compare one dialect. Returns 1 if a difference is unexplained."""
    module = import_module(f"proof.originals.{name.replace('-', '_')}")
    place = install(module.PEER)
    rng = random.Random(seed)
    explained: Counter[str] = Counter()
    unexplained = []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        names = make_tree(root, seed)
        original = module.Original(place, root)
        try:
            with Workspace(root) as workspace:
                service = Service(workspace, [module.DIALECT])
                made = [module.random_call(rng, root, names) for _ in range(calls)]
                for (tool, arguments), theirs in zip(made, answers(original, made), strict=True):
                    ours = own_answer(service, tool, arguments)
                    if theirs != ours:
                        reason = module.explain(tool, arguments, theirs, ours, root)
                        if reason is None:
                            unexplained.append((tool, arguments, theirs, ours))
                        else:
                            explained[reason] += 1
        finally:
            original.end()
    differences = sum(explained.values()) + len(unexplained)
    print(f"{name}: {calls} calls, {differences} differences, {len(unexplained)} unexplained")
    for reason, count in explained.most_common():
        print(f"  {count:5} {reason}")
    for tool, arguments, theirs, ours in unexplained[:MAX_SHOWN]:
        print(f"  unexplained: {tool} {arguments}\n    original {str(theirs)[:600]}\n    eyespan  {str(ours)[:600]}")
    if writes:
        peer = peer_of(module.PEER)
        figures = (f"{peer.name} {peer.version}", calls, calls - differences, sum(explained.values()), len(unexplained))
        write_figures(module.DIALECT, figures, explained)
    return 1 if unexplained else 0


def write_figures(dialect: str, figures: tuple[Any, ...], explained: Counter[str]) -> None:
    """Write the result of a comparison at the end of the page of a dialect, in place of the one before."""
    page = Path(__file__).resolve().parents[2] / "docs/dialects" / f"{dialect.partition('@')[0]}.md"
    start = f"## `{dialect}` and its original"
    text = page.read_text("utf-8").partition(start)[0].rstrip()
    cells = [f"{figure:,}" if isinstance(figure, int) else figure for figure in figures]
    lines = [
        start,
        "",
        "Random calls to both by `python -m proof originals`; a difference is declared by a rule of that program.",
        "",
        "| true to | calls | equal | declared by rule | undeclared |",
        "| --- | --- | --- | --- | --- |",
        f"| {' | '.join(cells)} |",
        "",
        *[f"- {count:,}: {reason}" for reason, count in explained.most_common()],
    ]
    page.write_text("\n".join([text, "", *lines]).rstrip() + "\n", "utf-8")


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


def own_answer_blocks(service: Service, tool: str, arguments: dict[str, Any]) -> tuple[bool, list[dict[str, Any]]]:
    """Return whether a call of our own tool failed, and its blocks as MCP sends them."""
    result = service.handler("tools/call")({"name": tool, "arguments": arguments}, "proof", CallContext(10))
    blocks: list[dict[str, Any]] = _with_base64(result["content"])
    return bool(result["isError"]), blocks


def own_answer(service: Service, tool: str, arguments: dict[str, Any]) -> tuple[bool, Any]:
    """Return whether a call of our own tool failed, and its text or its blocks."""
    is_error, blocks = own_answer_blocks(service, tool, arguments)
    is_text = all(block["type"] == "text" for block in blocks)
    return is_error, "".join([block["text"] for block in blocks]) if is_text else blocks


def _with_base64(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list):
        return [_with_base64(item) for item in value]
    if isinstance(value, dict):
        return {key: _with_base64(item) for key, item in value.items()}
    return value
