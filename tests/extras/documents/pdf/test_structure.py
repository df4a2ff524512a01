"""Headings, paragraphs, lists, running headers and footers of PDF pages."""

from __future__ import annotations

import io
import itertools

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.extras.documents.pdf import layout, structure
from tests.readers.pdf_files import pages, words

PROSE = (
    "The keeper of the warehouse counts all of the boxes on the",
    "first day of a month, and writes what was found into a book",
    "that nobody reads.",
)
ADDRESS = ("Box Institute", "Harbour 4", "1007 Oslo")
BOLD = {4: "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold >>"}


def lines(*texts, top=700, left=72, step=12):
    return [(left, top - step * at, text) for at, text in enumerate(texts)]


def bold(*placed, size=10):
    return words(*placed, size=size).replace("/F1", "/F2")


def shown(tmp_path, *contents, files="a.pdf", **more):
    (tmp_path / "a.pdf").write_bytes(pages(*contents, **more))
    return Workspace(tmp_path).tool("native").call({"files": files}).text


def page_text(tmp_path, *contents, **more):
    """Return the lines of the first page."""
    text = shown(tmp_path, *contents, **more).split("Page 1 of ")[1].split("Page 2 of ")[0]
    return [line.removeprefix("\t") for line in text.split("\n")[1:] if line != ""]


class TestParagraphs:
    def test_lines_of_a_paragraph_are_joined(self, tmp_path):
        assert page_text(tmp_path, words(*lines(*PROSE))) == [" ".join(PROSE)]

    def test_a_line_with_room_for_the_next_word_ends_its_paragraph(self, tmp_path):
        texts = ("The keeper of the warehouse counts", "boxes, and nothing else.", "And writes what was found into a")

        assert page_text(tmp_path, words(*lines(*texts, *PROSE, top=500))) == [*texts, " ".join(PROSE)]

    def test_lines_of_double_space_are_joined(self, tmp_path):
        content = words(*lines(*PROSE[:2], *PROSE[:2], step=24))

        assert page_text(tmp_path, content) == [" ".join([*PROSE[:2], *PROSE[:2]])]

    def test_a_gap_begins_a_paragraph(self, tmp_path):
        content = words(*lines(*PROSE), *lines(*PROSE, top=640))

        assert page_text(tmp_path, content) == [" ".join(PROSE)] * 2

    @pytest.mark.parametrize(
        ("below", "joined"),
        [
            ("tory words of the book, and some that are not", "explanatory words"),
            ("Tory words of the book, and some that are not", "explana-Tory words"),
        ],
    )
    def test_a_hyphen_that_divides_a_word_is_undone(self, tmp_path, below, joined):
        text = page_text(tmp_path, words(*lines("The book of the keeper has some explana-", below)))

        assert joined in text[0]

    def test_a_hyphen_that_a_word_has_elsewhere_stays(self, tmp_path):
        texts = ("A well-known keeper of all of the boxes is well-", "known to all of us in the town of the boxes.")

        assert page_text(tmp_path, words(*lines(*texts))) == [f"{texts[0]}{texts[1]}"]

    def test_short_lines_are_not_joined(self, tmp_path):
        numbers = [f"AB-{n} CD-{n}" for n in range(5)]

        assert page_text(tmp_path, words(*lines(*numbers))) == numbers

    def test_a_line_after_a_drawn_one_stays_apart(self, tmp_path):
        """The text layer has both in one line."""
        signs = "_" * 40
        content = words(*lines(*PROSE, "Commission file 001 of the year", top=700), (72, 652, signs))

        text = page_text(tmp_path, f"{content} {words((120, 636, 'The form of the year'))}")

        assert text[1:] == ["Commission file 001 of the year", signs, "The form of the year"]

    def test_cells_of_two_lines_stay_apart(self, tmp_path):
        heads = [(72, 600, "Title of each class"), (230, 600, "Symbol of it"), (380, 600, "Place of its trade")]
        cells = [(72, 588, "Common stock, at one"), (230, 588, "BOX and more"), (380, 588, "The place of Oslo")]

        text = page_text(tmp_path, words(*lines(*PROSE), *heads, *cells))

        joined = [" ".join([cell for _, _, cell in row]) for row in (heads, cells)]
        assert text[1:] == joined

    def test_items_of_a_list_stay_apart(self, tmp_path):
        texts = [f"{n}. item {n} of the list of all of the boxes" for n in range(1, 5)]

        assert page_text(tmp_path, words(*lines(*texts))) == texts

    def test_a_raised_number_stands_after_its_word(self, tmp_path):
        content = words((72, 700, "the boxes")) + " " + words((113.6, 706, "3"), size=6)
        content += " " + words((120, 700, "of the keeper"), *lines(*PROSE, top=600))

        assert page_text(tmp_path, content)[0] == "the boxes^3 of the keeper"

    def test_characters_that_are_far_apart_are_words(self, tmp_path):
        ticks = " ".join([f"1 0 0 1 {72 + 40 * n} 700 Tm ({n}) Tj" for n in range(5)])

        assert page_text(tmp_path, f"BT /F1 10 Tf {ticks} ET") == ["0 1 2 3 4"]

    def test_marks_of_a_drawing_are_counted(self, tmp_path):
        marks = [(72 + n * 137 % 400, 700 - n * 53 % 300, "L") for n in range(30)]

        assert page_text(tmp_path, words(*marks)) == ["L × 30"]

    def test_a_line_that_looks_like_a_heading_is_escaped(self, tmp_path):
        assert page_text(tmp_path, words(*lines("# no heading", *PROSE)))[0] == "\\# no heading"


