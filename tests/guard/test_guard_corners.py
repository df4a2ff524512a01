"""The corners of the guard: systems that lack something, calls that fail at the worst moment, limits reached."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import time
from types import SimpleNamespace

import pytest
from asking import answer, ask, patiently

import eyespan.guard as guards
from eyespan import Workspace, _native
from eyespan import source as source_module
from eyespan.context import CallContext, WouldBlock
from eyespan.errors import Cancelled, InvalidPath, PolicyDenied, SystemFailure
from eyespan.guard import Root, blocking, listing, mounts, openat, portable, roots, syscalls, walk
from eyespan.guard.source import BlockingFile, LocalFile
from eyespan.policy import Policy


class Lacking:
    """An `os` without some of its names, or with others in their place."""

    def __init__(self, *missing, **given):
        self._missing = missing
        self._given = given

    def __getattr__(self, name):
        if name in self._missing:
            raise AttributeError(name)
        return self._given.get(name) or getattr(os, name)


def fails(number):
    def call(*_, **__):
        raise OSError(number, os.strerror(number))

    return call


# --- which backend -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lacking", "chosen"),
    [
        (Lacking(supports_dir_fd={"nothing"}), "portable"),
        (Lacking("O_PATH"), "walk-by-name"),
        (Lacking(), "openat2"),
    ],
)
def test_the_strongest_backend_that_works_is_taken(lacking, chosen, monkeypatch):
    monkeypatch.setattr(guards, "os", lacking)
    monkeypatch.setattr(guards, "_chosen", None)
    if chosen == "openat2" and not openat.available():
        chosen = "walk"

    assert guards.choose_backend() == chosen


def test_without_the_system_call_the_walk_is_taken(monkeypatch):
    monkeypatch.setattr(openat, "available", lambda: False)
    monkeypatch.setattr(guards, "_chosen", None)

    assert guards.choose_backend() == "walk"


def test_whether_the_system_call_is_there_is_found_out_by_calling_it(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(openat, "os", Lacking(open=fails(errno.EACCES)))
        assert not openat.available()
    with monkeypatch.context() as patch:
        patch.setattr(_native, "open_beneath", fails(errno.ENOSYS))
        assert not openat.available()
    with monkeypatch.context() as patch:
        patch.setattr(_native, "open_beneath", None)
        assert openat.available()
        patch.setattr(syscalls, "openat2", fails(errno.EPERM))  # seccomp of old containers
        assert not openat.available()


def test_without_the_accelerator_the_system_call_is_made_by_ctypes(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(_native, "open_beneath", None)

    assert answer(make_guard(tmp_path, backend="openat2"), "file") == b"text"


def test_a_backend_that_nobody_knows_is_named(tmp_path):
    with pytest.raises(ValueError, match="no guard backend 'best'; there are openat2"):
        Workspace(tmp_path, backend="best")


# --- roots ---------------------------------------------------------------------------------------------------------


def test_a_root_must_be_there(tmp_path):
    with pytest.raises(NotADirectoryError, match="must be an existing folder"):
        Root(tmp_path / "missing")


def test_a_root_is_shown_copied_and_sent_by_its_name(tmp_path):
    root = Root(tmp_path)
    sent = pickle.loads(pickle.dumps(root))

    assert repr(root) == f"Root({str(tmp_path)!r})"
    assert copy.deepcopy(root) is root
    assert (sent.path, sent.fd != root.fd) == (root.path, True)
    os.close(root.fd)  # somebody else closes it first; letting go of it then is no error
    root.__del__()
    sent.close()
    sent.close()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
@pytest.mark.parametrize(
    "what", ["a file", "a pipe", "a mount of another type", "a folder that is gone", "below one that may not answer"]
)
def test_what_is_no_plain_folder_is_no_plain_root_and_leaves_nothing_open(what, tmp_path, monkeypatch):
    place = tmp_path / "place"
    if what == "a file":
        place.write_bytes(b"")
    elif what == "a pipe":
        os.mkfifo(place)
    else:
        place.mkdir()
    monkeypatch.setattr(mounts, "plain_point", lambda path: None if "below" in what else str(tmp_path))
    monkeypatch.setattr(openat, "PLAIN_TYPES", frozenset() if "another" in what else AnyType())
    if what == "a folder that is gone":
        real = _native.open_beneath

        def gone(*how):
            found = real(*how)
            name = os.fsencode(place) + b" (deleted)"
            return SimpleNamespace(fd=found.fd, name=name, type=found.type, st_mode=found.st_mode)

        monkeypatch.setattr(_native, "open_beneath", gone)
    before = descriptors()

    assert openat.open_plain(str(place)) is None
    assert descriptors() == before


class AnyType:
    def __contains__(self, _kind):
        return True


@pytest.mark.parametrize("backend", ["c", "ctypes"])
def test_a_folder_is_plain_by_the_type_of_its_file_system(backend, tmp_path, monkeypatch):
    if backend == "ctypes":
        monkeypatch.setattr(_native, "open_beneath", None)
    root = Root(tmp_path)
    monkeypatch.setattr(openat, "PLAIN_TYPES", AnyType())
    assert openat.is_plain(root.fd)
    monkeypatch.setattr(openat, "PLAIN_TYPES", frozenset())
    assert not openat.is_plain(root.fd)
    root.close()
    assert not openat.is_plain(root.fd)  # nobody can tell


def test_a_root_where_folders_cannot_be_opened_by_handle_alone(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(roots, "os", Lacking("O_PATH"))

    root = Root(tmp_path)

    assert (root.canonical, root.plain) == (os.path.realpath(tmp_path), False)
    assert answer(guards.Guard([root], Policy(), "walk-by-name"), "file") == b"text"
    root.close()
    with pytest.raises(WouldBlock):
        Root(tmp_path, may_block=False)


def test_a_root_that_may_have_to_wait_is_opened_in_a_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(openat, "open_plain", lambda path: None)

    (root,) = roots.open_roots([tmp_path], 60)

    assert os.path.samestat(os.stat(root.fd), os.stat(tmp_path))
    root.close()


def test_a_root_whose_file_system_does_not_answer_is_told(tmp_path, monkeypatch):
    here, there = os.pipe()
    monkeypatch.setattr(openat, "open_plain", lambda path: None)
    monkeypatch.setattr(roots, "_opener", lambda path: lambda _context: os.read(here, 1))

    with pytest.raises(TimeoutError, match=r"cannot be opened: no answer within 0\.05 s"):
        roots.open_roots([tmp_path], 0.05)
    os.write(there, b"x")
    patiently(lambda: wait_for(lambda: blocking.stuck() == 0))
    os.close(here)
    os.close(there)


def wait_for(true):
    while not true():
        time.sleep(0.005)


# --- names ---------------------------------------------------------------------------------------------------------


def test_a_long_name_that_is_no_unicode_is_told_as_that(make_guard, tmp_path):
    error = ask(make_guard(tmp_path), "\ud800" * 2000)

    assert isinstance(error, InvalidPath)
    assert "not valid Unicode" in str(error)


def test_rules_are_not_asked_about_a_name_that_no_file_can_have(make_guard, tmp_path):
    class Counted(Policy):
        asked = 0

        def admit(self, path, asked):
            Counted.asked += 1
            super().admit(path, asked)

    guard = make_guard(tmp_path, policy=Counted())

    assert answer(guard, ".ssh/" * 1000) == "SystemFailure"
    assert Counted.asked == 0
    assert isinstance(ask(guard, "/elsewhere/.ssh/x"), PolicyDenied)
    assert Counted.asked == 1


@pytest.mark.parametrize("name", ["a:stream", "a. ", "a.", "con", "folder/NUL.txt", "lpt1", "CONIN$"])
def test_names_that_windows_reads_as_something_else_are_refused_there(name, make_guard, tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "os", Lacking(name="nt"))
    guard = make_guard(tmp_path, backend="portable")

    assert answer(guard, name) == "InvalidPath"
    assert answer(guard, "missing/../plain.txt") == "NotFound"


# --- the walk ------------------------------------------------------------------------------------------------------


def test_a_path_of_too_many_steps_ends(strong, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(walk, "MAX_STEPS", 50)
    guard = make_guard(tmp_path, backend="walk" if "openat2" in strong else strong)

    assert ask(guard, "./" * 60 + "file").errno == errno.ELOOP
    assert answer(guard, "./" * 40 + "file") == b"text"


def test_an_empty_link_leads_nowhere(make_guard, tmp_path, monkeypatch):
    """Linux makes none, other systems do."""
    (tmp_path / "link").symlink_to("x")
    monkeypatch.setattr(walk, "os", Lacking(readlink=lambda *_, **__: ""))

    assert answer(make_guard(tmp_path, backend="walk"), "link") == "NotFound"


def test_a_name_that_is_swapped_every_time_it_is_looked_at_is_given_up(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(walk, "os", Lacking(open=fails(errno.ELOOP)))

    assert ask(make_guard(tmp_path, backend="walk-by-name"), "file").errno == errno.EAGAIN


def test_a_file_that_is_another_one_once_it_is_open_is_looked_at_again(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "other").write_bytes(b"another")
    swapped = []

    def swap_once(name, flags, **where):
        if not swapped:
            swapped.append(name)
            name = "other"
        return os.open(name, flags, **where)

    monkeypatch.setattr(walk, "os", Lacking(open=swap_once))

    assert answer(make_guard(tmp_path, backend="walk-by-name"), "file") == b"text"
    assert swapped == ["file"]


# --- openat2 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EAGAIN, errno.ENAMETOOLONG])
def test_where_the_kernel_cannot_decide_the_walk_does(number, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(_native, "open_beneath", fails(number))

    assert answer(make_guard(tmp_path, backend="openat2"), "file") == b"text"


def opened(fd, name):
    """A file as the accelerator tells of it."""
    return SimpleNamespace(
        fd=fd, readable=True, plain=False, pseudo=False, type=0xEF53, name=name, head=None, st_mode=0o100644
    )


def test_a_name_outside_the_root_that_the_kernel_tells_is_not_believed(make_guard, tmp_path, monkeypatch):
    """No descriptor stays open; what the kernel says of the file itself then does not matter."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_bytes(b"text")
    made = []

    def elsewhere(*_):
        made.append(os.open(tmp_path / "root/file", os.O_RDONLY))
        return opened(made[-1], b"/etc/passwd")

    guard = make_guard(tmp_path / "root", backend="openat2")
    monkeypatch.setattr(_native, "open_beneath", elsewhere)

    said = answer(guard, "file")

    assert said in (b"text", "OutsideRoot", "SystemFailure")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])


