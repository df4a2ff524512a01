"""Reads while another process swaps links and directories under them: no byte of an outside file comes back.

Four shapes of the attack, each against each backend that promises to hold. The same attack is run against a reader that
checks a resolved name and then opens a name; that one must leak, or the attack proves nothing.
EYESPAN_RACE_READS raises the number of reads, and of swaps (the soak run does), and prints what was counted.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eyespan.errors import ReadError
from eyespan.guard import Guard, Root
from eyespan.policy import Policy
from tests.backends import STRONG
from tests.sizes import size

READS = int(os.environ.get("EYESPAN_RACE_READS", size(short=3_000, long=51_000)))
"""Of each backend, split evenly over the shapes; so many swaps are waited for as well."""
COUNTED = "EYESPAN_RACE_READS" in os.environ
STEP = 500
"""So many reads between two looks at the number of swaps."""
SECRET = b"outside: a secret"
PLAIN = b"inside: plain text"
DEPTH = 12
"""Of the directory that is moved out: the longer the way down and up again, the more often it is moved meanwhile."""
MOST_NAIVE_READS = 400_000
"""After so many reads without a leak the attack is taken not to bite."""

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="renameat2 is Linux's")


class Scene:
    """A root, an outside directory with a secret, the path that is read and the pairs of names that are swapped."""

    def __init__(self, base: Path) -> None:
        self.root = base / "root"
        self.outside = base / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        self.pairs: list[Path] = []
        self.path = ""

    def write(self, where: Path, text: bytes) -> None:
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(text)


def leaf_swap(scene: Scene) -> None:
    """The last name is a file now and a link to the secret then."""
    scene.write(scene.root / "a/file", PLAIN)
    scene.write(scene.outside / "file", SECRET)
    (scene.root / "a/other").symlink_to(scene.outside / "file")
    scene.pairs = [scene.root / "a/file", scene.root / "a/other"]
    scene.path = "a/file"


def folder_swap(scene: Scene) -> None:
    """A directory on the way is a directory now and a link to an outside directory then."""
    scene.write(scene.root / "a/b/file", PLAIN)
    scene.write(scene.outside / "b/file", SECRET)
    (scene.root / "a/other").symlink_to("../../outside/b")
    scene.pairs = [scene.root / "a/b", scene.root / "a/other"]
    scene.path = "a/b/file"


def link_retarget(scene: Scene) -> None:
    """A link points inside now and outside then."""
    scene.write(scene.root / "a/file", PLAIN)
    scene.write(scene.outside / "file", SECRET)
    (scene.root / "link").symlink_to("a/file")
    (scene.root / "other").symlink_to(scene.outside / "file")
    scene.pairs = [scene.root / "link", scene.root / "other"]
    scene.path = "link"


def folder_moved_out(scene: Scene) -> None:
    """A directory on the way is moved out of the root during the lookup below it, so `..` leads elsewhere."""
    deep = "/".join(["d"] * DEPTH)
    for directory in (scene.root / "a", scene.outside):
        (directory / "b" / deep).mkdir(parents=True)
    scene.write(scene.root / "a/file", PLAIN)
    scene.write(scene.outside / "file", SECRET)
    scene.pairs = [scene.root / "a/b", scene.outside / "b"]
    scene.path = f"a/b/{deep}/{'../' * (DEPTH + 1)}file"


SHAPES = (leaf_swap, folder_swap, link_retarget, folder_moved_out)


class Swaps:
    """Return the number of swaps so far."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8))
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)

    def __int__(self) -> int:
        return int.from_bytes(self._map[:], "little")