class TestHeadings:
    def test_larger_letters_are_a_heading(self, tmp_path):
        content = words((72, 740, "On boxes"), size=18) + " " + words(*lines(*PROSE))

        assert page_text(tmp_path, content) == ["# On boxes", " ".join(PROSE)]

    def test_bold_letters_are_a_heading_of_a_lower_level(self, tmp_path):
        content = " ".join(
            [
                words((72, 760, "On boxes"), size=18),
                bold((72, 730, "How they are counted")),
                words(*lines(*PROSE)),
            ]
        )

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert text == ["# On boxes", "## How they are counted", " ".join(PROSE)]

    def test_numbers_give_the_level(self, tmp_path):
        content = " ".join(
            [
                bold((72, 760, "2 Boxes")),
                words(*lines(*PROSE, top=745)),
                bold((72, 690, "2.1 Large boxes")),
                words(*lines(*PROSE, top=675)),
            ]
        )

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert [line for line in text if line[0] == "#"] == ["# 2 Boxes", "## 2.1 Large boxes"]

    @pytest.mark.parametrize(
        "text",
        [
            "Table 1: boxes and keepers",
            "a part of a sentence in bold",
            "12.50 %",
            "A whole sentence in bold letters.",
            "October 14, 1998",
            "Ann B. Keeper and Bob Stone",
            "Keeper, A.; Stone, B.",
            "The sum = of all boxes",
            "Ui > T",
            "Ann Keeper*ab and Bob Stone",
            "From ____ to the end",
        ],
    )
    def test_other_bold_lines_are_no_heading(self, tmp_path, text):
        content = f"{bold((72, 730, text))} {words(*lines(*PROSE))}"

        assert page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")[0] == text

    def test_labels_of_a_drawing_are_no_headings(self, tmp_path):
        content = words(
            *[(72 + 90 * n, 300 + 100 * n, name) for n, name in enumerate(("Open", "Review", "Done"))], size=18
        )

        text = page_text(tmp_path, f"{content} {words((72, 200, '1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16'))}")

        assert [line for line in text if line[0] == "#"] == []

    @pytest.mark.parametrize("others", [18, 3])
    def test_labels_of_a_form_are_no_headings(self, tmp_path, others):
        """The title is larger; the same labels on a page with more sentences are headings."""
        cells = [(72, 650 - 24 * at, f"cell {at}") for at in range(others)]
        labels = [(72, 662 - 96 * at, name) for at, name in enumerate(("Client", "Country"))]
        content = f"{words((72, 760, 'Invoice'), size=18)} {bold(*labels)} {words(*lines(*PROSE[:2], top=730), *cells)}"

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        titles = ["# Invoice"] if others == 18 else ["# Invoice", "## Client", "## Country"]
        assert [line for line in text if line[0] == "#"] == titles

    def test_names_of_a_list_are_no_headings(self, tmp_path):
        names = [
            bold((72, 700 - 40 * at, f"Keeper {name}")) + " " + words((72, 688 - 40 * at, PROSE[0]))
            for at, name in enumerate(("Ann", "Bob", "Cid", "Dan"))
        ]
        content = " ".join([words((72, 760, "Keepers"), size=18), words(*lines(*PROSE[:2], top=740)), *names])

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert [line for line in text if line[0] == "#"] == ["# Keepers"]

    @pytest.mark.parametrize(
        ("begin", "end", "titles"), [("", "", ["箱の概要", "箱の請求"]), ("", "。", []), ("表 1 ", "", [])]
    )
    def test_chinese_and_japanese_lines_are_sentences(self, begin, end, titles):
        """Letters without spaces between words are a sentence if they are many; its end and captions are no title."""
        found = [
            structure.Line(text, 72, top, 300, top + 10, 10, is_bold)
            for top, text, is_bold in [
                (100, f"{begin}箱の概要{end}", True),
                (120, "倉庫番は毎月一日にすべての箱を数えます", False),
                (160, f"{begin}箱の請求{end}", True),
                (180, "だれも読まない帳簿に数を書き入れます", False),
            ]
        ]

        structure._mark_headings(found, 10)

        assert [line.text for line in found if line.level] == titles

    @pytest.mark.parametrize(
        ("text", "after", "is_heading"),
        [
            ("Boxes and Keepers", "is the name of a book that nobody of us reads.", False),
            ("Boxes and Keepers", "It is the name of a book that nobody of us reads.", True),
            ("2 Boxes and Keepers", "eyespan is the name of a tool that reads all of it.", True),
            ("Boxes", "count(a, b) is the number of all of the boxes here", True),
        ],
    )
    def test_bold_words_of_a_sentence_are_no_heading(self, tmp_path, text, after, is_heading):
        content = f"{words(*lines(*PROSE, top=780))} {bold((72, 740, text))} {words(*lines(after, *PROSE, top=728))}"

        shown = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert (f"# {text}" in shown) == is_heading

    @pytest.mark.parametrize(
        ("text", "size", "is_heading"),
        [
            ("Please write to the keeper.", 13, False),
            ("CHAPTER I.", 13, True),
            ("The boxes of Phoenix paludosa Roxb.", 18, True),
            ("The boxes:", 13, True),
        ],
    )
    def test_a_sentence_in_large_letters_is_no_heading(self, tmp_path, text, size, is_heading):
        content = f"{words((72, 740, text), size=size)} {words(*lines(*PROSE))}"

        assert (f"# {text}" in page_text(tmp_path, content)) == is_heading

    @pytest.mark.parametrize(
        "name", ["Helvetica-Bold", "SFBX1000", "CMSSBX10", "AdvOT3b30f6db.B", "NimbusRomNo9L-MediItal"]
    )
    def test_bold_is_known_by_the_name_of_the_font(self, tmp_path, name):
        content = f"{bold((72, 730, 'How they are counted'))} {words(*lines(*PROSE))}"
        font = {4: f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} >>"}

        assert page_text(tmp_path, content, more=font, fonts="/F2 4 0 R")[0] == "# How they are counted"

    @pytest.mark.parametrize("text", ["Table of boxes", "Figures of the keeper", "Notes on boxes", "A box for keepers"])
    def test_words_of_captions_and_articles_can_begin_a_heading(self, tmp_path, text):
        content = f"{words((72, 740, text), size=18)} {words(*lines(*PROSE))}"

        assert page_text(tmp_path, content)[0] == f"# {text}"

    @pytest.mark.parametrize(
        ("text", "is_heading"), [("IV. LARGE BOXES", True), ("2. BOXES", True), ("IV. Large boxes", False)]
    )
    def test_a_number_before_capitals_is_a_heading_of_any_size(self, tmp_path, text, is_heading):
        content = words(*lines(*PROSE), (200, 640, text), *lines(*PROSE, top=610))

        assert (f"# {text}" in page_text(tmp_path, content)) == is_heading

    def test_a_number_before_small_capitals_is_a_heading(self, tmp_path):
        content = f"{words(*lines(*PROSE, *PROSE))} {words((200, 600, 'IV. LARGE BOXES'), size=8.5)}"

        assert "# IV. LARGE BOXES" in page_text(tmp_path, f"{content} {words(*lines(*PROSE, top=570))}")

    def test_two_lines_with_numbers_are_two_headings(self, tmp_path):
        content = f"{bold((72, 740, '1. BOXES'), (72, 727, '1.1 Large boxes'))} {words(*lines(*PROSE))}"

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert text[:2] == ["# 1. BOXES", "## 1.1 Large boxes"]

    def test_a_title_of_two_weights_is_one_heading(self, tmp_path):
        content = (
            f"{words((72, 740, 'Boxes and their keepers'), size=18)} {bold((72, 719, 'in large houses'), size=18)}"
        )

        text = page_text(tmp_path, f"{content} {words(*lines(*PROSE, top=690))}", more=BOLD, fonts="/F2 4 0 R")

        assert text[0] == "# Boxes and their keepers in large houses"

    def test_authors_between_title_and_abstract_are_no_headings(self, tmp_path):
        content = " ".join(
            [
                words((72, 760, "On boxes"), size=18),
                words((72, 730, "Ann Keeper"), size=13),
                words((72, 715, "House of Stone")),
                words((72, 690, "Abstract"), size=13),
                words(*lines(*PROSE, top=670)),
            ]
        )

        assert page_text(tmp_path, content)[:4] == ["# On boxes", "Ann Keeper", "House of Stone", "## Abstract"]

    def test_a_section_before_the_introduction_stays_a_heading(self, tmp_path):
        content = " ".join(
            [
                words((72, 760, "On boxes"), size=18),
                words((72, 730, "Who counts them"), size=13),
                words(*lines(*PROSE, top=715)),
                words((72, 660, "Introduction"), size=13),
                words(*lines(*PROSE, top=640)),
            ]
        )

        assert "## Who counts them" in page_text(tmp_path, content)

    def test_words_that_a_wide_gap_divides_are_no_heading(self, tmp_path):
        content = f"{words((72, 740, 'Boxes'), (190, 740, 'Keepers'), size=13)} {words(*lines(*PROSE))}"

        assert page_text(tmp_path, content)[0] == "Boxes Keepers"

    def test_entries_of_a_table_of_contents_are_no_headings(self, tmp_path):
        entries = [(72, 700 - 30 * at, f"{at} Chapter of boxes {at * 12}") for at in (1, 2, 3)]
        content = f"{words((72, 740, 'Contents'), size=18)} {words(*entries, size=13)} {words(*lines(*PROSE, top=500))}"

        assert [line for line in page_text(tmp_path, content) if line[0] == "#"] == ["# Contents"]

    @pytest.mark.parametrize("dates", [("October 2023",), ("9 Kept boxes", "9 Lost boxes")])
    def test_a_date_and_items_with_one_number_are_no_headings(self, tmp_path, dates):
        content = f"{bold(*[(72, 740 - 30 * at, text) for at, text in enumerate(dates)])} {words(*lines(*PROSE))}"

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert [line for line in text if line[0] == "#"] == []

    @pytest.mark.parametrize(("beside", "is_heading"), [("Weight", False), ("the text of another column of it", True)])
    def test_a_line_beside_a_label_is_no_heading(self, tmp_path, beside, is_heading):
        content = f"{words(*lines(*PROSE))} {bold((72, 600, 'Boxes'))} {words((72, 585, 'Large'), (300, 600, beside))}"

        text = page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")

        assert ("# Boxes" in text) == is_heading

    def test_a_label_before_other_letters_is_no_heading(self, tmp_path):
        content = f"{words((72, 700, 'Boxes'), size=14)} {words((118, 700, 'are counted by the keeper, and'))}"

        text = page_text(tmp_path, f"{words(*lines(*PROSE, top=760))} {content} {words(*lines(*PROSE, top=685))}")

        assert [line for line in text if line[0] == "#"] == []

    @pytest.mark.parametrize(("after", "is_heading"), [((), False), ((PROSE,), True), ((ADDRESS, ADDRESS), False)])
    def test_a_heading_has_text_after_it_or_others_of_its_style_have(self, tmp_path, after, is_heading):
        parts = [words(*lines(*PROSE, *PROSE, top=700))]
        for at, below in enumerate((ADDRESS, *after)):
            top = 400 - 100 * at
            parts += [words((72, top, f"Box {at}"), size=14), words(*lines(*below, top=top - 16))]

        assert ("# Box 0" in page_text(tmp_path, " ".join(parts))) == is_heading

    @pytest.mark.parametrize(
        ("top", "text", "is_heading"), [(650, PROSE, True), (400, PROSE, False), (400, ADDRESS, True)]
    )
    def test_a_title_is_in_the_upper_part_or_on_a_page_without_text(self, tmp_path, top, text, is_heading):
        content = f"{words(*lines(*text, top=760))} {words((72, top, 'The book'), size=18)}"

        assert ("# The book" in page_text(tmp_path, content)) == is_heading

    def test_a_large_footer_is_no_heading(self, tmp_path):
        content = f"{words(*lines(*PROSE, *PROSE, top=700))} {words((72, 40, 'The book of boxes'), size=18)}"

        assert page_text(tmp_path, content)[-1] == "The book of boxes"

    def test_a_heading_that_each_page_repeats_is_one(self, tmp_path):
        page = f"{words((72, 660, 'On boxes'), size=18)} {words(*lines(*PROSE, top=600))}"

        assert shown(tmp_path, page, page).count("# On boxes") == 1

    def test_a_bold_paragraph_is_no_heading(self, tmp_path):
        texts = [f"Bold line {n} of a paragraph that is all bold" for n in range(6)]
        content = f"{bold(*lines(*texts))} {words(*lines(*PROSE, top=500))}"

        assert page_text(tmp_path, content, more=BOLD, fonts="/F2 4 0 R")[0][0] != "#"


