"""JSON without the json module: the same values, stricter rules, never invalid UTF-8."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.escape import QUOTED_CHARS
from eyespan.server import json_messages

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_written_values_are_read_back_by_any_parser(value):
    line = b"".join(json_messages.dumps(value))

    assert json.loads(line) == value
    assert json_messages.loads(line) == value
    assert b"\n" not in line


@given(VALUES, st.text(st.characters(exclude_categories=["Cs"])), st.integers() | st.text('",:\\text', max_size=20))
def test_an_answer_of_one_long_text_is_written_as_any_other_value(value, text, request_id):
    for length in (json_messages.BIG_CHARS, 16 * json_messages.BIG_CHARS):
        block = {"type": "text", "text": text + "x" * length}
        result = {"content": [block], "isError": False, "_meta": {"text": "", "more": value}}
        answer = {"jsonrpc": "2.0", "id": request_id, "result": result}

        assert json.loads(b"".join(json_messages.dumps(answer))) == answer


@pytest.mark.parametrize("odd", [b"bytes", float("nan"), float("inf"), "\ud800"])
def test_an_answer_of_one_long_text_with_values_that_json_lacks_is_written_all_the_same(odd):
    block = {"type": "text", "text": "x" * json_messages.BIG_CHARS}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [block], "_meta": {"odd": odd}}}

    read = json.loads(b"".join(json_messages.dumps(answer)))

    expected = {b"bytes": "Ynl0ZXM=", "\ud800": "\\ud800"}
    assert read["result"]["_meta"]["odd"] == expected.get(odd)
    assert read["result"]["content"] == [block]


@given(VALUES)
def test_output_of_the_json_module_is_read(value):
    assert json_messages.loads(json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_malformed_just_like_in_the_json_module(data):
    try:
        wanted = json.loads(data.decode("utf-8"), parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    except (ValueError, RecursionError):
        with pytest.raises(json_messages.Malformed):
            json_messages.loads(data)
    else:
        assert json_messages.loads(data) == wanted


OBJECTS = st.recursive(
    st.just("1"),
    lambda inner: st.lists(st.tuples(st.sampled_from(["a", "\\u0061", "b", "A"]), inner), max_size=3).map(
        lambda pairs: "{" + ",".join(f'"{name}":{value}' for name, value in pairs) + "}"
    ),
)


@given(OBJECTS)
def test_an_object_with_a_name_twice_is_malformed_however_the_name_is_written(text):
    """A proxy that judges the first of two values must not let the second one through."""
    repeated = []

    def note(pairs):
        repeated.append(len(dict(pairs)) < len(pairs))
        return dict(pairs)

    json.loads(text, object_pairs_hook=note)

    if any(repeated):
        with pytest.raises(json_messages.Malformed, match="twice"):
            json_messages.loads(text.encode())
    else:
        assert json_messages.loads(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"9" * 5000, "a number is too long"),
        (b"\xff", "not UTF-8"),
        (b"[" * 40_000 + b"]" * 40_000, "nested too deeply"),
        (b"NaN", "NaN is not a JSON value"),
        (b"[1", "Expecting ',' delimiter: line 1 column 3 (char 2)"),
    ],
)
def test_what_is_wrong_is_said_without_words_of_the_interpreter(data, message):
    with pytest.raises(json_messages.Malformed) as raised:
        json_messages.loads(data)

    assert str(raised.value) == message


@given(st.text(max_size=50), st.integers(0, 6000))
def test_lone_surrogates_are_written_as_text(text, padding):
    text = "x" * padding + text + "\ud800" + text

    line = b"".join(json_messages.dumps({"text": text}))

    read = json.loads(line.decode("utf-8"))["text"]
    assert read.encode("utf-8")
    assert "\\ud800" in read


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 30_000])
def test_long_strings_are_separate_pieces(size):
    value = {"a": "é\n" * size, "b": [1, "x" * size]}

    pieces = json_messages.dumps(value)

    assert json.loads(b"".join(pieces)) == value
    assert len(pieces) <= 5


@pytest.mark.parametrize("wide", ["", "\U0001f600", "\udc80"])
def test_very_long_strings_are_pieces_of_bounded_size(wide):
    text = wide + '\x01"é' * 50_000
    value = {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}], "again": text}}

    pieces = json_messages.dumps(value)

    assert json.loads(b"".join(pieces)) == json.loads(json.dumps(value).replace("\\udc80", "\\\\udc80"))
    assert max(map(len, pieces)) <= 6 * QUOTED_CHARS
    assert (
        json_messages.large_bytes(value)
        == sum(map(len, pieces)) - len(b"".join(json_messages.dumps(without(value)))) + 4
    )


def without(value):
    return {**value, "result": {"content": [{"type": "text", "text": ""}], "again": ""}}


def test_the_size_of_bytes_is_that_of_their_base64():
    assert json_messages.large_bytes([{"data": bytes(100_000)}, "a", b"b", None]) == len(
        json_messages.base64(bytes(100_000))
    )


def test_bytes_are_base64():
    assert (
        json.loads(b"".join(json_messages.dumps({"data": b"\0\xff" * 100})))["data"]
        == base64.b64encode(b"\0\xff" * 100).decode()
    )


def test_deep_nesting_is_an_error_and_does_not_end_the_process():
    with pytest.raises(json_messages.Malformed):
        json_messages.loads(b'{"a":' * 200_000)
