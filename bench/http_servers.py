"""Compare HTTP servers of read tools under load: CPU per request, throughput, latency and memory.

    python bench/http_servers.py [--seconds 2] [--rounds 2] [--connections 1 64 512] [--only NAME ...] [--write]

All servers read the same file of 2 KB by `tools/call` over kept connections, one after the other in each round, so that
other load on the machine affects all. Every answer is checked for the contents of the file. Peers are installed once,
below $XDG_CACHE_HOME/eyespan/bench; one that cannot be installed or does not answer is named with the reason. With
--write the figures go to bench/http.json, bench/HTTP.md and docs/benchmarks.md. A run takes some four minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from install import CHECKOUT
from peers import PEERS, Peer, cache_folder, install, place

HERE = Path(__file__).resolve().parent
FIGURES, PAGE, README = HERE / "http.json", HERE / "HTTP.md", CHECKOUT / "docs" / "benchmarks.md"
START, END = "<!-- http:start -->", "<!-- http:end -->"
LINE = "x" * 79
LINES = 25
START_SECONDS = 60.0
REQUEST_SECONDS = 10.0
LOADED = 64
"""The number of connections for which the goal and the ratios are given."""
GOAL_US = 250
"""The most CPU time of eyespan for a small read."""
PYTHON_PEERS = Peer("http-servers", "pip", ("fastmcp==4.1.2", "mcp==2.3.0", "uvicorn==0.54.0"), "bin/python")
PROXY = Peer("http-proxy", "pip", ("mcp-proxy==0.13.0",), "bin/mcp-proxy")
NPM_PEER = next(peer for peer in PEERS if peer.name == "server-filesystem")
ROWS = {
    "eyespan": "`eyespan serve --http` of this checkout",
    "eyespan, 2 workers": "the same with `--workers 2`",
    "SDK": "the official SDK's server with one tool, stateless, JSON answers, uvicorn",
    "fastmcp": "the same with fastmcp",
    "npm, mcp-proxy": "the reference filesystem server in Node behind mcp-proxy, which runs one process of it for all",
}


class Server(NamedTuple):
    """A running server, and the call that reads the file."""

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


def eyespan(python: str, name: str, directory: Path, *options: str) -> Server:
    port = free_port()
    argv = [python, "-m", "eyespan", "--root", str(directory), "serve", "--dialect", "codex", "--no-token"]
    argv += ["--http", f"127.0.0.1:{port}", "--rate", "1000000000", *options]
    return Server(name, _start(argv), port, "read_file", {"file_path": str(directory / "a.txt")})


def python_peer(name: str, directory: Path, cache: Path) -> Server:
    _require(cache, PYTHON_PEERS)
    port = free_port()
    python = str(place(cache, PYTHON_PEERS) / "bin" / "python")
    argv = [python, str(HERE / "workers" / "http_peer.py"), name, str(port)]
    return Server(name, _start(argv), port, "read_file", {"path": str(directory / "a.txt")})


def npm_peer(name: str, directory: Path, cache: Path) -> Server:
    _require(cache, NPM_PEER)
    _require(cache, PROXY)
    port = free_port()
    inner = [shutil.which("node") or "node", str(place(cache, NPM_PEER) / NPM_PEER.probe), str(directory)]
    argv = [str(place(cache, PROXY) / "bin" / "mcp-proxy"), "--stateless", "--port", str(port), "--", *inner]
    return Server(name, _start(argv), port, "read_text_file", {"path": str(directory / "a.txt")})


def _require(cache: Path, peer: Peer) -> None:
    problem = install(cache, peer)
    if problem:
        raise RuntimeError(problem)


def _start(argv: list[str]) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, so that all its processes can be found and ended."""
    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )


