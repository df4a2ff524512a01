"""`eyespan dialects`."""

from __future__ import annotations

from eyespan.dialects import dialect_names


def test_each_dialect_has_one_line(eyespan):
    assert [line.split()[0] for line in eyespan("dialects")[1].splitlines()] == list(dialect_names())
