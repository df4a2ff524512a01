"""Texts that are decoded whole, because their lines cannot be found in the bytes."""

from __future__ import annotations

import pytest

from eyespan.context import CallContext
from eyespan.lines import whole
from eyespan.lines.encodings import Encoding


@pytest.mark.parametrize("name", ["iso2022-jp", "hz", "utf-7", "cp037", "cp500", "cp1252"])
@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
def test_a_text_is_the_same_in_blocks_of_any_size(name, step, file, open_source, monkeypatch):
    monkeypatch.setattr(whole, "_BLOCK_BYTES", step)
    text = "plain\r\nlines + signs\r\n" + ("日本語の文章" * 3 if name.startswith("iso") else "") + "~ end\r"
    data = text.encode(name) + (b"\x0d\x15 \x15" if name in ("cp037", "cp500") else b"")

    held, replaced = whole.decoded(open_source(file(data)), Encoding(name), CallContext())

    expected = data.decode(name).replace("\r\x85", "\n").replace("\x85", "\n")
    assert (held.read_at(0, 10_000).decode(), replaced) == (expected, 0)
