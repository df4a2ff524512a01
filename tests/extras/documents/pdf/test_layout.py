"""Tables and columns of PDF pages, from the places of words."""

from __future__ import annotations

import io

import pytest

from eyespan import Workspace
from eyespan.decoders import pdf
from eyespan.model import DocumentOptions, PdfOptions, ReadRequest
from tests.readers.pdf_files import pages, stream, words


def shown(tmp_path, *contents, **more):
    """Return the text of the first page with its layout."""
    (tmp_path / "a.pdf").write_bytes(pages(*contents, **more))
    options = DocumentOptions(pdf=PdfOptions(has_images=False, has_layout=True))
    document = Workspace(tmp_path).engine.read(ReadRequest("a.pdf", documents=frozenset(["pdf"]), options=options))
    return document.parts[0].text


CELLS = (
    ("Code", "Place", "Expected", "Actual"),
    ("S-1", "A-12", "450", "449"),
    ("S-2", "B-07", "289", "266"),
    ("S-3", "C-15", "780", "778"),
    ("S-4", "D-22", "156", "180"),
)
COLUMNS = (72, 172, 272, 372)


def placed(cells, columns=COLUMNS, top=700, step=16):
    return [
        (x, top - step * row, cell)
        for row, line in enumerate(cells)
        for x, cell in zip(columns, line, strict=True)
        if cell
    ]


def markdown(cells):
    lines = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * len(cells[0]), *lines[1:]])


def test_text_at_places_that_are_no_numbers_is_shown_as_it_is(tmp_path):
    content = f"{'-900000 -900000 -1 -1 -100 -100 cm ' * 5}{words((72, 700, 'The boxes'))}"

    assert "The boxes" in shown(tmp_path, content)


