"""PostScript drawings: what programs draw, and the limits of programs that do not end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace
from eyespan.decoders import postscript, postscript_machine
from eyespan.decoders.postscript_machine import OPERATORS, Failed, Interpreter

RED, BLUE, WHITE, BLACK = (255, 0, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)


def source(program: str) -> bytes:
    return f"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 100 100\n{program}\nshowpage\n".encode("latin-1")


def pixels(program: str, *places: tuple[int, int]) -> list[tuple[int, int, int]]:
    """Return the colours at places of a drawing of 100 by 100 points, from its bottom left."""
    image, _ = postscript.draw(source(program), 512)
    return [image.getpixel((round(x * 5.12), round((100 - y) * 5.12))) for x, y in places]


def values(program: str) -> list:
    """Return what a program leaves on the stack."""
    machine = Interpreter(program, (0, 0, 9, 9), 9)
    assert machine.run(), machine.failure
    return machine.stack


class TestValues:
    @pytest.mark.parametrize(
        ("program", "expected"),
        [
            ("1 2 add 3 mul 4 sub", [5]),
            ("7 2 idiv 7 2 mod 7 2 div -7 abs", [3, 1, 3.5, 7]),
            ("16#ff 1e2 .5 -3.", [255, 100.0, 0.5, -3.0]),
            ("1 2 3 3 1 roll", [3, 1, 2]),
            ("1 2 3 3 -1 roll", [2, 3, 1]),
            ("1 2 2 copy", [1, 2, 1, 2]),
            ("5 6 1 index", [5, 6, 5]),
            ("[1 2 3] length", [3]),
            ("[1 2 3] {2 mul} forall", [2, 4, 6]),
            ("0 1 1 4 {add} for", [10]),
            ("0 {1 add dup 5 eq {exit} if} loop", [5]),
            ("3 {7} repeat", [7, 7, 7]),
            ("/x 4 def x", [4]),
            ("/f {/x exch def x x mul} def 5 f", [25]),
            ("2 dict begin /x 1 def x end", [1]),
            ("<< /a 1 /b 2 >> /b get", [2]),
            ("/x where", [False]),
            ("true false and true false or 1 2 lt (a) (a) eq /a (a) eq", [False, True, True, True, True]),
            ("{1 0 div} stopped", [True]),
            ("{nothing} stopped {1} stopped", [True, 1, False]),
            ("null", [None]),
            ("mark 1 2 counttomark 4 1 roll pop pop pop", [2]),
            ("90 sin 0 cos 1 1 atan", [1.0, 1.0, 45.0]),
            ("matrix length /a type 1 type", [6, "nametype", "integertype"]),
            ("12 4 string cvs (3) cvi", [bytearray(b"12"), 3]),
        ],
    )
    def test_operators_leave_what_the_language_defines(self, program, expected):
        assert values(program) == expected

    def test_strings_have_escapes_and_nested_brackets(self):
        assert values(r"(a\(b\051 (c) \101\n) <414> ") == [bytearray(b"a(b) (c) A\n"), bytearray(b"A@")]


class TestDrawing:
    def test_an_area_is_filled_in_its_colour(self):
        program = "1 0 0 setrgbcolor 20 20 moveto 60 20 lineto 60 60 lineto 20 60 lineto closepath fill"

        assert pixels(program, (40, 40), (80, 80), (40, 70)) == [RED, WHITE, WHITE]

    def test_an_inner_area_is_a_hole(self):
        program = "0 0 1 setrgbcolor 10 10 80 80 rectfill 1 setgray 40 40 20 20 rectfill"

        assert pixels(program, (20, 20), (50, 50)) == [BLUE, WHITE]

    def test_lines_follow_the_matrix(self):
        program = "gsave 50 50 translate 90 rotate 2 2 scale 4 setlinewidth 0 0 moveto 20 0 lineto stroke grestore"

        assert pixels(program, (50, 70), (70, 50)) == [BLACK, WHITE]

    def test_dashes_leave_gaps(self):
        program = "10 setlinewidth [20 20] 0 setdash 0 50 moveto 100 50 lineto stroke"

        assert pixels(program, (10, 50), (30, 50), (50, 50), (70, 50)) == [BLACK, WHITE, BLACK, WHITE]

    def test_arcs_and_curves_are_drawn(self):
        program = "1 0 0 setrgbcolor 50 50 30 0 360 arc fill 0 0 moveto 0 20 20 20 20 0 curveto fill"

        assert pixels(program, (50, 50), (50, 75), (75, 75), (10, 10)) == [RED, RED, WHITE, RED]

    def test_a_bitmap_stands_in_its_place(self):
        program = "20 20 translate 60 60 scale 2 1 8 [2 0 0 1 0 0] {<00ff>} image"

        assert pixels(program, (30, 40), (70, 40)) == [BLACK, WHITE]

    def test_letters_are_listed_and_drawn_in_their_places(self):
        image, facts = postscript.draw(source("/Helvetica findfont 30 scalefont setfont 10 40 moveto (HHHH) show"), 512)

        assert facts["texts"] == ["HHHH"]
        left, top, _, bottom = image.convert("L").point(lambda level: 255 * (level < 128)).getbbox()
        assert (45 < left < 70, 140 < top < 230, 290 < bottom < 320) == (True, True, True)

    def test_letters_that_the_typeface_lacks_are_named(self):
        _, facts = postscript.draw(
            source("/Symbol findfont 30 scalefont setfont 9 9 moveto (a) show 5 5 9 9 rectfill"), 99
        )

        assert (facts["texts"], facts["lacks_letters"]) == (["\u03b1"], True)

    def test_names_of_glyphs_are_letters(self):
        _, facts = postscript.draw(
            source("/F findfont 30 scalefont setfont 9 9 moveto /one glyphshow /A glyphshow"), 99
        )

        assert facts["texts"] == ["1", "A"]


class TestLimits:
    @pytest.mark.parametrize(
        "program",
        [
            "{} loop",
            "/f {f} def f",
            "/f {f f} def f",
            "1048576 string {dup 1048576 string} loop",
            "{100000 array} loop",
            "0 0 moveto {1 1 lineto gsave} loop",
            "0 0 moveto {1 1 rlineto} loop",
            "2 {dup mul} loop",
            "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{",
            "[0.0001] 0 setdash 0 0 moveto 100000 100000 lineto stroke",
            "9 9 moveto (x) {dup show} loop",
            "1e30 1e30 scale 1 1 moveto 9 9 lineto stroke",
        ],
    )
    def test_a_program_without_end_ends(self, program, monkeypatch):
        monkeypatch.setattr(postscript_machine, "MAX_STEPS", 20_000)
        machine = Interpreter(program, (0, 0, 100, 100), 100)

        machine.run()

        machine.canvas.finish()

    @given(
        st.lists(
            st.one_of(
                st.sampled_from([*sorted(OPERATORS), "{", "}", "/a", "(b)", "<<", "<41>", "true"]),
                st.integers(-9, 99).map(str),
            ),
            max_size=60,
        )
    )
    def test_any_program_is_drawn_or_refused(self, words):
        try:
            image, _ = postscript.draw(source(" ".join(words)), 64)
        except Failed:
            return
        assert max(image.size) == 64


class TestReading:
    def test_native_shows_the_drawing_beside_its_source(self, tmp_path):
        (tmp_path / "a.eps").write_bytes(source("10 10 50 50 rectfill"))

        reply = Workspace(tmp_path).tool("native").call({"files": "a.eps"})

        assert [block.type for block in reply.content] == ["text", "image"]
        assert "10 10 50 50 rectfill" in reply.text
        assert "drawn from 100 x 100 points, letters in another typeface" in reply.text

    def test_a_drawing_that_ends_early_is_called_incomplete(self, tmp_path):
        (tmp_path / "a.eps").write_bytes(source("10 10 50 50 rectfill unknown-word 60 60 9 9 rectfill"))

        assert "incomplete" in Workspace(tmp_path).tool("native").call({"files": "a.eps"}).text

    def test_a_program_that_draws_nothing_is_text_with_the_reason(self, tmp_path):
        (tmp_path / "a.eps").write_bytes(source("/x 1 def"))

        reply = Workspace(tmp_path).tool("native").call({"files": "a.eps"})

        assert [block.type for block in reply.content] == ["text"]
        assert "the EPS is not drawn: it draws nothing" in reply.text

    def test_a_document_of_pages_stays_text(self, tmp_path):
        (tmp_path / "a.ps").write_bytes(
            b"%!PS-Adobe-3.0\n%%BoundingBox: 0 0 9 9\n%%Pages: 7\n1 1 5 5 rectfill showpage\n"
        )

        reply = Workspace(tmp_path).tool("native").call({"files": "a.ps"})

        assert [block.type for block in reply.content] == ["text"]
