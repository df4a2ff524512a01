"""Notifications about files that change, over stdio and in process."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.errors import TimedOut
from eyespan.extras.resources import polling
from eyespan.extras.resources.polling import MAX_SUBSCRIPTIONS, Subscriptions
from eyespan.server.mcp_names import METHOD_NOT_FOUND, RpcError
from eyespan.server.service import Service
from eyespan.server.session import Session
from tests.server.clients import ENVELOPE

HELLO, APP = "file:///hello.txt", "file:///src/app.py"
STREAM = "io.modelcontextprotocol/subscriptionId"


class Watched:
    """Subscriptions whose looks happen when a test asks for one; `sent` has the notifications."""

    def __init__(self, tree, audit=None):
        self.sent: list[tuple[str, dict]] = []
        self.watches = []
        self.session = Session(Service(Workspace(tree), ["codex"], audit=audit))
        self.session.version = "2025-11-25"
        self.subscriptions = Subscriptions(self.session, self._take, 10, lambda watch, _: self.watches.append(watch))
        self.look = self.subscriptions.look

    def _take(self, message):
        self.sent.append((message["method"].removeprefix("notifications/"), message["params"]))

    def subscribe(self, uri):
        assert self.session.answer("resources/subscribe", {"uri": uri}, CallContext()) == {}

    def unsubscribe(self, uri):
        assert self.session.answer("resources/unsubscribe", {"uri": uri}, CallContext()) == {}

    def versions(self, uris):
        params = {"_meta": ENVELOPE, "notifications": {"resourceSubscriptions": uris}}
        return self.session.answer("subscriptions/listen", params, CallContext())["versions"]

    def listen(self, request_id, *uris):
        self.subscriptions.begin(request_id, self.versions(list(uris)), CallContext())

    def close(self):
        self.session.service.workspace.close()


@pytest.fixture
def watched(tree):
    made = Watched(tree)
    yield made
    made.close()


def test_a_client_with_a_handshake_hears_of_a_changed_file(lines, tree):
    server = lines()
    assert server.hello["capabilities"]["resources"] == {"subscribe": True}
    assert server.ask("resources/subscribe", {"uri": HELLO})["result"] == {}

    (tree / "hello.txt").write_text("other\n")

    updated = {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": HELLO}}
    assert server.read() == updated
    assert server.ask("resources/unsubscribe", {"uri": HELLO})["result"] == {}


def test_a_client_without_a_handshake_listens(lines, tree):
    server = lines(version="2026-07-28")
    request = server.start(
        "subscriptions/listen", {"notifications": {"resourceSubscriptions": [HELLO, "file:///none"]}}
    )

    acknowledged = server.read()
    (tree / "hello.txt").write_text("other\n")
    updated = server.read()
    server.cancel(request)

    agreed = {"_meta": {STREAM: request}, "notifications": {"resourceSubscriptions": [HELLO]}}
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"] == agreed
    assert updated["params"] == {"_meta": {STREAM: request}, "uri": HELLO}
    assert server.ask("tools/list")["result"]["tools"]


def test_each_change_is_reported_once_and_to_every_subscription(watched, tree):
    watched.subscribe(HELLO)
    watched.listen("a", HELLO, APP)
    watched.sent.clear()

    watched.look()
    (tree / "hello.txt").write_text("other\n")
    watched.look()
    watched.look()

    updated = [("resources/updated", {"uri": HELLO}), ("resources/updated", {"uri": HELLO, "_meta": {STREAM: "a"}})]
    assert watched.sent == updated


def test_a_file_that_goes_and_comes_back_has_changed_twice(watched, tree):
    watched.subscribe(HELLO)

    (tree / "hello.txt").unlink()
    watched.look()
    (tree / "hello.txt").write_text("again\n")
    watched.look()

    assert watched.sent == [("resources/updated", {"uri": HELLO})] * 2


def test_a_file_system_that_does_not_answer_is_no_change(watched, monkeypatch):
    watched.subscribe(HELLO)

    def hang(*arguments):
        raise TimedOut("hello.txt", seconds=10)

    monkeypatch.setattr(type(watched.session.service.workspace.engine), "describe", hang)
    watched.look()

    assert watched.sent == []


def test_a_subscription_that_ended_is_silent_and_ends_the_thread(watched, tree, monkeypatch):
    monkeypatch.setattr(polling, "SECONDS", 0)
    watched.subscribe(HELLO)
    watched.listen(1, HELLO)
    watched.sent.clear()

    watched.unsubscribe(HELLO)
    watched.subscriptions.end(1)
    (tree / "hello.txt").write_text("other\n")
    watched.watches[0]()  # returns
    watched.subscribe(HELLO)

    assert watched.sent == []
    assert len(watched.watches) == 2


def test_the_end_of_one_stream_leaves_the_others(watched, tree):
    watched.listen(1, HELLO)
    watched.listen("1", HELLO)
    watched.subscriptions.end(1)
    watched.sent.clear()

    (tree / "hello.txt").write_text("other\n")
    watched.look()

    assert watched.sent == [("resources/updated", {"uri": HELLO, "_meta": {STREAM: "1"}})]


def test_a_stream_that_was_cancelled_before_it_began_is_not_watched(watched, tree):
    context = CallContext()
    versions = watched.versions([HELLO])
    context.cancelled = True
    watched.subscriptions.begin(1, versions, context)

    (tree / "hello.txt").write_text("other\n")
    watched.look()

    assert [name for name, _ in watched.sent] == ["subscriptions/acknowledged"]


@pytest.mark.parametrize("uri", ["file:///.env", "file:///none.txt", "file:///etc/passwd", "https://example.org/x", 3])
def test_what_may_not_be_read_cannot_be_watched(watched, uri):
    with pytest.raises(RpcError):
        watched.subscribe(uri)

    watched.listen(1, uri)
    assert watched.sent == [("subscriptions/acknowledged", {"notifications": {}, "_meta": {STREAM: 1}})]


@pytest.mark.parametrize("wanted", [None, [], {"resourceSubscriptions": "file:///hello.txt"}])
def test_a_wrong_filter_is_refused(watched, wanted):
    with pytest.raises(RpcError):
        watched.session.answer("subscriptions/listen", {"_meta": ENVELOPE, "notifications": wanted}, CallContext())


def test_the_number_of_subscriptions_is_limited(watched):
    watched.listen(1, *[f"{HELLO}?start={number}" for number in range(1, MAX_SUBSCRIPTIONS + 1)])

    with pytest.raises(RpcError):
        watched.subscribe(APP)


def test_a_subscription_is_in_the_audit_log(tree):
    written = []
    log = type("Log", (), {"write": lambda self, line: written.append(line)})()
    watched = Watched(tree, audit=log)

    watched.subscribe(HELLO)
    with pytest.raises(RpcError):
        watched.subscribe("file:///.env")
    watched.look()
    watched.close()

    assert [(line["dialect"], line["path"], line["verdict"]) for line in written] == [
        ("subscription", HELLO, "read"),
        ("subscription", "file:///.env", "refused"),
    ]


def test_a_connection_for_one_request_has_no_subscriptions(tree):
    with Workspace(tree) as workspace:
        session = Session(Service(workspace, ["codex"]))
        hello = session.answer("initialize", {"protocolVersion": "2025-11-25"}, CallContext())
        with pytest.raises(RpcError) as subscribed:
            session.answer("resources/subscribe", {"uri": HELLO}, CallContext())
        with pytest.raises(RpcError) as listened:
            session.answer("subscriptions/listen", {"_meta": ENVELOPE, "notifications": {}}, CallContext())

    assert hello["capabilities"]["resources"] == {}
    assert [subscribed.value.code, listened.value.code] == [METHOD_NOT_FOUND, METHOD_NOT_FOUND]
