from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from eyespan.sandbox import landlock, process, seccomp, server

linux = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux system calls")
has_landlock = pytest.mark.skipif(landlock.version() < 1, reason="this kernel has no Landlock")
ALL_UP = "sandboxed: files, network, scopes, calls, privileges, dumps"
IS_COMPLETE = landlock.version() >= landlock.SCOPES_SINCE and os.uname().machine in seccomp.ARCHITECTURES
complete = pytest.mark.skipif(not IS_COMPLETE, reason="this kernel lacks a layer")


@pytest.fixture
def tree(tmp_path):
    """A small root with a link that leads out of it."""
    root = tmp_path / "work"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("print()\n")
    (root / "hello.txt").write_text("hello\nworld\n")
    (root / "out").symlink_to("/etc/passwd")
    return root


def inside(body, root, *, before="", options=(), reached=(), enter=True, **environment):
    """Run `body` in a process that has entered the sandbox of a server of `root`; return what it printed as JSON."""
    code = f"""
import errno, json, os, socket, sys
from eyespan import Workspace
from eyespan.sandbox import landlock, process, seccomp, server
from eyespan.cli.serve import parse_words as parse
from eyespan.server.sandboxing import needs_of
def tried(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
workspace = Workspace({str(root)!r})
root = {str(root)!r}
{textwrap.dedent(before)}
report = server.enter(needs_of(parse({list(options)!r}), workspace.roots, {list(reached)!r})) if {enter} else None
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
    def datagram():
        with socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0] as link:
            link.sendto(b"", os.environ["DATAGRAM"])
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
        "make a directory": tried(lambda: os.mkdir(root + "/directory")),
        "make a link": tried(lambda: os.symlink("hello.txt", root + "/link")),
        "mode": tried(lambda: os.chmod(root + "/hello.txt", 0o600)),
        "owner": tried(lambda: os.chown(root + "/hello.txt", os.getuid(), os.getgid())),
        "remove in a root": tried(lambda: os.unlink(root + "/hello.txt")),
        "temporary file": tried(lambda: open("/tmp/eyespan-sandbox-test", "w").close()),
        "tcp": tried(connect),
        "udp": tried(lambda: connect(kind=socket.SOCK_DGRAM)),
        "unix": tried(lambda: connect(os.environ["UNIX"], family=socket.AF_UNIX)),
        "abstract": tried(lambda: connect(chr(0) + os.environ["ABSTRACT"], family=socket.AF_UNIX)),
        "datagram": tried(datagram),
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
    **dict.fromkeys(("make a directory", "temporary file", "exec"), "EACCES"),
    **dict.fromkeys(("make a link", "cut in a root"), "EPERM"),
    **dict.fromkeys(("mode", "owner", "tcp", "udp", "unix", "abstract", "datagram", "listen", "signal"), "EPERM"),
}


@pytest.fixture
def attempts(tree, tmp_path):
    """Run all of `ATTEMPTS`, against sockets that would accept the connections."""

    def run(**how):
        with contextlib.ExitStack() as stack:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            named = stack.enter_context(socket.socket(socket.AF_UNIX))
            named.bind(str(tmp_path / "socket"))
            named.listen()
            abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
            abstract.bind("\0eyespan-sandbox-" + str(os.getpid()))
            abstract.listen()
            receiver = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            receiver.bind(str(tmp_path / "receiver"))
            return inside(
                ATTEMPTS,
                tree,
                PORT=str(listener.getsockname()[1]),
                UNIX=str(tmp_path / "socket"),
                DATAGRAM=str(tmp_path / "receiver"),
                ABSTRACT=f"eyespan-sandbox-{os.getpid()}",
                **how,
            )

    yield run
    Path("/tmp/eyespan-sandbox-test").unlink(missing_ok=True)


@linux
@complete
def test_a_server_can_reach_nothing_but_its_roots(attempts):
    assert attempts() == EXPECTED


@linux
def test_the_same_attempts_succeed_without_the_sandbox(attempts):
    assert attempts(enter=False) == dict.fromkeys(EXPECTED, "done")


@linux
def test_core_dumps_and_new_privileges_are_off(tree):
    body = """
        import ctypes, resource
        prctl = ctypes.CDLL(None).prctl
        flags = {"dumpable": prctl(3, 0, 0, 0, 0), "no_new_privs": prctl(39, 0, 0, 0, 0)}
        print(json.dumps({**flags, "core": resource.getrlimit(resource.RLIMIT_CORE)}))
    """
    assert inside(body, tree) == {"dumpable": 0, "no_new_privs": 1, "core": [0, 0]}


@linux
@has_landlock
def test_roots_stay_readable_by_name_and_through_the_guard(tree, tmp_path):
    (tmp_path / "link").symlink_to(tree)
    body = """
        tool = workspace.tool("workspace")
        reply = tool.call({"path": "hello.txt"})
        outside = tool.call({"path": "out"})
        print(json.dumps([open(root + "/hello.txt").read(), reply.structured["content"], outside.error.code]))
    """
    assert inside(body, tmp_path / "link") == ["hello\nworld\n", "hello\nworld\n", "SANDBOX_VIOLATION"]


@linux
@has_landlock
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
@has_landlock
def test_the_log_stays_writable_and_nothing_beside_it(tree, tmp_path):
    (tmp_path / "logs").mkdir()
    log = tmp_path / "logs" / "reads.jsonl"
    body = f"""
        logs = {str(tmp_path / "logs")!r}
        print(json.dumps({{
            "beside the log": tried(lambda: open(logs + "/../x", "x").close()),
            "log": tried(lambda: open(logs + "/reads.jsonl", "a").close()),
            "rotate": tried(lambda: os.replace(logs + "/reads.jsonl", logs + "/reads.jsonl.1")),
            "read log": tried(lambda: open(logs + "/reads.jsonl.1").close()),
            "directory in logs": tried(lambda: os.mkdir(logs + "/x")),
            "writable_roots": report.writable_roots,
        }}))
    """
    found = inside(body, tree, options=["--audit", str(log)])

    assert found == {
        "beside the log": "EACCES",
        "log": "done",
        "rotate": "done",
        "read log": "EACCES",
        "directory in logs": "EACCES",
        "writable_roots": [],
    }


@linux
@has_landlock
def test_a_log_that_is_a_device_opens_no_directory(tree, full_device):
    body = f"""
        names = ({full_device!r}, "/dev/zero")
        print(json.dumps([tried(lambda name=name: open(name, "a").close()) for name in names]))
    """
    assert inside(body, tree, options=["--audit", full_device]) == ["done", "EACCES"]


@linux
@has_landlock
def test_a_log_inside_a_root_is_reported(tree):
    line = inside("print(json.dumps(report.line()))", tree, options=["--audit", str(tree / "reads.jsonl")])

    assert line.endswith(
        f"the audit log's directory is writable and shares files with the root {tree}: use a separate one"
    )


@linux
@complete
def test_an_issuer_stays_reachable_and_no_other_port(tree):
    body = """
        port, other = json.loads(os.environ["PORTS"])
        def connect(port, *kind):
            with socket.socket(*kind) as link:
                link.connect(("127.0.0.1", port))
        def send(name, data):
            with socket.socket() as link:
                getattr(link, name)(*data, socket.MSG_FASTOPEN, ("127.0.0.1", other))
        def listen():
            with socket.socket() as link:
                link.bind(("127.0.0.1", 0))
        acts = {
            "the issuer": lambda: connect(port),
            "another port": lambda: connect(other),
            "MPTCP": lambda: connect(other, socket.AF_INET, socket.SOCK_STREAM, 262),
            "fast open": lambda: send("sendto", [b"x"]),
            "fast open with a message": lambda: send("sendmsg", [[b"x"], []]),
            "a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 6).close(),
            "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12).close(),
            "a port of its own": listen,
        }
        name = socket.getaddrinfo("localhost", port, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]
        print(json.dumps([report.missing, {name: tried(act) for name, act in acts.items()}, name]))
    """
    with socket.create_server(("127.0.0.1", 0)) as issuer, socket.create_server(("127.0.0.1", 0)) as other:
        port = issuer.getsockname()[1]
        where = ["--oauth-issuer", f"http://127.0.0.1:{port}", "--oauth-resource", "http://127.0.0.1:1/mcp"]
        missing, found, name = inside(
            body,
            tree,
            options=["--http", "127.0.0.1:0", *where],
            reached=[where[1]],
            PORTS=json.dumps([port, other.getsockname()[1]]),
        )

    assert missing == {}
    assert found.pop("the issuer") == "done"
    assert {act: code for act, code in found.items() if code not in ("EACCES", "EPERM")} == {}
    assert name == "127.0.0.1"


FILTERED = """
    # Imitate a kernel without these calls by a filter that fails them with `answer`.
    import struct
    def lacking(numbers, answer):
        step = lambda code, value, yes=0, no=0: struct.pack("HBBI", code, yes, no, value)
        program = [step(0x20, 0)]
        for number in numbers:
            program += [step(0x15, number, 0, 1), step(0x06, 0x00050000 | answer)]
        process.no_new_privileges()
        assert seccomp.install(b"".join([*program, step(0x06, 0x7FFF0000)]))
