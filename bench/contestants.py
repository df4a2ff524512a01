"""The contestants and the commands that start them.

A request is {"op": "window", "path", "start", "count"}, {"op": "tail", "path", "count"}, {"op": "count", "path"},
{"op": "many", "paths"} or {"op": "start"}; lines count from 1. `workloads.py` has others, for rows that only the
contestants take part in that name them. To add a tool, add one entry here and its source in
peers.py. A contestant that lacks a request is reported as such. One that has only a coarser request (the whole file for
a window) gets that request, and its answer is checked as usual.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import drive
import peers
from workloads import STRUCTURED

HERE = Path(__file__).resolve().parent
WORKERS = HERE / "workers"

OURS, PEER, COMMAND, FLOOR = "eyespan", "peer", "command", "floor"


class Contestant:
    """One name in the tables.

    `argv(request)` starts it, or is the command itself; `calls(request)` are MCP calls; None is "not offered".
    `only` and `never` list workloads that it takes part in, or does not.
    """

    def __init__(self, name, role, kind, argv, *, calls=None, env=None, only=(), never=(), version="", isolated=False):
        self.name = name
        self.role = role
        self.kind = kind
        self._argv = argv
        self.calls = calls
        self.env = env or {}
        self.only = only
        self.never = never
        self.version = version
        self.prefix = NO_NETWORK if isolated else []

    def argv(self, request):
        argv = self._argv(request) if callable(self._argv) else self._argv
        return None if argv is None else [*self.prefix, *map(str, argv)]

    def takes_part(self, workload):
        if workload in STRUCTURED and not self.only:
            return False
        return workload not in self.never and (not self.only or workload in self.only)


def _no_network():
    """Return the command that starts a process without network; [] where that is not allowed."""
    command = ["unshare", "-n"]
    if shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0:
        return command
    return []


NO_NETWORK = _no_network()


def ours(python, script, data, settings):
    """Return eyespan in process, from the command line and over MCP."""
    worker = [python, WORKERS / "own.py"]
    directory = data.directory

    def in_process(name, which, **more):
        return Contestant(name, OURS, drive.Worker, [*worker, which, directory], **more)

    def read(request):
        if request["op"] == "window":
            return [script, "read", f"{request['path']}:{request['start']}+{request['count']}"]
        if request["op"] == "tail":
            return [script, "read", f"{request['path']}:-{request['count']}"]
        if request["op"] == "many":
            return [script, "read", *request["paths"]]
        if request["op"] == "cold":
            return [script, "read", request["path"]]
        return None

    return [
        in_process("eyespan", "codex", never=("W7", "W10")),
        in_process("eyespan, claude dialect", "claude", only=("W1", "W7")),
        in_process("eyespan, forge dialect", "forge", only=("W1",)),
        in_process("eyespan, without numbers", "engine", only=("W3", "W3b", "W7", "W8")),
        in_process("eyespan without C", "codex", env={"EYESPAN_PURE": "1"}, never=("W7", "W9", "W10")),
        in_process("eyespan, structured", "structured", only=STRUCTURED),
        in_process("eyespan, 10 native calls", "batches", only=("W5",)),
        Contestant("eyespan read", OURS, drive.Command, read, never=("W0", "W7", "W9")),
        Contestant("eyespan serve (MCP)", OURS, drive.Mcp, _serve(script, directory, settings), calls=_own_calls,
                   never=("W9", "W10")),
        Contestant("eyespan serve (MCP), sent at once", OURS, drive.McpAtOnce, _serve(script, directory, settings),
                   calls=_own_calls, only=("W5",)),
    ]  # fmt: skip


def _dialect(request):
    """Return the dialect that offers a request."""
    if request["op"] in ("tail", "count"):
        return "forge"
    return "claude" if request.get("count") == 1 else "codex"


def _own_calls(request):
    dialect = _dialect(request)
    if request["op"] == "window" and dialect == "codex":
        arguments = {"file_path": request["path"], "offset": request["start"], "limit": request["count"]}
        return [("read_file", arguments)]
    if request["op"] == "window":
        arguments = {"file_path": request["path"], "offset": request["start"] - 1, "limit": request["count"]}
        return [("Read", arguments)]
    if request["op"] == "tail":
        return [("Read", {"path": request["path"], "tail": request["count"]})]
    if request["op"] == "count":
        return [("Read", {"path": request["path"], "tail": 1})]
    if request["op"] == "many":
        return [("read_file", {"file_path": path}) for path in request["paths"]]
    return None


def _serve(script, directory, settings):
    return lambda request: [
        script, "--root", directory, "--config", settings["config"], "serve", "--dialect", _dialect(request)
    ]  # fmt: skip


def servers_missing(python):
    """Return the reason why `eyespan serve` cannot take part, or ""."""
    known = subprocess.run([python, "-c", "import eyespan.server.stdio"], capture_output=True, text=True)
    return "" if known.returncode == 0 else "this build has no MCP server"


def floors(python, floor, data, offsets):
    """Return the floors: the least that the machine needs for the same bytes."""
    worker = [python, WORKERS / "own.py"]

    def bare(which, only):
        return [*worker, which, data.directory], only

    def pread(request):
        if request["op"] == "many":
            return [floor, "files"]
        if request["op"] == "count":
            return [floor, "pread", request["path"], Path(request["path"]).stat().st_size]
        return [floor, "pread", request["path"], offsets(request)]

    def echo(request):
        names = request.get("paths", ())
        # The numbers of lines add an eighth to these files, the rest of an answer 250 bytes.
        sizes = [Path(path).stat().st_size * 9 // 8 + 250 for path in names]
        return [python, WORKERS / "echo.py", sum(sizes) // max(1, len(sizes))]

    found = [
        Contestant(name, FLOOR, drive.Worker, argv, only=only)
        for name, (argv, only) in {
            "bare read, numbered in C": bare("floor-codex", ("W1", "W4")),
            "bare read, numbered in C (claude)": bare("floor-claude", ("W1",)),
            "bare read, numbered in C (forge)": bare("floor-forge", ("W1",)),
            "open, read and number in Python": bare("naive", ("W5",)),
            "bare read of the last 64 KB": bare("floor-codex", ("W3", "W8")),
            "bare read of the first 8 KB": bare("floor-line", ("W7",)),
            "bare read, numbered in C (native)": bare("floor-structured", ("W11",)),
            "ast.parse": bare("floor-structured", ("W12",)),
            "bare reads in Python": bare("floor-structured", ("W13", "W14", "W15")),
            "bare body over HTTP": bare("floor-structured", ("W16", "W17")),
        }.items()
    ]
    found.append(Contestant("bare echo over pipes", FLOOR, drive.Echo, echo, calls=_own_calls, only=("W5",)))
    if floor is not None:
        found += [
            Contestant("bare pread, two threads", FLOOR, drive.Floor, pread, only=("W2", "W6", "W9")),
            Contestant("bare system calls", FLOOR, drive.Floor, pread, only=("W5",)),
        ]
    found.append(Contestant("python -c pass", FLOOR, drive.Command, lambda _: [python, "-c", "pass"], only=("W10",)))
    if shutil.which("node"):
        found.append(Contestant("node -e 0", FLOOR, drive.Command, ["node", "-e", "0"], only=("W10",)))
    return found


def commands():
    """Return the commands of a shell."""

    def end(request):
        return request["start"] + request["count"] - 1

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
            case "count":
                return ["wc", "-l", path]
            case "many":
                return ["cat", *request["paths"]]
            case "cold":
                return ["cat", "-n", path]
        return None

    def sed(request):
        if request["op"] == "cold":
            return ["sed", "-n", "p", request["path"]]
        if request["op"] == "window":
            return ["sed", "-n", f"{request['start']},{end(request)}p;{end(request)}q", request["path"]]
        return None

    def awk(request):
        if request["op"] == "window":
            show = f'NR>{end(request)}{{exit}} NR>={request["start"]}{{print NR "\\t" $0}}'
            return ["awk", show, request["path"]]
        return ["awk", "END{print NR}", request["path"]] if request["op"] == "count" else None

    def grep(request):
        return ["grep", "-rn", "searched_word", request["path"]] if request["op"] == "search" else None

    return [
        Contestant("grep -rn", COMMAND, drive.Command, grep, only=("W14",)),
        Contestant("coreutils", COMMAND, drive.Command, coreutils, version="head, tail, wc, cat"),
        Contestant("sed -n", COMMAND, drive.Command, sed, never=("W9",)),
        Contestant("awk", COMMAND, drive.Command, awk, never=("W9",)),
    ]


def rivals(cache, data, home):
    """Return the peers that are installed."""
    found = []
    for peer in peers.PEERS:
        if not peers.installed(cache, peer):
            continue
        place = peers.place(cache, peer)
        more = {"version": peer.version, "isolated": True, "never": ("W9", "W10")}
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
        case "count":  # the status line of a read names the total; get_file_info does not for large files
            return [("read_file", {"path": path, "offset": 0, "length": 1})]
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
        subprocess.run([*compiler, "-O2", "-pthread", source, "-o", target], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"no compiled floor: {error}", file=sys.stderr)
        return None
    return target
