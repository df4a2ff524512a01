"""Reading small texts in one step: the same checks as `Guard.open`, and None wherever they have to decide something."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from eyespan import _native
from eyespan.errors import PolicyDenied
from eyespan.guard import Guard, LocalFile, Root
from eyespan.policy import Policy
from tests.descriptors import leaked, open_descriptors
from tests.sizes import size

from .test_race import PLAIN, SECRET, Scene, attacked, folder_swap, leaf_swap, seen_while_swapped

pytestmark = pytest.mark.skipif(_native.read_small is None, reason="the accelerator is not built, or not for Linux")

CODEX = ("L", 0, ": ", False, 0, 500)


def read(guard, path, first=1, count=2000, style=None, **how):
    return guard.read_small(path, first, count, style, **how)


def text_of_file(guard):
    found = read(guard, "file")
    return found and found[0]


def test_lines_are_numbered_and_counted(tmp_path, make_guard):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.txt").write_bytes(b"one\r\ntwo\n" + b"x" * 600 + b"\nfour")
    os.utime(tmp_path / "a/b.txt", ns=(0, 1_234_567_891))

    found = read(make_guard(tmp_path), "a/b.txt", 2, 2, CODEX, wants_data=True)

    text = "L2: two\nL3: " + "x" * 500
    data = (tmp_path / "a/b.txt").read_bytes()
    assert found == (text, len(data), 1_234_567_891, 4, 2, 1, True, "a/b.txt", data)


@pytest.mark.parametrize("size_bytes", [10, 20_000, 60_000])
@pytest.mark.parametrize("wanted", [0, 1, 9, 10, 11, 8192, 1 << 62, False, True])
def test_so_many_of_the_first_bytes_are_returned_as_are_wanted(tmp_path, make_guard, size_bytes, wanted):
    data = bytes([97 + number % 26 for number in range(size_bytes)])
    (tmp_path / "f").write_bytes(data)

    found = read(make_guard(tmp_path), "f", style=CODEX, wants_data=wanted)

    assert found[1] == size_bytes
    assert found[8] == (data if wanted is True else data[:wanted] if wanted else None)


def test_a_negative_number_of_bytes_is_left_to_the_ordinary_steps(tmp_path, make_guard):
    (tmp_path / "f").write_bytes(b"plain\n")

    assert read(make_guard(tmp_path), "f", wants_data=-1) is None


def test_an_absolute_path_below_the_root_is_the_same_file(tmp_path, make_guard):
    (tmp_path / "b.txt").write_bytes(b"one\n")

    assert read(make_guard(tmp_path), f"{tmp_path}/b.txt")[0] == "one\n"


@pytest.mark.parametrize(
    ("width", "shown"), [(-1, " 9\tl\n10\tl\n"), (0, "9\tl\n10\tl\n"), (6, "     9\tl\n    10\tl\n")]
)
def test_the_width_of_the_last_number_is_that_of_all(tmp_path, make_guard, width, shown):
    (tmp_path / "b.txt").write_bytes(b"l\n" * 12)

    assert read(make_guard(tmp_path), "b.txt", 9, 2, ("", width, "\t", True, 0, 0))[0] == shown


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty", b""),
        ("nul", b"a\0b\n"),
        ("bom", b"\xef\xbb\xbfa\n"),
        ("invalid", b"a\xff\n"),
        ("cut", b"a\xe2\x82"),
        ("surrogate", b"\xed\xa0\x80\n"),
        ("large", b"x" * LocalFile.max_first_bytes),
        ("é", b"a\n"),
        ("c:", b"a\n"),
        ("back\\slash", b"a\n"),
        ("line\nfeed", b"a\n"),
        (" ", b"a\n"),
        ("end ", b"a\n"),
        ("n" * 254 + "/" + "n" * 10, b"a\n"),
        (".env", b"a\n"),
    ],
)
def test_other_files_and_names_are_left_to_the_ordinary_steps(tmp_path, make_guard, name, data):
    target = tmp_path / name
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(data)

    assert read(make_guard(tmp_path), name) is None


@pytest.mark.parametrize(
    "path", ["", ".", "..", "./f", "a/../f", "a//f", "a/", "f/", "/etc/passwd", "../root/f", "f\0"]
)
def test_other_spellings_are_left_to_the_ordinary_steps(tmp_path, make_guard, path):
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "f").write_bytes(b"plain\n")
    (root / "a/f").write_bytes(b"plain\n")

    assert read(make_guard(root), path) is None


@pytest.mark.parametrize(("first", "count"), [(0, 1), (-1, 1), (1, 0), (3, 1)])
def test_lines_that_do_not_exist_are_left_to_the_ordinary_steps(tmp_path, make_guard, first, count):
    (tmp_path / "f").write_bytes(b"one\ntwo\n")

    assert read(make_guard(tmp_path), "f", first, count) is None


def test_nothing_but_regular_files_reached_without_links_is_opened(tmp_path, make_guard, watch, monkeypatch):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret\n")
    (root / "plain").write_bytes(b"plain\n")
    (root / "directory").mkdir()
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the name of a socket has at most 108 bytes
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
    (root / "link").symlink_to("plain")
    (root / "out").symlink_to(outside / "secret")
    (root / "way").symlink_to(outside)
    watches = [watch(path) for path in (outside / "secret", root / "pipe", root / "plain", root / "directory")]
    guard = make_guard(root)
    before = open_descriptors()

    found = [read(guard, name) for name in ("link", "out", "way/secret", "pipe", "socket", "directory", "none")]

    assert found == [None] * 7
    assert [one.openings() for one in watches] == [0, 0, 0, 0]
    assert leaked(before) == []


def test_a_file_is_opened_once_and_closed(tmp_path, make_guard, watch):
    (tmp_path / "f").write_bytes(b"plain\n")
    one = watch(tmp_path / "f")
    guard = make_guard(tmp_path)
    before = open_descriptors()

    assert read(guard, "f") is not None

    assert one.openings() == 1
    assert leaked(before) == []


def test_files_of_other_mounts_and_of_kernel_state_are_left_to_the_ordinary_steps(make_guard):
    guard = make_guard("/proc/self", "/")

    assert read(guard, "status") is None
    assert read(make_guard("/proc/self"), "status") is None
    assert read(make_guard("/"), "/proc/version") is None


def test_the_whole_machine_can_be_a_root(tmp_path, make_guard):
    (tmp_path / "f").write_bytes(b"plain\n")
    guard = make_guard("/")

    found = read(guard, f"{tmp_path}/f")

    assert (found is None) == (os.stat("/").st_dev != tmp_path.stat().st_dev)
    assert found is None or found[0] == "plain\n"


@pytest.mark.parametrize("backend", ["openat2-by-ctypes", "walk", "walk-by-name", "portable"])
def test_only_the_strongest_backend_reads_in_one_step(tmp_path, make_guard, backend):
    (tmp_path / "f").write_bytes(b"plain\n")

    assert read(make_guard(tmp_path, backend=backend), "f") is None


def test_the_rules_judge_the_name_first(tmp_path, make_guard, watch):
    (tmp_path / "denied.txt").write_bytes(b"secret\n")
    one = watch(tmp_path / "denied.txt")
    guard = make_guard(tmp_path, policy=Policy(deny=["denied*"]))

    assert read(guard, "denied.txt") is None
    assert one.openings() == 0
    with pytest.raises(PolicyDenied):
        guard.open("denied.txt")


def test_a_closed_root_reads_nothing(tmp_path, make_guard):
    (tmp_path / "f").write_bytes(b"plain\n")
    guard = make_guard(tmp_path)
    guard.roots[0].close()

    assert read(guard, "f") is None


@pytest.mark.parametrize("handles", [-1, 0, 1_000_000])
def test_a_descriptor_of_proc_that_other_code_closed_is_not_needed(tmp_path, handles):
    (tmp_path / "f").write_bytes(b"plain\n")
    root = Root(tmp_path)

    assert _native.read_small(root.fd, "f", root.device, handles, 100, 1, 1, None, False)[0] == "plain\n"
    root.close()


def test_a_foreign_directory_in_place_of_proc_leads_to_no_other_file(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/f").write_bytes(PLAIN)
    for number in range(200):
        (tmp_path / str(number)).write_bytes(SECRET.ljust(len(PLAIN)))
        os.utime(tmp_path / str(number), ns=(0, 1_000_000_000))
    os.utime(tmp_path / "root/f", ns=(0, 1_000_000_000))  # nothing but the identity of the file is different
    foreign = os.open(tmp_path, os.O_PATH)
    root = Root(tmp_path / "root")

    assert _native.read_small(root.fd, "f", root.device, foreign, 100, 1, 1, None, False) is None
    root.close()
    os.close(foreign)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (1,),
        ("f", "f", 0, 0, 1, 1, 1, None, False),
        (0, b"f", 0, 0, 1, 1, 1, None, False),
        (0, "f", 0, 0, 1, "1", 1, None, False),
    ],
)
def test_arguments_of_another_type_are_an_error(arguments):
    with pytest.raises(TypeError):
        _native.read_small(*arguments)


@pytest.mark.parametrize(
    "style", [(), ("L", 0, ": ", False, 0), (1, 0, ": ", False, 0, 0), "Lx: abc", ("", "", "", 0, 0, 0)]
)
def test_a_wrong_style_is_an_error(tmp_path, style):
    (tmp_path / "f").write_bytes(b"plain\n")
    root = Root(tmp_path)

    with pytest.raises(TypeError):
        _native.read_small(root.fd, "f", root.device, -1, 100, 1, 1, style, False)
    root.close()


def test_a_style_that_takes_too_much_room_is_left_to_the_ordinary_steps(tmp_path):
    (tmp_path / "f").write_bytes(b"plain\n")
    root = Root(tmp_path)
    styles = [("x" * 200, 0, "", False, 0, 0), ("", 101, "", False, 0, 0), ("", -2, "", False, 0, 0)]

    found = [_native.read_small(root.fd, "f", root.device, -1, 100, 1, 1, style, False) for style in styles]

    assert found == [None, None, None]
    root.close()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="renameat2 is Linux's")
@pytest.mark.parametrize("shape", [leaf_swap, folder_swap])
def test_no_read_leaks_while_names_are_swapped(shape, tmp_path):
    scene = Scene(tmp_path)
    shape(scene)
    root = Root(scene.root)
    guard = Guard((root,), Policy(), "openat2")
    seen: dict[object, int] = {}
    with attacked(scene) as swaps:
        before = int(swaps)
        wanted = size(short=2_000, long=200_000)
        while sum(seen.values()) < wanted or int(swaps) - before < wanted or PLAIN.decode() not in seen:
            found = read(guard, scene.path)
            text = found and found[0]
            seen[text] = seen.get(text, 0) + 1
    root.close()

    assert seen.keys() <= {None, PLAIN.decode()}


def test_a_pipe_that_takes_the_place_of_a_file_is_never_opened(tmp_path, watch):
    scene = Scene(tmp_path)
    scene.write(scene.root / "file", PLAIN)
    os.mkfifo(scene.root / "other")
    scene.pairs = [scene.root / "file", scene.root / "other"]
    pipe = watch(scene.root / "other")
    wanted = size(short=2_000, long=100_000)
    seen = seen_while_swapped(
        scene, text_of_file, reads=wanted, swaps=wanted, until=lambda seen: PLAIN.decode() in seen
    )

    assert seen <= {None, PLAIN.decode()}
    assert pipe.openings() == 0


def test_a_file_that_is_replaced_meanwhile_is_shown_in_one_version(tmp_path):
    """Contents of equal size are exchanged by name: a text is the one or the other, never a mixture."""
    scene = Scene(tmp_path)
    scene.write(scene.root / "file", b"aaaaaaaaa\n" * 1500)
    scene.write(scene.root / "other", b"bbbbbbbbb\n" * 1500)
    scene.pairs = [scene.root / "file", scene.root / "other"]
    seen = seen_while_swapped(
        scene, text_of_file, reads=size(short=500, long=20_000), until=lambda seen: not seen <= {None}
    )

    assert seen - {None} <= {"aaaaaaaaa\n" * 1500, "bbbbbbbbb\n" * 1500}
