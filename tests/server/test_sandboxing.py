"""The sandbox around a running server, and that everything the server does works inside."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from eyespan import Workspace, _native
from eyespan.cli.main import main as cli_main
from eyespan.extras.operations import probe
from eyespan.sandbox import landlock, seccomp
from eyespan.sandbox.server import SandboxReport
from eyespan.server import sandboxing
from tests.sizes import size

linux = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux system calls")
FIXTURES = Path(__file__).parent.parent / "fixtures"
OUTLINES = Path(__file__).parent.parent / "outline" / "fixtures"
ALL_UP = "sandboxed: files, network, scopes, calls, privileges, dumps"
LIMITED = "memory limit 1024 MB"
IS_COMPLETE = landlock.version() >= landlock.SCOPES_SINCE and os.uname().machine in seccomp.ARCHITECTURES
complete = pytest.mark.skipif(not IS_COMPLETE, reason="this kernel lacks a layer")


@pytest.mark.parametrize(
    ("addresses", "ports"),
    [
        (["https://issuer.example"], (53, 443)),
        (["http://issuer.example/x"], (53, 80, 443)),
        (["https://issuer.example:8443", "http://localhost:9"], (9, 53, 443, 8443)),
        (["https://issuer.example:none"], (53, 443)),
    ],
)
def test_the_ports_of_an_issuer(addresses, ports):
    assert sandboxing.ports_of(addresses) == ports


@linux
@complete
def test_the_start_message_lists_the_layers(lines):
    server = lines()
    server.close()

    assert server.errors == f"eyespan serve: standard input and output; {ALL_UP}; {LIMITED}\n"


def test_without_the_sandbox_there_is_a_warning_and_a_line_in_the_log(lines, tmp_path):
    log = tmp_path / "reads.jsonl"
    server = lines("--no-sandbox", "--dialect", "workspace", "--audit", str(log))
    server.call("read_file", path="hello.txt")
    server.close()

    assert server.errors == (
        f"eyespan serve: standard input and output; no sandbox; {LIMITED}\n"
        "eyespan serve: WARNING: no sandbox (--no-sandbox): only the guard keeps this process from other files and "
        "the network\n"
    )
    start, call = [json.loads(line) for line in log.read_text().splitlines()]
    assert (start["event"], start["sandbox"], call["verdict"]) == ("start", "off", "read")


def test_without_the_sandbox_there_is_a_warning_over_http_too(tree):
    pytest.importorskip("httptools", reason="HTTP needs the extra [http]")
    from .clients import HttpServer

    server = HttpServer(tree, "--no-sandbox")
    assert server.rpc("tools/list")[0] == 200
    assert server.end() == 0

    assert server.banner.endswith(f"(token from EYESPAN_TOKEN); no sandbox; {LIMITED}\n")
    assert server.errors == f"eyespan serve: {sandboxing.OFF_LINE}\n"


def test_a_start_without_the_sandbox_needs_its_line_in_a_required_log(tree, full_device):
    argv = [sys.executable, "-m", "eyespan", "serve", "--root", str(tree), "--no-sandbox", "--audit", full_device]
    for extra, status in (([], 0), (["--audit-required"], 1)):
        done = subprocess.run([*argv, *extra], input=b"", capture_output=True, timeout=60)
        assert done.returncode == status, done.stderr


@linux
@complete
def test_doctor_lists_the_layers(tree, capsys):
    cli_main(["doctor", "--json", "--root", str(tree)])

    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    expected = f"{ALL_UP} (`eyespan serve --no-sandbox` runs without)"
    assert rows["server sandbox"] == {"name": "server sandbox", "ok": True, "state": "ok", "what": expected}


def test_doctor_reports_what_is_missing(tree, capsys, monkeypatch):
    def row():
        cli_main(["doctor", "--json", "--root", str(tree)])
        rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
        return rows["server sandbox"]["ok"], rows["server sandbox"]["what"]

    monkeypatch.setattr(probe, "probe", lambda roots: (SandboxReport({"scopes": "too old"}), False))
    assert row() == (
        False,
        "sandboxed: files, network, calls, privileges, dumps (without scopes: too old); documents cannot be decoded "
        "inside it: `eyespan serve --no-sandbox` can",
    )
    monkeypatch.undo()
    monkeypatch.setattr(subprocess, "run", lambda *args, **named: subprocess.CompletedProcess(args, 1, b"", b""))
    assert row()[0] is False


# --- inside the sandbox -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def harbour(tmp_path_factory):
    """A root with one file for each reader, and a repository."""
    root = tmp_path_factory.mktemp("harbour") / "work"
    # The largest images take seconds each and exercise nothing that the small ones do not.
    left_out = shutil.ignore_patterns("*.md", "make*", "source", "alpha.png", "huge.png", "*wide.*")
    for name in ("pictures", "pdfs", "office", "notebooks"):
        shutil.copytree(FIXTURES / name, root / name, ignore=left_out)
    (root / "code").mkdir()
    for source in OUTLINES.iterdir():
        if source.is_file():
            shutil.copy(source, root / "code")
    (root / "latin.txt").write_bytes("Öl für die Mühle, ça va, señor\n".encode("latin-1") * 20)
    (root / "wide.txt").write_bytes("weit\n".encode("utf-16"))
    (root / "a.csv").write_text("a,b\n1,2\n")
    (root / "log.gz").write_bytes(gzip.compress(b"packed\n"))
    with zipfile.ZipFile(root / "logs.zip", "w") as archive:
        archive.writestr("app.log", "in the archive\n")
    with contextlib.closing(sqlite3.connect(root / "ships.sqlite")) as database:
        database.execute("create table ships (name text)")
        database.execute("insert into ships values ('Aurora')")
        database.commit()
    with contextlib.suppress(ImportError):
        import duckdb

        duckdb.sql("select 1 as n").write_parquet(str(root / "n.parquet"))
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "latin.txt", "a.csv"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    return root


def questions(root):
    """Return calls of the native tool that use every reader, decoder and grammar."""
    skipped = {".git"}
    paths = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file()]
    asked = [{"files": str(path)} for path in paths if path.parts[0] not in skipped]
    asked += [{"files": str(path), "outline": True} for path in paths if path.parts[0] == "code"]
    asked += [{"files": text} for text in (".", "logs.zip!/app.log", "pdfs/book.pdf:p2", "a.csv@HEAD")]
    return asked


TRIES = 4
"""On a busy machine a decoder may exceed its time, on either side, and the answer is then the next best one. What the
sandbox refuses stays refused however often it is tried."""


def outside(root, asked):
    with Workspace(root) as workspace:
        tool = workspace.tool("native")
        return [plain(tool.call(arguments).content) for arguments in asked]


def plain(content):
    return [block.text if block.type == "text" else (block.media_type, block.data) for block in content]


def received(content):
    return [
        block["text"] if block["type"] == "text" else (block["mimeType"], base64.b64decode(block["data"]))
        for block in content
    ]


@linux
@complete
def test_every_reader_answers_the_same_inside_over_stdio(lines, harbour):
    asked = questions(harbour)[:: size(short=3, long=1)]
    server = lines("--dialect", "native", root=harbour)
    answers = []
    for arguments in asked:
        expected = outside(harbour, [arguments])[0]
        answers.append(received(server.call("read", **arguments)["content"]))
        for _ in range(TRIES):
            if answers[-1] != expected:
                expected = outside(harbour, [arguments])[0]
                answers[-1] = received(server.call("read", **arguments)["content"])
        assert answers[-1] == expected
    server.close()

    assert ALL_UP in server.errors
    kinds = {block[0] for answer in answers for block in answer if isinstance(block, tuple)}
    assert "image/png" in kinds


@linux
@complete
@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_reader_answers_the_same_inside_over_http(harbour, workers):
    pytest.importorskip("mcp", reason="the client of the SDK")
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from .clients import HttpServer

    asked = questions(harbour)[1 :: size(short=8, long=1 if workers == "1" else 5)]
    server = HttpServer(harbour, "--dialect", "native", "--workers", workers)

    async def talk():
        headers = {"Authorization": f"Bearer {server.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(server.url, http_client=http), mode="legacy") as client,
        ):
            for arguments in asked:
                for left in reversed(range(TRIES)):
                    reply = await client.call_tool("read", arguments)
                    answer, expected = (
                        received(reply.model_dump(by_alias=True)["content"]),
                        outside(harbour, [arguments]),
                    )
                    if answer == expected[0] or not left:
                        break
                assert answer == expected[0]

    asyncio.run(talk())

    assert server.end() == 0
    assert server.banner.endswith(f"; {ALL_UP}; {LIMITED}\n")


@linux
@complete
def test_a_worker_that_is_killed_is_started_again_inside(lines, harbour):
    server = lines("--dialect", "native", root=harbour)
    first = server.call("read", files="pictures/plain.png")
    seen = set()
    for _ in range(2):
        threads = Path(f"/proc/{server.process.pid}/task").iterdir()
        workers = {int(pid) for task in threads for pid in (task / "children").read_text().split()}
        assert len(workers) == 1
        seen |= workers
        os.kill(workers.pop(), signal.SIGKILL)
        assert server.call("read", files="pictures/plain.png") == first

    assert len(seen) == 2


@linux
@complete
def test_a_log_is_rotated_inside(lines, tree, tmp_path):
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "reads.jsonl"
    server = lines("--dialect", "workspace", "--audit", str(log), "--audit-bytes", "600", "--audit-required")
    for _ in range(20):
        assert server.call("read_file", path="hello.txt")["isError"] is False
    server.close()

    assert {path.name for path in log.parent.iterdir()} == {
        "reads.jsonl", "reads.jsonl.lock", *(f"reads.jsonl.{n}" for n in range(1, 5)),
    }  # fmt: skip
    assert "cannot be written" not in server.errors


@linux
def test_a_worktree_that_points_outside_is_refused_as_before(lines, harbour, tmp_path):
    tree = tmp_path / "elsewhere"
    git = ["git", "-C", str(harbour), "worktree", "add", "-q", str(tree)]
    subprocess.run(git, check=True)
    answers = []
    for extra in ([], ["--no-sandbox"]):
        server = lines("--dialect", "native", *extra, root=tree)
        answers.append(server.call("read", files="a.csv@HEAD"))
        server.close()

    assert answers[0] == answers[1]


# --- the memory limit ------------------------------------------------------------------------------------------------


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, with the same eyespan as this one."""
    environment = {**os.environ, "PYTHONPATH": str(Path(sandboxing.__file__).parents[2])}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)


