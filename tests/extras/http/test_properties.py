"""Properties of the pure functions of the HTTP server, for every input."""

from __future__ import annotations

import json
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan.extras.http import checks, eviction, streamable
from eyespan.extras.http.auth import rate
from eyespan.extras.http.checks import Rejected, RequestRules
from eyespan.extras.http.eviction import Candidate
from eyespan.extras.http.page import api
from eyespan.server import json_messages
from eyespan.server.mcp_names import RpcError
from tests.clock import Clock
from tests.sizes import examples

COUNT = examples(1000)
HOSTS = (b"127.0.0.1:8000", b"localhost:8000")
RULES = RequestRules(hosts=frozenset(HOSTS), origins=frozenset((b"http://localhost:8000",)), has_view=True)
TOKENS = st.sampled_from([b"", b"chunked", b"2", b"application/json", b"a, b", b"Bearer x", *HOSTS]) | st.binary(
    max_size=20
)
NAMES = st.sampled_from(
    b"host origin content-length transfer-encoding authorization content-type accept mcp-protocol-version mcp-method "
    b"mcp-name mcp-session-id".split()
)
HEADERS = st.dictionaries(NAMES, st.lists(TOKENS, min_size=1, max_size=2), max_size=8)
PATHS = st.sampled_from([b"/mcp", b"/healthz", b"/metrics", *checks.VIEW_PATHS]) | st.binary(max_size=20)
HEADS = st.builds(
    SimpleNamespace,
    method=st.sampled_from([b"GET", b"POST", b"HEAD", b"DELETE", b"X"]),
    target=PATHS,
    version=st.sampled_from(["1.0", "1.1", "2.0", ""]),
    headers=HEADERS,
    header_bytes=st.integers(0, 2 * checks.MAX_HEADER_BYTES),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
MESSAGES = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={"id": JSON, "method": st.sampled_from(["ping", "tools/call", ""]) | JSON, "params": JSON, "result": JSON},
)


def outcome(error, function, *arguments):
    """Return the result of a call, or the error of this class that it raises."""
    try:
        return function(*arguments)
    except error as raised:
        return raised


@settings(max_examples=COUNT)
@given(HEADS)
def test_a_start_of_a_request_has_a_route_or_a_status(head):
    route = outcome(Rejected, checks.check_head, head, RULES)
    if isinstance(route, Rejected):
        assert route.status in (400, 403, 404, 405, 421, 431)
        assert route.detail.isprintable()
        return
    assert [value.lower() in RULES.hosts for value in head.headers[b"host"]] == [True]
    assert all(value.lower() in RULES.origins for value in head.headers.get(b"origin", ()))
    assert route in checks.METHODS


@settings(max_examples=COUNT)
@given(HEADERS)
def test_headers_of_a_body_pass_or_have_a_status(headers):
    for check in (checks.check_type, checks.check_length):
        rejection = outcome(Rejected, check, headers)
        assert rejection is None or rejection.status in (413, 415)
    token = checks.bearer_token(headers)
    assert token is None or token == token.strip() != ""


@settings(max_examples=COUNT)
@given(MESSAGES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=60), HEADERS)
def test_a_body_is_a_message_or_a_refusal_with_an_answer(body, headers):
    received = outcome(streamable.NotAccepted, streamable.receive, body, headers)
    if isinstance(received, streamable.NotAccepted):
        assert received.status in (400, 406)
        assert json.loads(b"".join(json_messages.dumps(received.answer)))["error"]["message"]
        return
    assert isinstance(received.message.method, str)


@settings(max_examples=COUNT)
@given(st.sampled_from(["call", "names", ""]) | st.text(max_size=60).map("names?{}".format), st.binary(max_size=60))
def test_a_request_of_the_page_is_a_message_or_an_error(address, body):
    message = outcome(RpcError, api.message_of, address, body)
    if isinstance(message, RpcError):
        assert address == "call"
        assert api.status_of({"error": message.as_json()}) == 400
        return
    assert isinstance(message.params, dict)


PLACES = st.lists(
    st.builds(
        Candidate,
        key=st.uuids(),
        address=st.sampled_from("abc"),
        idle_since=st.none() | st.floats(0, 100),
        has_token=st.booleans(),
    ),
    max_size=12,
)


@settings(max_examples=COUNT)
@given(PLACES, st.integers(1, 6))
def test_a_connection_makes_place_only_if_it_is_idle_and_no_other_should(places, share):
    dropped = eviction.to_drop(places, share)
    idle = [place for place in places if place.idle_since is not None]

    if dropped is None:
        assert idle == []
        return
    (found,) = [place for place in idle if place.key == dropped]
    assert not found.has_token or all(place.has_token for place in idle)


@settings(max_examples=COUNT)
@given(st.lists(st.tuples(st.floats(0, 100), st.integers(0, 1000), st.uuids()), max_size=12), st.integers(0, 3000))
def test_no_more_connections_are_closed_than_the_limit_needs(unsent, limit):
    closed = eviction.to_abort(unsent, limit)
    sizes = {key: size for _, size, key in unsent}
    left = sum(sizes.values()) - sum(sizes[key] for key in closed)

    assert left <= limit
    if closed:
        assert left + sizes[closed[-1]] > limit
        oldest_kept = min((since for since, _, key in unsent if key not in closed), default=float("inf"))
        assert all(since <= oldest_kept for since, _, key in unsent if key in closed)


@settings(max_examples=COUNT)
@given(st.integers(1, 120), st.lists(st.floats(0, 20), min_size=1, max_size=60))
def test_no_more_calls_pass_than_the_rate_allows(per_minute, pauses):
    clock = Clock()
    limiter = rate.RateLimiter(per_minute, clock=clock.monotonic)
    passed: list[float] = []
    for pause in pauses:
        clock.now += pause
        wait = limiter.wait_seconds("ann")
        assert wait >= 0
        if wait:
            clock.now += wait + 1e-6
            assert limiter.wait_seconds("ann") == 0
        passed.append(clock.now)
    for first in range(len(passed)):
        for last in range(first, len(passed)):
            allowed = max(1, per_minute) + (passed[last] - passed[first]) * per_minute / 60
            assert last - first + 1 <= allowed + 1e-3
