from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.dialects.redaction import redacted, secrets, up_to

from .answers import shown

TOKEN = "a1B2c3D4e5" * 4


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("key = AKIAIOSFODNN7ABCDEFG", "key = «redacted:aws-key»"),
        (f"x ghp_{TOKEN[:36]} y", "x «redacted:github-token» y"),
        ("url = postgres://me:hunter2@db/x", "url = postgres://me:«redacted:password»@db/x"),
        (f"url = https://{'a1b2' * 10}@host/x.git", "url = https://«redacted:token»@host/x.git"),
        ("url = https://maintainer-of-things@host/x.git", "url = https://maintainer-of-things@host/x.git"),
        (
            "\textraheader = AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW4=",
            "\textraheader = AUTHORIZATION: basic «redacted:token»",
        ),
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
def test_a_secret_of_a_line_is_replaced(line, shown):
    [found] = secrets([line])

    assert redacted(line, found) == shown


KEY = ["-----BEGIN RSA PRIVATE KEY-----", TOKEN, "c2hvcnQ=", "-----END RSA PRIVATE KEY-----", "after"]


def test_a_private_key_is_replaced_line_by_line():
    found = secrets(KEY)

    assert [redacted(line, one) for line, one in zip(KEY, found, strict=True)] == [
        KEY[0],
        "«redacted:private-key»",
        "«redacted:private-key»",
        KEY[3],
        "after",
    ]


def test_a_key_that_begins_before_the_lines_is_replaced_too():
    found = secrets(KEY[1:])

    assert redacted(KEY[1], found[0]) == "«redacted:private-key»"
    assert redacted(KEY[2], found[1]) == "«redacted:private-key»"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=80), max_size=8))
def test_secrets_are_sorted_and_inside_their_lines(lines):
    found = secrets(lines)

    assert len(found) == len(lines)
    for line, one in zip(lines, found, strict=True):
        edges = [edge for first, last, _ in one for edge in (first, last)]
        assert edges == sorted(edges)
        assert all(0 <= edge <= len(line) for edge in edges)
        assert redacted(line, []) == line


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_cut_shows_no_part_of_a_token(start, end):
    line = f"before ghp_{TOKEN[:36]} after"
    [found] = secrets([line])
    end = up_to(line, found, max(start, end))

    assert "a1B2" not in redacted(line, found, start, end)


# --- in answers ------------------------------------------------------------------------------------------------------


def test_redaction_is_a_setting_and_keeps_lines_and_numbers(root):
    (root / "settings.py").write_text('host = "db"\npassword = "hunter2hunter2"\nport = 5432\n')
    with Workspace(root) as workspace:
        plain = workspace.tool("native").call({"files": "settings.py"})
        replaced = workspace.tool("native", redact=True).call({"files": "settings.py"})

    assert shown(plain.text)[1] == (2, 1, 'password = "hunter2hunter2"')
    assert shown(replaced.text) == [
        (1, 1, 'host = "db"'),
        (2, 1, 'password = "«redacted:value»"'),
        (3, 1, "port = 5432"),
    ]


@pytest.mark.parametrize("budget", [50, 90, 200])
def test_no_cut_shows_part_of_a_secret(root, budget):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    (root / "one.json").write_text("".join(f'{{"n": {n}, "auth": "{secret}"}}, ' for n in range(60)))
    texts, waiting = [], ["one.json"]
    with Workspace(root) as workspace:
        tool = workspace.tool("native", redact=True)
        while waiting:
            reply = tool.call({"files": waiting[:1], "budget": budget})
            texts += [text for _, _, text in shown(reply.text)]
            waiting = reply.structured.get("left_out", []) + waiting[1:]

    shown_text = "".join(texts)
    assert shown_text.count("«redacted:") == 60
    assert "a1B2c3D4" not in shown_text
    assert "ghp_" not in shown_text
