"""What native shows of a PDF beside its text."""

from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.decoders import pdf_extras
from eyespan.decoders.pdf_extras import section_pages
from tests.readers.pdf_files import pages, stream, words


def shown(tmp_path, data, selector=""):
    (tmp_path / "a.pdf").write_bytes(data)
    return Workspace(tmp_path).tool("native").call({"files": f"a.pdf{selector}"})


def test_the_values_of_a_form_follow_the_text(tmp_path):
    fields = {
        60: "<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /V (Ada) /Rect [10 10 90 30] /P 10 0 R >>",
        61: "<< /Type /Annot /Subtype /Widget /FT /Tx /T (city) /TU (Your city) /Rect [10 40 90 60] /P 10 0 R >>",
        62: "<< /Type /Annot /Subtype /Widget /FT /Ch /Ff 131072 /T (size) /V (M) /Opt [(S) (M)] /Rect [1 70 9 80] >>",
    }
    fields[63] = "<< /Type /Annot /Subtype /Widget /FT /Sig /T (sign here) /Rect [1 90 9 99] >>"
    catalog = "/AcroForm << /Fields [60 0 R 61 0 R 62 0 R 63 0 R] >>"
    data = pages(
        words((72, 700, "A form")), catalog=catalog, annotations=" ".join(f"{n} 0 R" for n in fields), more=fields
    )

    text = shown(tmp_path, data).text

    assert (
        "Form fields:\n\t- name: Ada\n\t- city (Your city): (empty)\n\t- size: M\n\t- sign here: (field of a signature)"
        in text
    )


def test_links_and_annotations_name_the_text_they_belong_to(tmp_path):
    more = {
        60: "<< /Type /Annot /Subtype /Link /Rect [72 698 150 712] /A << /S /URI /URI (https://example.org/?a=1) >> >>",
        61: "<< /Type /Annot /Subtype /Highlight /Rect [72 678 150 692] /QuadPoints [72 692 150 692 72 678 150 678] "
        "/Contents (check\nthis) /T (Ada) >>",
        62: "<< /Type /Annot /Subtype /Text /Rect [300 300 320 320] /Contents (a note) >>",
    }
    data = pages(words((72, 700, "the manual"), (72, 680, "some words")), annotations="60 0 R 61 0 R 62 0 R", more=more)

    text = shown(tmp_path, data).text

    assert "Links:\n\t- the manual: https://example.org/?a=1" in text
    assert 'Annotations:\n\t- highlight on "some words" by Ada: check this\n\t- note: a note' in text


OUTLINE = {
    60: "<< /Type /Outlines /First 61 0 R /Last 63 0 R /Count 3 >>",
    61: "<< /Title (Introduction) /Parent 60 0 R /Next 62 0 R /Dest [10 0 R /Fit] >>",
    62: "<< /Title (Methods) /Parent 60 0 R /Prev 61 0 R /Next 63 0 R /First 64 0 R /Last 64 0 R /Count 1 "
    "/Dest [12 0 R /Fit] >>",
    63: "<< /Title (Results) /Parent 60 0 R /Prev 62 0 R /Dest [16 0 R /Fit] >>",
    64: "<< /Title (Samples) /Parent 62 0 R /Dest [14 0 R /Fit] >>",
}


@pytest.fixture
def book():
    texts = [words((72, 700, f"text of page {n}")) for n in range(1, 5)]
    return pages(*texts, catalog="/Outlines 60 0 R", more=OUTLINE)


class TestSections:
    def test_the_bookmarks_come_first(self, tmp_path, book):
        text = shown(tmp_path, book).text

        assert "\tBookmarks:\n\t- Introduction (p1)\n\t- Methods (p2)\n\t  - Samples (p3)\n\t- Results (p4)\n" in text

    @pytest.mark.parametrize(
        ("selector", "numbers"),
        [("::Methods", [2, 3, 4]), ("::samples", [3, 4]), ("::Results", [4]), ("::intro", [1, 2])],
    )
    def test_a_section_is_selected_by_its_bookmark(self, tmp_path, book, selector, numbers):
        reply = shown(tmp_path, book, selector)

        assert [n for n in range(1, 5) if f"text of page {n}" in reply.text] == numbers
        assert f"a.pdf:p{numbers[0]}" in reply.text

    def test_a_section_that_does_not_exist_is_an_error_with_similar_names(self, tmp_path, book):
        error = shown(tmp_path, book, "::Metods").error

        assert error.code == "no_symbol"
        assert "a.pdf::Methods" in error.message

    def test_a_loop_of_bookmarks_ends(self, tmp_path):
        loop = {
            60: "<< /Type /Outlines /First 61 0 R /Last 61 0 R /Count 1 >>",
            61: "<< /Title (Again) /Parent 60 0 R /Next 61 0 R /First 61 0 R /Dest [10 0 R /Fit] >>",
        }

        reply = shown(tmp_path, pages(words((72, 700, "words")), catalog="/Outlines 60 0 R", more=loop))

        assert "words" in reply.text

    def test_the_exact_title_comes_before_one_that_contains_it(self):
        entries = [(0, "Methods of others", 1), (0, "methods", 3), (0, "Methods", 5)]

        assert section_pages(entries, "Methods", 9) == ("Methods", 5, 9)
        assert section_pages(entries, "METHODS", 9) == ("methods", 3, 5)
        assert section_pages(entries, "others", 9) == ("Methods of others", 1, 3)
        assert section_pages(entries, "none", 9) is None


