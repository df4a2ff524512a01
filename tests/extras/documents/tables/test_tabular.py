"""Tables as text."""

from __future__ import annotations

from eyespan.extras.documents.tables import tabular


def test_values_of_every_type_are_one_line(monkeypatch):
    assert tabular.cell(None) == "NULL"
    assert tabular.cell(b"\0\1") == "x'0001' (2 bytes)"
    assert tabular.cell(b"x" * 20).endswith("...' (20 bytes)")
    assert tabular.cell(1.5) == "1.5"
    monkeypatch.setattr(tabular, "MAX_TEXT_CHARS", 40)
    assert tabular.table(["a"], [["x" * 20]] * 9).row_count == 1


def test_cells_of_a_sample_are_cut_and_those_of_selected_rows_whole():
    row = ["x" * 500, b"y" * 20, 1, ["z" * 300]]
    sample, selected = (tabular.table("abcd", [row], is_selected=is_selected) for is_selected in (False, True))

    assert f"| {'x' * 200}... (500 chars) | x'" in sample.text()
    assert f"| {'x' * 500} | x'" in selected.text()
    assert sample.facts(1) == {"rows_returned": [1, 1], "cut_cells": 3}
    assert selected.facts(1) == {"rows_returned": [1, 1], "cut_cells": 1}


def test_cells_of_a_selected_row_share_the_limit_of_the_text(monkeypatch):
    monkeypatch.setattr(tabular, "MAX_TEXT_CHARS", 1000)

    made = tabular.table("ab", [["x" * 900, "y" * 900]], is_selected=True)

    assert made.text().split("\n")[2] == f"| {'x' * 500}... (900 chars) | {'y' * 500}... (900 chars) |"


def test_columns_that_are_left_out_are_counted():
    made = tabular.table([f"c{number}" for number in range(203)], [range(203)])

    assert made.facts(5) == {"rows_returned": [5, 5], "left_out_columns": 3}
