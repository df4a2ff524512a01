"""Pieces of Markdown."""

from __future__ import annotations

from eyespan.extras.documents.shared import markdown_pieces


def test_blanks_at_the_end_of_lines_are_removed_in_one_pass():
    """A search from each blank of a long run would take hours."""
    text = "a \t\nb" + 1_000_000 * " " + "c\t\n\n\n\nd\n"

    assert markdown_pieces.finish([text]) == b"a\nb" + 1_000_000 * b" " + b"c\n\nd\n"
    assert markdown_pieces.cell("a \r\nb\rc\t\nd" + 1_000_000 * " " + "e") == "a<br>b<br>c<br>d" + 1_000_000 * " " + "e"


def test_blocks_are_joined_and_cut_at_the_limit(monkeypatch):
    assert markdown_pieces.table([]) == markdown_pieces.table([[], []]) == ""
    assert markdown_pieces.finish(["a\r\nb\rc", "  \n", "d \n e\t\nf\n\n\n\ng"]) == b"a\nb\nc\n\nd\n e\nf\n\ng\n"
    assert markdown_pieces.finish([]) == b""
    monkeypatch.setattr(markdown_pieces, "MAX_TEXT_BYTES", 10)
    assert markdown_pieces.encode("12345\n1234567\n") == b"12345\n[the rest is left out: more than 0 MiB of text]\n"
