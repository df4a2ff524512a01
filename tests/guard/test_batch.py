"""Reading many small texts in one step: the checks of `Guard.open` for each, and None wherever they have to decide."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from eyespan import _native, tokens
from eyespan.guard import Guard, LocalFile, Root
from eyespan.policy import NarrowedPolicy, Policy
from tests.descriptors import leaked, open_descriptors
from tests.sizes import size

from .test_race import PLAIN, SECRET, Scene, attacked, folder_swap, leaf_swap, seen_while_swapped

pytestmark = pytest.mark.skipif(_native.read_batch is None, reason="the accelerator is not built, or not for Linux")

LIMITS = (LocalFile.max_first_bytes, 50_000, 1 << 20, 10**9)


def form(*signatures):
    return "\t", 5, tokens.weighing_scale(), signatures


def read(guard, *paths, limits=LIMITS, signatures=()):
    """Return the rows of each file without their header; None for those that are left out."""
    found = guard.read_batch(paths, limits, form(*signatures))
    if found is None:
        return None
    _, (text, _, parts) = found
    return [None if part is None else text[part[0] : part[1]].partition("\n")[2] for part in parts]


def test_the_parts_of_all_files_are_one_text(tmp_path, make_guard):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.txt").write_bytes(b"one\n\ntwo\n")
    (tmp_path / "c.txt").write_bytes("é\n".encode())
    for name in ("a/b.txt", "c.txt"):
        os.utime(tmp_path / name, ns=(0, 1_234_567_891))
    guard = make_guard(tmp_path)

    below, (text, cost, (first, nothing, last)) = guard.read_batch(
        [f"{tmp_path}/a/b.txt", "none", "c.txt"], LIMITS, form()
    )

    assert below == ["a/b.txt", "none", "c.txt"]
    parts = [f"> {tmp_path}/a/b.txt:1-3/3 #{first[3]}\n1\tone\n\n\ttwo", f"> c.txt:1/1 #{last[3]}\n1\té"]
    assert text == "\n".join(parts)
    assert (text[first[0] : first[1]], text[last[0] : last[1]]) == tuple(parts)
    assert (first[2], *first[5:7]) == (3, 9, 1_234_567_891)
    assert (last[2], *last[5:7]) == (1, 3, 1_234_567_891)
    assert (first[7], last[7]) == (_native.hash_lines(b"one\n\ntwo\n"), _native.hash_lines("é\n".encode()))
    assert nothing is None
    assert tokens.tokens_of_cost(cost) == tokens.estimate(text)
    assert [tokens.tokens_of_cost(part[4]) for part in (first, last)] == [tokens.estimate(part) for part in parts]


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"a\0b\n", b"\xef\xbb\xbfa\n", b"a\xff\n", b"a\xe2\x82\n", b"\xed\xa0\x80\n", b"open", b"a\r\n"),
        *("\u200b\n".encode(), b"\x1b[m\n", b"\x7f\n", b"\tx\n  y\n", b"  y\n\tx\n", "\u0f40\n".encode(), b"+ utf-7\n"),
        *(b"~ HZ-GB\n", b"x" * LocalFile.max_first_bytes, b"x" * 148 + b"  1234  " + b"y" * 400 + b"\n"),
    ],
)
def test_texts_with_something_to_note_are_left_to_the_ordinary_steps(tmp_path, make_guard, data):
    (tmp_path / "f").write_bytes(data)
    (tmp_path / "g").write_bytes(b"plain\n")

    assert read(make_guard(tmp_path), "f", "g") == [None, "1\tplain"]


@pytest.mark.parametrize(
    ("signature", "data", "is_left"),
    [
        ((0, b"AB", b""), b"ABC\n", True),
        ((0, b"AB", b""), b"\n ABC\n", False),
        ((-1, b"AB", b""), b"\n \tABC\n", True),
        ((4, b"AB", b""), b"xxxxABC\n", True),
        ((4, b"AB", b""), b"xxxA\n", False),
        ((0, b"A", b"svg"), b"A <svg\n", True),
        ((0, b"A", b"svg"), b"A" + b" " * 2048 + b"svg\n", False),
        ((0, b"", b""), b"x\n", True),
        ((2048, b"x", b""), b"x\n", False),
    ],
)
def test_a_text_that_begins_like_a_document_is_left_to_the_ordinary_steps(
    tmp_path, make_guard, signature, data, is_left
):
    (tmp_path / "f").write_bytes(data)

    assert (read(make_guard(tmp_path), "f", signatures=[(0, b"no such start", b""), signature]) == [None]) is is_left


@pytest.mark.parametrize(
    "path",
    [
        *(
            "",
            ".",
            "..",
            "./f",
            "a/../f",
            "a//f",
            "a/",
            "f/",
            "/etc/passwd",
            "../root/f",
            "f\0",
            " f",
            "f ",
            "é",
            "c:f",
        ),
        *("a\\f", "f\n", "n" * 254 + "/" + "n" * 10, "\udc80"),
    ],
)
def test_other_spellings_are_left_to_the_ordinary_steps(tmp_path, make_guard, path):
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "f").write_bytes(b"plain\n")
    (root / "a/f").write_bytes(b"plain\n")

    assert read(make_guard(root), path, "f") == [None, "1\tplain"]


def test_names_of_one_file_are_left_to_the_ordinary_steps(tmp_path, make_guard):
    for name in "fgh":
        (tmp_path / name).write_bytes(b"plain\n")

    assert read(make_guard(tmp_path), "f", "g", f"{tmp_path}/f") == [None, "1\tplain", None]


def test_nothing_but_regular_files_reached_without_links_is_opened(tmp_path, make_guard, watch, monkeypatch):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret\n")
    for name in ("plain", "twice"):
        (root / name).write_bytes(b"plain\n")
    os.link(root / "twice", root / "other name")
    (root / "directory").mkdir()
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)  # the name of a socket has at most 108 bytes
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
    (root / "link").symlink_to("plain")
    (root / "out").symlink_to(outside / "secret")
    (root / "way").symlink_to(outside)
    unopened = (outside / "secret", root / "pipe", root / "directory", root / "twice")
    watches = [watch(path) for path in (*unopened, root / "plain")]
    guard = make_guard(root)
    before = open_descriptors()

    found = read(guard, "link", "out", "way/secret", "pipe", "socket", "directory", "none", "twice", "plain")

    assert found == [*[None] * 8, "1\tplain"]
    assert [one.openings() for one in watches] == [0, 0, 0, 0, 1]
    assert leaked(before) == []


def test_files_of_other_mounts_and_of_kernel_state_are_left_to_the_ordinary_steps(make_guard):
    assert read(make_guard("/proc/self", "/"), "status") is None
    assert read(make_guard("/proc/self"), "status") in (None, [None])
    assert read(make_guard("/"), "/proc/version") in (None, [None])


@pytest.mark.parametrize("backend", ["openat2-by-ctypes", "walk", "walk-by-name", "portable"])
def test_only_the_strongest_backend_reads_in_one_step(tmp_path, make_guard, backend):
    (tmp_path / "f").write_bytes(b"plain\n")

    assert read(make_guard(tmp_path, backend=backend), "f") is None


def test_a_closed_root_reads_nothing(tmp_path, make_guard):
    (tmp_path / "f").write_bytes(b"plain\n")
    guard = make_guard(tmp_path)
    guard.roots[0].close()

    assert read(guard, "f") is None


@pytest.mark.parametrize(
    "names",
    [
        *(["denied.txt"], ["plain", "denied.txt"], ["denied.txt", "plain", "sub/.env"]),
        ["plain", "denied.txt", "none", "sub/.env", "none2"],
    ],
)
def test_the_rules_judge_every_name_first(tmp_path, make_guard, watch, names):
    (tmp_path / "sub").mkdir()
    for name in ("denied.txt", "sub/.env", "plain"):
        (tmp_path / name).write_bytes(b"text\n")
    watches = [watch(tmp_path / name) for name in ("denied.txt", "sub/.env")]
    policy = Policy(deny=["denied*"])
    guards = [make_guard(tmp_path, policy=one) for one in (policy, NarrowedPolicy(policy, {}))]

    for guard in guards:
        assert read(guard, *names) == ["1\ttext" if name == "plain" else None for name in names]
    assert [one.openings() for one in watches] == [0, 0]


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        ((5, 9, 999, 10**9), [None, "1\tabc"]),
        ((99, 1, 999, 10**9), [None, "1\tabc"]),
        ((99, 9, 60, 10**9), None),
        ((99, 9, 999, 1000), None),
        ((99, 9, 999, 10**9), ["1\tone\n\ttwo", "1\tabc"]),
    ],
)
def test_limits_are_kept(tmp_path, make_guard, limits, found):
    (tmp_path / "f").write_bytes(b"one\ntwo\n")
    (tmp_path / "g").write_bytes(b"abc\n")

    assert read(make_guard(tmp_path), "f", "g", limits=limits) == found


@pytest.mark.parametrize("handles", [-1, 0, 1_000_000])
def test_a_descriptor_of_proc_that_other_code_closed_is_not_needed(tmp_path, handles):
    (tmp_path / "f").write_bytes(b"plain\n")
    root = Root(tmp_path)

    text, _, _ = _native.read_batch(root.fd, root.device, handles, ("f",), ("f",), LIMITS, form())

    assert text.endswith("\n1\tplain")
    root.close()


def test_a_foreign_directory_in_place_of_proc_leads_to_no_other_file(tmp_path):
    (tmp_path / "root").mkdir()
    (tmp_path / "root/f").write_bytes(PLAIN + b"\n")
    for number in range(200):
        (tmp_path / str(number)).write_bytes(SECRET.ljust(len(PLAIN)) + b"\n")
        os.utime(tmp_path / str(number), ns=(0, 1_000_000_000))
    os.utime(tmp_path / "root/f", ns=(0, 1_000_000_000))  # nothing but the identity of the file is different
    foreign = os.open(tmp_path, os.O_PATH)
    root = Root(tmp_path / "root")

    assert _native.read_batch(root.fd, root.device, foreign, ("f",), ("f",), LIMITS, form()) == ("", 0, [None])
    root.close()
    os.close(foreign)


def wrong_calls():
    right = [0, 0, -1, ("f",), ("f",), LIMITS, form()]
    for place, wrong in (
        *((0, "f"), (1, "f"), (2, None), (3, ["f"]), (3, (b"f",)), (3, ("f", "g")), (3, ("f",) * 2000), (4, (None,))),
        *(
            (5, (1, 1, 1)),
            (5, ("a", 1, 1, 1)),
            (5, [1, 1, 1, 1]),
            (6, ()),
            (6, ("\t", 5, b"", ())),
            (6, ("\t", 5, "", ())),
        ),
        *((0, -1), (5, (0, 1, 1, 1)), (5, (1, 0, 1, 1)), (5, (1, 1, 0, 1)), (6, ("\t" * 300, 5, form()[2], ()))),
        *((6, ("\t", 0, form()[2], ())), (6, form((0, b"a"))), (6, form((0, "a", b""))), (6, form((-2, b"a", b"")))),
        *((6, form((4000, b"a", b""))), (6, form(*[(0, b"a", b"")] * 65))),
    ):
        yield [*right[:place], wrong, *right[place + 1 :]]
    yield right[:-1]
    yield []


def test_wrong_arguments_are_an_error():
    for arguments in wrong_calls():
        with pytest.raises((TypeError, ValueError, OverflowError)):
            _native.read_batch(*arguments)


def swapped(scene, shape):
    """Make the scene of an attack with texts that end in a line feed."""
    shape(scene)
    for path in (scene.root / scene.path, *scene.outside.rglob("file")):
        path.write_bytes(path.read_bytes() + b"\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="renameat2 is Linux's")
@pytest.mark.parametrize("shape", [leaf_swap, folder_swap])
def test_no_read_leaks_while_names_are_swapped(shape, tmp_path):
    scene = Scene(tmp_path)
    swapped(scene, shape)
    (scene.root / "beside").write_bytes(b"beside\n")
    root = Root(scene.root)
    guard = Guard((root,), Policy(), "openat2")
    seen: dict[object, int] = {}
    plain = f"1\t{PLAIN.decode()}"
    with attacked(scene) as swaps:
        before = int(swaps)
        wanted = size(short=2_000, long=200_000)
        while sum(seen.values()) < wanted or int(swaps) - before < wanted or plain not in seen:
            rows, beside = read(guard, scene.path, "beside")
            seen[rows] = seen.get(rows, 0) + 1
            assert beside == "1\tbeside"
    root.close()

    assert seen.keys() <= {None, plain}


def test_a_pipe_that_takes_the_place_of_a_file_is_never_opened(tmp_path, watch):
    scene = Scene(tmp_path)
    scene.write(scene.root / "file", PLAIN + b"\n")
    os.mkfifo(scene.root / "other")
    scene.pairs = [scene.root / "file", scene.root / "other"]
    pipe = watch(scene.root / "other")
    plain = f"1\t{PLAIN.decode()}"
    wanted = size(short=2_000, long=100_000)
    seen = seen_while_swapped(
        scene,
        lambda guard: read(guard, "file", "none")[0],
        reads=wanted,
        swaps=wanted,
        until=lambda seen: plain in seen,
    )

    assert seen <= {None, plain}
    assert pipe.openings() == 0


def test_a_file_that_is_replaced_meanwhile_is_shown_in_one_version(tmp_path):
    """Contents of equal size are exchanged by name: a text is the one or the other, never a mixture."""
    scene = Scene(tmp_path)
    scene.write(scene.root / "file", b"aaaaaaaaa\n" * 1500)
    scene.write(scene.root / "other", b"bbbbbbbbb\n" * 1500)
    scene.pairs = [scene.root / "file", scene.root / "other"]
    seen = seen_while_swapped(
        scene,
        lambda guard: frozenset(read(guard, "file")[0] or "") & frozenset("ab"),
        reads=size(short=500, long=20_000),
        until=lambda seen: not seen <= {frozenset()},
    )

    assert seen <= {frozenset(), frozenset("a"), frozenset("b")}
