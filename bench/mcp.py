"""Compare `eyespan serve` over stdio with the reference filesystem server from npm: start, memory, calls, latency.

    python bench/mcp.py [--calls 400] [--starts 7] [--json FILE]

Both read the same file of 2,000 lines through the same small client, which writes a line and reads a line. Rounds
alternate, so that other load on the machine affects both. The peer is fetched from npm once, into a cache outside the
checkout ($EYESPAN_JUDGES); the client checks every answer.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PEER = "@modelcontextprotocol/server-filesystem@2026.8.31"
LINES = 2000


class Server:
    """One server process with requests and answers line by line."""

    def __init__(self, name: str, argv: list[str], tool: str, arguments: dict[str, Any]) -> None:
        self.name, self.tool, self.arguments = name, tool, arguments
        self._last = 0
        began = time.perf_counter()
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.ask("initialize", hello)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.ask("tools/list", {})
        self.listed_seconds = time.perf_counter() - began
        self.resting_bytes = resident(self.process.pid)
        self.call()
        self.first_seconds = time.perf_counter() - began

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> bytes:
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self.process.stdout is not None
        mark = b'"id":%d' % self._last
        while line := self.process.stdout.readline():
            # An answer, not a notification; its id may be at either end of the line.
            if mark in line[:80] or mark in line[-80:]:
                return line
        raise RuntimeError(f"{self.name} has gone")

    def call(self) -> None:
        line = self.ask("tools/call", {"name": self.tool, "arguments": self.arguments})
        if b"line 02000" not in line or b'"isError":true' in line:
            raise RuntimeError(f"{self.name} answered {line[:300]!r}")

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def resident(pid: int) -> int:
    """Return the memory of a process and its children, in bytes (Linux)."""
    total = 0
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            total = int(line.split()[1]) * 1024
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return total + sum(resident(int(child)) for child in children)


def fetch_peer() -> Path | None:
    cache = os.environ.get("EYESPAN_JUDGES") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "eyespan", "judges"
    )
    directory = Path(cache) / "filesystem"
    entry = directory / "node_modules" / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
    if not entry.exists():
        directory.mkdir(parents=True, exist_ok=True)
        npm = shutil.which("npm")
        if npm is None or subprocess.run([npm, "install", "--silent", "--prefix", directory, PEER]).returncode:
            return None
    return entry


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--starts", type=int, default=7)
    parser.add_argument("--json", help="also write the figures here")
    options = parser.parse_args()
    peer, node = fetch_peer(), shutil.which("node")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory).resolve() / "file.py"
        path.write_text(
            "".join(f"    return self.rows[key]  # line {n:05d} of the file\n" for n in range(1, LINES + 1))
        )
        root = str(path.parent)
        ours = [sys.executable, "-m", "eyespan", "--root", root, "serve"]
        plans = {
            "eyespan claude": ([*ours, "--dialect", "claude"], "Read", {"file_path": str(path)}),
            "eyespan codex": ([*ours, "--dialect", "codex"], "read_file", {"file_path": str(path)}),
        }
        if peer is not None and node is not None:
            plans["npm filesystem"] = ([node, str(peer), root], "read_text_file", {"path": str(path)})
        else:
            print("npm filesystem: not measured, npm or node is missing", file=sys.stderr)
        empty: list[float] = []
        starts: dict[str, list[Server]] = {name: [] for name in plans}
        for _ in range(options.starts):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", "pass"], check=True)
            empty.append(time.perf_counter() - began)
            for name, plan in plans.items():
                server = Server(name, *plan)
                starts[name].append(server)
                if len(starts[name]) < options.starts:
                    server.end()
        latencies: dict[str, list[float]] = {name: [] for name in plans}
        for _ in range(options.calls):
            for name, servers in starts.items():
                began = time.perf_counter()
                servers[-1].call()
                latencies[name].append(time.perf_counter() - began)
        figures = {"python -c pass": {"median_ms": 1e3 * statistics.median(empty)}}
        head = f"{'':16}{'to tools/list':>15}{'to first answer':>17}{'at rest':>10}{'in use':>9}"
        print(f"{head}{'p50':>10}{'p99':>10}{'calls/s':>10}")
        for name, servers in starts.items():
            times = sorted(latencies[name])
            figures[name] = {
                "tools_list_ms": 1e3 * statistics.median(server.listed_seconds for server in servers),
                "first_answer_ms": 1e3 * statistics.median(server.first_seconds for server in servers),
                "resting_mb": statistics.median(server.resting_bytes for server in servers) / 1e6,
                "used_mb": resident(servers[-1].process.pid) / 1e6,
                "p50_ms": 1e3 * times[len(times) // 2],
                "p99_ms": 1e3 * times[int(len(times) * 0.99)],
                "calls_per_second": len(times) / sum(times),
            }
            f = figures[name]
            print(
                f"{name:16}{f['tools_list_ms']:>12.1f} ms{f['first_answer_ms']:>14.1f} ms{f['resting_mb']:>7.1f} MB"
                f"{f['used_mb']:>6.1f} MB{f['p50_ms']:>7.2f} ms{f['p99_ms']:>7.2f} ms{f['calls_per_second']:>10.0f}"
            )
            servers[-1].end()
        print(f"{'python -c pass':16}{figures['python -c pass']['median_ms']:>12.1f} ms")
    if options.json:
        Path(options.json).write_text(json.dumps(figures, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
