"""JSON without the json module: the same values, stricter rules, never invalid UTF-8."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.server import json_lines

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
    line = b"".join(json_lines.dumps(value))

    assert json.loads(line) == value
    assert json_lines.loads(line) == value
    assert b"\n" not in line


@given(VALUES)
def test_output_of_the_json_module_is_read(value):
    assert json_lines.loads(json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_malformed_just_like_in_the_json_module(data):
    try:
        wanted = json.loads(data.decode("utf-8"), parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    except (ValueError, RecursionError):
        with pytest.raises(json_lines.Malformed):
            json_lines.loads(data)
    else:
        assert json_lines.loads(data) == wanted


@given(st.text(max_size=50), st.integers(0, 6000))
def test_lone_surrogates_are_written_as_text(text, padding):
    text = "x" * padding + text + "\ud800" + text

    line = b"".join(json_lines.dumps({"text": text}))

    read = json.loads(line.decode("utf-8"))["text"]
    assert read.encode("utf-8")
    assert "\\ud800" in read


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 100_000])
def test_long_strings_are_separate_pieces(size):
    value = {"a": "é\n" * size, "b": [1, "x" * size]}

    pieces = json_lines.dumps(value)

    assert json.loads(b"".join(pieces)) == value
    assert len(pieces) <= 5


def test_bytes_are_base64():
    assert (
        json.loads(b"".join(json_lines.dumps({"data": b"\0\xff" * 100})))["data"]
        == base64.b64encode(b"\0\xff" * 100).decode()
    )


def test_deep_nesting_is_an_error_and_does_not_end_the_process():
    with pytest.raises(json_lines.Malformed):
        json_lines.loads(b'{"a":' * 200_000)
