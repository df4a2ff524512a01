"""Packages: the parts of zip archives, and limits and damage."""

from __future__ import annotations

import io
import re
import struct
import zipfile

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.shared import ooxml, salvage
from tests.extras.documents.office_files import FIXTURES, WORD, packed, relations, repacked, text

EXTERNAL_ENTITY = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    b'<w:document xmlns:w="%s"><w:body><w:p><w:r><w:t>&e;</w:t></w:r></w:p></w:body></w:document>' % WORD.encode()
)
MANY_LAUGHS = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("report.docx", "word/document.xml"),
        ("talk.pptx", "ppt/presentation.xml"),
        ("book.epub", "META-INF/container.xml"),
    ],
)
@pytest.mark.parametrize("xml", [EXTERNAL_ENTITY, MANY_LAUGHS])
def test_a_document_type_is_refused(tmp_path, name, part, xml):
    path = repacked(name, {part: xml}, tmp_path / name)

    with pytest.raises(Unreadable, match="document type"):
        text(path)


@pytest.mark.parametrize(
    ("name", "part"),
    [("report.docx", "word/document.xml"), ("talk.pptx", "ppt/presentation.xml"), ("ledger.xlsx", "xl/x.bin")],
)
def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, name, part):
    path = repacked(name, {part: b"\0" * (30 * 1024 * 1024)}, tmp_path / name)

    with pytest.raises(Unreadable, match="zip bomb"):
        text(path)


def test_too_many_parts_are_refused(tmp_path):
    many = tmp_path / "many.docx"
    with zipfile.ZipFile(many, "w") as parts:
        for number in range(10_001):
            parts.writestr(f"word/{number}", "")
    with pytest.raises(Unreadable, match="more than 10000 parts"):
        text(many)


def test_all_parts_together_are_bounded(monkeypatch):
    monkeypatch.setattr(ooxml, "MAX_READ_BYTES", 1000)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as parts:
        parts.writestr("a", "x" * 600)
        parts.writestr("b", "x" * 600)
    found = ooxml.Package(data)
    found.read("a")

    with pytest.raises(Unreadable, match="have 1200 bytes, the limit is 1000"):
        found.check_all()
    with pytest.raises(Unreadable, match="more than 1000 bytes"):
        found.read("b")


@pytest.mark.parametrize("name", ["report.docx", "talk.pptx"])
def test_xml_that_is_nested_too_deeply_is_refused(tmp_path, name):
    part, tag = ("word/document.xml", b"w:tbl") if name == "report.docx" else ("ppt/slides/slide1.xml", b"a:tbl")
    space = b"wordprocessingml" if name == "report.docx" else b"drawingml"
    xml = b'<x xmlns:%s="%s">' % (tag[:1], space) + b"<%s>" % tag * 5000 + b"</%s>" % tag * 5000 + b"</x>"
    path = repacked(name, {part: xml}, tmp_path / name)

    if name == "talk.pptx":  # the other slides are shown
        assert "[this slide cannot be read: its XML is nested more than 256 levels deep]" in text(path)
        return
    with pytest.raises(Unreadable, match="nested more than 256 levels"):
        text(path)


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub", "a.ods"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no zip\0\1", "corrupt"),
        (b"PK\x03\x04 cut\0off", "corrupt"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "before 2007|corrupt"),
    ],
)
def test_a_file_that_is_not_such_a_document_is_refused(tmp_path, name, data, reason):
    path = tmp_path / name
    path.write_bytes(data)

    with pytest.raises(Unreadable, match=reason):
        text(path)


def test_an_encrypted_part_is_reported(tmp_path):
    data = bytearray((FIXTURES / "report.docx").read_bytes())
    at = 0
    while (at := data.find(b"PK\x01\x02", at + 1)) > 0:
        flags = struct.unpack_from("<H", data, at + 8)[0]
        struct.pack_into("<H", data, at + 8, flags | 1)
    path = tmp_path / "a.docx"
    path.write_bytes(data)

    with pytest.raises(Unreadable, match="encrypted"):
        text(path)