"""


@linux
@pytest.mark.skipif(os.uname().machine not in seccomp.ARCHITECTURES, reason="unknown call numbers")
@pytest.mark.parametrize("answer", ["ENOSYS", "EOPNOTSUPP", "EPERM"])
def test_without_landlock_the_other_layers_are_up_and_the_reason_is_reported(tree, answer):
    body = """
        print(json.dumps([report.missing, report.line(), tried(lambda: open("/etc/passwd").close()),
            tried(lambda: socket.socket())]))
    """
    before = textwrap.dedent(FILTERED) + f"lacking([444, 445, 446], errno.{answer})"
    missing, line, opened, connected = inside(body, tree, before=before)

    import errno

    reason = f"this kernel has no Landlock ({os.strerror(getattr(errno, answer))})"
    assert missing == {"files": reason, "scopes": reason}
    assert line == f"sandboxed: network, calls, privileges, dumps (without files: {reason}; without scopes: {reason})"
    assert (opened, connected) == ("done", "EPERM")


@linux
@has_landlock
def test_without_seccomp_the_other_layers_are_up(tree):
    before = "seccomp.install = lambda code: False"
    missing = inside("print(json.dumps(report.missing))", tree, before=before)

    assert missing["calls"] == "the system accepts no seccomp filter"
    assert "network" in missing
    assert "files" not in missing


@linux
@has_landlock
@pytest.mark.parametrize(
    ("version", "missing"),
    [
        (3, {"scopes": "needs Landlock version 6 (Linux 6.12), this is 3"}),
        (4, {"scopes": "needs Landlock version 6 (Linux 6.12), this is 4"}),
        (6, {}),
    ],
)
def test_an_older_landlock_provides_the_layers_it_has(tree, version, missing):
    if landlock.version() < version:
        pytest.skip("this kernel is even older")
    before = f"landlock.version = lambda: {version}"
    body = """
        print(json.dumps([report.missing, tried(lambda: open("/etc/passwd").close()),
            workspace.tool("workspace").call({"path": "hello.txt"}).is_error]))
    """
    assert inside(body, tree, before=before) == [missing, "EACCES", False]


@linux
def test_an_unknown_machine_has_no_filter(tree):
    before = "import types; os.uname = lambda: types.SimpleNamespace(machine='riscv64')"
    missing = inside("print(json.dumps(report.missing))", tree, before=before)

    assert missing["calls"] == "unknown system call numbers of riscv64"


@linux
def test_with_another_thread_running_no_layer_of_one_thread_is_reported_as_up(tree):
    before = """
        import threading
        server.THREAD_END_SECONDS = 0.1
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    """
    body = "print(json.dumps(report.missing)); sys.stdout.flush(); os._exit(0)"
    missing = inside(body, tree, before=before)

    assert missing == dict.fromkeys(("files", "network", "scopes", "calls"), "other threads are running")


@linux
def test_a_thread_that_ends_soon_is_waited_for(tree):
    before = "import threading, time; threading.Thread(target=time.sleep, args=(0.3,)).start()"
    missing = inside("print(json.dumps(report.missing))", tree, before=before)

    assert "other threads are running" not in missing.values()


def test_other_systems_have_no_sandbox(monkeypatch):
    monkeypatch.setattr(process, "LINUX", False)
    monkeypatch.setattr(sys, "platform", "plan9")

    report = server.enter(server.Needs())

    assert report.up == ()
    assert report.line() == "no sandbox: not available on plan9"


@pytest.mark.parametrize(
    ("report", "line"),
    [
        (server.SandboxReport({}), ALL_UP),
        (
            server.SandboxReport({"files": "old", "scopes": "old"}),
            "sandboxed: network, calls, privileges, dumps (without files: old; without scopes: old)",
        ),
        (server.SandboxReport(dict.fromkeys(server.LAYERS, "none here")), "no sandbox: none here"),
        (
            server.SandboxReport({}, ("/a", "/b")),
            f"{ALL_UP}; the audit log's directory is writable and shares files with the root /a: use a separate one; "
            "the audit log's directory is writable and shares files with the root /b: use a separate one",
        ),
    ],
)
def test_the_line_of_a_report(report, line):
    assert report.line() == line
