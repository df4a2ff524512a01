"""The jail around the server: what is out of reach inside, and that everything the server does works all the same."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import mimetypes
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.cli import main as cli_main
from eyespan.sandbox import kernel
from eyespan.sandbox import server as jail
from eyespan.server import audit_main, parse
from eyespan.server.options import ServeOptions

linux = pytest.mark.skipif(sys.platform != "linux", reason="these walls are made of Linux system calls")
landlock = pytest.mark.skipif(kernel.landlock_version() < 1, reason="this kernel has no Landlock")
FIXTURES = Path(__file__).parent.parent / "fixtures"
OUTLINES = Path(__file__).parent.parent / "outline" / "fixtures"
ALL_UP = "jailed: files, network, scopes, calls, privileges, dumps"
WHOLE = kernel.landlock_version() >= kernel.SCOPES_SINCE and os.uname().machine in kernel.ARCHITECTURES
whole = pytest.mark.skipif(not WHOLE, reason="this kernel lacks a layer")


def inside(body, root, *, before="", options=(), enter=True, **environment):
    """Runs a program that goes to jail, as a server of `root` would, and then tries things; what it printed as JSON."""
    code = f"""
import errno, json, os, socket, sys
from eyespan import Workspace
from eyespan.sandbox import kernel
from eyespan.server import parse
from eyespan.sandbox import server as jail
def tried(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
workspace = Workspace({str(root)!r})
root = {str(root)!r}
{textwrap.dedent(before)}
report = jail.enter(jail.needs_of(parse({list(options)!r}), workspace.roots)) if {enter} else None
{textwrap.dedent(body)}
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, timeout=60, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


ATTEMPTS = """
    import signal, subprocess
    port = int(os.environ["PORT"])
    def connect(address=("127.0.0.1", port), kind=socket.SOCK_STREAM, family=socket.AF_INET):
        with socket.socket(family, kind) as link:
            link.connect(address)
    def listen():
        with socket.socket() as link:
            link.bind(("127.0.0.1", 0))
    def run(program):
        pid = os.fork()
        if pid:
            status = os.waitpid(pid, 0)[1]
            if status:
                raise OSError(os.waitstatus_to_exitcode(status), "")
            return
        try:
            os.execv(program, [program])
        except OSError as error:
            os._exit(error.errno)
    def peek():
        pid = os.getppid()
        with open(f"/proc/{pid}/environ", "rb") as file:
            file.read()
    print(json.dumps({
        "read": tried(lambda: open("/etc/passwd").close()),
        "list": tried(lambda: os.listdir("/etc")),
        "environ": tried(peek),
        "write in a root": tried(lambda: open(root + "/new", "w").close()),
        "change in a root": tried(lambda: open(root + "/hello.txt", "a").close()),
        "cut in a root": tried(lambda: os.truncate(root + "/hello.txt", 1)),
        "make a folder": tried(lambda: os.mkdir(root + "/folder")),
        "make a link": tried(lambda: os.symlink("hello.txt", root + "/link")),
        "mode": tried(lambda: os.chmod(root + "/hello.txt", 0o600)),
        "owner": tried(lambda: os.chown(root + "/hello.txt", os.getuid(), os.getgid())),
        "remove in a root": tried(lambda: os.unlink(root + "/hello.txt")),
        "temporary file": tried(lambda: open("/tmp/eyespan-jail-test", "w").close()),
        "tcp": tried(connect),
        "udp": tried(lambda: connect(kind=socket.SOCK_DGRAM)),
        "unix": tried(lambda: connect(os.environ["UNIX"], family=socket.AF_UNIX)),
        "abstract": tried(lambda: connect(chr(0) + os.environ["ABSTRACT"], family=socket.AF_UNIX)),
        "listen": tried(listen),
        "exec": tried(lambda: run("/bin/true")),
        "signal": tried(lambda: os.kill(os.getppid(), 0)),
    }))
"""
EXPECTED = {
    **dict.fromkeys(
        ("read", "list", "environ", "write in a root", "change in a root", "cut in a root", "remove in a root"),
        "EACCES",
    ),
    **dict.fromkeys(("make a folder", "make a link", "temporary file", "exec"), "EACCES"),
    **dict.fromkeys(("mode", "owner", "tcp", "udp", "unix", "abstract", "listen", "signal"), "EPERM"),
}


@pytest.fixture
def attempts(tree, tmp_path):
    """Runs all of `ATTEMPTS`, against listeners that would take them."""

    def run(**how):
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            named = stack.enter_context(socket.socket(socket.AF_UNIX))
            named.bind(str(tmp_path / "socket"))
            named.listen()
            abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
            abstract.bind("\0eyespan-jail-" + str(os.getpid()))
            abstract.listen()
            return inside(
                ATTEMPTS,
                tree,
                PORT=str(listener.getsockname()[1]),
                UNIX=str(tmp_path / "socket"),
                ABSTRACT=f"eyespan-jail-{os.getpid()}",
                **how,
            )

    yield run
    Path("/tmp/eyespan-jail-test").unlink(missing_ok=True)


@linux
@whole
def test_nothing_that_a_server_has_no_business_with_works(attempts):
    assert attempts() == EXPECTED


@linux
def test_the_same_works_without_the_jail(attempts):
    assert attempts(enter=False) == dict.fromkeys(EXPECTED, "done")


@linux
def test_nothing_is_dumped_and_nothing_is_gained(tree):
    body = """
        import ctypes, resource
        prctl = ctypes.CDLL(None).prctl
        told = {"dumpable": prctl(3, 0, 0, 0, 0), "no_new_privs": prctl(39, 0, 0, 0, 0)}
        print(json.dumps({**told, "core": resource.getrlimit(resource.RLIMIT_CORE)}))
    """
    assert inside(body, tree) == {"dumpable": 0, "no_new_privs": 1, "core": [0, 0]}


@linux
@landlock
def test_the_roots_are_read_by_name_and_by_guard(tree, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    body = """
        tool = workspace.tool("workspace")
        reply = tool.call({"path": "hello.txt"})
        outside = tool.call({"path": "out"})
        print(json.dumps([open(root + "/hello.txt").read(), reply.structured["content"], outside.error.code]))
    """
    assert inside(body, tmp_path / "link") == ["hello\nworld\n", "hello\nworld\n", "SANDBOX_VIOLATION"]


@linux
@landlock
def test_many_and_nested_roots_stay_readable(tree, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a.txt").write_text("a\n")
    (tmp_path / "secret.txt").write_text("s\n")
    before = f"workspace = Workspace({str(tree)!r}, {str(tree / 'src')!r}, {str(tmp_path / 'other')!r})"
    body = f"""
        names = [root + "/src/app.py", {str(tmp_path / "other" / "a.txt")!r}, {str(tmp_path / "secret.txt")!r}]
        print(json.dumps([tried(lambda name=name: open(name).close()) for name in names]))
    """
    assert inside(body, tree, before=before) == ["done", "done", "EACCES"]


@linux
@landlock
def test_the_cache_and_the_log_can_be_written_and_nothing_around_them(tree, tmp_path):
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "reads.jsonl"
    body = f"""
        cache, logs = {str(tmp_path / "cache")!r}, {str(tmp_path / "logs")!r}
        print(json.dumps({{
            "cache": tried(lambda: open(cache + "/index/x", "x").close()),
            "beside the cache": tried(lambda: open(cache + "/x", "x").close()),
            "log": tried(lambda: open(logs + "/reads.jsonl", "a").close()),
            "turned over": tried(lambda: os.replace(logs + "/reads.jsonl", logs + "/reads.jsonl.1")),
            "read log": tried(lambda: open(logs + "/reads.jsonl.1").close()),
            "folder in logs": tried(lambda: os.mkdir(logs + "/x")),
            "wide": report.wide,
        }}))
    """
    told = inside(body, tree, options=["--audit", str(log)], EYESPAN_CACHE=str(tmp_path / "cache"))

    assert told == {
        "cache": "done",
        "beside the cache": "EACCES",
        "log": "done",
        "turned over": "done",
        "read log": "EACCES",
        "folder in logs": "EACCES",
        "wide": [],
    }
    assert (tmp_path / "cache" / "index").stat().st_mode & 0o777 == 0o700


@linux
@landlock
def test_a_log_that_is_no_file_opens_no_folder(tree):
    body = """
        names = ("/dev/full", "/dev/zero")
        print(json.dumps([tried(lambda name=name: open(name, "a").close()) for name in names]))
    """
    assert inside(body, tree, options=["--audit", "/dev/full"]) == ["done", "EACCES"]


@linux
@landlock
def test_a_log_inside_a_root_is_told(tree):
    told = inside("print(json.dumps(report.line()))", tree, options=["--audit", str(tree / "reads.jsonl")])

    assert told.endswith(
        f"the audit log's folder is writable and shares files with the root {tree}: better a folder apart"
    )


@linux
@whole
def test_an_issuer_is_reached_and_nobody_else(tree):
    body = """
        port, other = json.loads(os.environ["PORTS"])
        def connect(port):
            with socket.create_connection(("127.0.0.1", port)):
                pass
        print(json.dumps([report.missing, tried(lambda: connect(port)), tried(lambda: connect(other))]))
    """
    with socket.create_server(("127.0.0.1", 0)) as issuer, socket.create_server(("127.0.0.1", 0)) as other:
        port = issuer.getsockname()[1]
        where = ["--oauth-issuer", f"http://127.0.0.1:{port}", "--oauth-resource", "http://127.0.0.1:1/mcp"]
        told = inside(
            body,
            tree,
            options=["--http", "127.0.0.1:0", *where],
            PORTS=json.dumps([port, other.getsockname()[1]]),
        )

    assert told == [{}, "done", "EACCES"]


@pytest.mark.parametrize(
    ("addresses", "ports"),
    [
        (["https://issuer.example"], (53, 443)),
        (["http://issuer.example/x"], (53, 80, 443)),
        (["https://issuer.example:8443", "http://localhost:9"], (9, 53, 443, 8443)),
        (["https://issuer.example:none"], (53, 443)),
    ],
)
def test_ports_of_an_issuer(addresses, ports):
    assert jail.ports_of(addresses) == ports


def test_what_mimetypes_reads_can_be_read():
    assert set(mimetypes.knownfiles) <= set(jail.MIME_TYPES)


@linux
def test_the_folder_one_stands_in_is_not_part_of_the_interpreter(tmp_path):
    code = "import json; from eyespan.sandbox import server; print(json.dumps(server.readable()))"
    for argv in ([sys.executable, "-c", code], [sys.executable, str(tmp_path / "script.py")]):
        (tmp_path / "script.py").write_text(code)
        told = json.loads(subprocess.run(argv, cwd=tmp_path, capture_output=True, check=True).stdout)
        assert str(tmp_path) not in told
        assert str(Path(jail.__file__).parents[2]) in told


@linux
def test_the_loader_is_found():
    found = jail.executable()

    assert found[0] == sys.executable
    assert all(os.path.isfile(path) for path in found)
    assert jail._loader(__file__) == jail._loader("/none") == ""


# --- kernels that lack a layer ---------------------------------------------------------------------------------------

FILTERED = """
    # A kernel without these calls, as a filter that answers "no such call" (or another error) to them.
    import struct
    def lacking(numbers, answer):
        step = lambda code, value, yes=0, no=0: struct.pack("HBBI", code, yes, no, value)
        program = [step(0x20, 0)]
        for number in numbers:
            program += [step(0x15, number, 0, 1), step(0x06, 0x00050000 | answer)]
        kernel.no_new_privileges()
        assert kernel.install_filter(b"".join([*program, step(0x06, 0x7FFF0000)]))
"""


@linux
@pytest.mark.skipif(os.uname().machine not in kernel.ARCHITECTURES, reason="no call numbers for it")
@pytest.mark.parametrize("answer", ["ENOSYS", "EOPNOTSUPP", "EPERM"])
def test_without_landlock_the_rest_stands_and_the_reason_is_told(tree, answer):
    body = """
        print(json.dumps([report.missing, report.line(), tried(lambda: open("/etc/passwd").close()),
            tried(lambda: socket.socket())]))
    """
    before = textwrap.dedent(FILTERED) + f"lacking([444, 445, 446], errno.{answer})"
    missing, line, opened, connected = inside(body, tree, before=before)

    import errno

    reason = f"this kernel has no Landlock ({os.strerror(getattr(errno, answer))})"
    assert missing == {"files": reason, "scopes": reason}
    assert line == f"jailed: network, calls, privileges, dumps (without files: {reason}; without scopes: {reason})"
    assert (opened, connected) == ("done", "EPERM")


@linux
@landlock
def test_without_seccomp_the_rest_stands(tree):
    before = "kernel.install_filter = lambda code: False"
    missing = inside("print(json.dumps(report.missing))", tree, before=before)

    assert missing["calls"] == "the system takes no seccomp filter"
    assert "network" in missing
    assert "files" not in missing


@linux
@landlock
@pytest.mark.parametrize(
    ("version", "missing"),
    [
        (3, {"scopes": "Landlock is at version 3, that came with 6 (Linux 6.12)"}),
        (4, {"scopes": "Landlock is at version 4, that came with 6 (Linux 6.12)"}),
        (6, {}),
    ],
)
def test_older_landlock_gives_what_it_has(tree, version, missing):
    if kernel.landlock_version() < version:
        pytest.skip("this kernel is older still")
    before = f"kernel.landlock_version = lambda: {version}"
    body = """
        print(json.dumps([report.missing, tried(lambda: open("/etc/passwd").close()),
            workspace.tool("workspace").call({"path": "hello.txt"}).is_error]))
    """
    assert inside(body, tree, before=before) == [missing, "EACCES", False]


@linux
def test_an_unknown_machine_goes_without_the_filter(tree):
    before = "import types; os.uname = lambda: types.SimpleNamespace(machine='riscv64')"
    missing = inside("print(json.dumps(report.missing))", tree, before=before)

    assert missing["calls"] == "the calls of riscv64 are not known"


@linux
def test_with_a_thread_around_it_is_not_called_a_jail(tree):
    before = """
        import threading
        jail.ALONE_SECONDS = 0.1
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    """
    body = "print(json.dumps(report.missing)); sys.stdout.flush(); os._exit(0)"
    missing = inside(body, tree, before=before)

    assert missing == dict.fromkeys(("files", "network", "scopes", "calls"), "other threads run already")


@linux
def test_a_thread_that_ends_is_waited_for(tree):
    before = "import threading, time; threading.Thread(target=time.sleep, args=(0.3,)).start()"
    missing = inside("print(json.dumps(report.missing))", tree, before=before)

    assert "other threads run already" not in missing.values()


def test_elsewhere_there_is_no_jail(monkeypatch):
    monkeypatch.setattr(kernel, "LINUX", False)
    monkeypatch.setattr(sys, "platform", "plan9")

    report = jail.enter(jail.Needs())

    assert report.up == ()
    assert report.line() == "no jail: plan9 has no such walls"


# --- what is told ----------------------------------------------------------------------------------------------------


@linux
@whole
def test_the_line_at_the_start_tells_the_layers(lines):
    server = lines()
    server.close()

    assert server.errors == f"eyespan serve: standard input and output; {ALL_UP}\n"


def test_without_the_jail_it_is_loud(lines, tmp_path, capsys):
    log = tmp_path / "reads.jsonl"
    server = lines("--no-jail", "--dialect", "workspace", "--audit", str(log))
    server.call("read_file", path="hello.txt")
    server.close()

    assert server.errors == (
        "eyespan serve: standard input and output; no jail\n"
        "eyespan serve: WARNING: no jail (--no-jail): nothing but the guard keeps this process from other files and "
        "the network\n"
    )
    start, call = [json.loads(line) for line in log.read_text().splitlines()]
    assert (start["event"], start["jail"], call["verdict"]) == ("start", "off", "read")
    audit_main([str(log)])
    assert f"! started once without the jail (--no-jail), last at {start['time'][:19].replace('T', ' ')} UTC" in (
        capsys.readouterr().out.splitlines()
    )
    audit_main([str(log), "--json"])
    summary = json.loads(capsys.readouterr().out)
    assert (summary["calls"], summary["starts_without_jail"], summary["unreadable_lines"]) == (1, 1, 0)


def test_without_the_jail_it_is_loud_over_http_too(tree):
    pytest.importorskip("mcp", reason="the HTTP door needs the extra [mcp]")
    from http_server import HttpServer

    server = HttpServer(tree, "--no-jail")
    assert server.rpc("tools/list")[0] == 200
    assert server.end() == 0

    assert server.banner.endswith("(token from EYESPAN_TOKEN); no jail\n")
    assert server.errors == f"eyespan serve: {jail.OFF_LINE}\n"


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (jail.Report({}), ALL_UP),
        (
            jail.Report({"files": "old", "scopes": "old"}),
            "jailed: network, calls, privileges, dumps (without files: old; without scopes: old)",
        ),
        (jail.Report(dict.fromkeys(jail.LAYERS, "none here")), "no jail: none here"),
        (
            jail.Report({}, ("/a", "/b")),
            f"{ALL_UP}; the audit log's folder is writable and shares files with the root /a: better a folder apart; "
            "the audit log's folder is writable and shares files with the root /b: better a folder apart",
        ),
    ],
)
def test_every_shape_of_the_line(report, line):
    assert report.line() == line


def test_a_log_of_starts_alone_is_told_too(tmp_path, capsys):
    log = tmp_path / "reads.jsonl"
    log.write_text('{"time": "2026-11-15T10:00:00.000Z", "event": "start", "jail": "off"}\n' * 2 + "[1]\n")

    audit_main([str(log)])

    assert capsys.readouterr().out.splitlines() == [
        "No calls. 1 lines are no audit lines.",
        "! started 2 times without the jail (--no-jail), last at 2026-11-15 10:00:00 UTC",
    ]


def test_a_start_without_the_jail_must_be_written_down_where_that_is_required(tree):
    argv = [sys.executable, "-m", "eyespan.server", "--root", str(tree), "--no-jail", "--audit", "/dev/full"]
    for extra, status in (([], 0), (["--audit-required"], 1)):
        done = subprocess.run([*argv, *extra], input=b"", capture_output=True, timeout=60)
        assert done.returncode == status, done.stderr


@linux
@whole
def test_doctor_tells_the_layers(tree, capsys):
    cli_main(["doctor", "--json", "--root", str(tree)])

    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    told = f"{ALL_UP} (`eyespan serve --no-jail` does without)"
    assert rows["server's jail"] == {"name": "server's jail", "ok": True, "what": told}


def test_doctor_tells_what_is_wrong(tree, capsys, monkeypatch):
    def told():
        cli_main(["doctor", "--json", "--root", str(tree)])
        rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
        return rows["server's jail"]["ok"], rows["server's jail"]["what"]

    monkeypatch.setattr(jail, "probe", lambda roots: (jail.Report({"scopes": "too old"}), False))
    assert told() == (
        False,
        "jailed: files, network, calls, privileges, dumps (without scopes: too old); documents cannot be decoded "
        "behind it: `eyespan serve --no-jail` can",
    )
    monkeypatch.undo()
    monkeypatch.setattr(subprocess, "run", lambda *args, **named: subprocess.CompletedProcess(args, 1, b"", b""))
    assert told()[0] is False


# --- everything works inside ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def harbour(tmp_path_factory):
    """One of each kind of file that has a reader, and a repository."""
    root = tmp_path_factory.mktemp("harbour") / "work"
    # The largest pictures take seconds each and tell nothing that the small ones do not.
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
    """Calls of the native tool that touch every reader, decoder and grammar there is."""
    skipped = {".git"}
    paths = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file()]
    asked = [{"files": str(path)} for path in paths if path.parts[0] not in skipped]
    asked += [{"files": str(path), "outline": True} for path in paths if path.parts[0] == "code"]
    asked += [{"files": text} for text in (".", "logs.zip!/app.log", "pdfs/book.pdf:p2", "a.csv@HEAD")]
    return asked