class TestTables:
    def test_a_table_drawn_row_by_row_becomes_rows(self, tmp_path):
        assert shown(tmp_path, words(*placed(CELLS))) == markdown(CELLS)

    def test_a_table_drawn_column_by_column_becomes_rows(self, tmp_path):
        by_columns = sorted(placed(CELLS), key=lambda word: (word[0], -word[1]))

        assert shown(tmp_path, words(*by_columns)) == markdown(CELLS)

    def test_cells_without_text_stay_in_their_columns(self, tmp_path):
        sparse = (
            CELLS[0],
            ("S-1", "A-12", "450", ""),
            ("", "B-07", "", "289"),
            ("S-2", "", "780", "778"),
            ("S-3", "D-22", "", "156"),
        )

        assert shown(tmp_path, words(*placed(sparse))) == markdown(sparse)

    def test_the_text_around_a_table_keeps_its_order(self, tmp_path):
        before, after = (72, 740, "A report of the warehouse"), (72, 600, "Signed by the keeper of the keys.")

        text = shown(tmp_path, words(before, *placed(CELLS), after))

        assert text == f"A report of the warehouse\n\n{markdown(CELLS)}\n\nSigned by the keeper of the keys."

    def test_a_bar_in_a_cell_is_escaped(self, tmp_path):
        cells = (*CELLS[:4], ("S|4", "D-22", "156", "180"))

        assert "| S\\|4 | D-22 |" in shown(tmp_path, words(*placed(cells)))

    def test_numbers_aligned_to_the_right_are_one_column(self, tmp_path):
        cells = [("Item", "Price")] + [(f"item {n}", str(10**n)) for n in range(5)]
        rows = [
            [(72, 700 - 16 * row, item), (300 - 5.56 * len(price), 700 - 16 * row, price)]
            for row, (item, price) in enumerate(cells)
        ]

        assert shown(tmp_path, words(*[word for row in rows for word in row])) == markdown(cells)

    def test_a_name_at_the_left_of_numbers_at_the_right_is_theirs(self, tmp_path):
        """The name stands close to the numbers of the column before it, as a sign of a currency does."""
        names, rights = ("Year", "Bill", "Amy", "James"), (120, 200, 280, 360)
        values = [(str(2000 + n), f"{900 + n}", f"{7 * n + 600}", f"{500 - n}") for n in range(18)]
        cells = [(right - 78, 700, name) for name, right in zip(names, rights, strict=True)]
        for row, line in enumerate(values, 1):
            for right, value in zip(rights, line, strict=True):
                cells.append((right - 5.56 * len(value), 700 - 16 * row, value))

        assert shown(tmp_path, words(*cells)) == markdown([names, *values])

    def test_a_heading_over_two_columns_stands_in_the_first_of_them(self, tmp_path):
        heading = (290, 716, "Number of pieces counted")
        cells = (("", "", "Number of pieces counted", ""), *CELLS)

        assert shown(tmp_path, words(heading, *placed(CELLS))) == markdown(cells)

    def test_a_heading_of_two_lines_is_one_row(self, tmp_path):
        upper = [(272, 712, "Pieces"), (372, 712, "Pieces")]
        cells = (("Code", "Place", "Pieces Expected", "Pieces Actual"), *CELLS[1:])

        assert shown(tmp_path, words(*upper, *placed(CELLS))) == markdown(cells)

    def test_rows_with_numbers_in_few_columns_are_no_heading(self, tmp_path):
        few = [(f"box {n}", *(str(100 * n + at) for at in range(3)), "", "", "", "") for n in range(1, 5)]
        full = [(f"house {n}", *(str(100 * n + at) for at in range(7))) for n in range(1, 7)]
        cells = [("", "Open", "Shut", "All", "", "", "", ""), *few, *full]
        content = words(
            *[(72 + 60 * x, 700 - 12 * y, cell) for y, row in enumerate(cells) for x, cell in enumerate(row) if cell]
        )

        assert shown(tmp_path, content) == markdown(cells)

    def test_two_blocks_of_rows_beside_each_other_are_no_table(self, tmp_path):
        blocks = [
            [(72 + 240 * side + 80 * x, 700 - 16 * y, f"r{side}{y}{x}") for y in range(5) for x in range(3)]
            for side in range(2)
        ]

        assert "|" not in shown(tmp_path, words(*blocks[0], *blocks[1]))

    def test_a_cell_that_stands_half_a_line_higher_belongs_to_its_row(self, tmp_path):
        rows = [("Code", "Answer", "Districts"), ("NC", "No", "5"), ("OH", "", "100"), ("OR", "Yes", "7")]
        halves = [(172, 673, "Person"), (172, 663, "unsure")]
        cells = (*rows[:2], ("OH", "Person unsure", "100"), rows[3])

        assert shown(tmp_path, words(*placed(rows, COLUMNS[:3]), *halves)) == markdown(cells)

    def test_dots_after_a_label_are_left_out(self, tmp_path):
        cells = [("Age", "Count"), ("Under 1 year", "12"), ("1 year", "345"), ("2 years", "67")]
        dotted = [
            (x, y, f"{text} ........" if x == 72 and y < 700 else text) for x, y, text in placed(cells, (72, 272))
        ]

        assert shown(tmp_path, words(*dotted)) == markdown(cells)

    def test_two_columns_that_are_written_after_each_other_are_no_table(self, tmp_path):
        cells = placed([(f"item {n}", str(10**n)) for n in range(5)], (72, 272))

        assert "|" not in shown(tmp_path, words(*sorted(cells, key=lambda cell: cell[0])))

    def test_two_numbers_with_a_blank_between_them_are_one_cell(self, tmp_path):
        cells = [("City", "People", "Share"), *[(f"C{n}", f"{n} 00{n}", f"{n}.5 %") for n in range(1, 6)]]

        assert shown(tmp_path, words(*placed(cells, COLUMNS[:3]))) == markdown(cells)

    def test_a_title_above_a_table_is_no_row(self, tmp_path):
        title = (72, 716, "Table 1: what was counted")

        assert shown(tmp_path, words(title, *placed(CELLS))) == f"{title[2]}\n\n{markdown(CELLS)}"

    def test_a_table_beside_text_has_no_column_of_text(self, tmp_path):
        text = [(420, 703 - 13 * n, f"prose line {n} beside the") for n in range(8)]
        narrow = placed(CELLS, (72, 132, 192, 252))

        shown_text = shown(tmp_path, words(*narrow, *text))

        assert shown_text == f"{markdown(CELLS)}\n\n{' '.join([line for _, _, line in text])}"

    @pytest.mark.parametrize("turn", ["1 0 0 1 0 0", "0 1 -1 0 700 0", "-1 0 0 -1 600 800", "0 -1 1 0 0 600"])
    @pytest.mark.parametrize("rotation", [0, 90])
    def test_a_table_in_any_rotation_becomes_rows(self, tmp_path, turn, rotation):
        data = pages(f"{turn} cm {words(*placed(CELLS))}", box="0 0 800 800")
        (tmp_path / "a.pdf").write_bytes(data.replace(b"/MediaBox", b"/Rotate %d /MediaBox" % rotation, 1))

        text = Workspace(tmp_path).tool("native").call({"files": "a.pdf"}).text

        assert [line.strip() for line in text.split("\n")[2:]] == markdown(CELLS).split("\n")

    @pytest.mark.parametrize(
        ("turn", "rotation"), [("-1 0 0 -1 600 800", 0), ("1 0 0 1 0 0", 180), ("0 1 -1 0 0 0", 270)]
    )
    def test_words_of_a_page_that_is_upside_down_keep_their_order(self, tmp_path, turn, rotation):
        content = words((72, 700, "The"), (97, 700, "words"), (136, 700, "of"), (152, 700, "a"), (163, 700, "line"))
        data = pages(f"{turn} cm {content}", box="-800 0 800 800")
        (tmp_path / "a.pdf").write_bytes(data.replace(b"/MediaBox", b"/Rotate %d /MediaBox" % rotation, 1))

        text = Workspace(tmp_path).tool("native").call({"files": "a.pdf"}).text

        assert text.split("\n")[2:] == ["\tThe words of a line"]

    def test_lines_of_mirrored_letters_are_in_order_from_the_top(self, tmp_path):
        lines = ("The letters of this font are mirrored, and", "so is the matrix of its text.")
        content = (
            "BT /F1 10 Tf " + " ".join([f"0 -1 -1 0 {500 - 12 * n} 700 Tm ({lines[n]}) Tj" for n in (0, 1)]) + " ET"
        )
        (tmp_path / "a.pdf").write_bytes(pages(content).replace(b"/MediaBox", b"/Rotate 270 /MediaBox", 1))

        text = Workspace(tmp_path).tool("native").call({"files": "a.pdf"}).text

        assert text.split("\n")[2:] == ["\t" + " ".join(lines)]

    def test_letters_of_a_negative_size_stand_upright_if_they_are_turned(self, tmp_path):
        content = words(*placed(CELLS), size=-10).replace("1 0 0 1", "-1 0 0 -1")

        assert shown(tmp_path, content) == markdown(CELLS)

    def test_rotated_letters_are_no_cells_of_a_table(self, tmp_path):
        rotated = " ".join([f"0 1 -1 0 {60 + 50 * at} 720 Tm (a wide b) Tj" for at in (2, 5)])

        text = shown(tmp_path, words(*placed(CELLS)).replace(" ET", f" {rotated} ET"))

        assert markdown(CELLS) in text


