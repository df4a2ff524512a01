"""Directories with very many objects: listings are paged and bounded."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.guard.remote import relay
from eyespan.guard.remote.store import MAX_NAMES

from .bucket_server import BucketServer

pytest.importorskip("obstore", reason="obstore is not installed")

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
    assert len(huge.requests) == MAX_NAMES // 1000 + 1


def test_a_listing_that_does_not_end_is_an_error(huge, monkeypatch):
    monkeypatch.setattr(relay, "MAX_PAGES", 5)
    huge.listed = lambda *_: ([], set(), True)
    with Workspace(huge.root, deadline_seconds=60) as workspace:
        reply = workspace.tool("native").call({"files": ["many"]})

    assert reply.is_error
    assert len(huge.requests) < 30
