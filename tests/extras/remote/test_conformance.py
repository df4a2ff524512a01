"""The conformance cases of all dialects, on a bucket that holds the same files."""

from __future__ import annotations

import hashlib

import pytest

from eyespan import Workspace
from tests import test_conformance as local

from .stores import REAL

NO_SUCH_STEP = {
    "symlink": "a bucket has no links",
    "fifo": "a bucket has no pipes",
    "utime": "the store sets the time of an object",
}
"""Steps that prepare what no bucket can hold, so their cases are not run."""
NOT_THERE = {
    "codex-0045": "a name of 300 characters is not too long for a bucket",
    "codex-0046": "a name of 300 characters is not too long for a bucket",
    "fs-info-file": "a bucket has no permissions; objects are shown as read-only",
    "fs-sizes-by-size": "a directory in a bucket has no size to sort by",
}
"""Single cases that no bucket can hold, with the reason."""
SETS = ("codex", "workspace", "forge", "claude", *local.TOOLSETS)


def reason_against(case) -> str:
    """Return the reason why a case cannot exist in a bucket; "" if it can."""
    for step in case.get("setup", []):
        if step["op"] in NO_SUCH_STEP:
            return NO_SUCH_STEP[step["op"]]
    return NOT_THERE.get(case["id"], "")


CASES = [
    pytest.param(name, case, dialect, id=f"{name}-{case['id']}-{dialect}")
    for name in SETS
    for case, dialects in [each.values for each in local.load(name)]
    for dialect in dialects
    if not reason_against(case)
]
OFTEN_DIFFERENT = ("0040", "0041", "dots", "parent", "below", "sizes", "tree", "info")
"""Parts of the names of cases in which a bucket is most likely to differ from a directory."""
SAMPLE = [
    each
    for each in CASES
    if hashlib.sha256(each.id.encode()).digest()[0] < 6 or any(part in each.id for part in OFTEN_DIFFERENT)
]
"""One case in forty, always the same ones, and those in which a bucket is most likely to differ."""


def test_the_cases_that_no_bucket_can_hold_are_few():
    left_out = [each.values[0] for name in SETS for each in local.load(name) if reason_against(each.values[0])]

    assert {case["id"] for case in left_out} >= set(NOT_THERE), "each of them exists"
    assert 20 * len(left_out) < len(CASES)
    assert 30 < len(SAMPLE) < len(CASES) // 4


class Place:
    """Puts the files of cases into a bucket. Cases without steps of their own share one copy of their set."""

    def __init__(self, store) -> None:
        self._store = store
        self._done: set[str] = set()

    def workspace_of(self, prefix: str) -> Workspace:
        return Workspace(f"/case={self._store.url}/{prefix}")

    def put(self, prefix, root) -> None:
        if prefix in self._done:
            return
        self._store.put(f"{prefix}/outside/secret.txt", b"outside secret\n")
        for path in root.rglob("*"):
            key = f"{prefix}/root/{path.relative_to(root).as_posix()}"
            if path.is_file():
                self._store.put(key, path.read_bytes())
            elif not any(path.iterdir()):
                self._store.put(f"{key}/", b"")  # skips the case where a store takes no such key
        self._done.add(prefix)

    def move(self, prefix):
        """Return a function that uploads what a case has staged, and returns the root and its names."""

        def place(root, *, is_whole_machine):
            self.put(prefix, root)
            names = {"{root}": "/case/root", "{outside}": "/case/outside"}
            url = f"{self._store.url}/{prefix}"
            return (f"/case={url}" if is_whole_machine else f"/case/root={url}/root"), names

        return place


@pytest.fixture(scope="session")
def places():
    return {}


def check(places, store, name, case, dialect, tmp_path):
    place = places.setdefault(id(store), Place(store))
    prefix = f"{name}/{case['id']}" if case.get("setup") else name
    if name == "codex":
        place.put(name, local.SETS / "codex" / "files")
        local.check_codex(case, dialect, place.workspace_of(name), "/case/root")
    elif name in local.TOOLSETS:
        local.check_toolset(name, case, tmp_path, place.move(prefix))
    else:
        local.check_staged(name, case, [dialect], tmp_path, place.move(prefix))


@pytest.mark.parametrize(("name", "case", "dialect"), SAMPLE)
def test_a_sample_on_a_bucket(name, case, dialect, own_store, places, tmp_path):
    check(places, own_store, name, case, dialect, tmp_path)


@pytest.mark.parametrize(("name", "case", "dialect"), CASES if REAL else [])
def test_every_case_on_a_real_server(name, case, dialect, real_store, places, tmp_path):
    check(places, real_store, name, case, dialect, tmp_path)
