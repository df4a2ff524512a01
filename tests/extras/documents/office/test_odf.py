"""OpenDocument texts, presentations and drawings."""

from __future__ import annotations

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.office import odf
from tests.extras.documents.office_files import GIF, packed

SPACES = " ".join(
    f'xmlns:{key}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for key, name in (("o", "office"), ("t", "text"), ("b", "table"), ("d", "drawing"), ("s", "style"), ("c", "chart"))
)
LINK = 'xmlns:x="http://www.w3.org/1999/xlink" xmlns:e="http://purl.org/dc/elements/1.1/"'


def package(body, styles="", container="text", doctype="", **parts):
    """Return a document with this body; `styles` stand before it."""
    files = {
        "content.xml": f'<?xml version="1.0"?>{doctype}<o:document-content {SPACES} {LINK}>{styles}'
        f"<o:body><o:{container}>{body}</o:{container}></o:body></o:document-content>",
        **parts,
    }
    return packed(**files)


def document(body, styles="", container="text", doctype="", **parts):
    """Decode a document."""
    file = package(body, styles, container, doctype, **parts)
    return odf.decode(file, {"name": "a.odt"})[1][0].decode()


def samples():
    """Return documents for the fuzzer."""
    table = "<b:table><b:table-row><b:table-cell><t:p>x</t:p></b:table-cell></b:table-row></b:table>"
    listed = "<t:list><t:list-item><t:p>one</t:p></t:list-item></t:list>"
    frame = "<t:p>a<d:frame><d:image x:href='Pictures/a.gif'/></d:frame></t:p>"
    page = f"<d:page d:name='a'>{frame}</d:page>"
    picture = {"Pictures/a.gif": b"GIF89a"}
    return [
        package(f"<t:h>head</t:h>{table}{listed}{frame}", **picture).getvalue(),
        package(page, container="presentation", **picture).getvalue(),
    ]


def test_headings_paragraphs_blanks_and_links():
    body = (
        '<t:h t:outline-level="2">The <t:span>head</t:span></t:h>'
        '<t:p>a<t:s t:c="2"/>b<t:tab/>c<t:line-break/>d</t:p><t:p/>'
        '<t:p><t:a x:href="https://a.example/">there</t:a></t:p>'
    )

    assert document(body) == "## The head\n\na  b\tc\nd\n\n[there](https://a.example/)\n"


def test_lists_are_nested_and_numbered_by_their_style():
    styles = (
        '<o:automatic-styles><t:list-style s:name="L1"><t:list-level-style-number t:level="1" s:num-format="1"/>'
        "</t:list-style></o:automatic-styles>"
    )
    inner = "<t:list><t:list-item><t:p>inner</t:p></t:list-item></t:list>"
    body = (
        f'<t:list t:style-name="L1"><t:list-item><t:p>one</t:p>{inner}</t:list-item>'
        "<t:list-item><t:p>two</t:p></t:list-item></t:list>"
    )

    assert document(body, styles) == "1. one\n  - inner\n2. two\n"


def test_tables_and_tables_in_cells():
    inner = (
        "<b:table><b:table-row><b:table-cell><t:p>x</t:p></b:table-cell><b:table-cell><t:p>y</t:p></b:table-cell>"
        "</b:table-row></b:table>"
    )
    body = (
        '<b:table><b:table-header-rows><b:table-row><b:table-cell b:number-columns-repeated="2">'
        f"<t:p>h</t:p></b:table-cell></b:table-row></b:table-header-rows><b:table-row><b:table-cell>{inner}</b:table-cell><b:covered-table-cell/>"
        "</b:table-row></b:table>"
    )

    assert document(body) == "| h | h |\n| --- | --- |\n| x \\| y |  |\n"


