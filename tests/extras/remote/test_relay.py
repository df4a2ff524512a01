"""The relay against hostile listings, and against other programs of the machine."""

from __future__ import annotations

import ast
import errno
import importlib
import os
import pkgutil
import re
import socket
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyespan.extras.http
import eyespan.extras.remote
from eyespan import Workspace
from eyespan.errors import StoreFailure
from eyespan.extras.remote import relay
from eyespan.extras.remote.store import LEFT_OUT

from .bucket_server import BucketServer

FOREIGN = (eyespan.extras.http, eyespan.extras.remote)
MAX_WIDTH = 100


def modules(package):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(found.name)


@pytest.mark.parametrize("package", FOREIGN, ids=lambda package: package.__name__)
def test_no_expression_on_foreign_text_is_unbounded(package):
    """An expression of bounded width takes linear time; one that repeats without bound may take any."""
    unbounded = []
    for module in modules(package):
        patterns = [value for value in vars(module).values() if isinstance(value, re.Pattern)]
        unbounded += [
            (module.__name__, pattern.pattern)
            for pattern in patterns
            if re._parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE).getwidth()[1] > MAX_WIDTH
        ]

    assert unbounded == []


@pytest.mark.parametrize("package", FOREIGN, ids=lambda package: package.__name__)
def test_expressions_are_compiled_where_the_test_above_sees_them(package):
    calls = []
    for path in Path(package.__path__[0]).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {target.value for target in ast.walk(tree) if isinstance(target, ast.Assign)}
        calls += [
            f"{path.name}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node not in names
        ]

    assert calls == []


def page(keys, **fields):
    """Return a page of S3, with the characters that XML does not have as references, as stores send them."""
    rows = []
    for key in keys:
        text = re.sub("[\x00-\x1f\ufffe\uffff]", lambda char: f"&#x{ord(char[0]):x};", escape(key))
        rows.append(f"<Contents><Key>{text}</Key><Size>1</Size></Contents>")
    more = "".join([f"<{name}>{value}</{name}>" for name, value in fields.items()])
    return f"<ListBucketResult>{more}{''.join(rows)}</ListBucketResult>".encode()


def keys_of(data):
    return [element.text for element in ElementTree.fromstring(data).iter("Key")]


def is_path(key):
    """Return True for what obstore takes as a path."""
    names = key.removesuffix("/").split("/")
    return not re.search("[\x00-\x1f\x7f\ufffe\uffff]", key) and not {"", ".", ".."}.intersection(names)


characters = st.characters(exclude_categories=["Cs"])


@given(st.lists(st.text(st.one_of(characters, st.sampled_from("/.\t\r\x01\x7f&<]>")), max_size=8), max_size=6))
def test_every_key_is_kept_or_left_out(names):
    keys = [f"p/{name}" for name in names]
    query = {"list-type": ["2"], "prefix": ["p/"], "delimiter": ["/"]}

    passed = relay.ListingPages().passed(query, page(keys))

    assert keys_of(passed) == [key if is_path(key) else f"p/{LEFT_OUT}" for key in keys]


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_a_page_or_an_error(noise, at):
    whole = page(["p/a", "p/b"])
    try:
        passed = relay.ListingPages().passed({"list-type": ["2"]}, whole[:at] + noise + whole[at:])
    except StoreFailure:
        return

    ElementTree.fromstring(passed)


HOSTILE_PAGES = {
    "rows without an end": b"<ListBucketResult>" + b"<Contents>" * 100_000 + b"</ListBucketResult>",
    "too many elements": b"<a>" + b"<b/>" * (relay.MAX_PAGE_ELEMENTS + 1) + b"</a>",
    "too large": b"<a>" + b" " * relay.MAX_PAGE_BYTES + b"</a>",
    "entities": b'<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>',
    "no XML": b"<html><br></html>",
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_a_hostile_page_is_refused(name):
    with pytest.raises(StoreFailure):
        relay.ListingPages().passed({"list-type": ["2"]}, HOSTILE_PAGES[name])


@pytest.fixture(params=["s3", "az"])
def store(request, monkeypatch):
    pytest.importorskip("obstore", reason="obstore is not installed")
    server = BucketServer(request.param)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    yield server
    server.close()


def test_odd_keys_are_counted_in_listings(store):
    store.files = {"p/fine.txt": b"x", "p/tab\there.txt": b"x", "p//empty.txt": b"x", "p/\x7f": b"x"}
    with Workspace(f"{store.root}/p") as workspace:
        listed = workspace.tool("native").call({"files": ["."]}).text
        mapped = workspace.tool("native").call({"files": ["**"]}).text

    assert listed.endswith(": directory, 1 name seen of more, 3 of which no path can contain\n fine.txt")
    assert " 1 file, 1 B of more " in mapped


def test_a_connection_of_another_user_is_closed(store, monkeypatch):
    store.files = {"a.txt": b"x"}
    with Workspace(store.root) as workspace:
        port = workspace.roots[0].store()._relay.open()
        other = os.getuid() + 1
        monkeypatch.setattr(relay.os, "getuid", lambda: other)
        with socket.create_connection(("127.0.0.1", port), 30) as link:
            received = link.recv(1)

    assert received == b""


def test_connections_without_the_password_do_not_occupy_the_relay(store):
    store.files = {"a.txt": b"x"}
    links = []
    with Workspace(store.root) as workspace:
        port = workspace.roots[0].store()._relay.open()
        for _ in range(relay.MAX_STRANGERS + 2):
            links.append(socket.create_connection(("127.0.0.1", port), 30))
            links[-1].send(b"GET ")
        text = workspace.tool("native").call({"files": ["."]}).text
        oldest = links[0].recv(1)
    for link in links:
        link.close()

    assert (text.endswith("\n a.txt"), oldest) == (True, b"")


def test_a_relay_recovers_from_a_lack_of_descriptors(monkeypatch):
    class Listener:
        def __init__(self):
            self.errors = [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED, errno.EBADF]

        def accept(self):
            raise OSError(self.errors.pop(0), "")

    listener, pauses = Listener(), []
    monkeypatch.setattr(relay.time, "sleep", pauses.append)
    relay._serve(listener, lambda: None)

    assert (len(pauses), listener.errors) == (3, [])
