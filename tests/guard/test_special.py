"""Only regular files are opened, and no open blocks."""

from __future__ import annotations

import errno
import os
import select
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from eyespan import Workspace, _native
from eyespan.errors import (
    Busy,
    NotFound,
    NotRegular,
    OutsideRoot,
    PermissionRefused,
    PolicyDenied,
    ReadError,
    SystemFailure,
)
from eyespan.policy import Policy
from tests.backends import HANDLES, reads_in_place
from tests.descriptors import leaked, open_descriptors

from .guard_calls import answer, ask

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc, /sys, leases and inotify are Linux's")
pytestmark = linux
LEAVES = ("plain", "through a link")


@pytest.fixture(params=LEAVES)
def asked(request, tmp_path):
    """Return the path to read: the name itself, or a link beside it."""

    def path(name: str) -> str:
        if request.param == "plain":
            return name
        (tmp_path / "a-link").symlink_to(name)
        return "a-link"

    return path


# --- pipes, sockets, devices, directories --------------------------------------------------------------------------


def test_a_pipe_is_refused_and_no_waiting_writer_is_woken(backend, asked, make_guard, tmp_path, watch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    opened = watch(pipe)

    error = ask(make_guard(tmp_path, backend=backend), asked("pipe"))

    assert isinstance(error, NotRegular)
    assert error.what == "pipe"
    assert opened.openings() == 0
    with pytest.raises(OSError, match="No such device") as writer:  # a writer finds no reader
        os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    assert writer.value.errno == errno.ENXIO


def test_a_pipe_with_bytes_in_it_keeps_them(backend, make_guard, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK)
    os.write(end, b"for another reader")

    assert answer(make_guard(tmp_path, backend=backend), "pipe") == "NotRegular"
    assert os.read(end, 100) == b"for another reader"
    os.close(end)


def test_a_socket_is_refused_without_a_connection(backend, asked, make_guard, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        server.listen()
        error = ask(make_guard(tmp_path, backend=backend), asked("socket"))

        assert isinstance(error, NotRegular)
        assert error.what == "socket"
        assert select.select([server], [], [], 0)[0] == []


def test_a_device_is_refused_without_being_opened(backend, asked, make_guard, tmp_path, watch):
    try:
        os.mknod(tmp_path / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices; /dev/zero is tested by its own name below")
    opened = watch(tmp_path / "zero")

    error = ask(make_guard(tmp_path, backend=backend), asked("zero"))

    assert isinstance(error, NotRegular)
    assert error.what == "device"
    assert opened.openings() == 0


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/random", "/dev/tty"])
def test_devices_of_the_machine_are_refused_even_where_the_root_is_the_machine(backend, device, make_guard):
    if not os.path.exists(device):
        pytest.skip(f"no {device} here")

    assert answer(make_guard("/", backend=backend), device) == "NotRegular"


@pytest.mark.parametrize(
    "path", ["", ".", "/", "directory", "directory/", "directory/.", "directory/..", "to-directory", "to-directory/"]
)
def test_a_directory_is_no_file(backend, path, make_guard, tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "to-directory").symlink_to("directory")
    asked = str(tmp_path) if path == "/" else path

    error = ask(make_guard(tmp_path, backend=backend), asked)

    assert isinstance(error, NotRegular)
    assert (error.what, error.errno) == ("directory", errno.EISDIR)


def test_a_final_link_is_reported_as_a_link_if_the_dialect_does_not_follow(backend, make_guard, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "directory").symlink_to(".")
    guard = make_guard(tmp_path, backend=backend)

    error = ask(guard, "link", follow=False)

    assert isinstance(error, NotRegular)
    assert error.what == "link"
    assert answer(guard, "directory/file", follow=False) == b"text"
    assert answer(guard, "link/", follow=False) == "NotFound"  # a slash after it follows it: a file is no directory


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_outside_is_not_revealed(backend, exists, make_guard, tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "way").symlink_to(outside)
    if exists:
        (outside / "link").symlink_to("anything")

    assert answer(make_guard(root, backend=backend), "way/link", follow=False) == "OutsideRoot"


# --- leases --------------------------------------------------------------------------------------------------------

HOLD_A_LEASE = """
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except OSError as error:
    print(error, flush=True)
    sys.exit()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_file_under_a_write_lease_is_busy_not_waited_for(backend, make_guard, tmp_path):
    file = tmp_path / "leased"
    file.write_bytes(b"text")
    guard = make_guard(tmp_path, backend=backend)
    command = [sys.executable, "-c", HOLD_A_LEASE, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        line = holder.stdout.readline()
        if line != "held\n":
            pytest.skip(f"this file system grants no lease: {line.strip()}")
        first = ask(guard, "leased")
        still_held = holder.poll() is None
        holder.stdin.close()

    assert still_held
    assert isinstance(first, Busy)
    assert first.errno == errno.EAGAIN
    assert answer(guard, "leased") == b"text"


# --- kernel state --------------------------------------------------------------------------------------------------

KERNEL_FILES = [
    "/proc/self/environ",
    "/proc/self/mem",
    "/proc/self/maps",
    "/proc/self/auxv",
    "/proc/thread-self/environ",
    "/proc/1/environ",
    "/proc/version",
    "/proc/kmsg",
    "/proc/sys/kernel/hostname",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/uevent_seqnum",
]


@pytest.mark.parametrize("path", KERNEL_FILES)
@pytest.mark.parametrize("way", LEAVES)
def test_files_of_kernel_state_are_refused_even_where_the_root_is_the_machine(way, path, backend, make_guard, tmp_path):
    if not os.path.lexists(path):
        pytest.skip(f"no {path} here")
    name = path
    if way != "plain":
        (tmp_path / "link").symlink_to(path)
        name = str(tmp_path / "link")

    assert answer(make_guard("/", backend=backend), name) == "PermissionRefused"


def test_descriptors_of_the_process_are_not_read_through_proc(backend, make_guard, tmp_path):
    (tmp_path / "gone").write_bytes(b"a file that has no name any more")
    held = os.open(tmp_path / "gone", os.O_RDONLY)
    (tmp_path / "gone").unlink()
    guard = make_guard("/", backend=backend)
    link = tmp_path / "link"
    link.symlink_to(f"/proc/self/fd/{held}")
    reader, writer = os.pipe()

    for path in (f"/proc/self/fd/{held}", f"/dev/fd/{held}", str(link), f"/proc/self/fd/{reader}"):
        assert answer(guard, path) in ("NotFound", "SystemFailure")
    for fd in (held, reader, writer):
        os.close(fd)


@pytest.mark.parametrize("path", ["root", "cwd"])
def test_magic_links_lead_nowhere_but_where_their_text_does(path, backend, make_guard, tmp_path, monkeypatch):
    """`/proc/self/cwd` leads past every check; as text it is a name like any other, and is checked like one."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"outside")
    monkeypatch.chdir(outside)
    (root / "link").symlink_to(f"/proc/self/{path}")

    assert answer(make_guard(root, backend=backend), "link/secret") == "OutsideRoot"


# --- sizes ---------------------------------------------------------------------------------------------------------


def test_the_head_of_a_sparse_file_of_a_terabyte_is_read_at_once(tmp_path):
    file = tmp_path / "sparse"
    with file.open("wb") as out:
        out.write(b"".join(b"line %d\n" % n for n in range(1, 20_001)))
        out.truncate(2**40)
    workspace = Workspace(tmp_path)

    codex = workspace.tool("codex").call({"file_path": str(file), "limit": 2})
    claude = workspace.tool("claude").call({"file_path": str(file), "offset": 15_000, "limit": 2})
    forge = workspace.tool("forge").call({"path": "sparse", "head": 2})
    tail = workspace.tool("forge").call({"path": "sparse", "tail": 2})
    whole = workspace.tool("forge").call({"path": "sparse"})
    small = workspace.tool("workspace").call({"path": "sparse"})

    assert codex.text == "L1: line 1\nL2: line 2"
    assert claude.content[0].text == " 15001\tline 15001\n 15002\tline 15002"
    assert claude.structured == {"lines_returned": 2, "truncated": True}
    assert forge.text == "1\tline 1\n2\tline 2\n"
    assert tail.error.message.startswith("Read failed: Scan limit exceeded; narrow the range: the numbers of the last")
    assert whole.error.message == "Read failed: File too large; use start_line/end_line"
    assert small.error.code == "SIZE_LIMIT_EXCEEDED"
    workspace.close()


# --- links ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["self", "self/", "self/x", "one", "two", "directory/up"])
def test_links_in_a_circle_are_an_error(backend, path, make_guard, tmp_path):
    (tmp_path / "directory").mkdir()
    for name, target in (("self", "self"), ("one", "two"), ("two", "one"), ("directory/up", "../directory/up")):
        (tmp_path / name).symlink_to(target)

    error = ask(make_guard(tmp_path, backend=backend), path)

    assert isinstance(error, SystemFailure)
    assert error.errno == errno.ELOOP


@pytest.mark.parametrize(("links", "expected"), [(40, b"text"), (41, "SystemFailure")])
def test_forty_links_are_followed_as_the_kernel_does(backend, links, expected, make_guard, tmp_path):
    (tmp_path / "link0").write_bytes(b"text")
    for n in range(links):
        (tmp_path / f"link{n + 1}").symlink_to(f"link{n}")

    assert answer(make_guard(tmp_path, backend=backend), f"link{links}") == expected


OUTSIDE_TARGETS = [
    "{outside}/there",
    "{outside}/missing",
    "{outside}/there/below",
    "{outside}/directory",
    "{outside}/locked/x",
    "../outside/there",
    "../outside/missing",
    "directory/../../outside/there",
    "directory/../../outside/missing",
    "../root-evil/there",
    "{root}-evil/there",
    "{root}/../outside/there",
    "{root}/../outside/missing",
    "..",
    "/",
    "/etc/passwd",
    "/no-such-thing-at-all",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
]


@pytest.mark.parametrize("target", OUTSIDE_TARGETS)
def test_a_link_that_leads_out_reveals_nothing_about_its_target(backend, target, make_guard, tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    (root / "directory").mkdir(parents=True)
    (outside / "directory").mkdir(parents=True)
    (outside / "locked").mkdir(mode=0)
    (tmp_path / "root-evil").mkdir()
    for directory in (outside, tmp_path / "root-evil"):
        (directory / "there").write_bytes(b"outside")
    target = target.format(root=root, outside=outside)
    (root / "leaf").symlink_to(target)
    (root / "chain").symlink_to("leaf")
    guard = make_guard(root, backend=backend)

    for path in ("leaf", "chain", str(root / "leaf"), "directory/../leaf", "leaf/"):
        error = ask(guard, path)

        assert type(error) is OutsideRoot
        assert (error.path, str(error)) == (path, "the path is outside the workspace")
        assert str(outside) not in repr(error.__dict__)
        assert error.__cause__ is None
    outside.joinpath("locked").chmod(0o700)


@pytest.mark.parametrize("path", ["../outside/there", "../outside/missing", "{outside}/there", "{outside}/missing"])
@pytest.mark.parametrize("dialect", ["codex", "workspace", "workspace-upstream", "forge", "claude"])
def test_replies_reveal_neither_outside_paths_nor_whether_they_exist(dialect, path, tmp_path):
    """The text is the same whether or not the file exists, except for the path."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "there").write_bytes(b"outside")
    path = path.format(outside=outside)
    link = root / "link"
    link.symlink_to(path)
    name = {"codex": "file_path", "claude": "file_path"}.get(dialect, "path")
    with Workspace(root) as workspace:
        tool = workspace.tool(dialect)
        through_link = tool.call({name: str(link)})
        straight = tool.call({name: path if path.startswith("/") else str(root / path)})
        elsewhere = tool.call({name: "/nowhere/there"})

    for reply in (through_link, straight):
        assert reply.is_error
    assert str(outside) not in through_link.error.message
    assert straight.error.code == elsewhere.error.code
    if not path.startswith(".."):
        assert straight.error.message.replace(path, "P") == elsewhere.error.message.replace("/nowhere/there", "P")


def test_a_slash_after_a_link_follows_it_and_a_file_is_no_directory(backend, make_guard, tmp_path):
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/file").write_bytes(b"text")
    (tmp_path / "to-file").symlink_to("directory/file")
    (tmp_path / "to-directory").symlink_to("directory/")
    guard = make_guard(tmp_path, backend=backend)

    assert answer(guard, "to-directory/file") == b"text"
    assert answer(guard, "to-directory//file") == b"text"
    for path in ("to-file/", "to-file/.", "to-file/..", "directory/file/", "to-directory/file/", "to-file/x"):
        error = ask(guard, path)
        assert isinstance(error, NotFound), path
        assert error.errno == errno.ENOTDIR


def test_hard_links_are_read(backend, make_guard, tmp_path):
    (tmp_path / "one").write_bytes(b"text")
    os.link(tmp_path / "one", tmp_path / "two")

    assert answer(make_guard(tmp_path, backend=backend), "two") == b"text"


# --- names ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "a\0b",
        "\0",
        "file:///etc/passwd",
        "FILE:/etc/passwd",
        "file:x",
        "http://host/x",
        "https:x",
        "ftp://host/x",
        "s3://bucket/key",
        "data:,x",
        "C:",
        "C:\\Users",
        "c:/Users",
        "\\\\server\\share",
        "\\\\?\\C:\\x",
        "a\ud800b",
        "\udfff",
        "x\udc41",
    ],
)
def test_what_cannot_be_a_path_here_is_refused_by_name(backend, path, make_guard, tmp_path):
    assert answer(make_guard(tmp_path, backend=backend), path) == "InvalidPath"


@pytest.mark.parametrize(
    "name",
    [
        "~",
        "~root",
        "$HOME",
        "${HOME}",
        "%20",
        "*",
        "?",
        "[a]",
        "{a,b}",
        "a\\b",
        "C:x",
        "a:b",
        "-rf",
        " ",
        " x ",
        "x.",
        "...",
        "..x",
        "x..",
        "a\nb",
        "\x1b[31m",
        "é",
        "e\u0301",
        "\u202egnp.x",
        "\udcff\udce4",
        "x (deleted)",
        " (deleted)",
        "n" * 255,
        "é" * 127,
        "$(id)",
        "|x",
        "con",
    ],
)
def test_odd_names_are_read_as_they_are(strong, name, make_guard, tmp_path):
    (tmp_path / name).write_bytes(name.encode("utf-8", "surrogateescape"))
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/link").symlink_to(f"../{name}")
    guard = make_guard(tmp_path, backend=strong)

    for path in (name, f"./{name}", f"directory/../{name}", str(tmp_path / name), "directory/link"):
        with guard.open(path) as source:
            assert source.first_bytes == name.encode("utf-8", "surrogateescape")
            # As bytes: a failing test could not print what is not Unicode.
            assert os.fsencode(source.canonical) == os.fsencode(name)


@pytest.mark.parametrize("name", ["~", "$HOME", "*", "~root/.bashrc", "$HOME/x", "{a,b}", "%2e%2e/x"])
def test_nothing_in_a_name_is_expanded(backend, name, make_guard, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x").write_bytes(b"text")

    assert answer(make_guard(tmp_path, backend=backend), name) == "NotFound"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("n" * 255, "NotFound"),
        ("n" * 256, "SystemFailure"),
        ("é" * 128, "SystemFailure"),
        ("./" * 2045 + "file", b"text"),  # 4094 bytes
        ("./" * 2045 + ".file", "NotFound"),  # 4095 bytes, the most there can be
        ("./" * 2046 + "file", "SystemFailure"),  # 4096
        ("./" * 50_000 + "file", "SystemFailure"),
        ("x" * 5_000_000, "SystemFailure"),
        ("é" * 2048, "SystemFailure"),
    ],
)
def test_long_paths(backend, path, expected, make_guard, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path, backend=backend)
    if backend == "portable" and expected != "SystemFailure":
        pytest.skip("names the file from the top of the machine, so its paths may be shorter")

    assert answer(guard, path) == expected
    if expected == "SystemFailure":
        assert ask(guard, path).errno == errno.ENAMETOOLONG


def test_a_file_deeper_than_a_path_can_name_is_read(strong, make_guard, tmp_path):
    """Its absolute path is longer than a page, the most that /proc gives."""
    here = os.open(tmp_path, os.O_RDONLY)
    name = "d" * 200
    for _ in range(30):
        os.mkdir(name, dir_fd=here)
        here, above = os.open(name, os.O_RDONLY, dir_fd=here), here
        os.close(above)
    with open(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here), "wb") as file:
        file.write(b"text")
    os.close(here)
    half = "/".join([name] * 15)
    (tmp_path / "half").symlink_to(half)
    guard = make_guard(tmp_path, backend=strong)

    with guard.open(f"half/{half}/file") as source:
        assert source.first_bytes == b"text"
        assert source.canonical == f"{half}/{half}/file"


def test_a_root_matches_by_whole_names(backend, make_guard, tmp_path):
    root, evil = tmp_path / "root", tmp_path / "root-evil"
    for directory in (root, evil):
        directory.mkdir()
        (directory / "file").write_bytes(os.fsencode(directory))
    guard = make_guard(root, backend=backend)

    assert answer(guard, f"{root}/file") == os.fsencode(root)
    assert answer(guard, f"/{root}//./file") == os.fsencode(root)
    assert answer(guard, f"/.{root}/file") == os.fsencode(root)
    for path in (f"{evil}/file", "../root-evil/file", f"{root}/../root-evil/file", f"{root}evil/file", f"{root}."):
        assert answer(guard, path) == "OutsideRoot"


def test_the_deepest_of_several_roots_counts_and_links_lead_from_one_to_another(backend, make_guard, tmp_path):
    one, deep, other = tmp_path / "one", tmp_path / "one/deep", tmp_path / "other"
    for directory in (one, deep, other):
        directory.mkdir()
        (directory / "file").write_bytes(directory.name.encode())
    (one / "link").symlink_to(other / "file")
    (one / "up").symlink_to("../other/file")
    guard = make_guard(one, deep, other, backend=backend)

    with guard.open(str(deep / "file")) as source:
        whole = str(deep / "file")  # the path leads back: relative paths belong to the first root
        assert (source.path, source.canonical, source.first_bytes) == (whole, whole, b"deep")
    with guard.open("deep/file") as source:
        assert (source.path, source.first_bytes) == ("deep/file", b"deep")
    assert answer(guard, str(other / "file")) == b"other"
    assert answer(guard, "link") == b"other"
    if backend != "portable":  # which resolves names as the system does
        assert answer(guard, "up") == "OutsideRoot"  # `..` stops at its root; only absolute targets change roots


def test_a_root_stays_the_directory_it_was_when_it_was_opened(strong, make_guard, tmp_path):
    root = tmp_path / "root"
    (root / "directory").mkdir(parents=True)
    (root / "directory/file").write_bytes(b"the first")
    guard = make_guard(root, backend=strong)
    root.rename(tmp_path / "moved")
    root.mkdir()
    (root / "directory").mkdir()
    (root / "directory/file").write_bytes(b"the second")

    for path in ("directory/file", f"{root}/directory/file"):
        with guard.open(path) as source:
            assert source.first_bytes == b"the first"
            assert source.canonical == "directory/file"


def test_a_root_given_by_a_link_is_known_by_both_names(backend, make_guard, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_bytes(b"text")
    (tmp_path / "alias").symlink_to("real")
    guard = make_guard(tmp_path / "alias", backend=backend)

    for path in ("file", f"{tmp_path}/alias/file", f"{tmp_path}/real/file"):
        assert answer(guard, path) == b"text"


# --- change --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_what_was_opened_is_what_is_read(backend, change, make_guard, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"the first")
    with make_guard(tmp_path, backend=backend).open("file") as source:
        if change == "deleted":
            file.unlink()
        else:
            (tmp_path / "new").write_bytes(b"the second")
            (tmp_path / "new").rename(file)

        assert source.read_at(0, 100) == b"the first"
        assert not source.changed()


@reads_in_place
def test_a_file_that_loses_its_name_while_it_is_opened_is_not_found(make_guard, tmp_path, monkeypatch):
    """/proc then gives "file (deleted)", which is also a possible name of a file."""
    from eyespan.guard import openat

    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file (deleted)").write_bytes(b"another")
    guard = make_guard(tmp_path, backend="openat2")
    real = openat._path_below

    def delete_first(root, name):
        (tmp_path / "file").unlink()
        return real(root, f"{name} (deleted)")

    monkeypatch.setattr(openat, "_path_below", delete_first)

    assert answer(guard, "link") == "NotFound"


def test_another_file_than_the_one_that_was_checked_is_not_returned(make_guard, tmp_path, monkeypatch):
    import eyespan.guard

    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "other").write_bytes(b"another")
    monkeypatch.setattr(eyespan.guard, "_open_handle", lambda found: os.open(tmp_path / "other", os.O_RDONLY))
    monkeypatch.setattr(_native, "open_beneath", None)

    assert answer(make_guard(tmp_path, backend="walk"), "file") == "NotFound"


def test_without_proc_a_file_is_opened_by_name_once_more(make_guard, tmp_path, monkeypatch):
    import eyespan.guard

    class NoProc:
        """The `os` of a machine without /proc."""

        def __getattr__(self, name):
            return getattr(os, name)

        @staticmethod
        def open(path, flags, **where):
            if str(path).startswith("/proc/"):
                raise FileNotFoundError(errno.ENOENT, "No such file or directory")
            return os.open(path, flags, **where)

        class path:  # noqa: N801  (stands for a module)
            samestat = staticmethod(os.path.samestat)

            @staticmethod
            def isdir(name):
                return False

    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/file").write_bytes(b"text")
    (tmp_path / "file").write_bytes(b"top")
    (tmp_path / "link").symlink_to("directory/file")
    guard = make_guard(tmp_path, backend="walk")
    before = len(open_descriptors())
    monkeypatch.setattr(eyespan.guard, "os", NoProc())

    assert [answer(guard, path) for path in ("file", "directory/file", "link")] == [b"top", b"text", b"text"]
    assert len(open_descriptors()) <= before


def test_a_workspace_that_was_closed_reads_nothing(strong, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    workspace = Workspace(tmp_path, backend=strong)
    tool = workspace.tool("forge")
    workspace.close()

    for path in ("file", str(tmp_path / "file"), ".", "a/../file"):
        assert tool.call({"path": path}).is_error


# --- rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strong_handle", HANDLES)
def test_a_denied_file_with_a_harmless_link_is_not_even_opened(strong_handle, make_guard, tmp_path, watch):
    (tmp_path / ".env").write_bytes(b"KEY=1")
    (tmp_path / "notes.txt").symlink_to(".env")
    opened = watch(tmp_path / ".env")

    error = ask(make_guard(tmp_path, backend=strong_handle), "notes.txt")

    assert isinstance(error, PolicyDenied)
    assert (error.path, error.rule) == ("notes.txt", "**/.env")
    assert opened.openings() == 0


def test_rules_apply_to_the_name_and_to_its_target(backend, make_guard, tmp_path):
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_bytes(b"Host x")
    (tmp_path / "plain").write_bytes(b"text")
    (tmp_path / "directory").symlink_to(".ssh")
    (tmp_path / "leaf").symlink_to(".ssh/config")
    (tmp_path / "id_rsa").symlink_to("plain")
    (tmp_path / "absolute").symlink_to(tmp_path / ".ssh/config")
    guard = make_guard(tmp_path, backend=backend)

    for path in (
        ".ssh/config",
        ".SSH/Config",
        "directory/config",
        "leaf",
        "absolute",
        "id_rsa",
        "x/../.ssh/config",
        ".ssh",
    ):
        assert answer(guard, path) == "PolicyDenied", path
    assert answer(guard, "plain") == b"text"


def test_rules_apply_before_the_roots_and_before_the_disk(backend, make_guard, tmp_path):
    guard = make_guard(tmp_path, backend=backend, policy=Policy(deny=["secret/**"]))

    assert answer(guard, "secret/missing") == "PolicyDenied"
    assert answer(guard, "/elsewhere/.ssh/x") == "PolicyDenied"
    assert answer(guard, "/elsewhere/x") == "OutsideRoot"


def test_a_permission_error_is_that_of_the_system(backend, make_guard, tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (tmp_path / "locked").write_bytes(b"text")
    (tmp_path / "locked").chmod(0)

    error = ask(make_guard(tmp_path, backend=backend), "locked")

    assert isinstance(error, PermissionRefused)
    assert error.errno == errno.EACCES


# --- descriptors ---------------------------------------------------------------------------------------------------


def test_no_descriptor_stays_open_whatever_the_answer(backend, make_guard, tmp_path):
    (tmp_path / "directory/deep").mkdir(parents=True)
    (tmp_path / "directory/deep/file").write_bytes(b"text")
    (tmp_path / ".env").write_bytes(b"KEY=1")
    os.mkfifo(tmp_path / "pipe")
    for name, target in (("in", "directory/deep/file"), ("out", "/etc/passwd"), ("self", "self"), ("env", ".env")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "absolute").symlink_to(tmp_path / "directory/deep/file")
    paths = [
        *(
            "directory/deep/file",
            "in",
            "absolute",
            "out",
            "self",
            "env",
            "pipe",
            "directory",
            "directory/deep",
            ".",
            ".env",
        ),
        *(
            "missing",
            "directory/missing",
            "directory/deep/file/x",
            "directory/../..",
            "directory/deep/../../in",
            "in/",
            "a\0",
            "/x",
        ),
        *("n" * 300, "directory/" + "n" * 300, "directory/deep/../deep/../deep/file"),
    ]
    guard = make_guard(tmp_path, backend=backend)

    def read_all():
        for path in paths:
            for follow in (True, False):
                try:
                    guard.open(path, follow=follow).close()
                except ReadError:
                    pass

    read_all()
    before = open_descriptors()
    for _ in range(60):
        read_all()

    assert leaked(before) == []


@pytest.mark.parametrize("name", ["fstat", "dup", "readlink", "open", "stat"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.ESTALE])
def test_no_descriptor_stays_open_when_a_call_fails_half_way(strong, name, number, make_guard, tmp_path, monkeypatch):
    """The n-th call of one kind fails, for every n."""
    (tmp_path / "directory").mkdir()
    (tmp_path / "directory/file").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "directory/file")
    guard = make_guard(tmp_path, backend=strong)
    real = getattr(os, name)
    left = 0

    def fails(*args, **how):
        nonlocal left
        left -= 1
        if left == 0:
            raise OSError(number, os.strerror(number))
        return real(*args, **how)

    before = open_descriptors()
    for path in ("link", "directory", "directory/file"):
        for n in range(1, 100):
            left = n
            with monkeypatch.context() as patch:
                patch.setattr(os, name, fails)
                try:
                    guard.open(path).close()
                except ReadError:
                    pass
            if left > 0:
                break  # it was never called so often
        assert leaked(before) == []


def test_the_directories_of_these_tests_are_on_a_real_file_system(tmp_path):
    """Else the tests above would refuse files for another reason than the one they test."""
    from eyespan.guard.filesystems import is_pseudo

    fd = os.open(tmp_path, os.O_RDONLY)
    assert not is_pseudo(fd)
    os.close(fd)
    proc = os.open("/proc", os.O_PATH)
    assert is_pseudo(proc)
    os.close(proc)


def test_a_file_system_of_unknown_type_is_not_read(make_guard, tmp_path, monkeypatch):
    from eyespan.guard import filesystems

    Path(tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path, backend="walk")
    guard.roots[0].device = -1  # as if the file belonged to another file system than the root
    monkeypatch.setattr(filesystems, "_fstatfs", lambda fd, buffer: -1)
    monkeypatch.setattr(filesystems.ctypes, "get_errno", lambda: errno.EIO)

    assert answer(guard, "file") == "SystemFailure"
