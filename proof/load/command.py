"""Run the storm of clients and report which promises hold."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from proof.load.client import MAX_COMPLAINTS
from proof.load.good import FILL_CALLS
from proof.load.server import Server
from proof.load.storm import Observed, storm
from proof.load.tree import make_tree

REST_SECONDS = 15.0
"""Long enough for the server to return free memory to the system, which it does every ten seconds."""
MAX_RESTS = 10
"""How often the quiet is repeated while there is growth: on a busy machine the end of a process takes long."""
GROWTH_BYTES = 16 << 20
"""The difference in memory at rest that is allowed for each process: an allocator need not return all it freed."""
TREE_SEED = 7


def main(argv: list[str] | None = None) -> int:
    options = _parse(argv)
    seed = options.seed if options.seed is not None else str(random.randrange(10**9))
    with tempfile.TemporaryDirectory(prefix="eyespan-load-") as name:
        directory = Path(name)
        (directory / "work").mkdir()
        make_tree(directory / "work", TREE_SEED)
        server = Server(
            directory,
            clients=options.clients,
            workers=options.workers,
            calls=options.calls,
            extra_arguments=("--no-sandbox",) if options.no_sandbox else (),
        )
        spread = {
            "max_requests": options.requests,
            "processes": options.processes,
            "hostile_share": options.hostile,
        }
        try:
            warm_up = options.warm_up if options.warm_up is not None else max(3.0, options.seconds / 10)
            fill_rounds = -(-options.fill * options.workers // options.clients)
            early = storm(server, warm_up, seed=f"{seed}-warm-up", fill_rounds=fill_rounds, **spread).wrong
            first = server.held_at_rest(options.rest)
            start = time.monotonic()
            observed = storm(server, options.seconds, seed=seed, **spread)
            took = time.monotonic() - start
            last = server.held_at_rest(options.rest)
            for _ in range(MAX_RESTS - 1):
                if not growth(first, last, options.calls * options.workers, options.workers):
                    break
                last = server.held_at_rest(options.rest)
        finally:
            status = server.end()
        log = server.log.read_text()
    broken = [*early, *observed.wrong, *growth(first, last, options.calls * options.workers, options.workers)]
    if status != 0:
        broken.append(f"the server ended with {status}")
    if "Traceback" in log or "rror:" in log:
        broken.append(f"the server complained: {log[-2000:]}")
    report = _report(options, observed, took, first, last)
    report |= {"seed": seed, "server": server.banner.partition("; ")[2], "wrong": len(broken)}
    print(json.dumps(report))
    print(
        f"| {options.clients} clients, {took:.0f} s | {report['requests']} ({report['per_second']}/s) | "
        f"{report['hostile']} | {report['text_ms']['p50']} / {report['text_ms']['p99']} ms | {len(broken)} wrong | "
        f"descriptors {first['descriptors']} -> {last['descriptors']}, threads {first['threads']} -> "
        f"{last['threads']}, memory {first['rss_bytes'] >> 20} -> {last['rss_bytes'] >> 20} MiB |"
    )
    for line in broken[:MAX_COMPLAINTS]:
        print(f"BROKEN: {line}", file=sys.stderr)
    return 1 if broken else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the HTTP server under load and compare every answer.")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--requests", type=int, default=sys.maxsize, help="the most requests of a client")
    parser.add_argument("--warm-up", type=float, help="seconds before the first count of resources (a tenth)")
    parser.add_argument("--fill", type=int, default=FILL_CALLS, help="large reads that fill caches in the warm-up")
    parser.add_argument(
        "--rest", type=float, default=REST_SECONDS, help="seconds of quiet before resources are counted"
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--processes", type=int, default=4, help="processes that the clients are spread over")
    parser.add_argument("--hostile", type=float, default=0.05, help="the share of hostile requests")
    parser.add_argument("--workers", type=int, default=1, help="worker processes of the server")
    parser.add_argument("--calls", type=int, default=8, help="calls at once in each worker of the server")
    parser.add_argument("--no-sandbox", action="store_true", help="serve without the sandbox, to compare")
    parser.add_argument("--seed")
    return parser.parse_args(argv)


def growth(first: dict[str, int], last: dict[str, int], calls: int, workers: int = 1) -> list[str]:
    """Describe the resources that grew between rest after the warm-up and rest at the end."""
    found = []
    if last["descriptors"] > first["descriptors"]:
        found.append(f"descriptors grew from {first['descriptors']} to {last['descriptors']}")
    # The server keeps as many threads as calls may run; the warm-up may have used fewer.
    if last["threads"] > max(first["threads"], calls + last["children"] + 4):
        found.append(f"threads grew from {first['threads']} to {last['threads']}")
    if last["children"] > first["children"]:
        found.append(f"processes grew from {first['children']} to {last['children']}")
    for name in ("rss_bytes", "children_rss_bytes"):
        if last[name] > first[name] + GROWTH_BYTES * workers:
            found.append(f"{name} grew from {first[name] >> 20} to {last[name] >> 20} MiB")
    return found


def _report(
    options: argparse.Namespace, observed: Observed, took: float, first: dict[str, int], last: dict[str, int]
) -> dict[str, Any]:
    counts = observed.counts
    report: dict[str, Any] = {"clients": options.clients, "seconds": round(took, 1)}
    report["requests"] = sum(count for name, count in counts.items() if name.startswith(("good:", "hostile:")))
    report["per_second"] = round(report["requests"] / took, 1)
    report["hostile"] = sum(count for name, count in counts.items() if name.startswith("hostile:"))
    report["megabytes"] = round(counts["bytes"] / 1e6, 1)
    for kind in ("text", "image", "document"):
        values = [seconds * 1000 for name, seconds in observed.times if name == kind]
        report[f"{kind}_ms"] = {
            "count": len(values),
            "p50": round(_percentile(values, 0.5), 1),
            "p99": round(_percentile(values, 0.99), 1),
            "max": round(max(values, default=0.0), 1),
        }
    report["refused"] = {name[9:]: count for name, count in counts.items() if name.startswith("refused: ")}
    report["reconnected"] = counts["reconnected"]
    report["kinds"] = {name: count for name, count in sorted(counts.items()) if ":" in name and name[:7] != "refused"}
    report["rest_first"], report["rest_last"], report["most"] = first, last, observed.most_held
    return report


def _percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0
