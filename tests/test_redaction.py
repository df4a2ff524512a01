"""Redaction: secrets are marked, everything else stays as it is, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.dialects.native.redaction import redacted, secrets, up_to

TOKEN = "a1B2c3D4e5" * 4


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("key = AKIAIOSFODNN7ABCDEFG", "key = «redacted:aws-key»"),
        (f"x ghp_{TOKEN[:36]} y", "x «redacted:github-token» y"),
        ("url = postgres://me:hunter2@db/x", "url = postgres://me:«redacted:password»@db/x"),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer «redacted:token»"),
        ('password = "correct horse"', 'password = "«redacted:value»"'),
        ("DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=«redacted:value»"),
        ("api_key: 'zzzz1111zzzz'", "api_key: '«redacted:value»'"),
        ("password = os.environ['PW']", "password = os.environ['PW']"),
        ("password = get_password(user)", "password = get_password(user)"),
        ('password: str = ""', 'password: str = ""'),
        ("token = self.next_token", "token = self.next_token"),
        ("def secret(value): return value", "def secret(value): return value"),
        ("PASSWORD=${DB_PASSWORD}", "PASSWORD=${DB_PASSWORD}"),
    ],
)
def test_a_line(line, shown):
    [spans] = secrets([line])

    assert redacted(line, spans) == shown


KEY = ["-----BEGIN RSA PRIVATE KEY-----", TOKEN, "c2hvcnQ=", "-----END RSA PRIVATE KEY-----", "after"]


def test_a_private_key_is_marked_line_by_line():
    spans = secrets(KEY)

    assert [redacted(line, marks) for line, marks in zip(KEY, spans, strict=True)] == [
        KEY[0],
        "«redacted:private-key»",
        "«redacted:private-key»",
        KEY[3],
        "after",
    ]


def test_a_key_whose_beginning_is_not_shown_is_marked_too():
    spans = secrets(KEY[1:])

    assert redacted(KEY[1], spans[0]) == "«redacted:private-key»"
    assert redacted(KEY[2], spans[1]) == "«redacted:private-key»"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=8))
def test_lines_stay_lines_and_spans_are_sorted(lines):
    found = secrets(lines)

    assert len(found) == len(lines)
    for line, spans in zip(lines, found, strict=True):
        edges = [edge for first, last, _ in spans for edge in (first, last)]
        assert edges == sorted(edges)
        assert all(0 <= edge <= len(line) for edge in edges)
        assert redacted(line, []) == line


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_cut_shows_no_part_of_a_secret(start, end):
    line = f"before ghp_{TOKEN[:36]} after"
    [spans] = secrets([line])
    end = up_to(line, spans, max(start, end))

    assert "a1B2" not in redacted(line, spans, start, end)
