"""Formulas of xls workbooks as text."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.extras.documents.sheets import formula_tokens
from eyespan.extras.documents.sheets.formula_tokens import FormulaNames, FormulaReader


def names():
    made = FormulaNames()
    made.sheets = ["Page", "It's two", "Third"]
    made.names = ["Tax", "_xlfn.CONCAT"]
    made.own_books = {0}
    made.references = [(0, 0, 0), (0, 1, 1), (0, 0, 2), (1, 0, 0), (2, -2, -2), (0, 9, 9)]
    made.outer_books = {1: ("other.xls", ["There"])}
    made.outer_names = {2: ["YEARFRAC"]}
    return made


TOKENS = FormulaReader(names())
A1, B2 = b"\x44\0\0\0\xc0", b"\x24\1\0\1\0"
"""A1, relative, and $B$2."""


def number(value):
    return b"\x1e" + struct.pack("<H", value)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (A1 + B2 + b"\x03", "A1+$B$2"),
        (number(1) + number(2) + b"\x06\x15" + number(3) + b"\x07", "(1/2)^3"),
        (number(5) + b"\x13" + number(6) + b"\x14\x08", "-5&6%"),
        (A1 + b"\x12", "+A1"),
        (b'\x17\3\0a"b', '"a""b"'),
        (b"\x17\1\1\x11\x04", '"\u0411"'),
        (b"\x1d\1" + b"\x1c\x2a" + b"\x0b", "TRUE=#N/A"),
        (b"\x1c\x99", "#ERROR"),
        (b"\x1f" + struct.pack("<d", 2.5), "2.5"),
        (b"\x25\0\0\2\0\0\xc0\1\xc0" + b"\x19\x10\0\0", "SUM(A1:B3)"),
        (b"\x25\0\0\xff\xff\1\x40\1\0", "B:$B"),
        (b"\x25\1\0\2\0\0\x80\xff\0", "2:$3"),
        (A1 + b"\x41\x0f\0", "SIN(A1)"),
        (A1 + number(1) + b"\x19\2\0\0" + b"\x16" + b"\x42\3\1\0", "IF(A1,1,)"),
        (number(1) + number(7) + b"\x19\4\1\0\0\0\0\0" + b"\x42\2\x64\0", "CHOOSE(1,7)"),
        (b"\x23\2\0\0\0" + A1 + b"\x42\2\xff\0", "CONCAT(A1)"),
        (b"\x39\4\0\1\0\0\0" + A1 + b"\x42\2\xff\0", "YEARFRAC(A1)"),
        (b"\x39\0\0\1\0\0\0", "Tax"),
        (b"\x3a\0\0\0\0\0\xc0", "Page!A1"),
        (b"\x3a\1\0\0\0\0\xc0", "'It''s two'!A1"),
        (b"\x3b\2\0\0\0\1\0\0\0\1\0", "Page:Third!$A$1:$B$2"),
        (b"\x3a\3\0\0\0\0\0", "'[other.xls]There'!$A$1"),
        (b"\x2a\0\0\0\0" + b"\x2b\0\0\0\0\0\0\0\0\x10", "#REF!,#REF!"),
        (b"\x3c\0\0\0\0\0\0" + b"\x3d\0\0\0\0\0\0\0\0\0\0\x10", "#REF!,#REF!"),
        (b"\x4c\xff\xff\xff\xc0" + b"\x4d\0\0\1\0\0\xc0\1\xc0\x04", "A1-B2:C3"),
        (b"\x29\7\0" + A1 + B2 + b"\x11", "A1:$B$2"),
        (A1 + b"\x15" + B2 + b"\x0f", "(A1) $B$2"),
    ],
)
def test_tokens_are_written_as_a_formula(tokens, text):
    assert TOKENS.text(tokens, place=(1, 1)) == text


def test_arrays_stand_after_the_tokens():
    row = b"\1" + struct.pack("<d", 1) + b"\2\1\0\0x" + b"\4\1" + bytes(7) + b"\x10\x07" + bytes(7) + b"\0" + bytes(8)
    array = b"\x60" + bytes(7)

    assert TOKENS.text(array, b"\4\0\0" + row) == '{1,"x",TRUE,#DIV/0!,}'
    assert TOKENS.text(array + array + b"\x03", b"\0\1\0" + 2 * row[:9] + b"\0\0\0" + row[:9]) == "{1;1}+{1}"
    assert TOKENS.text(array, b"\xff\xff\xff" + row) is None
    assert TOKENS.text(b"\x26" + bytes(6) + array, b"\0\0\0" + row) is None


@pytest.mark.parametrize(
    "tokens",
    [
        b"",
        b"\x03",
        A1 + A1,
        A1[:-1],
        b"\x18\x19",
        b"\x41\xff\x7f",
        b"\x41\4\0",
        b"\x42\0\xff\0",
        b"\x42\3\1\0",
        b"\x23\0\0\0\0",
        b"\x23\3\0\0\0",
        b"\x39\4\0\2\0\0\0",
        b"\x39\x0f\0\1\0\0\0",
        b"\x3a\5\0\0\0\0\0",
        b"\x3a\x0f\0\0\0\0\0",
        A1 + b"\x15" * 5000,
        b"\x17\xff\0" + b"a" * 255 + b"\x19\x10\0\0" * 4000,
        b"\x17\1\1\0\xd8",
    ],
)
def test_a_formula_that_is_not_understood_has_no_text(tokens):
    assert TOKENS.text(tokens) is None


@given(st.binary(max_size=60), st.binary(max_size=30))
def test_any_bytes_are_text_or_nothing(tokens, extra):
    text = TOKENS.text(tokens, extra, (7, 7))

    assert text is None or 0 < len(text) <= formula_tokens.MAX_CHARS


@pytest.mark.parametrize(
    ("number", "name"),
    [
        *((0, "COUNT"), (52, "GROWTH"), (56, "PV"), (78, "OFFSET"), (82, "SEARCH"), (102, "VLOOKUP"), (345, "SUMIF")),
        *((379, "RTD"), (380, "CUBEVALUE"), (484, "AVERAGEIFS")),
    ],
)
def test_functions_have_the_numbers_of_the_format(number, name):
    """On both sides of gaps in the table: a shift by one would show another function."""
    call = b"\x1e\1\0\x22\1" + number.to_bytes(2, "little")

    assert TOKENS.text(call) == f"{name}(1)"


def test_functions_of_a_fixed_number_of_arguments_take_them():
    assert TOKENS.text(b"\x1e\1\0\x1e\2\0\x21" + (480).to_bytes(2, "little")) == "IFERROR(1,2)"
