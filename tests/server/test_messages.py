"""JSON values to messages, and failures to answers."""

from __future__ import annotations

import logging

import pytest

from eyespan.context import CallContext
from eyespan.server import mcp_names, messages
from eyespan.server.messages import InvalidMessage, Message, parse


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, Message(1, "ping", {})),
        ({"jsonrpc": "2.0", "id": "a", "method": "ping", "params": {"x": 1}}, Message("a", "ping", {"x": 1})),
        ({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]}, Message(None, "notifications/x", [1])),
    ],
)
def test_a_value_that_is_a_message(value, message):
    assert parse(value) == message


def test_a_response_is_a_message_without_a_method():
    response = {"jsonrpc": "2.0", "id": 1, "result": {}}

    assert parse(response) == Message(None, "", response)


@pytest.mark.parametrize(
    ("value", "request_id", "code"),
    [
        (1, None, mcp_names.INVALID_REQUEST),
        ({"id": 1, "method": "ping"}, None, mcp_names.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1}, 1, mcp_names.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None, mcp_names.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None, mcp_names.INVALID_REQUEST),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}, 1, mcp_names.INVALID_PARAMS),
    ],
)
def test_a_value_that_is_no_message(value, request_id, code):
    with pytest.raises(InvalidMessage) as invalid:
        parse(value)

    assert (invalid.value.request_id, invalid.value.error.code) == (request_id, code)


def test_a_failure_inside_is_an_answer_without_its_text(caplog):
    class Broken:
        def answer(self, method, params, context):
            raise OSError("/a/path/of/the/host")

    with caplog.at_level(logging.CRITICAL):
        answer = messages.answer(Broken(), Message(7, "ping", {}), CallContext())

    assert answer == {
        "jsonrpc": "2.0", "id": 7, "error": {"code": mcp_names.INTERNAL_ERROR, "message": "Internal error (OSError)"},
    }  # fmt: skip
