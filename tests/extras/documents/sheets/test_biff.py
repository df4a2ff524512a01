"""Workbooks of Excel 97 to 2003: records, damage, and charts."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.sheets import biff, cells, sheet
from eyespan.extras.documents.sheets import ole as container
from tests.extras.documents.office_files import load_without, ole

START = struct.pack("<HHHHII", 0x0600, 5, 0, 0, 0, 0)


def records(*parts):
    return b"".join(struct.pack("<HH", code, len(data)) + data for code, data in parts)


def page(*parts, kind=0x10):
    return records((0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 0)), *parts, (0x0A, b""))


def short(text):
    return bytes([len(text), 1]) + text.encode("utf-16-le")


def long(text):
    return struct.pack("<HB", len(text), 0) + text.encode("latin-1")


def book(*more, **sheets):
    """Return a workbook of these sheets, each (records, state, kind), with more records before them."""
    size = len(records((0x0809, START), *more, (0x0A, b""))) + sum(12 + 2 * len(name) for name in sheets)
    listed = []
    for name, (data, state, kind) in sheets.items():
        listed.append((0x85, struct.pack("<IBB", size, state, kind) + short(name)))
        size += len(data)
    return records((0x0809, START), *listed, *more, (0x0A, b"")) + b"".join(data for data, *_ in sheets.values())


def decoded(data):
    return sheet.decode(io.BytesIO(data), {})[1][0].decode()


def one(*parts, more=()):
    return decoded(book(*more, Page=(page(*parts), 0, 0)))


def cell(code, row, column, data, style=0):
    return code, struct.pack("<HHH", row, column, style) + data


def number(row, column, value, style=0):
    return cell(0x0203, row, column, struct.pack("<d", value), style)


def formula(row, column, result, tokens=b"\x1e\1\0", size=None):
    tokens_size = len(tokens) if size is None else size
    return cell(0x06, row, column, result + bytes(6) + struct.pack("<H", tokens_size) + tokens)


TEXT, EMPTY = b"\0\0\0\0\0\0\xff\xff", b"\3\0\0\0\0\0\xff\xff"


STRINGS = (
    0xFC,
    struct.pack("<II", 2, 2) + long("one") + b"\1\0\x0d" + struct.pack("<HI", 1, 3) + b"\x11\x04" + bytes(7),
)
VALUES = (
    number(0, 0, 2.5),
    cell(0x027E, 0, 1, struct.pack("<I", 7 << 2 | 2)),
    cell(0x027E, 0, 2, struct.pack("<I", 0xFFFFFFFC | 3)),
    cell(0x027E, 0, 3, struct.pack("<I", 0x3FF00000)),
    (0xBD, struct.pack("<HH", 1, 0) + struct.pack("<HI", 0, 1 << 2 | 2) * 2 + b"\1\0"),
    cell(0xFD, 1, 2, b"\0\0\0\0"),
    cell(0xFD, 1, 3, b"\1\0\0\0"),
    cell(0xFD, 1, 4, b"\2\0\0\0"),
    cell(0x0204, 2, 0, long("label")),
    cell(0x0205, 2, 1, b"\1\0"),
    cell(0x0205, 2, 2, b"\x2a\1"),
    cell(0x0205, 2, 3, b"\x99\1"),
    number(2, 3, 4),
    number(2, 3, 5),
    number(0, 0, 1),
)
SHARED = struct.pack("<HHBBH", 1, 2, 0, 0, 0) + struct.pack("<H", 5) + b"\x4c\0\0\1\xc0"
ARRAY = struct.pack("<HHBBHI", 5, 5, 0, 0, 0, 0) + struct.pack("<H", 3) + b"\x1e\7\0"
COPY = b"\1\1\0\0\0"
FORMULAS = (
    formula(0, 0, struct.pack("<d", 2), b"\x1e\1\0\x1e\1\0\3"),
    formula(0, 1, TEXT),
    (0x0207, long("text")),
    formula(0, 2, b"\1\0\1\0\0\0\xff\xff"),
    formula(0, 3, b"\2\0\7\0\0\0\xff\xff"),
    formula(0, 4, EMPTY),
    formula(1, 0, TEXT, COPY),
    (0x04BC, SHARED),
    (0x0207, long("first")),
    formula(2, 0, struct.pack("<d", 3), COPY),
    formula(3, 0, TEXT, b"\2\0\0\0\0"),
    formula(4, 0, TEXT, b"\xff"),
    (0x0208, bytes(16)),
    formula(5, 0, struct.pack("<d", 7), b"\1\5\0\0\0"),
    (0x0221, ARRAY),
    formula(6, 0, TEXT),
    (0x0207, b"\0\0"),
    formula(7, 0, TEXT),
    *[(0x0236, b"")] * 3,
    (0x06, b"\0" * 9),
)


def notes():
    """Return the records of margins, hidden and merged cells, comments, text boxes and links."""
    head = struct.pack("<HHHH", 1, 1, 2, 2) + bytes(16) + struct.pack("<I", 2)
    url = biff._URL_KIND + struct.pack("<I", 12) + "a://b\0".encode("utf-16-le")
    path = biff._FILE_KIND + struct.pack("<HI", 0, 4) + b"a.x\0" + bytes(24)
    wide_path = struct.pack("<IIH", 10, 4, 3) + "\u0411b".encode("utf-16-le")
    string = struct.pack("<I", 3) + "xy\0".encode("utf-16-le")

    def link(flags, data):
        return 0x01B8, head + struct.pack("<I", flags) + data

    return (
        (0x14, long("&LTop && more")),
        (0x15, long("&CPage &P")),
        (0x14, b""),
        (0x0208, struct.pack("<H", 4) + bytes(10) + b"\x20" + bytes(3)),
        (0x7D, struct.pack("<HHHHH", 1, 2, 0, 0, 1)),
        (0x7D, struct.pack("<HHHHH", 5, 4, 0, 0, 1)),
        (0xE5, struct.pack("<HHHHH", 1, 0, 1, 0, 2)),
        number(0, 0, 1),
        (0x5D, struct.pack("<HHHH", 0x15, 18, 0x19, 7)),
        (0x01B6, bytes(10) + struct.pack("<H", 7) + bytes(4)),
        (0x3C, b"\0so "),
        (0x3C, b"\1" + "what".encode("utf-16-le")),
        (0x3C, bytes(8)),
        (0x5D, struct.pack("<HHHH", 0x15, 18, 6, 8)),
        (0x01B6, bytes(10) + struct.pack("<H", 3) + bytes(4)),
        (0x3C, b"\0box"),
        (0x01B6, bytes(10) + struct.pack("<H", 4) + bytes(4)),
        (0x3C, b"\0 two"),
        (0x01B6, bytes(10) + struct.pack("<H", 4) + bytes(4)),
        (0x3C, b""),
        (0x1C, struct.pack("<HHHH", 3, 1, 0, 7) + long("Ada")),
        (0x1C, struct.pack("<HHHH", 2, 1, 0, 9) + long("")),
        link(0x11, string + url),
        link(1, path + bytes(4)),
        link(0x81, string + path + wide_path),
        link(0x108, string + string),
        link(1, b"?" * 16),
    )


def names():
    """Return the records of three defined names, one of them hidden."""

    def name(text, flags=0):
        facts = struct.pack("<HBBHHH", flags, 0, len(text), 3, 0, 0)
        return 0x18, facts + bytes(4) + b"\0" + text.encode() + b"\x1e\7\0"

    return [name("Tax"), name("Local"), name("Secret", flags=1)]


def samples():
    """Return workbooks with every kind of record, for proofs that damage them."""
    start, end = page(number(0, 0, 7), *notes()), records((0x0A, b""))
    return [
        book(STRINGS, *names(), Page=(page(*VALUES, *FORMULAS), 0, 0), Other=(page(), 1, 0)),
        book(Page=(start[: -len(end)] + chart() + end, 0, 0), Chart=(chart(), 0, 2)),
    ]


def test_values_of_every_record():
    made = one(*VALUES, more=[STRINGS])

    assert made == (
        "## Page (A1:D3)\n\n|   | A | B | C | D |\n|---| --- | --- | --- | --- |\n| 1 | 1 | 7 | -0.01 | 1 |\n"
        "| 2 | 1 | 1 | one | \u0411 |\n| 3 | label | TRUE | #N/A | #ERROR |\n"
    )


def test_strings_are_read_across_blocks():
    blocks = [
        struct.pack("<II", 3, 3) + long("whole") + struct.pack("<HB", 4, 0) + b"ab",
        b"\1c\0d\0" + b"\3\0\x08" + b"\2\0" + b"xyz" + b"1234",
        b"5678",
    ]

    assert biff._shared_strings(blocks) == ["whole", "abcd", "xyz"]
    assert biff._shared_strings(blocks[:1]) == ["whole", "ab"]
    assert biff._shared_strings([blocks[0], b""]) == ["whole", "ab"]


def test_numbers_have_the_meaning_of_their_format():
    styles = [(0xE0, struct.pack("<HH", 0, code) + bytes(16)) for code in (0, 9, 14, 20, 46, 200, 31)]
    made = one(
        *(number(0, column, 0.5, column) for column in range(1, 6)),
        number(0, 6, 40_000, 6),
        number(0, 7, 3, 99),
        number(1, 2, 1e300, 2),
        more=[(0x041E, b"\xc8\0" + long('0 "kg"')), *styles, (0x22, b"\1\0")],
    )

    assert made.split("\n")[4:6] == [
        "| 1 | 50% | 1904-01-01 12:00:00 | 12:00:00 | 12:00:00 | 0.5kg | 2013-07-07 | 3 |",
        "| 2 |  | 1e+300 |  |  |  |  |  |",
    ]


@pytest.mark.parametrize(
    ("days", "shown"),
    [
        (0, "00:00:00"),
        (0.26, "06:14:24"),
        (1, "1900-01-01"),
        (59, "1900-02-28"),
        (61, "1900-03-01"),
        (40_000, "2009-07-06"),
    ],
)
def test_dates_before_march_1900_are_those_of_excel(days, shown):
    """Excel counts a 29 February 1900, and so does the reader of the newer formats."""
    style = (0xE0, struct.pack("<HH", 0, 14) + bytes(16))

    assert f"| {shown} |" in one(number(0, 0, days, 0), more=[style])


@pytest.mark.parametrize("code", biff.FORMULAS)
def test_formulas_have_the_code_of_any_version(code):
    result = struct.pack("<d", 7) + bytes(6) + struct.pack("<H", 3) + b"\x1e\7\0"

    assert "| 1 | 7 |" in one(cell(code, 0, 0, result))


def test_formulas_have_their_results():
    made = one(*FORMULAS)

    assert made.split("\n")[2:] == [
        "[12 formulas not shown, only their values: xls]",
        "",
        "|   | A | B | C | D |",
        "|---| --- | --- | --- | --- |",
        "| 1 | 2 | text | TRUE | #DIV/0! |",
        "| 2 | first |  |  |  |",
        "| 3 | 3 |  |  |  |",
        "| 6 | 7 |  |  |  |",
        "",
    ]


def test_layout_comments_links_text_boxes_and_margins():
    made = one(*notes())

    assert made.split("\n")[2:] == [
        "[header: Top & more]",
        "",
        "[hidden: rows 5; columns B-C]",
        "",
        "[merged: A1:C2]",
        "",
        "|   | A |",
        "|---| --- |",
        "| 1 | 1 |",
        "",
        "Comments:",
        "",
        "- B3: ",
        "- B4 (Ada): so what",
        "",
        "Links:",
        "",
        "- C2: a://b",
        "- C2: a.x",
        "- C2: \u0411b",
        "- C2: xy#xy",
        "",
        "[text box] box two",
        "",
    ]


def test_defined_names_are_counted():
    sheets = {"Page": (page(number(0, 0, 1)), 0, 0), "Other one": (page(), 1, 0)}

    made = decoded(book(*names(), **sheets))

    assert "## Other one (hidden)\n" in made
    assert made.endswith("[2 defined names not shown: those of xls files are not decoded]\n")


# --- charts ----------------------------------------------------------------------------------------------------------


def chart():
    return page((0x1003, b""), number(0, 0, 2), (0x1017, b""), kind=0x20)


def test_charts_in_a_sheet_are_counted():
    start, end = page(number(0, 0, 7)), records((0x0A, b""))

    made = decoded(book(Page=(start[: -len(end)] + chart() + chart() + end, 0, 0)))

    left_out = "[2 charts left out: charts of xls files are not decoded]"
    assert made == f"## Page (A1:A1)\n\n{left_out}\n\n|   | A |\n|---| --- |\n| 1 | 7 |\n"


def test_a_sheet_may_be_a_chart():
    sheets = {"Chart": (chart(), 0, 2), "Macros": (page(), 0, 6)}

    left_out = "[1 chart left out: charts of xls files are not decoded]"
    assert decoded(book(**sheets)) == f"## Chart\n\n{left_out}\n\n[no cells]\n"


# --- damage ----------------------------------------------------------------------------------------------------------


def test_a_sheet_that_is_damaged_is_called_so():
    whole = book(One=(page(number(0, 0, 1)), 0, 0), Two=(page(number(0, 0, 2)), 0, 0))

    assert "[the sheet is damaged; what follows the damage is left out]\n\n|   | A |" in decoded(whole[:-4])
    assert decoded(whole[:-60]).endswith("## Two\n\n[this sheet is corrupt]\n")


def test_cells_that_are_far_apart_are_refused(monkeypatch):
    monkeypatch.setattr(cells, "MAX_CELLS", 100)

    assert "[its cells are too far apart, the limit is 100 cells]" in one(number(0, 0, 1), number(99, 1, 1))
    assert "[its cells are too far apart, the limit is 100 cells]" in one(number(0, 101, 1))


def test_an_encrypted_workbook_is_called_encrypted():
    with pytest.raises(Unreadable, match="it is encrypted; its password is needed to read it"):
        decoded(book((0x2F, bytes(6)), Page=(page(), 0, 0)))


SOUND = book((0xFC, struct.pack("<II", 1, 1) + long("one")), Page=(page(cell(0xFD, 0, 0, bytes(4))), 0, 0))


def test_a_workbook_without_sheets_is_called_corrupt():
    with pytest.raises(Unreadable, match="no sheet is found in it"):
        decoded(book())


@given(st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(SOUND)))
def test_damage_is_an_answer_or_a_reason(changes, end):
    data = bytearray(SOUND)
    for at, value in changes:
        data[at] = value

    try:
        answer = decoded(bytes(data[:end]) or b"\x09\x08")
    except Unreadable as error:
        answer = f"## {error.reason}"

    assert answer.startswith("## ")


# --- containers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [{"Other": b"x", "Workbook": SOUND}, {"Workbook": SOUND, "a/Workbook": b"?"}])
def test_the_workbook_is_found_in_its_container(streams):
    assert decoded(ole(**streams).getvalue()) == decoded(SOUND)


def test_a_workbook_may_have_the_older_name():
    assert decoded(ole(Book=SOUND).getvalue()) == decoded(SOUND)


@pytest.mark.parametrize("start", [b"\x09\x08\x10\0\0\5", b"\x09\x04\6\0\0\4", b"\x09\x02\6\0\0\3", b"\x09\0\4\0\2\0"])
@pytest.mark.parametrize("is_contained", [False, True])
def test_a_workbook_from_before_1997_is_called_so(start, is_contained):
    data = start + bytes(5000)

    with pytest.raises(Unreadable, match="a workbook of Excel 95 or before, which is not read"):
        decoded(ole(Book=data).getvalue() if is_contained else data)


@pytest.mark.parametrize(
    ("streams", "reason"),
    [
        ({"Workbook": b"other" * 1000}, "not a spreadsheet, or a corrupt one"),
        ({"WordDocument": SOUND}, "its part Workbook is missing"),
    ],
)
def test_another_container_is_no_spreadsheet(streams, reason):
    with pytest.raises(Unreadable, match=reason):
        decoded(ole(**streams).getvalue())


@pytest.mark.parametrize("data", [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), ole(Book=SOUND).getvalue()[:700]])
def test_a_damaged_container_is_called_corrupt(data):
    with pytest.raises(Unreadable, match="it is corrupt"):
        decoded(data)


def test_without_olefile_the_module_loads_and_names_the_install_command(monkeypatch):
    module = load_without("olefile", container, monkeypatch)

    with pytest.raises(Missing) as error:
        module.read_stream(b"", "Workbook")
    assert error.value.install == "pip install 'eyespan[docs]'"