@pytest.mark.parametrize("name", [None, b"\0"])
@pytest.mark.parametrize("opens", [True, False])
def test_a_failure_between_opening_and_naming_closes_the_descriptor(name, opens, make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    made = []

    def found(*_):
        made.append(os.open(tmp_path / "file", os.O_RDONLY) if opens else -1)
        return opened(made[-1], name)

    guard = make_guard(tmp_path, backend="openat2")
    monkeypatch.setattr(_native, "open_beneath", found)
    monkeypatch.setattr(openat, "_plain", fails(errno.EIO))
    monkeypatch.setattr(openat, "_below", fails(errno.EIO))

    assert ask(guard, "file").errno == errno.EIO
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(made[0])


def test_a_rename_storm_is_waited_out_for_so_long_and_no_longer(monkeypatch):
    calls = []
    monkeypatch.setattr(syscalls, "_syscall", lambda *_: calls.append(1) or -1)
    monkeypatch.setattr(syscalls.ctypes, "get_errno", lambda: errno.EAGAIN)

    with pytest.raises(OSError, match="temporarily unavailable"):
        syscalls.openat2(0, b"x", True)
    assert len(calls) == openat.RACE_RETRIES


def test_an_interrupted_question_for_the_file_system_is_asked_again(tmp_path, monkeypatch):
    answers = [-1, 0]
    monkeypatch.setattr(syscalls, "_fstatfs", lambda fd, buffer: answers.pop(0))
    monkeypatch.setattr(syscalls.ctypes, "get_errno", lambda: errno.EINTR)

    assert not syscalls.is_pseudo(0)
    assert answers == []


def test_where_nobody_can_tell_file_systems_apart_none_is_taken_for_kernel_state(monkeypatch):
    monkeypatch.setattr(syscalls, "_fstatfs", None)
    assert not syscalls.is_pseudo(0)
    monkeypatch.setattr(guards, "os", Lacking("O_PATH"))
    assert not guards.is_pseudo(0)


# --- by names ------------------------------------------------------------------------------------------------------


def test_by_names_a_slash_behind_a_file_says_that_it_must_be_a_folder(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    monkeypatch.setattr(portable, "_resolve", lambda asked, roots: (str(tmp_path / "file"), roots[0], "file"))

    assert ask(make_guard(tmp_path, backend="portable"), "file/").errno == errno.ENOTDIR


def test_by_names_a_file_that_leads_elsewhere_once_it_is_open_is_let_go_of(make_guard, tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "other").write_bytes(b"another")
    real = portable._resolve
    calls = []

    def moved(asked, roots):
        calls.append(asked)
        return real(str(tmp_path / "other") if len(calls) > 1 else asked, roots)

    monkeypatch.setattr(portable, "_resolve", moved)
    before = sorted(os.listdir("/proc/self/fd"))

    assert ask(make_guard(tmp_path, backend="portable"), "file").errno == errno.EAGAIN
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1  # the root's own


def test_by_names_a_folder_that_leads_elsewhere_once_it_is_listed_is_not_told(make_guard, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    (tmp_path / "other").mkdir()
    real = portable.find
    calls = []

    def moved(roots, root, rest, **how):
        calls.append(rest)
        return real(roots, root, "other" if len(calls) > 1 else rest, **how)

    monkeypatch.setattr(portable, "find", moved)

    with pytest.raises(SystemFailure) as caught:
        make_guard(tmp_path, backend="portable").list_beneath("folder")
    assert caught.value.errno == errno.EAGAIN


def test_an_entry_that_vanishes_while_it_is_listed_is_something_else():
    class Gone:
        is_symlink = staticmethod(fails(errno.ENOENT))

    assert listing._what(Gone()) == "other"


# --- the opened file -----------------------------------------------------------------------------------------------


def source_of(path):
    fd = os.open(path, os.O_RDONLY)
    return LocalFile(fd, os.fstat(fd), asked="asked", path="file", canonical="file")


def test_a_read_that_fails_is_told_as_what_the_system_says(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    with source_of(tmp_path / "file") as source:
        monkeypatch.setattr(os, "pread", fails(errno.EIO))

        with pytest.raises(SystemFailure) as caught:
            source.read_at(0, 4)
        assert (caught.value.errno, caught.value.path) == (errno.EIO, "asked")


def test_a_file_that_its_server_lost_has_changed(tmp_path, monkeypatch):
    (tmp_path / "file").write_bytes(b"text")
    with source_of(tmp_path / "file") as source:
        monkeypatch.setattr(LocalFile, "status_now", fails(errno.ESTALE))
        assert source.changed()
        monkeypatch.setattr(LocalFile, "status_now", fails(errno.EIO))
        with pytest.raises(SystemFailure):
            source.changed()
    source.close()  # once more is no error


# --- the file of a slow mount ---------------------------------------------------------------------------------------


@pytest.fixture
def slow(tmp_path):
    """Makes sources whose file system may not answer."""
    made = []

    def make(data, *, copies, context=None):
        (tmp_path / "file").write_bytes(data)
        fd = os.open(tmp_path / "file", os.O_RDONLY)
        context = context or CallContext()
        made.append(
            BlockingFile(fd, os.fstat(fd), asked="a", path="file", canonical="file", context=context, copies=copies)
        )
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_decoders_get_a_copy_of_a_file_whose_close_may_wait(slow, monkeypatch):
    before = descriptors()
    data = os.urandom(3 << 20)
    real = os.write
    source = slow(data, copies=True)
    monkeypatch.setattr(os, "write", lambda fd, view: real(fd, view[: 1 << 19]))  # as the system may

    copy = source.fd

    assert (source.fd, copy != source._fd) == (copy, True)
    assert os.pread(copy, len(data) + 1, 0) == data
    source.close()
    source.close()
    assert descriptors() == before


def test_decoders_get_the_file_itself_where_it_is_plain_or_large(slow, monkeypatch):
    plain = slow(b"text", copies=False)
    assert plain.fd == plain._fd
    monkeypatch.setattr("eyespan.guard.source.MAX_COPY_BYTES", 3)
    large = slow(b"text", copies=True)
    assert large.fd == large._fd


def test_a_copy_that_ended_on_the_way_is_not_taken_for_the_file(slow, monkeypatch):
    """The second one who asked once got what the first had copied before the read failed."""
    data = os.urandom(3 << 20)
    source = slow(data, copies=True)
    before = descriptors()
    real = os.pread
    with monkeypatch.context() as patch:
        patch.setattr(os, "pread", lambda fd, size, at: fails(errno.EIO)() if at else real(fd, size, at))
        with pytest.raises(SystemFailure) as caught:
            source.fd  # noqa: B018  (it makes the copy)
    assert (caught.value.errno, caught.value.path, descriptors()) == (errno.EIO, "a", before)

    assert os.pread(source.fd, len(data) + 1, 0) == data


@pytest.mark.parametrize("call", ["memfd_create", "write"])
def test_a_copy_that_the_system_has_no_room_for_is_an_error_of_the_read(call, slow, monkeypatch):
    source = slow(b"text", copies=True)
    before = descriptors()
    monkeypatch.setattr(os, call, fails(errno.EMFILE))

    with pytest.raises(SystemFailure) as caught:
        source.fd  # noqa: B018  (as above)
    assert (caught.value.errno, descriptors()) == (errno.EMFILE, before)


def test_who_is_no_longer_waited_for_reads_no_further(slow):
    context = CallContext()
    source = slow(b"text", copies=True, context=context)
    assert source.read_at(0, 2) == b"te"
    context.cancelled = True

    with pytest.raises(Cancelled):
        source.read_at(2, 2)


def test_a_patient_guard_opens_what_any_other_does(make_guard, tmp_path, backend):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path, backend=backend)

    with guard.blocking(CallContext()).open("file") as source:
        assert (type(source), source.first_bytes, source._copies) == (BlockingFile, b"text", not guard.roots[0].plain)


def test_a_folder_is_listed_without_a_call_that_could_be_given_up(make_guard, tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    guard = make_guard(tmp_path)

    assert [entry.name for entry in guard.list_beneath(".").entries] == ["file"]
    with pytest.raises(WouldBlock):
        guard.non_blocking().list_beneath(".")


def test_a_descriptor_whose_close_fails_is_closed_and_only_a_wrong_number_is_a_mistake(monkeypatch):
    here, there = os.pipe()
    real = os.close

    def close_and_fail(fd):
        real(fd)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "close", close_and_fail)
        source_module.close_fd(here)
    source_module.close_fd(there)

    with pytest.raises(OSError, match="Bad file descriptor"):
        source_module.close_fd(here)


# --- what is gone ---------------------------------------------------------------------------------------------------


def test_a_file_that_is_gone_between_finding_and_opening_is_not_found(make_guard, tmp_path, monkeypatch):
    """With /proc there, its answer is the last word."""
    (tmp_path / "file").write_bytes(b"text")

    def no_handle(path, flags, **where):
        if str(path).startswith("/proc/self/fd/") or where.get("dir_fd") == openat.handles:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return os.open(path, flags, **where)

    monkeypatch.setattr(guards, "os", Lacking(open=no_handle))

    assert answer(make_guard(tmp_path, backend="walk"), "file") == "NotFound"


@pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
@pytest.mark.parametrize("size", [0, 1, 16_382, 16_383, 16_384, 65_535, 65_536, 65_537])
def test_a_small_file_is_read_along_with_its_opening(size, make_guard, tmp_path, monkeypatch):
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    reads = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda *where: reads.append(where) or pread(*where))

    with make_guard(tmp_path, backend="openat2").open("file") as source:
        assert source.first_bytes == data[: source.max_first_bytes]

    assert bool(reads) == (size == 0 or size >= 16_384)


@pytest.mark.skipif(_native.open_beneath is None, reason="done by the accelerator")
@pytest.mark.parametrize("what", ["same size", "longer"])
def test_a_file_that_changes_once_it_is_read_is_told_as_it_was_and_as_changed(what, make_guard, tmp_path, monkeypatch):
    """The state that is told of a file is never newer than what is shown of it."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    opener = _native.open_beneath

    def then_changed(*where):
        found = opener(*where)
        file.write_bytes(b"new" if what == "same size" else b"newer")
        os.utime(file, ns=(1, 1))
        return found

    guard = make_guard(tmp_path, backend="openat2")
    monkeypatch.setattr(_native, "open_beneath", then_changed)

    with guard.open("file") as source:
        assert (source.first_bytes, source.size_bytes) == (b"old", 3)
        assert source.status.st_mtime_ns != 1
        assert source.changed()


@pytest.mark.parametrize("backend", ["openat2", "openat2-by-ctypes", "walk", "walk-by-name"])
def test_links_are_counted_once(backend, make_guard, tmp_path):
    """The kernel tries a path that leads out twice and goes on counting: it was told as a path of too many links."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"text")
    target = "folder"
    for number in range(38):
        (tmp_path / f"link{number}").symlink_to(target)
        target = f"link{number}"
    guard = make_guard(tmp_path, backend=backend)

    for _ in range(20):
        assert answer(guard, "link37/../file") == b"text"
        assert answer(guard, "link37/../../file") == "OutsideRoot"
