"""Compare HTTP servers of read tools under load: CPU per request, throughput, latency and memory.

    python bench/http_servers.py [--seconds 2] [--rounds 2] [--connections 1 64 512] [--only NAME ...] [--json FILE]

All servers read the same file of 2 KB by `tools/call` over kept connections, one after the other in each round, so that
other load on the machine affects all. CPU per request counts the server's processes alone, and hardly depends on other
load; throughput and latency do. Every answer is checked for the contents of the file. Peers are installed once, below
$XDG_CACHE_HOME/eyespan/bench.

    eyespan             `eyespan serve --http` of this checkout
    eyespan on the SDK  the last revision of this repository whose HTTP server was the official SDK on uvicorn
    SDK                 the official SDK's server with one tool, stateless, JSON answers, uvicorn
    fastmcp             the same with fastmcp
    npm filesystem      the reference filesystem server behind supergateway (streamable HTTP, stateless)
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from install import CHECKOUT
from peers import Peer, cache_folder, install, place

LINE = "x" * 79
LINES = 25
START_SECONDS = 60.0
REQUEST_SECONDS = 10.0
SDK_MODULE = "src/eyespan/server/http/bridge.py"
"""A module that existed as long as the HTTP server was the SDK."""
PYTHON_PEERS = Peer("http-servers", "pip", ("fastmcp==4.1.2", "mcp==2.3.0", "uvicorn==0.54.0"), "bin/python")
NPM_PEERS = Peer(
    "http-bridge",
    "npm",
    ("supergateway@3.4.3", "@modelcontextprotocol/server-filesystem@2026.8.31"),
    "node_modules/supergateway/dist/index.js",
)


class Server(NamedTuple):
    """A running server: how to ask it for the file."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    tool: str
    arguments: dict[str, Any]


class Measured(NamedTuple):
    """One run of load."""

    requests: int
    errors: int
    seconds: float
    cpu_us: float
    p50_ms: float
    p99_ms: float


# --- servers ----------------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def eyespan(python: str, name: str, directory: Path, **environment: str) -> Server:
    port = free_port()
    argv = [python, "-m", "eyespan", "--root", str(directory), "serve", "--dialect", "codex", "--no-token"]
    argv += ["--http", f"127.0.0.1:{port}", "--rate", "1000000000"]
    return Server(name, _start(argv, environment), port, "read_file", {"file_path": str(directory / "a.txt")})


def eyespan_on_sdk(directory: Path, cache: Path) -> Server:
    """Start the server of the last revision on the SDK. Raises: RuntimeError."""
    problem = install(cache, PYTHON_PEERS)
    if problem:
        raise RuntimeError(problem)
    git = ["git", "-C", str(CHECKOUT)]
    removed = subprocess.run(
        [*git, "log", "-1", "--diff-filter=DR", "--format=%H", "--", SDK_MODULE], capture_output=True, text=True
    ).stdout.strip()
    if not removed:
        raise RuntimeError("this checkout has no history")
    sources = cache / "http-old" / removed[:12]
    if not (sources / "src").exists():
        sources.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run([*git, "archive", f"{removed}^", "src"], capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(sources)], input=archive, check=True)
    python = str(place(cache, PYTHON_PEERS) / "bin" / "python")
    return eyespan(python, "eyespan on the SDK", directory, PYTHONPATH=str(sources / "src"))


def python_peer(kind: str, directory: Path, cache: Path) -> Server:
    problem = install(cache, PYTHON_PEERS)
    if problem:
        raise RuntimeError(problem)
    port = free_port()
    python = str(place(cache, PYTHON_PEERS) / "bin" / "python")
    argv = [python, str(Path(__file__).parent / "workers" / "http_peer.py"), kind, str(port)]
    return Server(kind, _start(argv, {}), port, "read_file", {"path": str(directory / "a.txt")})