def part_of(data: bytes) -> bytes:
    return ooxml.Package(io.BytesIO(data)).read("a.xml")


@pytest.mark.parametrize("max_held_bytes", [0, ooxml.MAX_HELD_BYTES])
def test_a_package_may_have_a_comment_and_any_names(monkeypatch, max_held_bytes):
    monkeypatch.setattr(ooxml, "MAX_HELD_BYTES", max_held_bytes)
    commented = packed(**{"a.xml": "<a/>", "ä.xml": "<b/>"})
    with zipfile.ZipFile(commented, "a") as archive:
        archive.comment = b"made by hand"

    assert part_of(commented.getvalue()) == b"<a/>"


def test_a_package_that_declares_more_parts_than_it_has_is_read():
    data = bytearray(packed(**{"a.xml": "<a/>"}).getvalue())
    struct.pack_into("<2H", data, len(data) - 14, 2, 2)

    assert part_of(bytes(data)) == b"<a/>"


def test_a_part_is_unpacked_no_further_than_its_declared_size():
    content = "".join(f"<a>{number * 7919 % 99991}</a>" for number in range(9000))
    data = packed(**{"a.xml": content}).getvalue()
    assert part_of(data) == content.encode()
    lying = bytearray(data)
    struct.pack_into("<L", lying, data.rindex(b"PK\1\2") + 24, 10)

    with pytest.raises(Unreadable, match=r"its part a\.xml is corrupt"):
        part_of(bytes(lying))


def test_targets_of_relations_are_names_of_parts():
    rows = relations(a=("slide", "one.xml"), b=("slide", "../two.xml"), c=("slide", ""), d=("slide", "/x/%41.xml"))
    found = ooxml.Package(packed(**{"ppt/_rels/show.xml.rels": rows})).relations("ppt/show.xml")

    assert [target for _, target in found.values()] == ["ppt/one.xml", "two.xml", "", "x/A.xml"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2])
def test_parts_are_read_however_they_are_compressed(method):
    assert ooxml.Package(packed(method, **{"a.xml": "<a/>" * 50})).read("A.xml") == b"<a/>" * 50


def test_a_part_that_differs_from_its_entry_is_corrupt(monkeypatch):
    data = bytearray(packed(zipfile.ZIP_STORED, **{"a.xml": "<a/>"}).getvalue())
    moved = bytes(data).replace(b"PK\3\4", b"PK\0\0", 1)
    other = bytes(data).replace(b"<a/>", b"<b/>", 1)

    for broken in (moved, other):
        with pytest.raises(Unreadable):
            ooxml.Package(io.BytesIO(broken)).read("a.xml")
    with pytest.raises(Unreadable, match=r"its part b\.xml is missing"):
        ooxml.Package(io.BytesIO(bytes(data))).read("b.xml")
    monkeypatch.setattr(ooxml, "MAX_READ_BYTES", 6)
    twice = ooxml.Package(io.BytesIO(bytes(data)))
    twice.read("a.xml")
    with pytest.raises(Unreadable, match="more than 6 bytes"):
        twice.read("a.xml")


def test_a_part_that_is_too_large_is_not_read(monkeypatch):
    monkeypatch.setattr(ooxml, "MAX_PART_BYTES", 3)

    with pytest.raises(Unreadable, match="the limit is 3"):
        ooxml.Package(packed(**{"a.xml": "<a/>"})).read("a.xml")


# --- damage ----------------------------------------------------------------------------------------------------------


def without_contents(name):
    """Return a fixture that ends before its table of contents."""
    data = (FIXTURES / name).read_bytes()
    return data[: data.index(b"PK\1\2")]