def test_notes_comments_and_changes():
    changes = (
        '<t:tracked-changes><t:changed-region t:id="1"><t:deletion><t:p>old</t:p></t:deletion></t:changed-region>'
        '<t:changed-region t:id="2"><t:insertion/></t:changed-region></t:tracked-changes>'
    )
    body = (
        f'{changes}<t:p>a<t:note t:note-class="footnote"><t:note-citation>1</t:note-citation>'
        "<t:note-body><t:p>note</t:p></t:note-body></t:note>"
        "<o:annotation><e:creator>Ada</e:creator><t:p>why</t:p></o:annotation>"
        '<t:change t:change-id="1"/><t:change-start t:change-id="2"/>new<t:change-end t:change-id="2"/></t:p>'
    )

    assert document(body) == (
        "[tracked changes: {++inserted++}, {--deleted--}]\n\na[^1][comment 2]{--old--}{++new++}\n\n---\n\n"
        "[^1]: note\n[comment 2]: Ada: why\n"
    )


def test_images_charts_equations_and_text_boxes():
    def frame(inner):
        return f"<d:frame>{inner}</d:frame>"

    chart = (
        f'<o:document-content {SPACES}><o:body><o:chart><c:chart c:class="chart:bar">'
        "<c:title><t:p>Sales</t:p></c:title>"
        "<b:table><b:table-row><b:table-cell><t:p>a</t:p></b:table-cell></b:table-row></b:table></c:chart></o:chart>"
        "</o:body></o:document-content>"
    )
    typed = '<annotation encoding="StarMath 5.0">x over 2</annotation>'
    equation = f'<math xmlns="m"><semantics><mi>x</mi>{typed}</semantics></math>'
    image = '<d:image x:href="Pictures/a.gif"/><s:desc>a boat</s:desc>'
    body = (
        f"<t:p>see{frame(image)} this</t:p>"
        f"<t:p>{frame('<d:object x:href=' + repr('./Object 1') + '/>')}</t:p>"
        f"<t:p>{frame('<d:object x:href=' + repr('./Object 2') + '/>')}</t:p>"
        f"<t:p>{frame('<d:text-box><t:p>boxed</t:p></d:text-box>')}</t:p>"
    )
    parts = {
        "Pictures/a.gif": GIF,
        "Object 1/content.xml": chart,
        "Object 2/content.xml": equation,
    }

    assert document(body, **parts) == (
        'see this\n\n![a boat](a.odt!/Pictures/a.gif) (5x7)\n\n[chart: bar, "Sales"]\n\n| a |\n| --- |\n\n'
        "[equation: x over 2]\n\nboxed\n"
    )


def test_slides_have_numbers_names_and_notes():
    page = (
        '<d:page d:name="Intro"><d:frame><d:text-box><t:p>Hello</t:p></d:text-box></d:frame>'
        "<o:notes><t:p>say this</t:p></o:notes></d:page>"
    )

    assert document(page, container="presentation") == "## Slide 1: Intro\n\nHello\n\nNotes:\n\n> say this\n"
    assert document('<d:page d:name="page1"/>', container="drawing") == "## Page 1\n"


def test_headers_and_footers_are_shown_once():
    margins = "<s:header><t:p>top</t:p></s:header><s:footer><t:p>12</t:p></s:footer>"
    styles = f"<o:document-styles {SPACES}>{margins}{margins}</o:document-styles>"

    assert document("<t:p>text</t:p>", **{"styles.xml": styles}) == "text\n\n[header]\n\ntop\n"


def test_the_document_type_of_old_files_is_ignored_and_others_are_refused():
    old = '<!DOCTYPE office:document-content PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "office.dtd">'

    assert document("<t:p>text</t:p>", doctype=old) == "text\n"
    with pytest.raises(Unreadable, match="document type"):
        document("<t:p>text</t:p>", doctype='<!DOCTYPE x [<!ENTITY a "b">]>')


def test_an_encrypted_document_is_called_encrypted():
    manifest = "<manifest><file-entry><encryption-data/></file-entry></manifest>"

    with pytest.raises(Unreadable, match="it is encrypted"):
        document("", **{"META-INF/manifest.xml": manifest})
