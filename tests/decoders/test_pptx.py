"""Slides as Markdown."""

from __future__ import annotations

import re

import pytest

from eyespan.decoders import ooxml, pptx

from .office_files import DRAWING, FIXTURES, OFFICE_RELATIONS, PPTX, expected, packed, relations, text, words


@pytest.mark.parametrize("name", ["talk.pptx", "talk_office.pptx"])
def test_each_slide_has_the_words_of_its_page(name):
    slides = re.split(r"^## Slide \d+", text(FIXTURES / name), flags=re.MULTILINE)[1:]
    pages = expected("talk.pptx.expected.txt").split("\f")[:-1]

    without_notes = [slide.partition("\nNotes:")[0] for slide in slides]
    assert [words(slide.casefold()) for slide in without_notes] == [words(page.casefold()) for page in pages]
    assert "Notes:\n\n> Say that ferries grew by a third." in slides[1]


def slides(*trees, attributes="", notes="", ids=None):
    """Decode slides with these shapes; all have the same attributes and notes."""
    names = f'xmlns:p="{PPTX}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE_RELATIONS}"'
    numbers = range(len(trees))
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in (numbers if ids is None else ids))
    files = {
        "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(**{f"s{n}": ("slide", f"slides/{n}.xml") for n in numbers}),
        "ppt/notes.xml": f"<p:notes {names}><p:sp>{notes}</p:sp></p:notes>",
        **{f"ppt/slides/_rels/{n}.xml.rels": relations(n=("notesSlide", "../notes.xml")) for n in numbers},
        **{f"ppt/slides/{n}.xml": f"<p:sld {names} {attributes}>{tree}</p:sld>" for n, tree in enumerate(trees)},
    }
    return pptx.decode(packed(**files), {"seconds": 10})[1][0].decode()


def line(content):
    return f"<a:p><a:r><a:rPr/><a:t>{content}</a:t></a:r></a:p>"


@pytest.mark.parametrize(
    ("attributes", "label"), [('show="0"', " (hidden)"), ('show="false"', " (hidden)"), ('show="1"', ""), ("", "")]
)
def test_a_slide_that_is_not_shown_is_labelled(attributes, label):
    assert slides(f"<p:sp>{line('text')}</p:sp>", attributes=attributes) == f"## Slide 1{label}\n\ntext\n"


def test_slides_come_in_the_order_of_the_show_without_missing_ones():
    shown = slides(f"<p:sp>{line('one')}</p:sp>", f"<p:sp>{line('two')}</p:sp>", ids=[1, 7, 0])

    assert shown == "## Slide 1\n\ntwo\n\n## Slide 2\n\none\n"


def test_titles_lists_and_other_text_are_distinguished():
    tree = (
        f'<p:sp><p:ph type="title"/>{line("The")}{line(" title ")}</p:sp>'
        f'<p:sp><p:ph/>{line("item")}<a:p><a:pPr lvl="1"/><a:r><a:t>in</a:t></a:r><a:r><a:t>ner</a:t></a:r></a:p>'
        f"{line('last')}{line(' ')}<a:p></a:p></p:sp>"
        f'<p:sp><p:ph type="ftr"/>{line("left out")}</p:sp><p:sp><p:cNvPr descr=""/>{line("plain")}</p:sp>'
    )

    assert slides(tree) == "## Slide 1: The title\n\n- item\n  - inner\n- last\n\nplain\n"


def test_notes_are_shown_if_there_are_any():
    assert slides("", notes=line("say this")) == "## Slide 1\n\nNotes:\n\n> say this\n"
    assert slides("", notes=line(" ")) == "## Slide 1\n"


def test_no_text_of_a_table_on_a_slide_is_lost():
    def cell(content):
        return f"<a:tc>{content}</a:tc>"

    table = f"<a:tbl><a:tr>{cell(line('a') + line('b'))}{cell('')}</a:tr></a:tbl>"
    no_row = f"<a:tbl>{cell(line('a'))}</a:tbl>"
    nested = f"<a:tbl><a:tr>{cell(line('x') + table + line('y'))}{cell(line('z'))}</a:tr></a:tbl>"

    assert slides(table) == "## Slide 1\n\n| a<br>b |  |\n| --- | --- |\n"
    assert slides(no_row + line("after")) == "## Slide 1\n\n| a |\n| --- |\n\nafter\n"
    assert slides(cell(line("a")) + line("after")) == "## Slide 1\n\na\n\nafter\n"
    assert slides(nested) == "## Slide 1\n\n| x<br>a<br>b<br>y | z |\n| --- | --- |\n"