@linux
@pytest.mark.skipif(_native.BACKEND == "python", reason="without the accelerator this read stays within the limit")
def test_a_read_over_the_memory_limit_is_one_error_and_a_line_in_the_log(lines, tree):
    (tree / "large.txt").write_bytes((b"x" * 599 + b"\n") * 20_000)
    server = lines("--memory", "16", "--dialect", "codex")  # a thread needs 8 MB for its stack
    arguments = {"file_path": f"{tree}/large.txt", "limit": 20_000}
    refused = server.ask("tools/call", {"name": "read_file", "arguments": arguments})
    answered = server.call("read_file", file_path=f"{tree}/large.txt", limit=1)
    server.close()

    # The read fails, or its thread does not start.
    text = refused["error"]["message"] if "error" in refused else refused["result"]["content"][0]["text"]
    assert "memory" in text.lower() or "no thread available" in text
    assert "error" in refused or refused["result"]["isError"]
    assert answered["content"][0]["text"] == "L1: " + "x" * 500
    assert "memory limit 16 MB\n" in server.errors
    assert "no memory left" in server.errors or "no thread available" in text


@linux
def test_the_limit_can_be_switched_off(lines):
    server = lines("--memory", "0")
    server.close()

    assert server.errors.endswith("; no memory limit\n")


@linux
@pytest.mark.parametrize("which", ["soft", "hard"])
def test_a_lower_limit_of_the_host_stays(which):
    code = (
        "import resource; from eyespan.server.sandboxing import limit_memory\n"
        f"low, none = 10**9, resource.RLIM_INFINITY; resource.setrlimit(resource.RLIMIT_AS, "
        f"{'(low, none)' if which == 'soft' else '(low, low)'})\n"
        "print(limit_memory(10**6), resource.getrlimit(resource.RLIMIT_AS)[0])"
    )
    done = run_python(code)

    assert done.stdout == "memory limit of the host 1000000000\n"


@linux
def test_the_limit_is_relative_to_the_present_size():
    code = (
        "import resource; from eyespan.server.sandboxing import limit_memory\n"
        "import os; ballast = bytearray(10**8)\n"
        "present = int(open('/proc/self/statm').read().split()[0]) * os.sysconf('SC_PAGESIZE')\n"
        "limit_memory(500); print(resource.getrlimit(resource.RLIMIT_AS)[0] - present)"
    )
    done = run_python(code)

    assert 480_000_000 < int(done.stdout) < 520_000_000
