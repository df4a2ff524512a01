"""Plain XML is told by a search, all other by a parser: nobody may notice which."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.decoders.ooxml import _prefix, parse_xml, walk_xml
from eyespan.decoders.scan import Intricate, Tags, scan
from eyespan.errors import Unreadable

WORD, DRAWING = "urn:wordprocessingml", "urn:drawingml"
TAGS = Tags(
    ("w:p", "w:tbl", "w:tab", "a:docPr descr", "w:hyperlink"),
    ended=("w:p", "w:tbl"),
    texts=("w:t",),
    skipped=("w:del",),
    line="w:p w:r w:rPr w:t",
)


def told(walk, data, tags=TAGS):
    """What a walk tells, pieces of text that follow each other put together."""
    found = []

    def text(piece):
        if found and found[-1][0] == "text":
            piece = found.pop()[1] + piece
        found.append(("text", piece))

    def start(tag, attributes):
        if tag != "a:docPr" or "descr" in attributes:
            found.append(("start", tag, dict(attributes)))

    walk(data, "docx", "a.xml", start, lambda tag: found.append(("end", tag)), text, tags)
    return found


def part(body, head='<?xml version="1.0" encoding="UTF-8"?>', spaces=f'xmlns:w="{WORD}" xmlns:a="{DRAWING}"'):
    return f'{head}<w:document {spaces} xmlns:r="urn:relationships">{body}</w:document>'.encode()


LETTERS = st.text("ab &<>\"'!?\r\n\tä€", max_size=6)
ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&#62;", '"': "&#x22;", "\r": "&#13;"}


def escaped(text, also=""):
    return "".join(ESCAPES[c] if c in '&<"\r' + also else c for c in text)


def element(children):
    names = st.sampled_from(["w:p", "w:tbl", "w:tab", "w:del", "w:r", "a:docPr", "w:hyperlink", "x"])
    attributes = st.dictionaries(st.sampled_from(["w:val", "r:id", "descr", "name"]), LETTERS, max_size=2)

    def written(name, attributes, inside):
        given = "".join(f' {key}="{escaped(value)}"' for key, value in attributes.items())
        return f"<{name}{given}>{''.join(inside)}</{name}>" if inside else f"<{name}{given}/>"

    return st.builds(written, names, attributes, st.lists(children, max_size=4))


TREES = st.recursive(
    st.builds(
        lambda text, space: f"<w:t{space}>{escaped(text, '>')}</w:t>",
        LETTERS,
        st.sampled_from(["", ' xml:space="preserve"', ' a="b"', ' a="&gt;>"']),
    )
    | LETTERS.map(lambda text: f"<w:p><w:r><w:rPr a='b'/><w:t>{escaped(text, '>')}</w:t></w:r></w:p>")
    | LETTERS.map(lambda text: f"<w:p><w:r><w:t>{escaped(text, '>')}</w:t></w:r></w:p>")
    | LETTERS.map(escaped)
    | st.sampled_from(["<!-- <w:p> -->", "<![CDATA[<w:p>]]>", "<?x <w:p> ?>", "<w:t/>", "<w:t>a<x/>b</w:t>"]),
    element,
    max_leaves=12,
)


@given(st.lists(TREES, max_size=5).map("".join))
def test_a_search_tells_what_a_parser_tells(body):
    data = part(body)

    assert told(walk_xml, data) == told(parse_xml, data)


def test_plain_parts_are_searched():
    body = '<w:p><w:r><w:rPr/><w:t xml:space="preserve">a &amp; b? no! </w:t></w:r></w:p><w:tab/>'

    assert [event[:2] for event in scan(part(body), TAGS, _prefix)] == [
        ("", "w:p"),
        ("a & b? no! ", ""),
        ("", "w:p"),
        ("", "w:tab"),
    ]


@pytest.mark.parametrize(
    "data",
    [
        part("<w:p/><!-- -->"),
        part("<w:p/>", head='<?xml version="1.0" encoding="latin-1"?>'),
        part("<w:p/>", head='<!DOCTYPE x [<!ENTITY a "b">]>'),
        part("<w:p/>").decode().encode("utf-16"),
        part("<w:p/>").replace(b"<w:p", b"\xff<w:p"),
        part("<w:p/>", spaces=f"xmlns:w='{WORD}'"),
        part(f'<x xmlns:w="{DRAWING}"><w:p/></x>'),
        part(f'<x xmlns="{WORD}"><p/></x>'),
        part("<w:p>"),
        part("<w:t>&other;</w:t>"),
        part("<w:t>&#0;</w:t>"),
        part('<w:p a="1 > 0"/>'),
        part("<w:p a='b'/>"),
        part("<w:p/>")[:-3],
        part("<w:t>\0</w:t>"),
        part("<w:tbl>" * 300 + "</w:tbl>" * 300),
        b"",
        b"no XML",
    ],
)
def test_what_a_search_cannot_know_is_left_to_the_parser(data):
    with pytest.raises(Intricate):
        scan(data, TAGS, _prefix)


@pytest.mark.parametrize(
    "data", [part("<w:p>"), part("<w:p/>")[:-3], part("<w:t>&other;</w:t>"), part("<w:t>&#0;</w:t>"), b"", b"no XML"]
)
def test_damaged_parts_are_told(data):
    with pytest.raises(Unreadable, match="damaged"):
        told(walk_xml, data)


def test_a_line_of_one_text_may_be_told_at_once():
    body = '<w:p><w:r><w:rPr a="1"/><w:t>a &lt; b</w:t></w:r></w:p><w:p><w:r><w:t>c</w:t></w:r><w:tab/></w:p>'
    whole, other = [], []

    walk_xml(part(body), "docx", "a", lambda tag, _: other.append(tag), None, other.append, TAGS, whole.append)

    assert (whole, other) == (["a < b"], ["w:p", "c", "w:tab"])


def test_a_prefix_means_what_the_part_says():
    body = '<q:p/><w:p/><d:docPr descr="1 &gt; 0"/>'
    spaces = f'xmlns:w="urn:else" xmlns:q="{WORD}" xmlns:d="{DRAWING}"'
    data = part(body, spaces=spaces)

    assert told(walk_xml, data) == told(parse_xml, data)
    assert told(walk_xml, data) == [("start", "w:p", {}), ("end", "w:p"), ("start", "a:docPr", {"descr": "1 > 0"})]


def test_a_namespace_without_a_prefix_is_known():
    data = f'<relations xmlns="{WORD}"><p/><tab val="1"/></relations>'.encode()

    assert told(walk_xml, data) == [("start", "w:p", {}), ("end", "w:p"), ("start", "w:tab", {"val": "1"})]
    assert scan(data, TAGS, _prefix)
