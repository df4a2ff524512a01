"""Pages of listings, hostile ones too, and expressions on foreign text."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import eyespan.extras.http
import eyespan.extras.remote
from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.extras.remote.name_pages import MAX_PAGE_BYTES, MAX_PAGE_ELEMENTS, parse_page
from eyespan.extras.remote.network import NetworkRoot

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


def is_path(key):
    names = key.removesuffix("/").split("/")
    return not re.search("[\x00-\x1f\x7f\ufffe\uffff]", key) and not {"", ".", ".."}.intersection(names)


characters = st.characters(exclude_categories=["Cs"])


@example(["..", "a/../b", ".", "//", "a/", "\x7f", "\t", "a\r\nb", "\ufffe", "...", "a..b"])
@given(st.lists(st.text(st.one_of(characters, st.sampled_from("/.\t\r\x01\x7f&<]>")), max_size=8), max_size=6))
def test_every_key_is_kept_or_left_out(names):
    keys = [f"p/{name}" for name in names]
    found = parse_page(page(keys))

    assert [key for key, _ in found.objects] == [key for key in keys if is_path(key)]
    assert found.left_out == len([key for key in keys if not is_path(key)])


@given(st.binary(max_size=60), st.integers(0, 60))
def test_any_bytes_are_a_page_or_an_error(noise, at):
    whole = page(["p/a", "p/b"])
    try:
        found = parse_page(whole[:at] + noise + whole[at:])
    except ValueError:
        return

    assert len(found.objects) + found.left_out <= 2


HOSTILE_PAGES = {
    "rows without an end": b"<ListBucketResult>" + b"<Contents>" * 100_000 + b"</ListBucketResult>",
    "too many elements": b"<a>" + b"<b/>" * (MAX_PAGE_ELEMENTS + 1) + b"</a>",
    "too large": b"<a>" + b" " * MAX_PAGE_BYTES + b"</a>",
    "too many references": b"<a>" + b"&#x41;" * (MAX_PAGE_ELEMENTS + 1) + b"</a>",
    "entities": b'<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>',
    "a size that is none": page([]).replace(b"></", b"><Contents><Key>k</Key><Size>-1</Size></Contents></"),
    "a size of many digits": page(["k"]).replace(b">1<", b">" + b"1" * 19 + b"<"),
    "an ETag with a line break": page(["k"]).replace(b"<Size>", b"<ETag>a&#10;b</ETag><Size>"),
    "a long ETag": page(["k"]).replace(b"<Size>", b"<ETag>" + b"e" * 2000 + b"</ETag><Size>"),
    "no XML": b"<html><br></html>",
    "nothing": b"",
}


@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_a_hostile_page_is_refused(name):
    with pytest.raises(ValueError, match=r"\w"):
        parse_page(HOSTILE_PAGES[name])


@pytest.fixture(params=["s3", "gs", "az"])
def store(request, monkeypatch):
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


def test_a_version_of_a_listing_is_the_one_of_the_object(store):
    store.files = {"a.txt": b"one"}
    client = NetworkRoot(store.root).store()
    [(key, listed)] = list(client.below("", CallContext(60), ""))
    _, own = client.get(key, 0, 10, None, CallContext(60), "")

    assert (listed, own.size_bytes, bool(own.etag), own.modified_ns > 0) == (own, 3, True, True)


def test_keys_of_another_prefix_are_refused(store):
    store.files = {"a.txt": b"x"}
    store.listed = lambda *_: (["a.txt"], set(), False)
    with Workspace(f"{store.root}/p") as workspace:
        reply = workspace.tool("native").call({"files": ["."]})

    assert "invalid listing" in reply.text


def test_whether_a_directory_exists_takes_one_name(store):
    store.files = {f"d/{number}": b"x" for number in range(9)}
    client = NetworkRoot(store.root).store()

    assert client.has_names("d", CallContext(60), "")
    assert not client.has_names("e", CallContext(60), "")
    assert [path for path, _ in store.requests if "=1&" not in path and not path.endswith("=1")] == []
