"""Windows metafiles and previews of EPS files as images."""

from __future__ import annotations

import io
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eyespan import Workspace
from eyespan.decoders import metafile
from tests.decoders.metafile_files import brush, emf, letters, wmf, wmf_brush

RED, WHITE = (255, 0, 0), (255, 255, 255)
NO_PEN = (37, struct.pack("<I", 0x80000008))
BOX = (43, struct.pack("<4i", 100, 0, 200, 100))


def pixels(data, kind, *places):
    """Return the colours at some places, given as shares of the sides."""
    image, _ = metafile.draw(data, kind, 1568)
    return [image.getpixel((int(x * image.width), int(y * image.height))) for x, y in places]


LEFT, RIGHT = (0.25, 0.5), (0.75, 0.5)


class TestEmf:
    def test_a_rectangle_is_filled_with_the_chosen_brush(self):
        assert pixels(emf(*brush(1, *RED), NO_PEN, BOX), "EMF", LEFT, RIGHT) == [WHITE, RED]

    def test_places_follow_window_view_and_transformation(self):
        window = [(17, struct.pack("<I", 8)), (9, struct.pack("<2i", 20, 10)), (11, struct.pack("<2i", 200, 100))]
        moved = (35, struct.pack("<6f", 1, 0, 0, 1, 10, 0))
        box = (43, struct.pack("<4i", 0, 0, 10, 10))

        assert pixels(emf(*window, moved, *brush(1, *RED), NO_PEN, box), "EMF", LEFT, RIGHT) == [WHITE, RED]

    def test_a_saved_state_is_restored(self):
        saved, restored = (33, b""), (34, struct.pack("<i", -1))

        found = pixels(emf(*brush(1, *RED), NO_PEN, saved, *brush(2, 0, 0, 255), restored, BOX), "EMF", RIGHT)

        assert found == [RED]

    def test_a_path_with_a_hole_is_filled_around_it(self):
        outer, inner = (0, 0, 200, 0, 200, 100, 0, 100), (50, 25, 150, 25, 150, 75, 50, 75)
        shapes = struct.pack("<4iII2I", 0, 0, 0, 0, 2, 8, 4, 4) + struct.pack("<16h", *outer, *inner)

        found = pixels(emf(*brush(1, *RED), NO_PEN, (91, shapes)), "EMF", (0.5, 0.5), (0.1, 0.5))

        assert found == [WHITE, RED]

    def test_a_bitmap_is_drawn_into_its_box(self):
        made = io.BytesIO()
        Image.new("RGB", (4, 4), RED).save(made, "BMP")
        info, bits = made.getvalue()[14:54], made.getvalue()[54:]
        head = struct.pack("<4i6i4IIIii", 0, 0, 0, 0, 100, 0, 0, 0, 4, 4, 80, 40, 120, len(bits), 0, 0xCC0020, 100, 100)

        assert pixels(emf((81, head + info + bits)), "EMF", LEFT, RIGHT) == [WHITE, RED]

    def test_text_is_drawn_and_listed(self):
        image, facts = metafile.draw(emf(letters("Tide table", 10, 10)), "EMF", 1568)

        assert (facts["texts"], image.convert("L").getextrema()[0] < 100) == (["Tide table"], True)

    def test_letters_without_glyphs_are_listed_and_not_drawn(self):
        _, facts = metafile.draw(emf(letters("潮汐", 10, 10), *brush(1, *RED), BOX), "EMF", 1568)

        assert (facts["texts"], facts["lacks_letters"]) == (["潮汐"], True)

    def test_a_file_without_its_last_record_is_called_damaged(self):
        data = emf(*brush(1, *RED), BOX)

        states = [
            metafile.draw(made, "EMF", 100)[1].get("damaged")
            for made in (data, emf(*brush(1, *RED), BOX, has_end=False))
        ]

        assert states == [None, True]

    def test_a_file_that_draws_nothing_is_reported(self):
        with pytest.raises(metafile.NoDrawing, match="no lines, areas, letters or bitmaps"):
            metafile.draw(emf(), "EMF", 1568)


