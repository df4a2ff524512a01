"""XML parts: names, damage, document types, and trees that grow while they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan.errors import Unreadable
from eyespan.extras.documents.shared import xml_tree

WORD, DRAWING = "urn:wordprocessingml", "urn:drawingml"


def part(body, declaration='<?xml version="1.0" encoding="UTF-8"?>', spaces=f'xmlns:w="{WORD}" xmlns:a="{DRAWING}"'):
    return f'{declaration}<w:document {spaces} xmlns:r="urn:relationships">{body}</w:document>'.encode()


def parse(data):
    return xml_tree.parse(data, part="a.xml")


def outline(element):
    """Return an element as nested tuples of short names."""
    return (xml_tree.NAMES[element.tag], *[outline(child) for child in element])


# --- names -----------------------------------------------------------------------------------------------------------


def test_a_prefix_means_the_namespace_it_is_bound_to():
    root = parse(part("<q:p/><w:p/>", spaces=f'xmlns:w="urn:else" xmlns:q="{WORD}"'))

    assert outline(root) == ("document", ("w:p",), ("p",))


def test_a_namespace_without_a_prefix_is_known():
    root = parse(f'<document xmlns="{WORD}"><p/><x xmlns="{DRAWING}"><p/></x></document>'.encode())

    assert outline(root) == ("w:document", ("w:p",), ("a:x", ("a:p",)))


def test_attributes_have_local_names_and_ids_of_relations_a_prefix():
    (element,) = parse(part('<w:p w:val="1 &gt; 0" id="2" r:id="3"/>'))

    assert xml_tree.attributes(element) == {"val": "1 > 0", "id": "2", "r:id": "3"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("a &amp; b? &#xe9;\r\n", "a & b? é\n"),
        ("a<!-- no -->b<![CDATA[<w:p>]]>c<?no?>", "ab<w:p>c"),
        ("a<x>b</x>c", "abc"),
        ("", ""),
    ],
)
def test_text_includes_that_of_inner_elements(body, text):
    (element,) = parse(part(f"<w:t>{body}</w:t>"))

    assert xml_tree.text_of(element) == text


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        part("<w:p>"),
        part("</w:p><w:p>"),
        part("<w:p><w:tbl></w:p></w:tbl>"),
        part("<w:p/>")[:-3],
        part("<w:t>&other;</w:t>"),
        part("<w:t>&#0;</w:t>"),
        part("<w:t>\0</w:t>"),
        part("<w:p/>").replace(b"<w:p", b"\xff<w:p"),
        part("<q:p/>"),
        b"",
        b"no XML",
    ],
)
def test_a_corrupt_part_is_refused(data):
    with pytest.raises(Unreadable, match=r"corrupt XML in its part a\.xml"):
        parse(data)
    with pytest.raises(Unreadable, match=r"corrupt XML in its part a\.xml"):
        list(xml_tree.stream(data, frozenset(), part="a.xml"))


@pytest.mark.parametrize("encoding", ["utf-7", "x-unknown", "shift_jis"])
def test_an_encoding_that_is_not_supported_is_reported(encoding):
    data = f'<?xml version="1.0" encoding="{encoding}"?><a>x</a>'.encode()

    with pytest.raises(Unreadable, match="its part a"):
        parse(data)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_a_part_is_read_in_any_encoding_of_xml(encoding):
    declaration = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    data = part("<w:t>é</w:t>", declaration).decode().encode(encoding)

    assert xml_tree.text_of(parse(data)) == "é"


DOCTYPES = ['<!DOCTYPE x [<!ENTITY a "b">]>', '<!DOCTYPE x SYSTEM "file:///etc/passwd">', "<!DOCTYPE x>"]


@pytest.mark.parametrize("doctype", DOCTYPES)
@pytest.mark.parametrize(
    "start", ["", '<?xml version="1.0"?>\n', "<!-- <w:p> -->", "<?x <w:p> ?>", "\ufeff", '<?xml version="1.0"?><?x?>']
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
def test_a_document_type_is_refused_in_any_place_and_encoding(doctype, start, encoding):
    data = part("<w:p/>", start + doctype).decode().encode(encoding)

    with pytest.raises(Unreadable, match=r"document type|corrupt XML"):  # some of these are no XML at all
        parse(data)


@pytest.mark.parametrize("doctype", DOCTYPES)
def test_the_reason_names_the_document_type(doctype):
    for data in (part("", doctype), part("", f'<?xml version="1.0"?><!-- a -->{doctype}').decode().encode("utf-16")):
        with pytest.raises(Unreadable, match="its XML has a document type, which is refused"):
            parse(data)


# --- growing trees ---------------------------------------------------------------------------------------------------


def elements(children):
    names = st.sampled_from(["w:p", "w:tbl", "w:tr", "x"])
    return st.builds(lambda name, inner: f"<{name}>{''.join(inner)}</{name}>", names, st.lists(children, max_size=4))


@given(
    body=st.lists(st.recursive(st.just("<w:t>é</w:t>"), elements, max_leaves=12), max_size=4).map("".join),
    piece_bytes=st.integers(1, 200),
)
def test_a_growing_tree_has_the_elements_of_a_whole_one(body, piece_bytes):
    data = part(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xml_tree, "_PIECE_BYTES", piece_bytes)
        grown = outline(xml_tree.stream(data, frozenset(("w:tbl", "x")), part="a.xml"))

    assert grown == outline(parse(data))


def test_an_element_that_is_not_iterated_is_passed_over(monkeypatch):
    monkeypatch.setattr(xml_tree, "_PIECE_BYTES", 10)
    data = part(f"<w:tbl>{'<w:tr><w:p/></w:tr>' * 20}</w:tbl><w:p/>")

    root = xml_tree.stream(data, frozenset(("w:tbl",)), part="a.xml")

    assert [xml_tree.NAMES[child.tag] for child in root] == ["w:tbl", "w:p"]