def chapter(title, number=0):
    head = words((72, 770, "The book of boxes"), (72, 30, f"Page {number}")) if number else ""
    body = [text for at in range(4) for text in lines(*PROSE, top=680 - 60 * at)]
    return f"{words((72, 730, title), size=18)} {words(*body)} {head}"


CHAPTERS = [chapter(title, number) for number, title in enumerate(("Keepers", "Boxes", "Methods", "Results"), 1)]


def test_running_headers_and_footers_are_shown_once(tmp_path):
    text = shown(tmp_path, *CHAPTERS)

    assert text.count("The book of boxes") == 1
    assert "- The book of boxes (p1-4)" in text
    assert "- Page 1 ... Page 4 (p1-4)" in text


def test_a_lone_number_of_a_page_is_shown_before_it(tmp_path):
    text = shown(tmp_path, CHAPTERS[0])

    assert "- Page 1 (p1)\n>Page 1 of 1:" in text
    assert page_text(tmp_path, CHAPTERS[0])[-1] == "The book of boxes"


@pytest.mark.parametrize(
    ("line", "is_shown_before"),
    [
        ((72, 770, "Downloaded on 1 May 2020"), True),
        ((72, 680, "Downloaded on 1 May 2020"), False),  # not in the margin
        ((72, 770, "A title without a number"), False),
        ((72, 770, "This is the last sentence of 1999."), False),
    ],
)
def test_a_line_that_stands_alone_in_the_margin_is_shown_before_the_page(tmp_path, line, is_shown_before):
    prose = [text for at in range(4) for text in lines(*PROSE, top=640 - 60 * at)]

    text = shown(tmp_path, words(line, *prose))

    assert (f"- {line[2]} (p1)" in text) == is_shown_before


