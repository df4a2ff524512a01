"""Directories with very many objects: listings are paged and bounded."""

from __future__ import annotations

import sys

import pytest

from eyespan import Workspace
from eyespan.extras.bulk.walk import find_files
from eyespan.extras.remote import bucket
from eyespan.extras.remote.store import LEFT_OUT, MAX_NAMES

from .bucket_server import BucketServer

COUNT = 1_000_000
SCHEMES = ("s3", "gs", "az")


class HugeServer(BucketServer):
    """Serves `COUNT` objects in one directory. It makes the names of a page when it is asked for."""

    def listed(self, prefix: str, after: str, delimiter: str) -> tuple[list[str], set[str], bool]:
        first = int(after[5:]) + 1 if after else 0
        page = [f"many/{number:07}" for number in range(first, min(first + self.page_size, COUNT))]
        self.files = dict.fromkeys(page, b"x\n")
        return page, set(), first + self.page_size < COUNT


@pytest.fixture(params=SCHEMES)
def huge(request, monkeypatch):
    server = HugeServer(request.param)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


def test_a_directory_with_a_million_objects_takes_a_few_requests(huge):
    with Workspace(huge.root, deadline_seconds=60) as workspace:
        listing = workspace.engine.list("many")

    assert (len(listing.entries), listing.partial) == (MAX_NAMES, True)
    assert listing.entries[-1].name == f"{MAX_NAMES - 1:07}"
    assert len(huge.requests) == MAX_NAMES // 1000


def test_a_listing_that_does_not_end_is_an_error(huge, monkeypatch):
    monkeypatch.setattr(bucket, "MAX_EMPTY_PAGES", 5)
    huge.listed = lambda *_: ([], set(), True)
    with Workspace(huge.root, deadline_seconds=60) as workspace:
        reply = workspace.tool("native").call({"files": ["many"]})

    assert reply.is_error
    assert len(huge.requests) < 30


def test_a_walk_reaches_the_last_object_a_page_at_a_time(huge, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "COUNT", 5_500)
    with Workspace(huge.root, deadline_seconds=60) as workspace:
        found = (path for path, error, _ in find_files(workspace, ["many"]) if error is None)
        assert next(found) == "many/0000000"
        assert len(huge.requests) < 16, "of the first page, after a look at the directory"
        assert sum(1 for _ in found) == 5_499


@pytest.mark.parametrize("scheme", SCHEMES)
def test_keys_that_no_path_can_name_do_not_spoil_a_listing(scheme, monkeypatch):
    server = BucketServer(scheme)
    odd = ["p/d//c", "p//x", "p/../y", "p/./z", "p/..", "p/hollow/", "/p/q"]
    server.files = dict.fromkeys([*odd, "p/a-b/c", "p/a.txt", "p/a/b", "p/d/b.txt"], b"x\n")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    with Workspace(f"{server.root}/p", deadline_seconds=60) as workspace:
        names = [entry.name for entry in workspace.engine.list(".").entries]
        records = [(record.source, record.error_code) for record in workspace.read_many(".", ordered=True)]
    server.close()

    assert names == ["a", "a-b", "a.txt", "d", "hollow"]
    named = [record for record in records if record[0].rpartition("/")[2] != LEFT_OUT]
    assert len(records) - len(named) == 5
    assert named == [("a-b/c", ""), ("a.txt", ""), ("a/b", ""), ("d/b.txt", "")]
