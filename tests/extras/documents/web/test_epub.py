"""E-books as Markdown."""

from __future__ import annotations

import zipfile

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.web import epub
from tests.extras.documents.office_files import FIXTURES, document, expected, packed, repacked, text, words


def test_a_book_has_the_words_of_its_chapters():
    got, known = words(text(FIXTURES / "book.epub")), words(expected("book.epub.expected.txt"))
    rest = iter(word for word in got if word != "1")

    assert [word for word in known if word != "1" and word not in rest] == []
    assert document(FIXTURES / "book.epub").extra["title"] == "Two Chapters"


def test_an_entity_in_a_chapter_is_not_read_from_disk(tmp_path):
    page = b'<!DOCTYPE html [<!ENTITY e SYSTEM "file:///etc/passwd">]><html><body><p>a&e;b</p></body></html>'
    with zipfile.ZipFile(FIXTURES / "book.epub") as book:
        chapter = next(part for part in book.namelist() if part.endswith("ch001.xhtml"))

    assert "root:" not in text(repacked("book.epub", {chapter: page}, tmp_path / "a.epub"))


def book(spine="<itemref idref='a'/>", **more):
    container = '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>'
    opf = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:creator>Ada</dc:creator></metadata>'
        '<manifest><item id="a" href="a.html"/><item id="b" href="gone.html"/></manifest>'
        f"<spine>{spine}</spine></package>"
    )
    files = {"META-INF/container.xml": container, "book.opf": opf, "a.html": "<p>chapter</p>", **more}
    return epub.decode(packed(**files), {"seconds": 10})


def test_a_book_without_a_title_is_read_and_one_without_chapters_or_with_drm_refused():
    assert book()[1][0] == b"chapter\n"
    with pytest.raises(Unreadable, match="chapters are missing"):
        book("<itemref idref='b'/>")
    with pytest.raises(Unreadable, match="DRM"):
        book(**{"META-INF/encryption.xml": "<a/>", "META-INF/rights.xml": "<a/>"})


def test_chapters_that_are_missing_are_counted():
    made = book("<itemref idref='a'/><itemref idref='b'/><itemref idref='c'/>")[1][0]

    assert made == b"chapter\n\n[2 chapters missing in the file]\n"