class TestSections:
    def test_a_heading_selects_its_pages(self, tmp_path):
        text = shown(tmp_path, *CHAPTERS, files="a.pdf::Methods")

        assert "Page 3 of 4" in text
        assert "Page 2 of 4" not in text

    def test_bookmarks_come_before_headings(self, tmp_path):
        outline = {
            5: "<< /Type /Outlines /First 6 0 R /Last 6 0 R /Count 1 >>",
            6: "<< /Title (Preface) /Parent 5 0 R /Dest [10 0 R /Fit] >>",
        }

        text = shown(tmp_path, *CHAPTERS, files="a.pdf::Preface", catalog="/Outlines 5 0 R", more=outline)

        assert "Page 1 of 4" in text

    def test_an_unknown_section_names_the_others(self, tmp_path):
        assert "a.pdf::Methods" in shown(tmp_path, *CHAPTERS, files="a.pdf::Metods")

    def test_the_outline_lists_headings_with_their_pages(self, tmp_path):
        (tmp_path / "a.pdf").write_bytes(pages(*CHAPTERS))

        text = Workspace(tmp_path).tool("native").call({"files": "a.pdf", "outline": True}).text

        assert [line.split("\t")[-1] for line in text.split("\n") if "- " in line] == [
            "- Keepers (p1)",
            "- Boxes (p2)",
            "- Methods (p3)",
            "- Results (p4)",
        ]

    def test_pages_that_were_not_read_for_headings_are_named(self, tmp_path, monkeypatch):
        (tmp_path / "a.pdf").write_bytes(pages(*CHAPTERS))
        clock = itertools.count()
        monkeypatch.setattr(layout.time, "monotonic", lambda: next(clock))
        params = {
            "first": 1,
            "last": None,
            "max_pages": 0,
            "images": False,
            "layout": True,
            "seconds": 5,
            "max_bytes": 0,
        }
        facts = layout.decode(io.BytesIO(pages(*CHAPTERS)), {**params, "outline": True})[0]
        assert (facts["outline_pages"], [title for _, title, _ in facts["outline"]]) == (2, ["Keepers", "Boxes"])

        monkeypatch.setattr("eyespan.opened.Opened.decode", lambda *_: (facts, []))
        call = Workspace(tmp_path).tool("native").call
        assert ">note: this is the outline: headings with their pages; pages after 2 were not read in time" in (
            call({"files": "a.pdf", "outline": True}).text
        )
        assert call({"files": "a.pdf::Methods"}).text == (
            ">! a.pdf::Methods: no symbol Methods found: pages after 2 were not read in time"
        )