TRIES = 4
"""A machine that is busy enough lets a decoder run out of its time, and then the next best answer is given, on either
side; what a jail keeps out stays out however often it is asked for."""


def unjailed(root, asked):
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
@whole
def test_every_reader_answers_the_same_inside_over_stdio(lines, harbour):
    asked = questions(harbour)
    server = lines("--dialect", "native", root=harbour)
    answers = []
    for arguments in asked:
        expected = unjailed(harbour, [arguments])[0]
        answers.append(received(server.call("read", **arguments)["content"]))
        for _ in range(TRIES):
            if answers[-1] != expected:
                expected = unjailed(harbour, [arguments])[0]
                answers[-1] = received(server.call("read", **arguments)["content"])
        assert answers[-1] == expected
    server.close()

    assert ALL_UP in server.errors
    kinds = {block[0] for answer in answers for block in answer if isinstance(block, tuple)}
    assert "image/png" in kinds


@linux
@whole
@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_reader_answers_the_same_inside_over_http(harbour, workers):
    pytest.importorskip("mcp", reason="the HTTP door needs the extra [mcp]")
    import httpx2
    from http_server import HttpServer
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    asked = questions(harbour)[:: 1 if workers == "1" else 4]
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
                        unjailed(harbour, [arguments]),
                    )
                    if answer == expected[0] or not left:
                        break
                assert answer == expected[0]

    asyncio.run(talk())

    assert server.end() == 0
    assert server.banner.endswith(f"; {ALL_UP}\n")


