"""The contestants and the commands that start them.

A request is {"op": "window", "path", "start", "count"}, {"op": "tail", "path", "count"}, {"op": "many", "paths"},
{"op": "shell", "path"} or {"op": "start"}; lines count from 1. `workloads.py` has others, for rows that no peer takes
part in. To add a tool, add one entry here and its source in peers.py. A contestant that lacks a request is reported as
such. One that has only a coarser request (the whole file for a window) gets that request, and its answer is checked as
usual.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import data as files
import drive
import peers
from workloads import READS

HERE = Path(__file__).resolve().parent
WORKERS = HERE / "workers"

OURS, PEER, COMMAND, FLOOR = "eyespan", "peer", "command", "floor"
IN_FLIGHT = 64
"""Calls that a host sends before it waits; the server refuses further calls where 256 wait (docs/server.md)."""


class Contestant:
    """One name in the tables.

    `rows` are the workloads that it takes part in. `argv(request)` starts it, or is the command itself;
    `calls(request)` are MCP calls; None is "not offered".
    """

    def __init__(self, name, role, kind, argv, rows, *, calls=None, in_flight=1, env=None, version="", isolated=False):
        self.name = name
        self.role = role
        self.kind = kind
        self._argv = argv
        self.rows = rows
        self.calls = calls
        self.in_flight = in_flight
        self.env = env or {}
        self.version = version
        self.prefix = NO_NETWORK if isolated else []

    def argv(self, request):
        argv = self._argv(request) if callable(self._argv) else self._argv
        return None if argv is None else [*self.prefix, *map(str, argv)]


def _no_network():
    """Return the command that starts a process without network; [] where that is not allowed."""
    command = ["unshare", "-n"]
    if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        return command
    return []


NO_NETWORK = _no_network()


def ours(python, script, data, config):
    """Return eyespan in process, from the command line and over MCP."""

    def in_process(name, worker, rows, **more):
        argv = [python, WORKERS / "own.py", worker, data.directory]
        return Contestant(name, OURS, drive.Worker, argv, rows, **more)

    def read(request):
        path = request.get("path")
        targets = {
            "window": lambda: [f"{path}:{request['start']}+{request['count']}"],
            "tail": lambda: [f"{path}:-{request['count']}"],
            "many": lambda: request["paths"],
            "shell": lambda: [path],
        }
        return [script, "read", *targets[request["op"]]()]

    def serve(request):
        # Without this option, answers end after 10,000 tokens and name the call that continues; peers have no limit.
        options = ["--dialect", _dialect(request), "--max-answer-tokens", "0"]
        return [script, "--root", data.directory, "--config", config, "serve", *options]

    def server(name, rows, in_flight):
        return Contestant(name, OURS, drive.Mcp, serve, rows, calls=_own_calls, in_flight=in_flight)

    return [
        in_process("eyespan", "eyespan", (*READS, "outline", "search", "records")),
        in_process("eyespan without C", "eyespan", ("file", "window", "many"), env={"EYESPAN_PURE": "1"}),
        in_process("eyespan, 10 native calls", "batches", ("many",)),
        Contestant("eyespan read", OURS, drive.Command, read, ("file", "window", "tail", "many", "shell")),
        server("eyespan serve (MCP)", READS, 1),
        server(f"eyespan serve (MCP), {IN_FLIGHT} in flight", ("many",), IN_FLIGHT),
    ]


def _dialect(request):
    """Return the dialect that offers a request; only `claude` shows 2,000 characters of a line."""
    return "forge" if request["op"] == "tail" else "claude" if request.get("count") == 1 else "codex"


def _own_calls(request):
    path = request.get("path")
    match request["op"], _dialect(request):
        case "window", "codex":
            return [("read_file", {"file_path": path, "offset": request["start"], "limit": request["count"]})]
        case "window", _:
            return [("Read", {"file_path": path, "offset": request["start"] - 1, "limit": request["count"]})]
        case "tail", _:
            return [("Read", {"path": path, "tail": request["count"]})]
        case "many", _:
            return [("read_file", {"file_path": each}) for each in request["paths"]]
    return None


def floors(python, floor, data):
    """Return the floors: what the machine or Python itself needs for the same bytes."""

    def pread(request):
        path = Path(request["path"])
        is_tail = request["op"] == "tail"
        end = path.stat().st_size if is_tail else files.offset_behind(path, request["start"] + request["count"] - 1)
        return [floor, "pread", path, end]

    few_lines = [python, WORKERS / "own.py", "few-lines", data.directory]
    start = [python, "-c", "pass"]
    found = [
        Contestant("few lines of Python", FLOOR, drive.Worker, few_lines,
                   ("file", "many", "outline", "search", "records")),
        Contestant("python -c pass", FLOOR, drive.Command, start, ("shell",)),
    ]  # fmt: skip
    if floor is not None:
        found.append(Contestant("bare pread", FLOOR, drive.Floor, pread, ("window", "tail")))
    return found


def commands():
    """Return the commands of a shell."""

    def coreutils(request):
        path = request.get("path")
        match request["op"]:
            case "window" if request["start"] == 1:
                return ["head", "-n", request["count"], path]
            case "window":
                tail = f"tail -n +{request['start']} {shlex.quote(path)}"
                return ["sh", "-c", f"{tail} | head -n {request['count']}"]
            case "tail":
                return ["tail", "-n", request["count"], path]
            case "many":
                return ["cat", *request["paths"]]
            case "shell":
                return ["cat", "-n", path]
        return None

    def sed(request):
        end = request["start"] + request["count"] - 1
        return ["sed", "-n", f"{request['start']},{end}p;{end}q", request["path"]]

    def grep(request):
        return ["grep", "-rn", "searched_word", request["path"]]

    reads = tuple(row for row in READS if row != "start")
    return [
        Contestant("coreutils", COMMAND, drive.Command, coreutils, (*reads, "shell"), version="head, tail, cat"),
        Contestant("sed -n", COMMAND, drive.Command, sed, ("file", "window", "long line")),
        Contestant("grep -rn", COMMAND, drive.Command, grep, ("search",)),
    ]


def rivals(cache, data, home):
    """Return the peers that are installed."""
    found = []
    for peer in peers.PEERS:
        if not peers.installed(cache, peer):
            continue
        place = peers.place(cache, peer)
        more = {"rows": READS, "version": peer.version, "isolated": True}
        if peer.name == "server-filesystem":
            argv = ["node", place / peer.probe, data.directory]
            contestant = Contestant(f"{peer.name} (MCP)", PEER, drive.Mcp, argv, calls=_server_filesystem, **more)
        elif peer.name == "desktop-commander":
            _quiet_commander(home, data)
            argv = ["node", place / peer.probe, "--no-onboarding"]
            contestant = Contestant(f"{peer.name} (MCP)", PEER, drive.Mcp, argv, calls=_desktop_commander, **more)
        elif peer.source == "npm":
            package = place / peer.probe.partition("/dist/")[0]
            argv = ["node", WORKERS / "peer.mjs", peer.name, data.directory, package]
            contestant = Contestant(f"{peer.name} (node)", PEER, drive.Worker, argv, **more)
        else:
            argv = [place / "bin" / "python", WORKERS / "peer.py", peer.name, data.directory]
            contestant = Contestant(f"{peer.name} (python)", PEER, drive.Worker, argv, **more)
        found.append(contestant)
    return found


def _server_filesystem(request):
    path = request.get("path")
    match request["op"]:
        case "window" if request["start"] == 1:
            return [("read_text_file", {"path": path, "head": request["count"]})]
        case "window":
            return [("read_text_file", {"path": path})]
        case "tail":
            return [("read_text_file", {"path": path, "tail": request["count"]})]
        case "many":
            return [("read_multiple_files", {"paths": request["paths"]})]
    return None


def _desktop_commander(request):
    path = request.get("path")
    match request["op"]:
        case "window":
            return [("read_file", {"path": path, "offset": request["start"] - 1, "length": request["count"]})]
        case "tail":
            return [("read_file", {"path": path, "offset": -request["count"]})]
        case "many":
            return [("read_multiple_files", {"paths": request["paths"]})]
    return None


def _quiet_commander(home, data):
    """Turn its telemetry off and raise its limit on lines to the largest request."""
    directory = home / ".claude-server-commander"
    directory.mkdir(parents=True, exist_ok=True)
    config = {
        "telemetryEnabled": False,
        "allowedDirectories": [str(data.directory)],
        "fileReadLineLimit": 400_000,
        "blockedCommands": [],
        "clientId": "bench",
    }
    (directory / "config.json").write_text(json.dumps(config))


def build_floor(work):
    """Compile the floor and return its path; None without a compiler."""
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    target = work / "floor"
    source = HERE / "floor.c"
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    try:
        subprocess.run([*compiler, "-O2", source, "-o", target], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no compiled floor: {error}", file=sys.stderr)
        return None
    return target