@pytest.mark.parametrize("name", ["report.docx", "talk.pptx", "ledger.xlsx", "ledger.ods"])
def test_a_package_without_its_table_of_contents_is_recovered(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(without_contents(name))

    note, _, rest = text(path).partition("\n\n")

    assert re.fullmatch(r"\[the file is damaged; \d+ of its parts were recovered, others may be missing\]", note)
    assert rest.replace(str(path), "") == text(FIXTURES / name).replace(str(FIXTURES / name), "")


def test_the_text_before_a_damage_is_shown_with_a_note(tmp_path):
    body = "".join(f"<w:p><w:r><w:t>paragraph {n} {n * 7919 % 99991}</w:t></w:r></w:p>" for n in range(20_000))
    xml = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
    data = bytearray(packed(**{"word/document.xml": xml, "word/other.xml": "<a/>"}).getvalue())
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    (tmp_path / "a.docx").write_bytes(data)

    shown = text(tmp_path / "a.docx").split("\n\n")

    assert shown[0] == "[its part word/document.xml is damaged; what follows the damage is left out]"
    assert shown[1].startswith("[corrupt XML in its part word/document.xml")
    assert shown[2].startswith("paragraph 0 ")
    assert len(shown) > 5000


def test_a_corrupt_part_that_is_not_the_text_is_left_out(tmp_path):
    path = repacked("report.docx", {"word/styles.xml": b"<broken"}, tmp_path / "a.docx")

    shown = text(path)

    assert shown.startswith("[corrupt XML in its part word/styles.xml (line 1); it is left out]\n\n")
    assert "The harbor was busy this week." in shown


def test_a_zip_bomb_without_a_table_of_contents_is_bounded(monkeypatch):
    data = packed(a=b"\0" * 5_000_000, b=b"\0" * 5_000_000).getvalue()

    found = salvage.members(data, max_member_bytes=1000, max_bytes=1500)

    assert [len(contents) for contents in found.values()] == [1000, 500]


def test_stored_and_unknown_members_are_recovered_or_skipped():
    stored = packed(zipfile.ZIP_STORED, a="text", b="more").getvalue()
    cut = stored[: stored.index(b"PK\1\2")]
    unknown = bytearray(cut)
    unknown[8] = 99

    assert salvage.members(cut, max_member_bytes=99, max_bytes=99) == {"a": b"text", "b": b"more"}
    assert salvage.members(bytes(unknown), max_member_bytes=99, max_bytes=99) == {"b": b"more"}
    assert salvage.members(cut[:20], max_member_bytes=99, max_bytes=99) == {}


RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'


@pytest.mark.parametrize(
    "text",
    [
        f'<Relationships {RELATIONS}><Relationship Id="r1" Type="t/image" Target="../media/a.png"/></Relationships>',
        f"<Relationships {RELATIONS}><Relationship Id='r1' Type='t/image' Target='../media/a.png'/></Relationships>",
        f'<r:Relationships {RELATIONS.replace("xmlns", "xmlns:r")}><r:Relationship Id="r1" Type="t/image" '
        'Target="../media/a.png"></r:Relationship></r:Relationships>',
        f'<Relationships {RELATIONS}><!-- <Relationship Id="r2"/> -->'
        '<Relationship Id="r1" Type="t/image" Target="../media/&#97;.png"/></Relationships>',
    ],
)
def test_relations_are_the_same_however_they_are_written(text):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("ppt/slides/_rels/a.xml.rels", text)
        archive.writestr("ppt/media/a.png", b"?")

    package = ooxml.Package(made)

    assert package.relations("ppt/slides/a.xml") == {"r1": ("image", "ppt/media/a.png")}


@pytest.mark.parametrize(
    "rows",
    [
        '<Relationship Id="r1" Type="t/image" Target="a"/> <x/>',
        '<Relationship Id="r1" Type="t/image" Target="a" Other="b"/>',
        '<Relationship Id="r1" Type="t/image" Target="a"></Relationship>',
        'x<Relationship Id="r1" Type="t/image" Target="a"/>',
    ],
)
def test_unusual_relations_are_parsed(rows):
    part = f"<Relationships {RELATIONS}>{rows}</Relationships>"

    assert ooxml.Package(packed(**{"_rels/.rels": part})).relations("") == {"r1": ("image", "a")}
