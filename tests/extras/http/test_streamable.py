"""Bodies and headers to messages, answers to statuses."""

from __future__ import annotations

import json

import pytest

from eyespan.extras.http import streamable
from eyespan.extras.http.streamable import NotAccepted, accepted, decoded, receive, status_of
from eyespan.server import json_messages, mcp_names
from tests.server.clients import ENVELOPE

ACCEPT = {b"accept": [b"application/json, text/event-stream"]}


def body(method="tools/list", request_id=1, meta=None, **params):
    if meta is not None:
        params["_meta"] = meta
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if request_id is None else {**message, "id": request_id}).encode()


def modern_headers(method="tools/list", version="2026-07-28", name=None):
    headers = {**ACCEPT, b"mcp-protocol-version": [version.encode()], b"mcp-method": [method.encode()]}
    return headers if name is None else {**headers, b"mcp-name": [name.encode()]}


def refusal(data, headers):
    with pytest.raises(NotAccepted) as refused:
        receive(data, headers)
    return refused.value.status, refused.value.answer["id"], refused.value.answer["error"]["code"]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([], (True, True)),
        ([b"application/json, text/event-stream"], (True, True)),
        ([b"application/json", b"text/event-stream"], (True, True)),
        ([b"Application/JSON;q=0.9"], (True, False)),
        ([b"*/*"], (True, True)),
        ([b"text/*"], (False, True)),
        ([b"application/*"], (True, False)),
        ([b"text/html"], (False, False)),
    ],
)
def test_the_kinds_that_a_client_accepts(values, found):
    assert accepted(values) == found


@pytest.mark.parametrize(
    ("header", "version"), [(None, "2025-03-26"), (b"2025-11-25", "2025-11-25"), (b"2024-11-05", "2024-11-05")]
)
def test_the_header_names_the_revision(header, version):
    headers = ACCEPT if header is None else {**ACCEPT, b"mcp-protocol-version": [header]}

    assert receive(body(), headers).version == version


def test_a_request_with_an_envelope_that_agrees_with_its_headers_is_modern():
    received = receive(body("tools/call", meta=ENVELOPE, name="read"), modern_headers("tools/call", name="read"))

    assert received.is_modern
    assert received.message.method == "tools/call"


@pytest.mark.parametrize(
    ("name", "data", "headers", "expected"),
    [
        ("no JSON accepted", body(), {b"accept": [b"text/html"]}, (406, None, mcp_names.INVALID_REQUEST)),
        ("not JSON", b"{", ACCEPT, (400, None, mcp_names.PARSE_ERROR)),
        ("deep", b"[" * 10**5, ACCEPT, (400, None, mcp_names.PARSE_ERROR)),
        ("a batch", b"[" + body() + b"]", ACCEPT, (400, None, mcp_names.INVALID_REQUEST)),
        ("no JSON-RPC", b"{}", ACCEPT, (400, None, mcp_names.INVALID_REQUEST)),
        ("a wrong id", body(request_id=[1]), ACCEPT, (400, None, mcp_names.INVALID_REQUEST)),
        ("no envelope", body(), modern_headers(), (400, 1, mcp_names.INVALID_PARAMS)),
        ("half an envelope", body(meta={mcp_names.VERSION_KEY: "2026-07-28"}), modern_headers(),
         (400, 1, mcp_names.INVALID_PARAMS)),
        ("no headers", body(meta=ENVELOPE), ACCEPT, (400, 1, mcp_names.HEADER_MISMATCH)),
        ("another revision", body(meta=ENVELOPE), modern_headers(version="2025-11-25"),
         (400, 1, mcp_names.HEADER_MISMATCH)),
        ("another method", body(meta=ENVELOPE), modern_headers("tools/call"), (400, 1, mcp_names.HEADER_MISMATCH)),
        ("another name", body("tools/call", meta=ENVELOPE, name="read"), modern_headers("tools/call", name="write"),
         (400, 1, mcp_names.HEADER_MISMATCH)),
        ("no name", body("tools/call", meta=ENVELOPE, name="read"), modern_headers("tools/call"),
         (400, 1, mcp_names.HEADER_MISMATCH)),
        ("two methods", body(meta=ENVELOPE), {**modern_headers(), b"mcp-method": [b"tools/list"] * 2},
         (400, 1, mcp_names.HEADER_MISMATCH)),
        ("a future revision", body(meta={**ENVELOPE, mcp_names.VERSION_KEY: "2099-01-01"}),
         modern_headers(version="2099-01-01"), (400, 1, mcp_names.UNSUPPORTED_VERSION)),
        ("a future notification", body("notifications/x", None), modern_headers(version="2099-01-01"),
         (400, None, mcp_names.UNSUPPORTED_VERSION)),
    ],
)  # fmt: skip
def test_what_is_no_message_of_the_protocol_is_refused(name, data, headers, expected):
    assert refusal(data, headers) == expected


@pytest.mark.parametrize("headers", [ACCEPT, modern_headers("notifications/x")])
def test_a_notification_gets_no_answer(headers):
    assert receive(body("notifications/x", None), headers).message.request_id is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("read", "read"),
        ("=?base64?Z3LDvG4=?=", "grün"),
        ("=?base64?%?=", None),
        ("=?base64?/w==?=", None),
    ],
)
def test_a_name_that_is_not_ascii_is_base64(value, text):
    assert decoded(value) == text


@pytest.mark.parametrize(
    ("code", "modern", "status"),
    [
        (mcp_names.METHOD_NOT_FOUND, True, 404),
        (mcp_names.INVALID_PARAMS, True, 400),
        (mcp_names.INTERNAL_ERROR, True, 200),
        (mcp_names.BUSY, True, 200),
        (mcp_names.METHOD_NOT_FOUND, False, 200),
        (None, True, 200),
    ],
)
def test_the_status_of_an_answer(code, modern, status):
    answer = {"result": {}} if code is None else {"error": {"code": code}}

    assert status_of(answer, modern) == status


def test_an_event_is_one_line_of_data():
    assert (
        b"".join(streamable.event(json_messages.dumps({"a": "x\ny"})))
        == b'event: message\r\ndata: {"a":"x\\ny"}\r\n\r\n'
    )
