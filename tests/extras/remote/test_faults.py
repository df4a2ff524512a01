"""Servers that misbehave: the answer is the right text of one version or a clear error, never a mix."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.extras.remote import web
from tests.sizes import examples

SECONDS = 0.25
"""The wait for a byte in these tests."""
CODES = {"store", "changed", "timeout"}
ONE = b"".join([b"line %06d of version one\n" % number for number in range(40_000)])
TWO = ONE.replace(b"one", b"TWO")


def status(number):
    return lambda server, handler: server.refuse(handler, number)


def hang(server, handler):
    time.sleep(2 * SECONDS)
    handler.close_connection = True


def hang_up(server, handler):
    handler.close_connection = True


class Spoiled:
    """A handler that passes an answer on and spoils it: headers through `header`, the body through `body`."""

    def __init__(self, handler, header=lambda name, value: value, body=None):
        self._handler = handler
        self._header = header
        self._body = body or handler.wfile.write
        self.path = handler.path
        self.headers = handler.headers
        self.wfile = self

    def send_response(self, number):
        self._handler.send_response(number)

    def send_header(self, name, value):
        self._handler.send_header(name, self._header(name, value))

    def end_headers(self):
        self._handler.end_headers()

    def write(self, data):
        self._body(data)


def truncated(server, handler):
    server.answer(Spoiled(handler, body=lambda data: handler.wfile.write(data[: len(data) // 2])))
    handler.close_connection = True


def empty(server, handler):
    """Announce the range and send none of it."""
    server.answer(Spoiled(handler, body=lambda data: None))
    handler.close_connection = True


def stalled(server, handler):
    def body(data):
        handler.wfile.write(data[: len(data) // 2])
        handler.wfile.flush()
        time.sleep(2 * SECONDS)

    server.answer(Spoiled(handler, body=body))
    handler.close_connection = True


def short(server, handler):
    """Announce and send less than the range."""

    def header(name, value):
        return str(int(value) // 2) if name == "Content-Length" else value

    server.answer(Spoiled(handler, header, lambda data: handler.wfile.write(data[: len(data) // 2])))


def long(server, handler):
    """Announce more than the range, and send that."""

    def header(name, value):
        return str(int(value) + 7) if name == "Content-Length" else value

    server.answer(Spoiled(handler, header, lambda data: handler.wfile.write(data + b"garbage")))


def shifted(server, handler):
    """Send another range than asked for."""

    def header(name, value):
        if name != "Content-Range":
            return value
        span, _, total = value.removeprefix("bytes ").partition("/")
        first, _, last = span.partition("-")
        return f"bytes {int(first) + 100}-{int(last) + 100}/{total}"

    server.answer(Spoiled(handler, header))


def other_total(server, handler):
    """Report another size of the whole file."""

    def header(name, value):
        return f"{value.partition('/')[0]}/{int(value.partition('/')[2]) + 5}" if name == "Content-Range" else value

    server.answer(Spoiled(handler, header))


def replaced(server, handler):
    """Replace the file, then answer."""
    for key in server.files:
        server.files[key] = TWO
        server.etags[key] = '"two"'
    server.answer(handler)


def fine(server, handler):
    server.answer(handler)


FAULTS = {
    "500": status(500),
    "503": status(503),
    "429": status(429),
    "hang": hang,
    "hang_up": hang_up,
    "truncated": truncated,
    "empty": empty,
    "stalled": stalled,
    "short": short,
    "long": long,
    "shifted": shifted,
    "other_total": other_total,
    "replaced": replaced,
    "fine": fine,
}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(web, "REQUEST_SECONDS", SECONDS)
    monkeypatch.setattr(web, "FIRST_PAUSE_SECONDS", 0.001)


def read(place, schedule):
    """Return the text and the codes of errors of one read with these faults."""
    server, root = place
    server.files = {"f.txt": ONE}
    server.etags = {"f.txt": '"one"'}
    server.faults = [lambda handler, name=name: FAULTS[name](server, handler) for name in schedule]
    with Workspace(root, deadline_seconds=60) as workspace:
        records = list(workspace.read_many("f.txt"))
    server.faults = []
    text = "".join([record.text for record in records]).encode()
    return text, [record.error_code for record in records if record.error_code], records[-1].error_message


def check(text, codes, message):
    assert ONE.startswith(text) or TWO.startswith(text), "one version, from its start"
    if codes:
        assert codes[0] in CODES, message
    else:
        assert text in (ONE, TWO), "an answer without an error is whole"


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("after", [0, 1, 2])
def test_one_fault(fault, after, place):
    text, codes, message = read(place, ["fine"] * after + [fault])

    check(text, codes, message)
    if fault in ("500", "503", "429", "fine"):
        assert (text, codes) == (ONE, []), "another request overcomes it"


@pytest.mark.parametrize("fault", [name for name in FAULTS if name not in ("fine", "replaced")])
def test_a_fault_that_stays_is_an_error(fault, place):
    text, codes, message = read(place, ["fine"] + [fault] * 40)

    check(text, codes, message)
    assert len(codes) == 1 or fault == "long", "a web client reads no more than it asked for"


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(schedule=st.lists(st.sampled_from([name for name in FAULTS if name not in ("hang", "stalled")]), max_size=12))
def test_any_schedule_of_faults(schedule, place):
    check(*read(place, schedule))