class TestNoTables:
    @pytest.mark.parametrize(
        "content",
        [
            words((72, 700, "one line")),
            words(*[(72, 700 - 14 * n, f"line {n} of some running text") for n in range(12)]),
            # The labels of a drawing: aligned with nothing.
            words(*[(72 + (n * 137) % 400, 700 - (n * 53) % 300, f"box {n}") for n in range(14)]),
            # A list with numbers.
            words(
                *[(72 + 20 * at, 700 - 14 * n, (f"{n}.", "item of the list")[at]) for n in range(9) for at in (0, 1)]
            ),
            # Three columns of text with gaps of different width, as in a justified paragraph.
            words(*[(72 + 60 * at, 700 - 12 * n, "words" if at % 2 else "some") for n in range(6) for at in range(8)]),
            # Two columns of three rows.
            words(*[(x, 700 - 14 * n, f"word {n}") for n in range(3) for x in (72, 200)]),
            # The marks of an axis that are written upwards, between those of others.
            words(
                *[(72 + 60 * (n % 3), 600 + 14 * n, str(100 * n)) for n in range(9)],
                *[(72 + 60 * n, 586, str(n)) for n in range(3)],
            ),
            # The marks of two axes.
            words(*[(72, 700 - 20 * n, str(n)) for n in range(9)], *[(92 + 30 * n, 515, str(n)) for n in range(9)]),
        ],
    )
    def test_other_text_stays_as_it_is(self, tmp_path, content):
        assert "|" not in shown(tmp_path, content)

    def test_two_columns_of_text_that_are_written_one_after_the_other_stay(self, tmp_path):
        left = [(72, 700 - 14 * n, f"left column line {n} with enough words") for n in range(10)]
        right = [(330, 700 - 14 * n, f"right column line {n} with enough words") for n in range(10)]

        text = shown(tmp_path, words(*left, *right))

        assert text.split("\n") == [" ".join([word for _, _, word in column]) for column in (left, right)]