@contextlib.contextmanager
def attacked(scene: Scene):
    attack = Path(__file__).with_name("attack.py")
    count = scene.root.parent / "count"
    swaps = Swaps(count)
    command = [sys.executable, "-S", "-E", str(attack), str(count), *map(str, scene.pairs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield swaps
        finally:
            assert process.stdin is not None
            process.stdin.close()
    assert process.returncode == 0


def seen_while_swapped(scene, read, *, reads, swaps=0, until):
    """Return what `read(guard)` returns while files of a scene are swapped, in so many reads and swaps or more.

    It goes on until `until(seen)` is true.
    """
    root = Root(scene.root)
    guard = Guard((root,), Policy(), STRONG[0])
    seen = set()
    with attacked(scene) as swapped:
        before, count = int(swapped), 0
        while count < reads or int(swapped) - before < swaps or not until(seen):
            seen.add(read(guard))
            count += 1
    root.close()
    return seen


@pytest.mark.parametrize("backend", STRONG)
@pytest.mark.parametrize("shape", SHAPES)
def test_no_read_leaks_while_names_are_swapped(shape, backend, tmp_path, capsys):
    scene = Scene(tmp_path)
    shape(scene)
    root = Root(scene.root)
    guard = Guard((root,), Policy(), backend)
    wanted = READS // len(SHAPES)
    read = refused = leaked = 0
    start = time.monotonic()
    with attacked(scene) as swaps:
        before = int(swaps)
        while (
            read + refused + leaked < wanted
            or int(swaps) - before < wanted
            # On a busy machine the other thread may have every one of the first reads.
            or (read == 0 and refused < 1000 * wanted)
        ):
            for _ in range(STEP):
                try:
                    source = guard.open(scene.path)
                except ReadError:
                    refused += 1
                    continue
                data = source.read_at(0, 100)
                source.close()
                if data == PLAIN:
                    read += 1
                else:
                    leaked += 1
        swapped = int(swaps) - before
    root.close()
    if COUNTED:
        with capsys.disabled():
            print(
                f"\nrace {backend} {shape.__name__}: {read + refused + leaked} reads ({refused} refused), "
                f"{swapped} swaps, {leaked} leaks, {time.monotonic() - start:.1f} s"
            )

    assert leaked == 0
    assert swapped >= wanted
    assert read > 0  # a guard that refuses everything is no guard


def unrelated_directories(scene: Scene) -> None:
    """Directories are moved about elsewhere while `..` is resolved here."""
    for directory in ("a/b", "x/one", "x/two"):
        (scene.root / directory).mkdir(parents=True)
    scene.write(scene.root / "a/file", PLAIN)
    scene.pairs = [scene.root / "x/one", scene.root / "x/two"]
    scene.path = f"{'a/b/../../' * 20}a/file"


def folder_or_link(scene: Scene) -> None:
    """A directory on the way is a directory now and a link to another one inside then."""
    scene.write(scene.root / "a/b/file", PLAIN)
    scene.write(scene.root / "c/file", PLAIN)
    (scene.root / "a/other").symlink_to("../c")
    scene.pairs = [scene.root / "a/b", scene.root / "a/other"]
    scene.path = "a/b/file"


@pytest.mark.parametrize("backend", STRONG)
@pytest.mark.parametrize("shape", [unrelated_directories, folder_or_link])
def test_no_read_fails_because_of_swaps_that_do_no_harm(shape, backend, tmp_path):
    scene = Scene(tmp_path)
    shape(scene)
    root = Root(scene.root)
    guard = Guard((root,), Policy(), backend)
    failed = []
    with attacked(scene):
        for _ in range(size(short=200, long=3000)):
            try:
                guard.open(scene.path).close()
            except ReadError as error:
                failed.append(repr(error))
    root.close()

    assert failed == []


def naive(root: str, path: str) -> bytes:
    """Read as many readers do: resolve the name, check it, open the name."""
    asked = os.path.join(root, path)
    real = os.path.realpath(asked)
    if os.path.commonpath([root, real]) != root:
        raise PermissionError(path)
    fd = os.open(asked, os.O_RDONLY)
    try:
        return os.read(fd, 100)
    finally:
        os.close(fd)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_attack_makes_a_reader_leak_that_checks_a_name_and_opens_a_name(shape, tmp_path):
    scene = Scene(tmp_path)
    shape(scene)
    root = os.path.realpath(scene.root)
    leaked = False
    with attacked(scene):
        for _ in range(MOST_NAIVE_READS):
            try:
                leaked = naive(root, scene.path) == SECRET
            except OSError:
                continue
            if leaked:
                break

    assert leaked