def test_labels_and_attachments_are_named(tmp_path):
    more = {
        60: "<< /Type /Filespec /F (data.csv) /UF (data.csv) /EF << /F 61 0 R >> >>",
        61: stream("a,b", "/Type /EmbeddedFile /Params << /Size 3 >>"),
    }
    catalog = (
        "/PageLabels << /Nums [0 << /S /r >> 1 << /S /D >>] >> "
        "/Names << /EmbeddedFiles << /Names [(data.csv) 60 0 R] >> >>"
    )
    data = pages(words((72, 700, "one")), words((72, 700, "two")), catalog=catalog, more=more)

    text = shown(tmp_path, data).text

    assert "Attachments:\n\t- data.csv (3 bytes)" in text
    assert "Page 1 of 2, labelled i:" in text
    assert "Page 2 of 2, labelled 1:" in text


class TestPagesWithoutReadableText:
    def test_a_page_without_text_comes_as_an_image_at_once(self, tmp_path):
        reply = shown(tmp_path, pages("0 0 300 300 re f"))

        assert [block.type for block in reply.content] == ["text", "image"]
        assert "Page 1 of 1: no text layer, only this image." in reply.text

    def test_so_do_only_the_first_pages_of_many(self, tmp_path):
        reply = shown(tmp_path, pages(*["0 0 300 300 re f"] * 6))

        assert [block.type for block in reply.content].count("image") == 4
        assert "note: no text on page 5; a.pdf:p5 shows it" in reply.text

    def test_a_page_with_a_garbage_text_layer_comes_as_an_image(self, tmp_path):
        garbage = "".join(chr(1 + n % 8) for n in range(80))

        reply = shown(tmp_path, pages(words((72, 700, garbage), (72, 600, "abc"))))

        assert [block.type for block in reply.content] == ["text", "image"]
        assert "its text layer is unreadable" in reply.text

    def test_a_page_with_text_has_no_image(self, tmp_path):
        assert [block.type for block in shown(tmp_path, pages(words((72, 700, "words")))).content] == ["text"]


@pytest.mark.parametrize("dialect", ["claude"])
def test_other_dialects_show_the_text_alone(tmp_path, dialect):
    (tmp_path / "a.pdf").write_bytes(pages(words((72, 700, "words")), catalog="/Outlines 60 0 R", more=OUTLINE))

    reply = Workspace(tmp_path).tool(dialect).call({"file_path": f"{tmp_path}/a.pdf"})

    assert reply.content[0].text == "Page 1 of 1:\n\nwords"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("D:20080424150217+09'00'", "2008-04-24 15:02:17 +09:00"),
        ("D:20080424150217Z", "2008-04-24 15:02:17 UTC"),
        ("D:20080424150217-05", "2008-04-24 15:02:17 -05:00"),
        ("D:20080424150217", "2008-04-24 15:02:17"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_the_time_of_a_signature_is_readable(written, shown):
    assert pdf_extras._time(written) == shown


def test_a_signature_has_a_line_with_time_reason_and_method(tmp_path):
    signature = "/Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached /M (D:20240102030405Z) /Reason (ok)"
    data = pages(
        words((72, 700, "text")),
        catalog="/AcroForm << /Fields [60 0 R] /SigFlags 3 >>",
        annotations="60 0 R",
        more={
            60: "<< /Type /Annot /Subtype /Widget /FT /Sig /T (sign) /Rect [0 0 9 9] /V 61 0 R >>",
            61: f"<< {signature} /ByteRange [0 1 2 3] /Contents <00> >>",
        },
    )
    (tmp_path / "a.pdf").write_bytes(data)

    text = Workspace(tmp_path).tool("native").call({"files": "a.pdf"}).text

    assert "- 2024-01-02 03:04:05 UTC, ok, adbe.pkcs7.detached" in text
    assert "- sign: (field of a signature)" in text