@pytest.mark.parametrize(("dots", "shown_dots"), [("", ""), (" ." * 30, ""), ("." * 40, "...")])
def test_each_line_of_a_table_of_contents_is_a_row(tmp_path, dots, shown_dots):
    lines = [[(72, 700 - 12 * n, f"Part number {n}{dots}"), (400, 700 - 12 * n, str(8 + n))] for n in range(6)]

    text = shown(tmp_path, words(*[word for line in lines for word in line]))

    assert text.split("\n")[2:] == [f"| Part number {n}{shown_dots} | {8 + n} |" for n in range(1, 6)]


def test_tables_of_contents_beside_each_other_are_no_table(tmp_path):
    rows = [(str(n), f"Title {n}", str(n + 20), f"Title {n + 20}") for n in range(1, 8)]

    assert "|" not in shown(tmp_path, words(*placed(rows)))


def test_a_character_of_two_code_units_is_one_in_a_cell(tmp_path):
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 7 0 R >>"
    to_unicode = stream(
        "begincmap 1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfchar <51> <d835dc65> endbfchar"
    )
    content = words(*placed([*CELLS[:4], ("S-4", "Q", "156", "180")]))

    text = shown(tmp_path, content, more={3: font, 7: to_unicode})

    assert "| S-4 | \U0001d465 | 156 | 180 |" in text


@pytest.mark.parametrize(("title", "is_table"), [("Table 1 - the boxes", True), ("There are some boxes", False)])
def test_two_rows_are_a_table_if_they_have_a_caption(tmp_path, title, is_table):
    text = shown(tmp_path, words((72, 730, title), *placed(CELLS[:2])))

    assert ("| S-1 | A-12 | 450 | 449 |" in text) == is_table


def test_dots_between_a_label_and_its_numbers_are_left_out(tmp_path):
    rows = [(72, 700 - 16 * n, f"Label {n}" + " ." * 30) for n in range(4)]
    numbers = [(x, 700 - 16 * n, str(100 + n)) for n in range(4) for x in (300, 400)]

    text = shown(
        tmp_path, words(*[word for pair in zip(rows, numbers[::2], numbers[1::2], strict=True) for word in pair])
    )

    assert text.split("\n")[2:] == [f"| Label {n} | {100 + n} | {100 + n} |" for n in range(1, 4)]


def test_a_cell_beside_several_rows_does_not_join_them(tmp_path):
    rows = [
        ("Place", "Plan", "Total"),
        *[("" if 1 < n < 6 else f"Town {n}", f"Plan {n}", str(1000 + n)) for n in range(9)],
    ]

    text = shown(tmp_path, words(*placed(rows, COLUMNS[:3], step=12), (72, 646, "Long town")))

    assert [line.split("|")[-2].strip() for line in text.split("\n")[2:]] == [str(1000 + n) for n in range(9)]


def test_words_at_equal_distances_are_a_heading_of_numbers(tmp_path):
    cells = [[f"head{n}" for n in range(8)], *[[f"{row}{n}" for n in range(8)] for row in range(1, 6)]]

    text = shown(tmp_path, words(*placed(cells, range(72, 552, 60))))

    assert text.split("\n")[0] == "| head0 | head1 | head2 | head3 | head4 | head5 | head6 | head7 |"


def test_totals_between_rows_do_not_join_columns(tmp_path):
    rows = [[(f"Name {n}", f"Town {n}", "meals", f"{n}.50"), ("TOTAL", "", "", f"{n}.50")] for n in range(1, 6)]

    text = shown(
        tmp_path, words(*placed([("Who", "Where", "What", "Amount"), *[row for pair in rows for row in pair]]))
    )

    assert "| Name 3 | Town 3 | meals | 3.50 |\n| TOTAL |  |  | 3.50 |" in text


