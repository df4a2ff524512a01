"""A distribution adds a scheme of roots by the entry point `eyespan.roots`."""

from __future__ import annotations

import pytest

from eyespan import Workspace, plugins

SOURCE = """
from eyespan.errors import NotFound, NotRegular
from eyespan.extras.remote.root import StoreRoot
from eyespan.extras.remote.store import ObjectNames, ObjectVersion, Store

FILES = {"a.txt": b"one\\ntwo\\n", "d/b.txt": b"three\\n"}


class Memory(Store):
    name = "mem://"

    def get(self, key, start, size_bytes, version, context, asked):
        if key not in FILES:
            raise NotFound(asked)
        return FILES[key][start : start + size_bytes], ObjectVersion(len(FILES[key]), "one", 0)

    def names(self, prefix, context, asked):
        return ObjectNames(["d"], {"a.txt": 8}, is_cut=False) if not prefix else ObjectNames([], {}, is_cut=False)

    def below(self, prefix, context, asked):
        yield from [(key, ObjectVersion(len(FILES[key]), "one", 0)) for key in sorted(FILES)]


class MemoryRoot(StoreRoot):
    def store(self, asked=""):
        return Memory()
"""


@pytest.fixture
def scheme(install):
    install("acme-mem", "[eyespan.roots]\nmem = acme_mem:MemoryRoot\n", SOURCE)


def test_a_root_of_an_installed_scheme_is_read_listed_and_exported(scheme):
    with Workspace("/m=mem://x") as workspace:
        native = workspace.tool("native")
        assert "two" in native.call({"files": ["a.txt"]}).text
        assert "b.txt" in native.call({"files": ["**"]}).text
        assert [record.source for record in workspace.read_many(["."])] == ["a.txt", "d/b.txt"]


def test_without_plugins_the_scheme_is_unknown(scheme, monkeypatch):
    monkeypatch.setenv(plugins.OFF, "1")
    with pytest.raises(NotADirectoryError):
        Workspace("mem://x")


@pytest.mark.parametrize(
    ("source", "message"),
    [("row = 1", None), ("def row(text):\n    return 1", "returned no RemoteRoot"), ("raise OSError", None)],
)
def test_a_broken_plugin_is_one_clear_error(install, source, message):
    install("acme-odd", "[eyespan.roots]\nodd = acme_odd:row\n", source)

    with pytest.raises((ValueError, NotADirectoryError), match=message):
        Workspace("odd://x")
