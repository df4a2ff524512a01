"""Tokens and the table of callers."""

from __future__ import annotations

import hashlib
import os

import pytest

from eyespan import Workspace
from eyespan.extras.http.auth import Caller, Tokens, load
from eyespan.extras.http.auth.callers import default_token_file
from eyespan.extras.http.http_options import HttpOptions
from eyespan.server.serve_options import InvalidOptions
from tests.server.clients import TOKEN


def loaded(**options):
    return load(HttpOptions(http=("127.0.0.1", 0), **options))[0]


def holder(tokens, token):
    return tokens.find(token)


def test_a_token_from_the_environment_is_removed_from_it(monkeypatch):
    monkeypatch.setenv("EYESPAN_TOKEN", TOKEN)
    tokens = loaded()

    assert holder(tokens, TOKEN) == Caller("token")
    assert holder(tokens, TOKEN + "x") is None
    assert holder(tokens, "") is None
    assert holder(tokens, "\udfff") is None
    assert "EYESPAN_TOKEN" not in os.environ


@pytest.mark.parametrize("token", ["", "short", "has a blank in the middle", "ünïcödé-tökén-ünïcödé"])
def test_a_weak_token_is_refused(monkeypatch, token):
    monkeypatch.setenv("EYESPAN_TOKEN", token)

    with pytest.raises(InvalidOptions, match="16 visible ASCII"):
        loaded()


def test_a_token_file_that_others_can_read_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("EYESPAN_TOKEN", raising=False)
    path = tmp_path / "token.key"
    path.write_text(TOKEN)
    path.chmod(0o640)

    with pytest.raises(InvalidOptions, match="chmod 600"):
        loaded(token_file=str(path))


def test_no_tool_may_read_the_default_token_file(monkeypatch, tmp_path):
    monkeypatch.delenv("EYESPAN_TOKEN", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    loaded()
    path = default_token_file()

    reply = Workspace(tmp_path).tool("claude").call({"file_path": str(path)})

    assert path.is_file()
    assert reply.error.code == "policy_denied"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", "names no caller"),
        ("x = 1", "must be a table"),
        ("[a", "callers.toml"),
        ("[a]", "either sha256 or token_file"),
        ('[a]\nsha256 = "12"', "64 hex digits"),
        ("[a]\nsha256 = 7", "64 hex digits"),
        ('[a]\nsha256 = "{digest}"\ntoken = "x"', "unknown keys: token"),
        ('[a]\nsha256 = "{digest}"\n[b]\nsha256 = "{digest}"', "of another caller"),
        ('[a]\nsha256 = "{digest}"\nroots = "/"', "list of strings"),
        ('[a]\nsha256 = "{digest}"\nrate = 0', "whole number"),
        ('[a]\nsha256 = "{digest}"\ndialects = ["latin"]', "no dialect"),
    ],
)
def test_a_wrong_table_of_callers_is_reported(tmp_path, table, words):
    path = tmp_path / "callers.toml"
    path.write_text(table.replace("{digest}", hashlib.sha256(TOKEN.encode()).hexdigest()))

    with pytest.raises(InvalidOptions, match=words):
        loaded(tokens=str(path))


def test_a_table_names_callers_with_roots_dialects_and_rate(tmp_path):
    path = tmp_path / "callers.toml"
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    path.write_text(f'[ann]\nsha256 = "{digest}"\nroots = ["/a"]\ndialects = ["codex"]\nrate = 5\n')

    assert holder(loaded(tokens=str(path)), TOKEN) == Caller("ann", roots=("/a",), dialects=("codex",), rate=5)


def test_tokens_are_compared_in_full():
    tokens = Tokens({hashlib.sha256(b"one").digest(): Caller("one"), hashlib.sha256(b"two").digest(): Caller("two")})

    assert [holder(tokens, token) for token in ("one", "two", "three")] == [Caller("one"), Caller("two"), None]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (b"[a]\nsha256 = \xff", "not UTF-8 text"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b'[a]\ntoken_file = "no/such/file"', "cannot be read"),
        (b'[a]\ntoken_file = "\\u0000"', "cannot be read"),
    ],
)
def test_a_table_that_is_not_text_or_has_no_token_is_reported(table, words, tmp_path):
    (tmp_path / "callers.toml").write_bytes(table)

    with pytest.raises(InvalidOptions, match=words):
        loaded(tokens=str(tmp_path / "callers.toml"))


def test_a_token_file_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "token.key").write_bytes(b"\xff" * 40)
    (tmp_path / "token.key").chmod(0o600)

    with pytest.raises(InvalidOptions, match="visible ASCII"):
        loaded(token_file=str(tmp_path / "token.key"))
