"""Slides as Markdown."""

from __future__ import annotations

import re

import pytest

from eyespan.extras.documents.office import pptx
from eyespan.extras.documents.shared import embedded_images, ooxml
from tests.extras.documents.office_files import (
    DRAWING,
    FIXTURES,
    GIF,
    OFFICE_RELATIONS,
    PPTX,
    expected,
    packed,
    relations,
    text,
    words,
)


@pytest.mark.parametrize("name", ["talk.pptx", "talk_office.pptx"])
def test_each_slide_has_the_words_of_its_page(name):
    slides = re.split(r"^## Slide \d+", text(FIXTURES / name), flags=re.MULTILINE)[1:]
    pages = expected("talk.pptx.expected.txt").split("\f")[:-1]

    without_notes = [slide.partition("\nNotes:")[0] for slide in slides]
    assert [words(slide.casefold()) for slide in without_notes] == [words(page.casefold()) for page in pages]
    assert "Notes:\n\n> Say that ferries grew by a third." in slides[1]


def slides(*trees, attributes="", notes="", ids=None, targets=None, **parts):
    """Decode slides with these shapes; all have the same attributes, notes and targets of relations."""
    names = f'xmlns:p="{PPTX}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE_RELATIONS}"'
    numbers = range(len(trees))
    listed = "".join(f'<p:sldId id="{256 + n}" r:id="s{n}"/>' for n in (numbers if ids is None else ids))
    files = {
        "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(**{f"s{n}": ("slide", f"slides/{n}.xml") for n in numbers}),
        "ppt/notes.xml": f"<p:notes {names}><p:sp>{notes}</p:sp></p:notes>",
        **{
            f"ppt/slides/_rels/{n}.xml.rels": relations(n=("notesSlide", "../notes.xml"), **(targets or {}))
            for n in numbers
        },
        **{f"ppt/slides/{n}.xml": f"<p:sld {names} {attributes}>{tree}</p:sld>" for n, tree in enumerate(trees)},
        **parts,
    }
    return pptx.decode(packed(**files), {"name": "a.pptx"})[1][0].decode()


def line(content):
    return f"<a:p><a:r><a:rPr/><a:t>{content}</a:t></a:r></a:p>"


FORMATTING = (
    "<p:cNvSpPr><a:spLocks/></p:cNvSpPr><p:nvPr/>",
    '<p:spPr bwMode="auto"><a:blipFill><a:blip/></a:blipFill><a:ln w="1"><a:noFill/></a:ln></p:spPr>',
    '<p:style><a:lnRef idx="1"/></p:style>',
)


def test_a_slide_is_the_same_with_and_without_formatting():
    paragraph = "<a:p>{0}<a:r>{1}<a:t>one</a:t></a:r><a:r>{2}<a:t> two</a:t></a:r>{3}</a:p>"
    plain = paragraph.format('<a:pPr lvl="1"/>', "", '<a:rPr><a:hlinkClick r:id="h"/></a:rPr>', "")
    rich = paragraph.format(
        '<a:pPr lvl="1"><a:spcBef><a:spcPts val="6"/></a:spcBef><a:buFont typeface="Arial"/></a:pPr>',
        '<a:rPr lang="en" dirty="0"/>',
        '<a:rPr><a:solidFill><a:srgbClr val="FF0000"/></a:solidFill><a:latin typeface="X"/>'
        '<a:hlinkClick r:id="h"/></a:rPr>',
        '<a:endParaRPr lang="en"><a:solidFill/></a:endParaRPr>',
    )
    shape = "<p:sp>{0}<p:txBody>{1}{2}</p:txBody></p:sp>"
    targets = {"h": ("hyperlink", "https://a.example/")}

    made = slides(
        shape.format("", "", plain),
        shape.format("".join(FORMATTING), "<a:bodyPr><a:normAutofit/></a:bodyPr><a:lstStyle/>", rich),
        targets=targets,
    )

    first, second = made.split("## Slide ")[1:]
    assert first[1:].strip() == second[1:].strip() == "- one[ two](ppt/slides/https:/a.example)"


@pytest.mark.parametrize(
    "change",
    [
        lambda show: show,
        lambda show: show.replace("r:id", "q:id").replace("xmlns:r=", "xmlns:q="),
        lambda show: show.replace('"', "'"),
        lambda show: show.replace("<p:sldIdLst>", "<!-- <p:sldIdLst></p:sldIdLst> --><p:sldIdLst>"),
        lambda show: show.replace("p:", ""),
        lambda show: show.replace("/></p:sldIdLst>", "><p:extLst/></p:sldId></p:sldIdLst>"),
    ],
)
def test_the_order_of_slides_is_the_same_however_it_is_written(change):
    names = f'xmlns:p="{PPTX}" xmlns="{PPTX}" xmlns:r="{OFFICE_RELATIONS}"'
    listed = "".join(f'<p:sldId id="{n}" r:id="s{n}"/>' for n in (1, 0))
    show = change(f"<p:presentation {names}><p:sldIdLst>{listed}</p:sldIdLst></p:presentation>")

    assert slides(line("one"), line("two"), **{"ppt/presentation.xml": show}) == (
        "## Slide 1\n\ntwo\n\n## Slide 2\n\none\n"
    )


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
        f'<p:sp><p:ph type="ftr"/>{line("below")}</p:sp><p:sp><p:cNvPr descr=""/>{line("plain")}</p:sp>'
    )

    assert slides(tree) == "## Slide 1: The title\n\n- item\n  - inner\n- last\n\nplain\n\nbelow [footer]\n"


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
    assert slides(nested) == "## Slide 1\n\n| x<br>a b \\|<br>y | z |\n| --- | --- |\n"


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
    parts = ooxml.Package(packed(**{"old.xml": old, "new.xml": new, "authors.xml": authors}))
    known = pptx._authors(
        parts, {"a": ("commentAuthors", "authors.xml"), "b": ("authors", "missing.xml"), "c": ("x", "y")}
    )

    assert known == {"0": "Ada"}
    assert pptx._comments(parts, "old.xml", known) == ["> Comment by Ada: first words", "> Comment: nobody"]
    assert pptx._comments(parts, "new.xml", known) == ["> Comment: one two", "> Comment by Ada: back"]