def test_a_raised_digit_is_no_digit_of_the_number(tmp_path):
    cells = placed(CELLS)
    content = [words(*cells[:8]), words((388.7, 688, "2"), size=6), words(*cells[8:])]

    assert "| 449² |" in shown(tmp_path, " ".join(content))


def test_a_title_in_large_letters_divides_two_tables(tmp_path):
    content = [words(*placed(CELLS)), words((72, 596, "Other boxes"), size=14), words(*placed(CELLS, top=570))]

    text = shown(tmp_path, " ".join(content))

    assert text.count("| Code | Place | Expected | Actual |\n| --- |") == 2


@pytest.mark.parametrize(("names", "gap", "tables"), [(True, 26, 2), (False, 26, 1), (True, 16, 1)])
def test_a_title_between_two_gaps_divides_tables_with_names_of_columns(tmp_path, names, gap, tables):
    below = placed(CELLS if names else CELLS[1:], top=636 - 2 * gap)
    content = words(*placed(CELLS), (72, 636 - gap, "Other boxes"), *below)

    assert shown(tmp_path, content).count("\n| --- |") == tables


def test_columns_of_text_that_are_written_across_are_put_in_order(tmp_path):
    left = [(72, 700 - 14 * n, f"left column line {n} with enough words") for n in range(10)]
    right = [(330, 700 - 14 * n, f"right column line {n} with enough words") for n in range(10)]
    across = [word for pair in zip(left, right, strict=True) for word in pair]

    text = shown(tmp_path, words(*across))

    assert text.split("\n") == [" ".join([word for _, _, word in column]) for column in (left, right)]


def test_the_number_of_a_title_in_a_column_is_part_of_it(tmp_path):
    left = [(72, 700 - 14 * n, f"left column line {n} with enough words") for n in range(10)]
    right = [(330, 700 - 14 * n, f"right column line {n} with enough words") for n in range(10)]
    across = [word for pair in zip(left, right, strict=True) for word in pair]

    text = shown(tmp_path, f"{words((72, 724, '2.'), (108, 724, 'Kept boxes'), size=14)} {words(*across)}")

    assert text.startswith("# 2. Kept boxes\n")


def test_blanks_of_the_text_layer_stay_however_narrow_they_are(tmp_path):
    narrow = [("Some boxes", "of the", "keeper"), *[(f"row {n} of it", str(n), str(n * 7)) for n in range(10, 15)]]

    text = shown(tmp_path, "-2 Tw " + words(*placed(narrow, (72, 200, 300))))

    assert "| Some boxes | of the | keeper |" in text


def test_a_character_without_a_map_is_a_sign_of_it(tmp_path):
    text = shown(tmp_path, words((72, 760, "The fee is \x17\x130 for each box of the keeper")))

    assert text == "The fee is \ufffd\ufffd0 for each box of the keeper"


def test_the_layout_loses_no_word(tmp_path):
    """Tables, columns and other text on one page: the words are those of the text layer."""
    content = words(
        (72, 760, "Title of the page"),
        *placed(CELLS),
        *[(72 + 258 * (n % 2), 560 - 14 * (n // 2), f"part {n} of a text in two columns") for n in range(16)],
        (72, 100, "1 / 9 boxes"),
    )

    text = shown(tmp_path, content)

    (tmp_path / "b.pdf").write_bytes(pages(content))
    plain = Workspace(tmp_path).tool("claude").call({"file_path": f"{tmp_path}/b.pdf"}).text.partition("\n\n")[2]
    bare = text.replace(" --- |", "").replace("|", " ")
    assert sorted(bare.split()) == sorted(plain.split())


def test_a_file_that_is_read_in_pieces_gives_the_same_text(monkeypatch):
    params = {"first": 1, "last": None, "max_pages": 9, "images": False, "max_px": 500, "max_bytes": 99_999}
    params |= {"max_text_chars": 9999, "seconds": 10, "layout": True}
    data = pages(words(*placed(CELLS)), words((72, 700, "second")))
    held = pdf.decode(io.BytesIO(data), params)

    monkeypatch.setattr(pdf, "MAX_HELD_BYTES", 100)

    assert pdf.decode(io.BytesIO(data), params) == held
