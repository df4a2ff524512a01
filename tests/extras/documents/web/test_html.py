"""Web pages as Markdown."""

from __future__ import annotations

import io

import pytest

from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.web import html
from tests.extras.documents.office_files import FIXTURES, expected, load_without, text, words


def test_all_words_are_there_in_the_order_that_pandoc_gives_them():
    numbers = ("1", "¹")  # of notes: each program writes them in its own way
    known = [word for word in words(expected("page.html.expected.txt")) if word not in numbers]

    assert [word for word in words(text(FIXTURES / "page.html")) if word not in numbers] == known


def test_a_page_that_is_nested_deeply_is_shown(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("<div>" * 5000 + "inside")

    assert text(path) == "inside\n"


@pytest.mark.parametrize("page", ["<div>" * 50_000 + "inside", "<DIV a=b>" * 50_000 + "x" + "</div>" * 50_000])
def test_a_page_that_is_nested_too_deeply_is_refused(tmp_path, page):
    path = tmp_path / "a.html"
    path.write_text(page)

    with pytest.raises(Unreadable, match="nested more than 20000 levels"):
        text(path)


@pytest.mark.parametrize("piece", ["<p>word", "<li>word", "word<br>", "<span>word</span>\n<br/>"])
def test_a_long_page_is_not_a_deep_one(tmp_path, piece):
    path = tmp_path / "a.html"
    path.write_text("<html><body>" + piece * 25_000)

    assert text(path).count("word") == 25_000


def test_a_page_in_a_code_page_is_decoded(tmp_path):
    path = tmp_path / "a.html"
    path.write_bytes('<meta charset="windows-1251"><p>Съешь ещё</p>'.encode("cp1251"))

    assert text(path) == "Съешь ещё\n"


def page(markup):
    return "\n\n".join(html.convert(markup)[1])


@pytest.mark.parametrize(
    "left_out",
    ["<script>x()</script>", "<style>x{}</style>", "<noscript>x</noscript>", "<svg><text>x</text></svg>", "<!-- x -->"],
)
def test_scripts_styles_and_comments_are_left_out(left_out):
    assert page(f"<p>before {left_out}after</p>") == "before after"


def test_code_is_quoted_and_preformatted_text_is_unchanged():
    assert page("<p>call <code>f( )</code> once</p><pre>a  <code>b\n c</code></pre>") == (
        "call `f( )` once\n\n```\na  b\n c\n```"
    )


def test_white_space_is_one_blank_and_none_at_the_start_of_a_line():
    assert page("<p>  <b>a</b>\n <i> b</i><br> \n c </p>") == "a b\nc"


def test_a_page_of_frames_has_no_text():
    assert html.convert("<title>t</title><frameset><frame src=a></frameset>") == ("t", [])


def test_paragraphs_of_a_cell_stay_apart():
    assert page("<table><tr><td><p>a</p><p>b</p></td><td><br><p>c</table>") == "| a<br>b | c |\n| --- | --- |"


def test_no_text_around_a_table_in_a_table_is_lost():
    """Mails are laid out in this way."""
    inner = "<table><tr><td>x</td><td>y</td></tr><tr><td></td></tr><tr><td>z</td></tr></table>"

    assert page(f"<table><tr><td>before <a href=u>link</a>{inner}after</td><td>next</td></tr></table>") == (
        "| before [link](u)<br>x y<br>z<br>after | next |\n| --- | --- |"
    )
    assert page(f"<table><tr><td>{inner}</table>") == "| x y<br>z |\n| --- |"


def test_the_caption_of_a_table_is_shown_before_it():
    table = "<table><caption>{}</caption><tr><td>1</td></tr></table>"

    assert page(table.format("<b>Table</b> 1")) == "Table 1\n\n| 1 |\n| --- |"
    assert page(table.format(" ")) == "| 1 |\n| --- |"
    assert page(f"<table><tr><td>a{table.format('b')}c</table>") == "| a<br>b<br>1<br>c |\n| --- |"


def test_cells_that_belong_to_no_table_are_text():
    assert page("<math><tr><td>x</td></tr></math>") == "x"
    assert page("<table><caption>a <math><td>x</td></math></caption><tr><td>1</table>") == "a x\n\n| 1 |\n| --- |"


def test_text_continues_on_a_new_line_after_code_in_a_cell():
    assert page("<table><tr><td>a<pre>b\n c</pre>d<pre> </pre></td></tr></table>") == "| a<br>b<br> c<br>d |\n| --- |"


def test_breaks_nested_lists_and_rules():
    markup = "<p>a<br>b</p><ul><li>x<ol><li>y</ol></ul><pre>  c\n</pre><table><tr><td>1</table><hr>"

    assert html.convert(markup) == ("", ["a\nb", "- x", "  1. y", "```\n  c\n```", "| 1 |\n| --- |", "---"])


def decoded(markup):
    return html.decode(io.BytesIO(markup.encode()), {})[1][0].decode()


def test_images_are_shown_by_their_description_and_address():
    assert decoded('<p><img alt="a  b" src="x.png"></p>') == "![a b](x.png)\n"
    assert decoded('<p><img alt="a" src="data:image/png;base64,AAAA"></p>') == "![a]\n"
    assert decoded('<p>x<img src="y.png"><img></p>') == "x![](y.png)\n"


def test_code_in_a_table_and_lists_that_start_late():
    markup = (
        "<table><tr><td><pre>a\nb</pre></td><td>c</td></tr></table><hr><ol start=3><li>x</ol><ol start=z><li>y</ol>"
    )

    assert decoded(markup) == "| a<br>b | c |\n| --- | --- |\n\n---\n\n3. x\n1. y\n"
    assert decoded("<pre> </pre><ul></ul></ul></td></table><p> </p>") == ""


@pytest.mark.parametrize("charset", ["x-unknown", "utf-8", "cp1252"])
def test_a_page_is_decoded_by_its_bom_its_charset_or_as_utf_8_or_cp1252(charset):
    assert html.decode_text("é".encode(), charset) == ("Ã©" if charset == "cp1252" else "é")
    assert html.decode_text(b"\xe9") == "é"
    assert (
        html.decode_text(b"\xff\xfea\0")
        == html.decode_text(b"\xfe\xff\0a")
        == html.decode_text(b"\xef\xbb\xbfa")
        == "a"
    )


def test_a_page_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(html, "MAX_BYTES", 3)
    with pytest.raises(Unreadable, match="more than 3 bytes"):
        decoded("<p>x")


def test_without_its_library_the_module_loads_and_names_the_install_command(monkeypatch):
    module = load_without("selectolax.lexbor", html, monkeypatch)

    with pytest.raises(Missing) as error:
        module.decode(io.BytesIO(b"<p>x"), {})
    assert error.value.install == "pip install 'eyespan[docs]'"
