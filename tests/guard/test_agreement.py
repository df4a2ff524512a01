"""The backends are each other's oracle: over hostile trees they give the same answer to the same path.

A seed makes everything here; EYESPAN_SEED gives another one, EYESPAN_AGREEMENT_PATHS more paths (over more trees), and
prints what was counted.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from pathlib import Path

import pytest

from eyespan.errors import ReadError
from eyespan.guard import Guard, Root
from eyespan.policy import Policy
from tests.backends import STRONG
from tests.sizes import size

SEED = int(os.environ.get("EYESPAN_SEED", "20250117"))
PATHS = int(os.environ.get("EYESPAN_AGREEMENT_PATHS", size(short=2_000, long=100_000)))
TREES = max(20, PATHS // 2500)
WEAK_SHARE = 0.25
"""Of the paths that the weaker backend is asked for too: it is slower than all others together."""

NAMES = [
    "a",
    "b",
    "c",
    "a b",
    "é",
    "e\u0301",
    "...",
    ".h",
    "x (deleted)",
    "-",
    "n\nl",
    "\udcff\udc80",
    "日本",
    "~",
    "$HOME",
]
LONG = ["n" * 255, "n" * 256, "m" * 400, "é" * 127]
ODD = ["", ".", "..", "..", "", "nothing", *LONG]


class Tree:
    """Two roots, and outside of both a directory and a sibling whose name starts like that of the first root."""

    def __init__(self, base: Path, dice: random.Random) -> None:
        self.dice = dice
        self.base = os.path.realpath(base)
        self.root = f"{self.base}/root"
        self.second = f"{self.base}/second"
        self.outside = f"{self.base}/outside"
        self.entries: list[str] = []
        """Everything below the first root, relative to it."""
        self._listed: dict[str, list[str]] = {}
        for directory, mark in ((self.outside, "outside"), (f"{self.root}-evil", "outside"), (self.second, "inside")):
            os.makedirs(f"{directory}/a/b")
            for name in ("c", "a/c", "a/b/a", "a/b/c"):
                self._write(f"{directory}/{name}", f"{mark}: {directory}/{name}")
        os.symlink("root", f"{self.base}/alias")
        os.mkdir(self.root)
        self._fill(self.root, 0)
        self.directories = [e for e in self.entries if os.path.isdir(f"{self.root}/{e}")] or ["."]
        for _ in range(dice.randint(8, 24)):
            self._link()
        self._chain(dice.choice([2, 10, 39, 40, 41, 60]))

    @staticmethod
    def _write(path: str, text: str) -> None:
        with open(path, "wb") as file:
            file.write(os.fsencode(text))

    def _fill(self, directory: str, depth: int) -> None:
        for name in self.dice.sample(NAMES + LONG[:1], self.dice.randint(2, 5)):
            path = f"{directory}/{name}"
            self.entries.append(os.path.relpath(path, self.root))
            if depth < 4 and self.dice.random() < 0.5:
                os.mkdir(path)
                self._fill(path, depth + 1)
            elif self.dice.random() < 0.06:
                os.mkfifo(path)
            else:
                self._write(path, f"inside: {path}\n")

    def _link(self) -> None:
        dice = self.dice
        directory = dice.choice(self.directories)
        name = dice.choice(["l1", "l2", "l3", "l4", "a", "b", "..."])
        path = os.path.normpath(f"{self.root}/{directory}/{name}")
        if os.path.lexists(path):
            return
        entry = dice.choice(self.entries)
        target = dice.choice(
            [
                os.path.relpath(f"{self.root}/{entry}", os.path.dirname(path)),
                f"{self.root}/{entry}",
                f"/{self.root}//./{entry}",
                f"{self.base}/alias/{entry}",
                f"{self.base}/other/../root/{entry}",
                f"{self.root}/../root/{entry}",
                f"{self.second}/a/{dice.choice('bc')}",
                f"{self.second}",
                self.root,
                f"{self.outside}/a/c",
                f"{self.outside}/nothing",
                f"{self.root}-evil/c",
                "/",
                "/proc/self/environ",
                "../" * dice.randint(1, 7) + dice.choice(["outside/a", "root/a", "outside", "etc/passwd", ""]),
                name,  # itself
                dice.choice(["l1", "l2", "l3", "l4"]),
                "nothing",
                "nothing/../a",
                dice.choice([".", "..", "./", "a/", "a/.", "b/..", "b/../", "a//b", "l1/..", "l1/a"]),
                self._random_path(),
            ]
        )
        target = target.replace("\0", "")
        if not target or len(os.fsencode(target)) > 4000:
            return
        os.symlink(target, path)
        self.entries.append(os.path.relpath(path, self.root))

    def _chain(self, length: int) -> None:
        target = self.dice.choice(self.entries)
        for n in range(length):
            os.symlink(target, f"{self.root}/chain{n}")
            target = f"chain{n}"
        self.entries.append(target)

    def _random_path(self) -> str:
        dice = self.dice
        return "/".join(dice.choice([*NAMES[:6], "l1", "l2", "..", "."]) for _ in range(dice.randint(1, 5)))

    def path(self) -> str:
        """A path to ask for: one that leads somewhere, more or less changed."""
        dice = self.dice
        parts = self._wander() if dice.random() < 0.97 else [f"chain{dice.randrange(60)}"]
        for _ in range(dice.choice([0, 0, 0, 1, 2, 4])):
            spot = dice.randint(0, len(parts))
            change = dice.random()
            if change < 0.6:
                parts.insert(spot, dice.choice(ODD))
            elif change < 0.8 and parts:
                parts.pop(spot - 1)
            else:
                parts.insert(spot, dice.choice([*NAMES, "l1", "l2", "l3"]))
        path = "/".join(parts)
        if dice.random() < 0.2:
            bases = [
                self.root,
                self.root,
                f"{self.base}/alias",
                self.second,
                self.outside,
                f"{self.root}-evil",
                self.base,
                "",
            ]
            path = f"{dice.choice(bases)}/{path}"
        return path + dice.choice([""] * 12 + ["/", "/.", "//", "/.."])

    def _wander(self) -> list[str]:
        """Return names one below the other, through links, mostly down to something that is no directory."""
        parts: list[str] = []
        here = self.root
        while len(parts) < 12:
            if here not in self._listed:
                try:
                    self._listed[here] = [n for n in sorted(os.listdir(here))[:50] if not n.startswith("chain")]
                except OSError:
                    self._listed[here] = []
            below = self._listed[here]
            if not below or self.dice.random() < 0.03:
                break
            name = self.dice.choice(below)
            parts.append(name)
            here = f"{here}/{name}"
        return parts


def outcome(guard: Guard, path: str, follow: bool) -> tuple[object, ...]:
    try:
        source = guard.open(path, follow=follow)
    except ReadError as error:
        return ("refused", type(error).__name__, getattr(error, "errno", None), getattr(error, "what", None))
    with source:
        return ("read", source.status.st_ino, source.canonical, source.read_at(0, 10_000))


@pytest.mark.parametrize("part", range(4))
def test_backends_agree_on_random_paths_over_hostile_trees(part, tmp_path, capsys):
    read = refused = weakly = 0
    start = time.monotonic()
    reasons: set[object] = set()
    for number in range(part, TREES, 4):
        dice = random.Random(f"{SEED}/{number}")
        base = tmp_path / str(number)
        tree = Tree(base, dice)
        roots = (Root(f"{tree.base}/alias"), Root(tree.second))
        strongest, *others, portable = (Guard(roots, Policy(), name) for name in (*STRONG, "portable"))
        for _ in range(PATHS // TREES):
            path, follow = tree.path(), dice.random() < 0.8
            first = outcome(strongest, path, follow)
            context = f"seed {SEED}, tree {number}, path {path!r}, follow {follow}"
            for other in others:
                assert outcome(other, path, follow) == first, (context, other.backend)
            asked_weak = dice.random() < WEAK_SHARE
            weakly += asked_weak
            weak = outcome(portable, path, follow) if asked_weak else first
            if first[0] == "read":
                read += 1
                assert first[3].startswith(b"inside: "), context
                assert weak == first, context
            else:
                refused += 1
                reasons.add(first[1:])
                # The way out and back in again is refused by the others only; where it ends is inside all the same.
                assert weak[0] == "refused" or weak[3].startswith(b"inside: "), context
        for root in roots:
            root.close()
        shutil.rmtree(base)
    if "EYESPAN_AGREEMENT_PATHS" in os.environ:
        with capsys.disabled():
            print(
                f"\nagreement, part {part + 1} of 4, seed {SEED}: {read + refused} paths ({read} read, {refused} "
                f"refused), {len(STRONG)} backends agree on all, portable asked for {weakly}, "
                f"{time.monotonic() - start:.1f} s"
            )

    assert read > refused // 5  # the paths are not all nonsense
    assert {reason[0] for reason in reasons} >= {"OutsideRoot", "NotFound", "NotRegular", "SystemFailure"}