def npm_peer(directory: Path, cache: Path) -> Server:
    problem = install(cache, NPM_PEERS)
    if problem:
        raise RuntimeError(problem)
    port = free_port()
    modules = place(cache, NPM_PEERS) / "node_modules"
    node = shutil.which("node") or "node"
    inner = f"{node} {modules}/@modelcontextprotocol/server-filesystem/dist/index.js {directory}"
    argv = [node, str(modules / "supergateway" / "dist" / "index.js"), "--stdio", inner]
    argv += ["--outputTransport", "streamableHttp", "--port", str(port), "--logLevel", "none"]
    return Server("npm filesystem", _start(argv, {}), port, "read_text_file", {"path": str(directory / "a.txt")})


def _start(argv: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/"
    )


def wait_for(server: Server) -> None:
    """Wait until a server answers. Raises: RuntimeError."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if server.process.poll() is not None:
            raise RuntimeError(f"ended with {server.process.returncode}")
        with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, TimeoutError):
            if asyncio.run(_ask_once(server)):
                return
        time.sleep(0.2)
    raise RuntimeError("no right answer")


# --- the load ---------------------------------------------------------------------------------------------------------


def request_of(server: Server) -> bytes:
    params = {"name": server.tool, "arguments": server.arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Type: application/json\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> bool:
    """Send one request and return whether the answer holds the file."""
    writer.write(request)
    header = (await reader.readuntil(b"\r\n\r\n")).lower()
    if b"transfer-encoding: chunked" in header:
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(header.split(b"content-length: ")[1].split(b"\r\n")[0]))
    return header.startswith(b"http/1.1 200") and body.count(LINE.encode()) >= LINES


async def _ask_once(server: Server) -> bool:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        return await asyncio.wait_for(_exchange(reader, writer, request_of(server)), REQUEST_SECONDS)
    finally:
        writer.close()


FAILURES = (OSError, asyncio.IncompleteReadError, TimeoutError, ValueError, IndexError)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _connect(server: Server, errors: list[str]) -> Streams | None:
    """Open a connection and send one request that is not counted, since servers close connections that send none."""
    try:
        streams = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", server.port), REQUEST_SECONDS)
        await asyncio.wait_for(_exchange(*streams, request_of(server)), REQUEST_SECONDS)
        return streams
    except FAILURES as error:
        errors.append(type(error).__name__)
        return None


async def _client(server: Server, streams: Streams, until: float, times: list[float], errors: list[str]) -> None:
    """Send requests over one connection until a time, at least one."""
    request = request_of(server)
    try:
        while True:
            start = time.perf_counter()
            is_right = await asyncio.wait_for(_exchange(*streams, request), REQUEST_SECONDS)
            times.append(time.perf_counter() - start)
            if not is_right:
                errors.append("a wrong answer")
            if time.monotonic() >= until:
                break
    except FAILURES as error:
        errors.append(type(error).__name__)
    streams[1].close()


def measure(server: Server, connections: int, seconds: float) -> Measured:
    """Load a server over this many kept connections, which are made before the clock starts."""
    times: list[float] = []
    errors: list[str] = []

    async def run() -> tuple[float, float]:
        made = await asyncio.gather(*(_connect(server, errors) for _ in range(connections)))
        before, start = cpu_seconds(server.process.pid), time.monotonic()
        await asyncio.gather(*(_client(server, each, start + seconds, times, errors) for each in made if each))
        return time.monotonic() - start, cpu_seconds(server.process.pid) - before

    took, used = asyncio.run(run())
    ordered = sorted(times) or [float("nan")]
    return Measured(
        requests=len(times),
        errors=len(errors),
        seconds=took,
        cpu_us=used / max(1, len(times)) * 1e6,
        p50_ms=ordered[len(ordered) // 2] * 1e3,
        p99_ms=ordered[int(len(ordered) * 0.99)] * 1e3,
    )


# --- processes --------------------------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Return a process and everything that it started."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                parent = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1]
                children.setdefault(int(parent), []).append(int(name))
    found = [pid]
    for each in found:
        found += children.get(each, [])
    return found


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its descendants; that of children that have ended included."""
    ticks = 0
    for each in descendants(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    """Return the memory of a process and its descendants, with shared pages divided (PSS)."""
    total = 0
    for each in descendants(pid):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


# --- the report -------------------------------------------------------------------------------------------------------


def merged(runs: list[Measured]) -> Measured:
    """Return the runs of one server and number of connections as one; latencies by their median run."""
    count = sum(run.requests for run in runs)
    by_p99 = sorted(runs, key=lambda run: run.p99_ms)[len(runs) // 2]
    return Measured(
        requests=count,
        errors=sum(run.errors for run in runs),
        seconds=sum(run.seconds for run in runs),
        cpu_us=sum(run.cpu_us * run.requests for run in runs) / max(1, count),
        p50_ms=by_p99.p50_ms,
        p99_ms=by_p99.p99_ms,
    )


def table(results: dict[str, dict[int, Measured]], memory: dict[str, float]) -> str:
    """Return the results as a table of Markdown."""
    lines = [
        "| server | connections | CPU per request | of eyespan | requests/s | p50 | p99 | errors | memory (PSS) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    base = results.get("eyespan", {})
    for name, by_connections in results.items():
        for connections, run in by_connections.items():
            own_us = base[connections].cpu_us if connections in base else 0
            ratio = f"{run.cpu_us / own_us:.1f}x" if own_us and run.requests else ""
            lines.append(
                f"| {name} | {connections} | {run.cpu_us:.0f} us | {ratio} | {run.requests / run.seconds:.0f} | "
                f"{run.p50_ms:.1f} ms | {run.p99_ms:.1f} ms | {run.errors} | {memory[name]:.0f} MB |"
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare HTTP servers of read tools under load.")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of each run")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 64, 512])
    parser.add_argument("--only", nargs="+", help="names of servers")
    parser.add_argument("--json", help="write the figures to this file")
    options = parser.parse_args()
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    makers = {
        "eyespan": lambda directory: eyespan(sys.executable, "eyespan", directory),
        "eyespan on the SDK": lambda directory: eyespan_on_sdk(directory, cache),
        "SDK": lambda directory: python_peer("SDK", directory, cache),
        "fastmcp": lambda directory: python_peer("fastmcp", directory, cache),
        "npm filesystem": lambda directory: npm_peer(directory, cache),
    }
    servers: list[Server] = []
    runs: dict[str, dict[int, list[Measured]]] = {}
    with tempfile.TemporaryDirectory(prefix="eyespan-bench-") as name:
        directory = Path(name).resolve()
        (directory / "a.txt").write_text(f"{LINE}\n" * LINES)
        try:
            for kind, make in makers.items():
                if options.only and kind not in options.only:
                    continue
                try:
                    server = make(directory)
                    servers.append(server)
                    wait_for(server)
                    runs[kind] = {count: [] for count in options.connections}
                except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
                    print(f"{kind}: left out: {error}", file=sys.stderr)
            for _ in range(options.rounds):
                for count in options.connections:
                    for server in servers:
                        if server.name in runs:
                            runs[server.name][count].append(measure(server, count, options.seconds))
            memory = {server.name: memory_mb(server.process.pid) for server in servers}
            for server in servers:
                if server.process.poll() is not None:
                    print(f"{server.name}: ended under load with {server.process.returncode}", file=sys.stderr)
        finally:
            for server in servers:
                server.process.terminate()
            for server in servers:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    server.process.wait(20)
                if server.process.poll() is None:
                    server.process.kill()
                    server.process.wait()
    results = {name: {count: merged(each) for count, each in found.items()} for name, found in runs.items()}
    print(table(results, memory))
    if options.json:
        figures = {name: {str(count): run._asdict() for count, run in each.items()} for name, each in results.items()}
        Path(options.json).write_text(json.dumps({"figures": figures, "memory_mb": memory}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