def stop(server: Server) -> None:
    """End a server with everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.process.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


def wait_for(server: Server) -> None:
    """Wait until a server answers. Raises: RuntimeError."""
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if server.process.poll() is not None:
            raise RuntimeError(f"ended with {server.process.returncode}")
        if measure(server, 1, 0.0).errors == 0:
            return
        time.sleep(0.2)
    raise RuntimeError(f"no right answer within {START_SECONDS:.0f} seconds")


# --- the load ---------------------------------------------------------------------------------------------------------


def request_of(server: Server) -> bytes:
    params = {"name": server.tool, "arguments": server.arguments}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAccept: application/json, text/event-stream\r\n"
        f"Content-Type: application/json\r\nMCP-Protocol-Version: 2025-06-18\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def body_of(data: bytes) -> bytes | None:
    """Return the body of an answer, or None if it is not complete. Raises: ValueError, IndexError."""
    header, blank, rest = data.partition(b"\r\n\r\n")
    if not blank:
        return None
    header = header.lower()
    if b"transfer-encoding: chunked" not in header:
        size = int(header.split(b"content-length: ")[1].split(b"\r\n")[0])
        return rest if len(rest) >= size else None
    body = b""
    while True:
        digits, newline, rest = rest.partition(b"\r\n")
        if not newline:
            return None
        size = int(digits, 16)
        if len(rest) < size + 2:
            return None
        body += rest[:size]
        rest = rest[size + 2 :]
        if not size:
            return body


def is_right(data: bytes, body: bytes) -> bool:
    """Return True for an answer that holds the file."""
    return data.startswith(b"HTTP/1.1 200") and body.count(LINE.encode()) >= LINES


class Client(asyncio.Protocol):
    """One kept connection: one request that is not counted, a pause until all have come so far, then the load."""

    def __init__(self, request: bytes, load: Load) -> None:
        self._request = request
        self._load = load
        self._data = b""
        self._start = 0.0
        self._is_ready = False
        self.has_ended = False
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self._request)

    def go(self) -> None:
        """Send the next request."""
        self._start = time.perf_counter()
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._data += data
        try:
            body = body_of(self._data)
        except (ValueError, IndexError):
            self.fail("not an answer")
            return
        if body is None:
            return
        whole, self._data = self._data, b""
        if not is_right(whole, body):
            self.fail("a wrong answer")
        elif not self._is_ready:
            self._is_ready = True
            self._load.ready(self)
        else:
            self._load.times.append(time.perf_counter() - self._start)
            if time.monotonic() < self._load.until:
                self.go()
            else:
                self.end()

    def fail(self, reason: str) -> None:
        if not self.has_ended:
            self._load.errors.append(reason)
            self.end()

    def end(self) -> None:
        self.has_ended = True
        self.transport.close()
        self._load.leave(self)

    def connection_lost(self, error: Exception | None) -> None:
        self.fail("disconnected")


class Load:
    """The connections of one run."""

    def __init__(self, server: Server, connections: int, seconds: float) -> None:
        self._server = server
        self._seconds = seconds
        self.times: list[float] = []
        self.errors: list[str] = []
        self.until = 0.0
        self._waiting: list[Client] = []
        self._left = connections
        self._idle = connections
        self._running = asyncio.get_running_loop().create_future()
        self._done = asyncio.get_running_loop().create_future()

    async def run(self) -> tuple[float, float]:
        """Return the seconds of the load and the CPU time of the server in them."""
        request, loop = request_of(self._server), asyncio.get_running_loop()
        clients = []
        for _ in range(self._left):
            try:
                made = loop.create_connection(lambda: Client(request, self), "127.0.0.1", self._server.port)
                clients.append((await asyncio.wait_for(made, REQUEST_SECONDS))[1])
            except (OSError, TimeoutError) as error:
                self.errors.append(type(error).__name__)
                self._left -= 1
                self._settle()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._running), REQUEST_SECONDS + self._left * 0.1)
        for client in clients:
            if not client.has_ended and client not in self._waiting:
                client.fail("no answer")
        before, start = cpu_seconds(self._server.process.pid), time.monotonic()
        self.until = start + self._seconds
        for client in self._waiting:
            if not client.has_ended:
                client.go()
        if self._left:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._done, self._seconds + REQUEST_SECONDS)
        for client in clients:
            client.fail("no answer")
        return time.monotonic() - start, cpu_seconds(self._server.process.pid) - before

    def ready(self, client: Client) -> None:
        """Note a client with its first answer."""
        self._waiting.append(client)
        self._settle()

    def leave(self, client: Client) -> None:
        """Note a client that has ended."""
        self._left -= 1
        self._settle()
        if self._left == 0 and not self._done.done():
            self._done.set_result(None)

    def _settle(self) -> None:
        if len(self._waiting) >= self._left and not self._running.done():
            self._running.set_result(None)


def measure(server: Server, connections: int, seconds: float) -> Measured:
    """Load a server over this many kept connections, which are made before the clock starts."""

    async def run() -> tuple[Load, float, float]:
        load = Load(server, connections, seconds)
        return load, *await load.run()

    load, took, used = asyncio.run(run())
    ordered = sorted(load.times) or [float("nan")]
    return Measured(
        requests=len(load.times),
        errors=len(load.errors),
        seconds=took,
        cpu_us=used / max(1, len(load.times)) * 1e6,
        p50_ms=ordered[len(ordered) // 2] * 1e3,
        p99_ms=ordered[int(len(ordered) * 0.99)] * 1e3,
    )


# --- processes --------------------------------------------------------------------------------------------------------


def processes(session: int) -> list[int]:
    """Return the processes of a session."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                if int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[3]) == session:
                    found.append(int(name))
    return found


