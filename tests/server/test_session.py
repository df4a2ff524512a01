"""One connection in every revision of the protocol, in process."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.server.mcp_names import RpcError
from eyespan.server.service import Service
from eyespan.server.session import Session

from .clients import ENVELOPE, VERSIONS

PREFIX = "io.modelcontextprotocol"
HANDSHAKES = VERSIONS[:-1]


@pytest.fixture
def session(tree):
    with Workspace(tree) as workspace:
        yield Session(Service(workspace, ["claude"]), "nobody yet")


def ask(session, method, **params):
    return session.answer(method, params, CallContext())


def modern(session, method, **params):
    return ask(session, method, _meta=ENVELOPE, **params)


def code(ask, *args, **params):
    with pytest.raises(RpcError) as refused:
        ask(*args, **params)
    return refused.value.code


def initialize(session, version="2025-11-25"):
    return ask(session, "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "judge"})


@pytest.mark.parametrize("version", HANDSHAKES)
def test_a_known_revision_is_agreed_on(session, version):
    assert initialize(session, version)["protocolVersion"] == version
    assert [tool["name"] for tool in ask(session, "tools/list")["tools"]] == ["Read"]


@pytest.mark.parametrize("asked", ["1999-01-01", "2026-07-28", "2030-01-01"])
def test_an_unknown_handshake_gets_the_newest_handshake(session, asked):
    assert initialize(session, asked)["protocolVersion"] == "2025-11-25"


def test_the_handshake_names_the_server_its_capabilities_and_its_roots(session, tree):
    hello = initialize(session)

    assert hello["capabilities"] == {"tools": {}, "resources": {}, "completions": {}}
    assert hello["serverInfo"]["name"] == "eyespan"
    assert str(tree) in hello["instructions"]
    assert len(hello["instructions"]) < 500


def test_the_client_names_itself_in_the_handshake(session):
    initialize(session)

    assert session.caller == "judge"


def test_the_envelope_needs_no_handshake(session):
    result = modern(session, "server/discover")

    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["resultType"] == "complete"
    assert result["_meta"][f"{PREFIX}/serverInfo"]["name"] == "eyespan"


def test_results_of_the_envelope_have_a_cache_time(session):
    listed, read = modern(session, "tools/list"), modern(session, "resources/read", uri="file:///hello.txt")

    assert (listed["ttlMs"], read["ttlMs"]) == (3_600_000, 0)
    assert listed["cacheScope"] == "private"


def test_a_ping_needs_no_handshake_and_any_other_request_does(session):
    assert ask(session, "ping") == {}
    assert code(ask, session, "tools/list") == -32602


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("initialize", {}, -32602),
        ("initialize", {"_meta": ENVELOPE}, -32601),
        ("nothing/here", {}, -32601),
        ("prompts/list", {}, -32601),
        ("server/discover", {}, -32602),
        ("tools/call", {}, -32602),
        ("resources/read", {"uri": "file:///none.txt"}, -32002),
    ],
)
def test_wrong_requests_after_a_handshake(session, method, params, expected):
    initialize(session)

    assert code(ask, session, method, **params) == expected


@pytest.mark.parametrize(
    ("meta", "method", "expected"),
    [
        ({f"{PREFIX}/protocolVersion": "2031-01-01"}, "tools/list", -32022),
        ({f"{PREFIX}/protocolVersion": 3}, "tools/list", -32602),
        ({}, "ping", -32601),
        ({}, "logging/setLevel", -32601),
    ],
)
def test_wrong_requests_with_an_envelope(session, meta, method, expected):
    assert code(ask, session, method, _meta={**ENVELOPE, **meta}) == expected


def test_an_envelope_must_name_capabilities_which_may_be_null(session):
    bare = {f"{PREFIX}/protocolVersion": "2026-07-28"}

    assert code(ask, session, "tools/list", _meta=bare) == -32602
    assert ask(session, "tools/list", _meta={**bare, f"{PREFIX}/clientCapabilities": None})["tools"]


def test_a_missing_resource_has_the_code_of_its_revision(session):
    initialize(session)

    old = code(ask, session, "resources/read", uri="file:///none.txt")
    new = code(modern, session, "resources/read", uri="file:///none.txt")

    assert (old, new) == (-32002, -32602)
