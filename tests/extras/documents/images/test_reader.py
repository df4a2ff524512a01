"""Drawings that are text: an image beside the source in `native`, the source alone elsewhere."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from eyespan import Workspace
from eyespan.extras.documents.images import reader as drawing

SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10">{}</svg>\n'
RECT = '<rect width="20" height="10" fill="#ff0000"/>'


def native(tmp_path, name, source):
    (tmp_path / name).write_text(source)
    return Workspace(tmp_path).tool("native").call({"files": name})


def image_of(reply):
    (block,) = [block for block in reply.content if block.type == "image"]
    return Image.open(io.BytesIO(block.data)).convert("RGBA")


def test_a_drawing_that_takes_long_is_shown_as_text(tmp_path, monkeypatch):
    """Its image is work that was not asked for."""
    monkeypatch.setattr(drawing, "DRAW_SECONDS", 0.0)

    reply = native(tmp_path, "a.pbm", "P1\n2 2\n1 0\n0 1\n")

    assert not reply.is_error
    assert "\t0 1" in reply.text
    assert "it was not drawn within 0 s" in reply.text


class TestSvg:
    @pytest.fixture(autouse=True)
    def needs_resvg(self):
        pytest.importorskip("resvg_py", reason="the extra [svg]")

    def test_a_drawing_comes_with_its_source(self, tmp_path):
        reply = native(tmp_path, "a.svg", SVG.format(RECT))

        assert RECT in reply.text
        assert "image: drawn from 20 x 10" in reply.text
        assert image_of(reply).size == (256, 128)
        assert image_of(reply).getpixel((50, 50)) == (255, 0, 0, 255)

    def test_letters_are_not_drawn_and_the_note_names_it(self, tmp_path):
        assert "without its letters" in native(tmp_path, "a.svg", SVG.format("<text>Hello</text>" + RECT)).text

    def test_a_part_of_the_source_comes_alone(self, tmp_path):
        (tmp_path / "a.svg").write_text(SVG.format(RECT))

        reply = Workspace(tmp_path).tool("native").call({"files": "a.svg:1"})

        assert [block.type for block in reply.content] == ["text"]

    @pytest.mark.parametrize("href", ["{}", "file://{}", "&#x2f;{}", "&p;", "inside.png"])
    @pytest.mark.parametrize("quote", ['"', "'"])
    def test_nothing_outside_the_file_is_loaded(self, tmp_path, href, quote):
        (tmp_path / "inside.png").write_bytes(b"")
        secret = tmp_path / "inside.png"
        Image.new("RGB", (20, 10), "blue").save(secret)
        value = href.format(str(secret).lstrip("/") if "x2f" in href else secret)
        source = f'<!DOCTYPE svg [<!ENTITY p "{secret}">]>' + SVG.format(
            f"<image href={quote}{value}{quote} width={quote}20{quote} height={quote}10{quote}/>"
        )

        reply = native(tmp_path, "a.svg", source)

        assert "no image" in reply.text or image_of(reply).getextrema()[3] == (0, 0)

    @pytest.mark.parametrize("body", ["<rect", "<g>" * 5000, '<use href="#a"/><g id="a"><use href="#a"/></g>'])
    def test_an_invalid_drawing_is_shown_as_its_source(self, tmp_path, body):
        reply = native(tmp_path, "a.svg", SVG.format(body))

        assert not reply.is_error
        assert "<svg" in reply.text

    def test_a_huge_drawing_is_drawn_within_the_limits(self, tmp_path):
        source = SVG.replace('"20"', '"200000"').replace('"10"', '"100000"').format(RECT)

        assert max(image_of(native(tmp_path, "a.svg", source)).size) == 1568


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.pbm", "P1\n2 2\n1 0\n0 1\n"),
        ("a.ppm", "P3\n2 2\n255\n255 0 0 0 0 0\n0 0 0 255 0 0\n"),
        ("a.xbm", "#define a_width 8\n#define a_height 1\nstatic char a_bits[] = {\n 0x0f };\n"),
    ],
)
def test_text_forms_of_bitmaps_are_shown_beside_their_text(tmp_path, name, source):
    reply = native(tmp_path, name, source)

    assert [block.type for block in reply.content] == ["text", "image"]
    assert source.split("\n")[1] in reply.text


@pytest.mark.parametrize("dialect", ["claude", "codex", "forge", "workspace"])
def test_other_dialects_show_the_source(tmp_path, dialect):
    (tmp_path / "a.svg").write_text(SVG.format(RECT))
    name = "file_path" if dialect in ("claude", "codex") else "path"

    reply = Workspace(tmp_path).tool(dialect).call({name: f"{tmp_path}/a.svg"})

    assert "<rect width" in reply.text
    assert {block.type for block in reply.content} == {"text"}


def test_an_eps_file_is_shown_as_its_text(tmp_path):
    source = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n0 0 moveto 9 9 lineto stroke\n"

    reply = native(tmp_path, "a.eps", source)

    assert [block.type for block in reply.content] == ["text"]
    assert "0 0 moveto 9 9 lineto stroke" in reply.text