def test_text_around_a_comment_does_not_belong_to_it():
    comments = '<p:cmLst xmlns:p="urn:p">\n  <p:cm authorId="0">\n    <p:text>why</p:text>\n  </p:cm>\n</p:cmLst>'

    found = pptx._comments(ooxml.Package(packed(**{"a.xml": comments})), "a.xml", {"0": "Ada"})

    assert found == ["> Comment by Ada: why"]


def test_a_comment_after_its_replies_keeps_its_author():
    comments = (
        '<n:cmLst xmlns:n="urn:n" xmlns:a="urn:a"><n:cm authorId="1"><n:replyLst><n:reply authorId="0">'
        "<a:t>back</a:t></n:reply></n:replyLst><a:t>first</a:t></n:cm></n:cmLst>"
    )

    found = pptx._comments(ooxml.Package(packed(**{"a.xml": comments})), "a.xml", {"0": "Ada", "1": "Bob"})

    assert found == ["> Comment by Bob: first", "> Comment by Ada: back"]


def test_alternative_text_is_left_out():
    alternatives = (
        '<mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        "<mc:Choice><a:r><a:t>choice</a:t></a:r></mc:Choice><mc:Fallback><a:r><a:t>x</a:t></a:r></mc:Fallback>"
        "</mc:AlternateContent>"
    )

    assert slides(f"<p:sp><a:p>{alternatives}</a:p></p:sp>") == "## Slide 1\n\nchoice\n"


CHART = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"'
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def test_images_charts_and_videos_are_shown_or_named():
    tree = (
        '<p:pic><p:cNvPr descr="a boat"/><p:blipFill><a:blip r:embed="i"/></p:blipFill></p:pic>'
        f'<p:graphicFrame><a:graphicData><c:chart {CHART} r:id="c"/></a:graphicData></p:graphicFrame>'
        '<p:pic><p:nvPr><a:videoFile r:link="v"/></p:nvPr></p:pic>'
    )
    shown = slides(
        tree,
        targets={"i": ("image", "../media/a.gif"), "c": ("chart", "../c.xml"), "v": ("video", "../media/v.mp4")},
        **{
            "ppt/media/a.gif": GIF,
            "ppt/media/v.mp4": b"?",
            "ppt/media/b.emf": b"?",
            "ppt/c.xml": f"<c:chartSpace {CHART}><c:chart><c:pieChart/></c:chart></c:chartSpace>",
        },
    )

    assert shown == (
        "## Slide 1\n\n![a boat](a.pptx!/ppt/media/a.gif) (5x7)\n\n[chart: pie]\n\n[video: a.pptx!/ppt/media/v.mp4]\n\n"
        "---\n\n[media without a place in the text: a.pptx!/ppt/media/b.emf]\n"
    )


def test_links_keep_their_targets_and_pieces_of_one_link_are_joined():
    link = '<a:rPr><a:hlinkClick r:id="h"/></a:rPr>'
    runs = f"<a:r>{link}<a:t>the </a:t></a:r><a:r>{link}<a:t>tides</a:t></a:r><a:r><a:t>!</a:t></a:r>"
    shape = '<p:sp><p:cNvPr><a:hlinkClick r:id="h"/></p:cNvPr></p:sp>'

    shown = slides(f"<p:sp><a:p>{runs}</a:p></p:sp>{shape}", targets={"h": ("hyperlink", "/t")})

    assert shown == "## Slide 1\n\n[the tides](t)!\n\n[link: t]\n"


def test_numbered_lists_have_their_format_and_start():
    def item(style, text, level=0, more=""):
        return (
            f'<a:p><a:pPr lvl="{level}"><a:buAutoNum type="{style}"{more}/></a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'
        )

    items = item("arabicPeriod", "a") + item("alphaLcParenR", "b", 1) + item("arabicPeriod", "c")
    others = item("romanUcPeriod", "d", more=' startAt="4"') + item("alphaUcParenBoth", "e", 1)

    assert slides(f"<p:sp>{items}</p:sp><p:sp>{others}</p:sp>") == (
        "## Slide 1\n\n1. a\n  a) b\n2. c\n\nIV. d\n  (A) e\n".replace("\n\nIV", "\nIV")
    )


def test_equations_are_latex():
    half = "<m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
    equation = f"<m:oMath {MATH}>{half}</m:oMath>"

    assert slides(f"<p:sp><a:p>{equation}</a:p></p:sp>") == "## Slide 1\n\n$\\frac{a}{2}$\n"


def test_a_file_elsewhere_has_its_address_and_no_selector():
    images = embedded_images.Images({"ppt/media/a.mp3"}, {"name": "a.pptx"})

    assert [images.selector(target) for target in ("ppt/media/a.mp3", "file:///b.mp3")] == [
        "a.pptx!/ppt/media/a.mp3",
        "file:///b.mp3",
    ]


def test_all_texts_of_a_run_are_shown():
    body = "<a:p><a:r><a:t>one</a:t><a:t> and</a:t></a:r><a:r><a:rPr/><a:t> two</a:t></a:r></a:p>"

    assert "one and two" in slides(f"<p:sp><p:txBody>{body}</p:txBody></p:sp>")