def test_slides_with_breaks_descriptions_and_comments():
    names = f'xmlns:p="{PPTX}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE_RELATIONS}"'
    slide = (
        f'<p:sld {names}><p:cSld><p:spTree><p:pic><p:nvPicPr><p:cNvPr id="1" descr="a  boat"/></p:nvPicPr></p:pic>'
        "<p:sp><p:txBody><a:p><a:r><a:t>one</a:t></a:r><a:br/><a:r><a:t>two</a:t></a:r></a:p></p:txBody></p:sp>"
        "</p:spTree></p:cSld></p:sld>"
    )
    deck = f'<p:presentation {names}><p:sldIdLst><p:sldId id="256" r:id="s"/></p:sldIdLst></p:presentation>'
    comments = f'<p:cmLst {names}><p:cm authorId="0"><p:text>why</p:text></p:cm></p:cmLst>'
    files = {
        "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": deck,
        "ppt/_rels/presentation.xml.rels": relations(s=("slide", "slides/one.xml")),
        "ppt/slides/one.xml": slide,
        "ppt/slides/_rels/one.xml.rels": relations(
            c=("comments", "../comments.xml"), n=("notesSlide", "../gone.xml"), o=("other", "../comments.xml")
        ),
        "ppt/comments.xml": comments,
    }

    shown = pptx.decode(packed(**files), {"seconds": 10})[1][0].decode()

    assert shown == "## Slide 1\n\n![a boat]\n\none\ntwo\n\n> Comment: why\n"


def test_comments_of_both_formats_are_read():
    old = (
        '<p:cmLst xmlns:p="urn:p"><p:cm authorId="0"><p:text>first  words</p:text></p:cm>'
        '<p:cm authorId="5"><p:text>nobody</p:text></p:cm><p:cm authorId="0"><p:text> </p:text></p:cm></p:cmLst>'
    )
    new = (
        '<n:cmLst xmlns:n="urn:n" xmlns:a="urn:a"><n:cm authorId="{1}"><a:p><a:r><a:t>one</a:t></a:r></a:p>'
        '<a:p><a:r><a:t>two</a:t></a:r></a:p><n:reply authorId="0"><a:t>back</a:t></n:reply></n:cm></n:cmLst>'
    )
    authors = '<p:cmAuthorLst xmlns:p="urn:p"><p:cmAuthor id="0" name="Ada"/><p:cmAuthor name="none"/></p:cmAuthorLst>'
    parts = ooxml.Package(packed(**{"old.xml": old, "new.xml": new, "authors.xml": authors}), "pptx")
    known = pptx._authors(
        parts, {"a": ("commentAuthors", "authors.xml"), "b": ("authors", "missing.xml"), "c": ("x", "y")}
    )

    assert known == {"0": "Ada"}
    assert pptx._comments(parts, "old.xml", known) == ["> Comment by Ada: first words", "> Comment: nobody"]
    assert pptx._comments(parts, "new.xml", known) == ["> Comment: one two", "> Comment by Ada: back"]


def test_text_around_a_comment_does_not_belong_to_it():
    comments = '<p:cmLst xmlns:p="urn:p">\n  <p:cm authorId="0">\n    <p:text>why</p:text>\n  </p:cm>\n</p:cmLst>'

    found = pptx._comments(ooxml.Package(packed(**{"a.xml": comments}), "pptx"), "a.xml", {"0": "Ada"})

    assert found == ["> Comment by Ada: why"]


def test_a_comment_after_its_replies_keeps_its_author():
    comments = (
        '<n:cmLst xmlns:n="urn:n" xmlns:a="urn:a"><n:cm authorId="1"><n:replyLst><n:reply authorId="0">'
        "<a:t>back</a:t></n:reply></n:replyLst><a:t>first</a:t></n:cm></n:cmLst>"
    )

    found = pptx._comments(ooxml.Package(packed(**{"a.xml": comments}), "pptx"), "a.xml", {"0": "Ada", "1": "Bob"})

    assert found == ["> Comment by Bob: first", "> Comment by Ada: back"]


def test_alternative_text_is_left_out():
    alternatives = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        "<mc:Choice><a:r><a:t>choice</a:t></a:r></mc:Choice><mc:Fallback><a:r><a:t>x</a:t></a:r></mc:Fallback>"
        "</mc:AlternateContent>"
    )

    assert slides(f"<p:sp><a:p>{alternatives}</a:p></p:sp>") == "## Slide 1\n\nchoice\n"