def cpu_seconds(session: int) -> float:
    """Return the CPU time of a server's processes; that of children that have ended included."""
    ticks = 0
    for each in processes(session):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def memory_mb(session: int) -> float:
    """Return the memory of a server's processes, with shared pages divided (PSS)."""
    total = 0
    for each in processes(session):
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


Results = dict[str, dict[int, Measured]]


def table(results: Results, memory: dict[str, float]) -> str:
    """Return the results as a table of Markdown."""
    lines = [
        "| server | connections | CPU per read | of eyespan | reads/s | p50 | p99 | errors | memory (PSS) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    base = results.get("eyespan", {})
    for name, by_connections in results.items():
        for connections, run in by_connections.items():
            own_us = base[connections].cpu_us if connections in base else 0
            ratio = f"{run.cpu_us / own_us:.1f}x" if own_us and run.requests else ""
            cpu = f"{run.cpu_us:,.0f} us" if run.requests else "-"
            latency = f"{run.p50_ms:.1f} ms | {run.p99_ms:.1f} ms" if run.requests else "- | -"
            lines.append(
                f"| {name} | {connections} | {cpu} | {ratio} | {run.requests / run.seconds:,.0f} | {latency} | "
                f"{run.errors} | {memory[name]:.0f} MB |"
            )
    return "\n".join(lines)


def page(figures: dict[str, Any]) -> str:
    """Return bench/HTTP.md."""
    results, memory = results_of(figures), figures["memory_mb"]
    rows = "\n".join(f"| {name} | {ROWS[name]} |" for name in results)
    loaded = results["eyespan"][LOADED]
    verdict = f"{loaded.cpu_us:.0f} us, {'held' if loaded.cpu_us <= GOAL_US else '**missed**'}"
    missing = "".join(f"\n{name} is missing: {reason}.\n" for name, reason in figures["missing"].items())
    return f"""\
# HTTP servers of read tools under load

`make bench-http` repeats this run and writes this page. {figures["machine"]}

{table(results, memory)}

Goal: at most {GOAL_US} us of CPU time for a small read of eyespan, over {LOADED} connections: {verdict}.
{missing}
| server | |
| --- | --- |
{rows}

## Method

Every request is a `tools/call` that reads a file of 2 KB, over kept connections that are made, and used once, before
the clock starts. All servers run at the same time and are loaded one after the other, {figures["rounds"]} rounds of
{figures["seconds"]:g} seconds for each number of connections, so that other load on the machine affects all. The client
is one Python process on the same machine. It sends the next request of a connection when the answer has come, and
checks that the answer holds the file. A wrong answer, a lost connection and an answer that takes longer than
{REQUEST_SECONDS:.0f} seconds are errors.

CPU per read counts all processes of a server, and hardly depends on other load. Throughput and latency include the
client, which shares the cores. Memory is that of all processes after a run, the highest of all runs, with shared pages
divided (PSS). eyespan runs with its sandbox and all checks; the peers have neither.
"""


def readme_text(figures: dict[str, Any], connections: int = LOADED) -> str:
    """Return the section of docs/benchmarks.md: ratios only."""
    results, memory = results_of(figures), figures["memory_mb"]
    base = results["eyespan"][connections]
    lines = [f"| small reads over HTTP, {LOADED} connections | CPU per read | memory |", "| --- | --- | --- |"]
    for name, by_connections in results.items():
        run = by_connections.get(connections)
        if run is None or not run.requests or name == "eyespan, 2 workers":
            continue
        share = f"{memory[name] / memory['eyespan']:.1f}x"
        lines.append(f"| {name} | {run.cpu_us / base.cpu_us:.1f}x | {share} |")
    return "\n".join(lines) + "\n\nRatios within one run; [HTTP](../bench/HTTP.md) has all figures."


def results_of(figures: dict[str, Any]) -> Results:
    return {
        name: {int(count): Measured(**run) for count, run in runs.items()} for name, runs in figures["servers"].items()
    }


def with_section(readme: str, text: str) -> str:
    """Return the document with this text between its markers. Raises: ValueError."""
    before, start, rest = readme.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"docs/benchmarks.md needs the lines {START} and {END}")
    return f"{before}{START}\n{text}\n{END}{after}"