class TestScans:
    def test_invisible_text_is_named_and_comes_with_the_image(self, tmp_path):
        (tmp_path / "a.pdf").write_bytes(pages(words(*lines(*PROSE)).replace("BT", "BT 3 Tr")))

        reply = Workspace(tmp_path).tool("native").call({"files": "a.pdf"})

        assert "recognised by a program (OCR) and may be wrong, see this image" in reply.text
        assert [type(block).__name__ for block in reply.content] == ["TextContent", "ImageContent"]

    @pytest.mark.parametrize(("height", "has_image"), [(792, True), (200, False)])
    def test_a_page_that_is_an_image_with_a_number_comes_as_one(self, tmp_path, height, has_image):
        image = f"q 612 0 0 {height} 0 0 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q"
        (tmp_path / "a.pdf").write_bytes(pages(f"{image} {words((300, 20, 'page 7'))}"))

        reply = Workspace(tmp_path).tool("native").call({"files": "a.pdf"})

        assert "page 7" in reply.text
        assert ["ImageContent" in type(block).__name__ for block in reply.content] == [False, True][: 1 + has_image]

    def test_visible_text_is_no_scan(self, tmp_path):
        assert "OCR" not in shown(tmp_path, words(*lines(*PROSE)))

    def test_text_of_fonts_without_a_map_is_not_shown(self, tmp_path):
        text = shown(tmp_path, unmapped("They counted their boxes and locked the door again. " * 9), **UNMAPPED)

        assert "Page 1 of 1: its text layer is unreadable, see this image." in text
        assert "7KH\\" not in text

    def test_a_page_with_some_fonts_without_a_map_is_named(self, tmp_path):
        page = f"{words(*lines(*PROSE))} {unmapped('They counted their boxes and locked the door. ' * 2)}"

        text = shown(tmp_path, page, **UNMAPPED)

        assert "Page 1 of 1, whose text has characters of fonts without a map and may be wrong, see this image:" in text
        assert PROSE[0] in text

    def test_pages_without_a_map_are_named_on_the_command_line(self, tmp_path, capsys):
        (tmp_path / "a.pdf").write_bytes(pages(unmapped("They counted their boxes. " * 20), **UNMAPPED))

        main(["read", str(tmp_path / "a.pdf")])

        assert capsys.readouterr().out == "Page 1 of 1: its text layer is unreadable, only its image shows it.\n"


UNMAPPED = {
    "fonts": "/F2 4 0 R",
    "more": {
        4: "<< /Type /Font /Subtype /Type0 /BaseFont /Odd /Encoding /Identity-H /DescendantFonts [5 0 R] >>",
        5: "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Odd /CIDSystemInfo << /Registry (Adobe) "
        "/Ordering (Identity) /Supplement 0 >> /DW 500 >>",
    },
}


def unmapped(text: str) -> str:
    """Return text by the numbers that its letters have in most fonts, 29 less than their codes."""
    codes = "".join([f"{ord(letter) - 29:04x}" for letter in text])
    return f"BT /F2 2 Tf 1 0 0 1 72 90 Tm <{codes}> Tj ET"
