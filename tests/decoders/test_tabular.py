"""Tables as text."""

from __future__ import annotations

from eyespan.decoders import tabular


def test_values_of_every_type_are_one_line(monkeypatch):
    assert tabular.cell(None) == "NULL"
    assert tabular.cell(b"\0\1") == "x'0001' (2 bytes)"
    assert tabular.cell(b"x" * 20).endswith("...' (20 bytes)")
    assert tabular.cell(1.5) == "1.5"
    monkeypatch.setattr(tabular, "MAX_TEXT_CHARS", 40)
    assert tabular.table(["a"], [["x" * 20]] * 9)[1] == 1