def machine(load: float) -> str:
    """Return a description of this machine; `load` is its load average before the run."""
    model = next((line for line in _cpu_lines() if line.startswith("model name")), "").partition(": ")[2].strip()
    day = time.strftime("%Y-%m-%d", time.gmtime())
    system = f"{model or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{system}, {day}; load average {load:.0f} at the start."


def _cpu_lines() -> list[str]:
    try:
        return Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare HTTP servers of read tools under load.")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds of each run")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 64, 512])
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"some of: {'; '.join(ROWS)}")
    parser.add_argument("--write", action="store_true", help="write http.json, HTTP.md and docs/benchmarks.md")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    names = [name for name in ROWS if not options.only or name in options.only]
    servers: list[Server] = []
    missing: dict[str, str] = {}
    runs: dict[str, dict[int, list[Measured]]] = {}
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="eyespan-bench-") as directory_name:
        directory = Path(directory_name).resolve()
        (directory / "a.txt").write_text(f"{LINE}\n" * LINES)
        try:
            for name in names:
                try:
                    server = _make(name, directory, cache)
                    servers.append(server)
                    wait_for(server)
                    runs[name] = {}
                except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
                    missing[name] = str(error)
                    print(f"{name}: left out: {error}", file=sys.stderr)
            for number in range(options.rounds):
                for count in options.connections:
                    for server in servers:
                        if server.name in runs:
                            run = measure(server, count, options.seconds)
                            runs[server.name].setdefault(count, []).append(run)
                            used = memory_mb(server.process.pid)
                            memory[server.name] = max(memory.get(server.name, 0.0), used)
                print(f"round {number + 1} of {options.rounds} is done", file=sys.stderr)
            for server in servers:
                if server.process.poll() is not None:
                    print(f"{server.name}: ended under load with {server.process.returncode}", file=sys.stderr)
        finally:
            for server in servers:
                stop(server)
    figures = {
        "machine": machine(load),
        "seconds": options.seconds,
        "rounds": options.rounds,
        "missing": missing,
        "memory_mb": memory,
        "servers": {
            name: {str(count): merged(each)._asdict() for count, each in found.items()}
            for name, found in runs.items()
            if found
        },
    }
    print(table(results_of(figures), memory))
    if options.write:
        FIGURES.write_text(json.dumps(figures, indent=2) + "\n")
        PAGE.write_text(page(figures))
        README.write_text(with_section(README.read_text(), readme_text(figures)))
    return 0


def _make(name: str, directory: Path, cache: Path) -> Server:
    if name.startswith("eyespan"):
        return eyespan(sys.executable, name, directory, *(("--workers", "2") if name != "eyespan" else ()))
    if name.startswith("npm"):
        return npm_peer(name, directory, cache)
    return python_peer(name, directory, cache)


if __name__ == "__main__":
    sys.exit(main())
