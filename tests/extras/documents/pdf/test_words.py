"""Words of PDF pages with their places, and the rows they form."""

from __future__ import annotations

from operator import itemgetter

import pypdfium2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyespan.decoders.pdf_text import characters
from eyespan.extras.documents.pdf import words as pdf_words
from tests.readers.pdf_files import pages, words


def boxes(rotation: int) -> list[tuple[float, float, float, float]]:
    """Return the boxes of two words, "ab" before "c", on a page of 612 by 792 points."""
    data = pages(words((72, 700, "ab c"))).replace(b"/MediaBox", b"/Rotate %d /MediaBox" % rotation, 1)
    page = pypdfium2.PdfDocument(data)[0]
    layer = page.get_textpage()
    found, _, _ = pdf_words.read_words(pdf_words.Boxes(page, layer), characters(layer))
    return [word[:4] for word in found]


class TestPlaces:
    def test_a_word_reaches_from_its_first_character_to_its_last(self):
        page = pypdfium2.PdfDocument(pages(words((72, 700, "ab c"))))[0]
        text = page.get_textpage()
        (x0, _, _, y1), (_, y0, x1, _) = (text.get_charbox(at, loose=True) for at in (0, 1))
        height = page.get_size()[1]

        found = boxes(0)

        assert found[0] == pytest.approx((x0, height - y1, x1, height - y0))

    def test_words_of_an_upright_page_stand_beside_each_other(self):
        (_, top, right, bottom), (left, other_top, _, other_bottom) = boxes(0)

        assert (top, bottom, right < left) == (other_top, other_bottom, True)

    @pytest.mark.parametrize("rotation", [90, 180, 270])
    def test_words_are_turned_upright_however_the_page_is_rotated(self, rotation):
        assert boxes(rotation) == boxes(0)


STEPS = st.lists(
    st.tuples(st.sampled_from((0, 0, 0, 6, 14, -14)), st.sampled_from((2, 2, 3, 40, -90)), st.integers(4, 60)),
    max_size=40,
)


def stepped(steps) -> list[pdf_words.Word]:
    """Return words, each with its distance from the one before."""
    found, left, top = [], 50.0, 50.0
    for at, (down, gap, width) in enumerate(steps):
        left, top = (left + gap, top + down) if down <= 0 else (50.0, top + down)
        found.append((left, top, left + width, top + 12.0, at, at + 1))
        left += width
    return found


class TestRows:
    @given(STEPS)
    def test_each_word_is_in_one_row_from_left_to_right(self, steps):
        given_words = stepped(steps)

        rows = pdf_words.rows_of(given_words, "x" * len(steps))

        lines = [[word for segment in row for word in segment.words] for row in rows]
        assert sorted(word for line in lines for word in line) == sorted(given_words)
        assert all(line == sorted(line, key=itemgetter(0)) for line in lines)

    @given(STEPS)
    @example([(6, 2, 4), (0, 40, 4), (-14, 2, 4), (14, 2, 33)])
    def test_the_order_of_the_text_layer_does_not_matter(self, steps):
        given_words = stepped(steps)

        rows = pdf_words.rows_of(given_words, "x" * len(steps))

        def boxes_of(rows):
            return [[(s.left, s.top, s.right, s.bottom) for s in row] for row in rows]

        assert boxes_of(pdf_words.rows_of(given_words[::-1], "x" * len(steps))) == boxes_of(rows)

    def test_a_hyphen_at_the_end_of_a_line_is_shown(self):
        rows = pdf_words.rows_of([(0.0, 0.0, 9.0, 9.0, 0, 3)], "ab\ufffe")

        assert pdf_words.shown_words(rows[0][0].words, rows[0][0].page) == "ab-"


WIDTHS = {"S": 6.67, "i": 2.22, "T": 6.11, "w": 7.22, "r": 3.33, "s": 5.0}
"""The widths of letters in Helvetica at 10 points."""


@pytest.mark.parametrize(("gap", "shown"), [(2.4, "Singapore 138588 Towers"), (4, None)])
def test_letters_that_are_set_apart_are_words(gap, shown):
    """The layer has blanks between them; on a page with wide gaps between letters they stay."""
    placed, x = [], 72.0
    for word in ("Singapore", "138588", "Towers"):
        for letter in word:
            placed.append((round(x, 2), 700, letter))
            x += WIDTHS.get(letter, 5.56) + gap
        x += 8
    page = pypdfium2.PdfDocument(pages(words(*placed)))[0]
    layer = page.get_textpage()
    text = characters(layer)

    joined = pdf_words.with_joined_letters(text, pdf_words.Boxes(page, layer), layer)

    assert text.count(" ") > 15
    assert len(joined) == len(text)
    assert joined.replace("\0", "").rstrip() == (shown or text.rstrip())