@linux
@whole
def test_a_worker_that_is_killed_is_started_again_inside(lines, harbour):
    server = lines("--dialect", "native", root=harbour)
    first = server.call("read", files="pictures/plain.png")
    seen = set()
    for _ in range(3):
        threads = Path(f"/proc/{server.process.pid}/task").iterdir()
        workers = {int(pid) for task in threads for pid in (task / "children").read_text().split()}
        assert len(workers) == 1
        seen |= workers
        os.kill(workers.pop(), signal.SIGKILL)
        assert server.call("read", files="pictures/plain.png") == first

    assert len(seen) == 3


@linux
@whole
def test_a_log_is_turned_over_inside(lines, tree, tmp_path):
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
@whole
def test_an_index_is_kept_on_disk_from_inside(lines, tree, tmp_path, monkeypatch):
    monkeypatch.setenv("EYESPAN_CACHE", str(tmp_path / "cache"))
    with (tree / "big.txt").open("wb") as file:
        file.write(b"x" * 63 + b"\n")
        for _ in range(65):
            file.write((b"y" * 63 + b"\n") * (1 << 14))
    os.utime(tree / "big.txt", (time.time() - 60,) * 2)  # not so new that it may still be written to
    server = lines("--dialect", "codex")
    last = 65 * (1 << 14) + 1
    result = server.call("read_file", file_path=str(tree / "big.txt"), offset=last)
    server.close()

    assert result["content"][0]["text"] == f"L{last}: {'y' * 63}"
    assert [path.suffix for path in (tmp_path / "cache" / "index").iterdir()] == [".lines"]


@linux
def test_a_worktree_that_points_outside_is_refused_as_before(lines, harbour, tmp_path):
    tree = tmp_path / "elsewhere"
    git = ["git", "-C", str(harbour), "worktree", "add", "-q", str(tree)]
    subprocess.run(git, check=True)
    told = []
    for extra in ([], ["--no-jail"]):
        server = lines("--dialect", "native", *extra, root=tree)
        told.append(server.call("read", files="a.csv@HEAD"))
        server.close()

    assert told[0] == told[1]


def test_the_option_is_known():
    assert parse([]).no_jail is False
    assert parse(["--no-jail"]).no_jail is True
    assert ServeOptions().no_jail is False
