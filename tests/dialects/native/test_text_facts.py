from __future__ import annotations

import pytest

from eyespan.dialects.native import text_facts


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (b"plain\nlines\n", None),
        (b"", None),
        (b"a\r\nb\r\n", ">note: CRLF"),
        (b"a\r\nb\nc\n", ">note: mixed line ends, CRLF on 1"),
        (b"a\nb", ">note: no newline at the end"),
        (b"\xef\xbb\xbfa\n", ">note: byte order mark"),
        ("ä\n".encode("utf-16"), ">note: utf-16-le by byte order mark"),
        (b"if x:\n    a\n\tb\n", ">note: mixed indentation, tabs on 3"),
        ("a\u200bb\n\u202ex\n".encode(), ">note: hidden U+200B at 1:2, U+202E at 2:1"),
        ("a\U000e0041\n".encode(), ">note: hidden U+E0041 at 1:2"),
        (b"a\x1b[31mb\n", ">note: hidden U+001B at 1:2"),
        ("👨\u200d👩\n".encode(), None),
        ("語\n".encode() * 30 + b"a\xff\n", ">note: bytes that are not utf-8 shown as U+FFFD on 31"),
    ],
)
def test_notes_appear_only_when_they_matter(root, call, data, note):
    (root / "f.txt").write_bytes(data)
    reply = call("f.txt")

    notes = [line for line in reply.text.split("\n") if line.startswith(">note: ")]
    assert notes == ([] if note is None else [note])


def test_only_the_first_hidden_characters_are_named():
    found = text_facts.hidden([(1, 1, "\u200b" * 7)])

    places = ", ".join(f"U+200B at 1:{column}" for column in range(1, 6))
    assert text_facts.describe_hidden(found) == f"hidden {places} and 2 more"


def test_hidden_characters_are_counted_up_to_a_limit():
    def described(count: int) -> str:
        return text_facts.describe_hidden(text_facts.hidden([(1, 1, "\u200b" * count)]))

    most = text_facts.MAX_COUNTED
    assert described(most).endswith(f" and {most - text_facts.MAX_PLACES} more")
    assert described(most + 1).endswith(f" and more than {most - text_facts.MAX_PLACES} more")


def test_no_more_hidden_characters_are_looked_for_than_are_counted():
    most = text_facts.MAX_COUNTED
    found = iter([(0x200B, 1, 1)] * (2 * most))
    text_facts.describe_hidden(found)

    assert len(list(found)) == most - 1


def test_hidden_characters_are_those_of_the_table():
    every = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    expected = {
        code for code in every if (code < 32 and code not in (9, 10)) or 127 <= code < 160 or code in text_facts._HIDDEN
    }

    found = text_facts.hidden([(1, 1, "a".join(map(chr, every)))])

    assert {code for code, _, _ in found} == expected