class TestWmf:
    def test_a_polygon_is_filled_with_the_chosen_brush(self):
        polygon = (0x324, struct.pack("<H8h", 4, 100, 0, 200, 0, 200, 100, 100, 100))

        assert pixels(wmf(*wmf_brush(*RED), polygon), "WMF", LEFT, RIGHT) == [WHITE, RED]

    def test_without_a_header_for_its_place_the_window_gives_the_size(self):
        window = [(0x20C, struct.pack("<2h", 1000, 2000))]
        polygon = (0x324, struct.pack("<H8h", 4, 1000, 0, 2000, 0, 2000, 1000, 1000, 1000))

        found = pixels(wmf(*window, *wmf_brush(*RED), polygon, is_placeable=False), "WMF", LEFT, RIGHT)

        assert found == [WHITE, RED]

    def test_letters_are_read_in_the_encoding_of_the_font(self):
        font = (0x2FB, struct.pack("<5h8B", -20, 0, 0, 0, 400, 0, 0, 0, 204, 0, 0, 0, 0) + b"Arial\0")
        text = "Да".encode("cp1251")
        shown = (0x521, struct.pack("<H", len(text)) + text + struct.pack("<2h", 20, 10))

        assert metafile.draw(wmf(font, (0x12D, b"\0\0"), shown), "WMF", 1568)[1]["texts"] == ["Да"]

    def test_a_file_without_a_size_is_reported(self):
        with pytest.raises(metafile.NoDrawing, match="does not state its size"):
            metafile.draw(wmf(is_placeable=False), "WMF", 1568)


def eps(preview: bytes, is_tiff: bool, program: bytes = b"") -> bytes:
    """Return an EPS file with a preview."""
    source = b"%!PS-Adobe-3.0 EPSF-3.0\n" + program
    places = (0, 0, 32 + len(source), len(preview)) if is_tiff else (32 + len(source), len(preview), 0, 0)
    return struct.pack("<7IHH", 0xC6D3D0C5, 32, len(source), *places, 0xFFFF, 0) + source + preview


def tiff() -> bytes:
    made = io.BytesIO()
    Image.new("RGB", (20, 10), RED).save(made, "TIFF")
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("a.emf", emf(*brush(1, *RED), BOX), "Drawn from the commands of the file (EMF)"),
        (
            "a.wmf",
            wmf(*wmf_brush(*RED), (0x41B, struct.pack("<4h", 90, 90, 9, 9))),
            "Drawn from the commands of the file",
        ),
        ("a.eps", eps(tiff(), is_tiff=True), "This is the preview in the file, of 20 x 10 pixels (EPS)."),
        ("b.eps", eps(wmf(*wmf_brush(*RED), (0x41B, struct.pack("<4h", 90, 90, 9, 9))), is_tiff=False), "preview"),
    ],
)
def test_native_shows_the_drawing_with_a_note(name, data, note, tmp_path):
    (tmp_path / name).write_bytes(data)

    reply = Workspace(tmp_path).tool("native").call({"files": name})

    assert ([block.type for block in reply.content], note in reply.text) == (["text", "image"], True)


def test_a_file_that_cannot_be_drawn_states_the_reason(tmp_path):
    (tmp_path / "a.emf").write_bytes(emf())

    reply = Workspace(tmp_path).tool("native").call({"files": "a.emf"})

    assert "LibreOffice or inkscape opens it" in reply.text


@pytest.mark.parametrize("program", [b"9 9 99 99 rectfill", b""])
def test_an_eps_file_without_a_preview_is_drawn_if_it_draws(tmp_path, program):
    (tmp_path / "a.eps").write_bytes(eps(b"", is_tiff=True, program=program))

    reply = Workspace(tmp_path).tool("native").call({"files": "a.eps"})

    is_drawn = any(block.type == "image" for block in reply.content)
    assert (is_drawn, "it has no preview; ghostscript opens it" in reply.text) == (bool(program), not program)


DRAWINGS = {
    "EMF": emf(*brush(1, *RED), NO_PEN, BOX, letters("a", 1, 1), (54, struct.pack("<2i", 9, 9))),
    "WMF": wmf(*wmf_brush(*RED), (0x324, struct.pack("<H8h", 4, 100, 0, 200, 0, 200, 100, 100, 100))),
    "EPS": eps(tiff(), is_tiff=True),
}


@given(st.sampled_from(sorted(DRAWINGS)), st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), max_size=8))
def test_a_damaged_file_is_drawn_or_reported(kind, changes):
    data = bytearray(DRAWINGS[kind])
    for at, value in changes:
        data[at % len(data)] = value
    try:
        image, _ = metafile.draw(bytes(data), kind, 64)
    except metafile.NoDrawing:
        return
    assert max(image.size) <= 64 or kind == "EPS"
