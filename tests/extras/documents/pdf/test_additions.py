"""What native shows of a PDF beside its text."""

from __future__ import annotations

import io

import pytest

from eyespan import Workspace
from eyespan.extras.documents.pdf import additions, layout
from eyespan.extras.documents.pdf.additions import section_pages
from tests.readers.pdf_files import pages, stream, words


def shown(tmp_path, data, selector="", budget=200_000):
    (tmp_path / "a.pdf").write_bytes(data)
    return Workspace(tmp_path).tool("native").call({"files": f"a.pdf{selector}", "budget": budget})


def annotated(entries, *, is_form=False, text="words"):
    """Return a PDF of one page with these annotations."""
    more = {1000 + at: f"<< /Type /Annot {entry} >>" for at, entry in enumerate(entries)}
    names = " ".join([f"{number} 0 R" for number in more])
    catalog = f"/AcroForm << /Fields [{names}] >>" if is_form else ""
    return pages(words((72, 700, text)), catalog=catalog, annotations=names, more=more)


def decoded(data):
    """Return the facts and the text of the first page."""
    params = {"first": 1, "last": None, "max_pages": 1, "images": False, "max_px": 9, "max_bytes": 1 << 24}
    facts, blobs = layout.decode(io.BytesIO(data), {**params, "max_text_chars": 10**7, "layout": True, "seconds": 60})
    return facts, blobs[0].decode()


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


NUMBERED = " ".join([f"w{n:05d}" for n in range(10_000)])
"""70,000 characters, more than a string of 64 KiB in UTF-16 has."""


def test_a_long_value_of_a_form_is_whole(tmp_path):
    data = annotated([f"/Subtype /Widget /FT /Tx /T (story) /V ({NUMBERED}) /Rect [9 9 99 40]"], is_form=True)

    assert f"\t- story: {NUMBERED}" in shown(tmp_path, data).text


def test_a_long_annotation_is_whole(tmp_path):
    data = annotated([f"/Subtype /Text /T (Ann) /Contents ({NUMBERED}) /Rect [9 9 99 40]"])

    assert f"\t- note by Ann: {NUMBERED}" in shown(tmp_path, data).text


def test_a_long_address_of_a_link_is_whole(tmp_path):
    address = "https://example.org/" + "a" * 20_000
    data = annotated([f"/Subtype /Link /Rect [9 9 99 40] /A << /S /URI /URI ({address}) >>"])

    assert f"\t- {address}\n" in shown(tmp_path, data).text + "\n"


def test_all_fields_and_notes_of_a_page_are_shown(tmp_path):
    fields = [f"/Subtype /Widget /FT /Tx /T (f{n}) /V (value {n}) /Rect [9 9 99 40]" for n in range(400)]
    notes = [f"/Subtype /Text /Contents (note {n}) /Rect [9 9 99 40]" for n in range(400)]

    text = shown(tmp_path, annotated([*fields, *notes], is_form=True)).text

    assert [n for n in range(400) if f"\t- f{n}: value {n}\n" not in text] == []
    assert [n for n in range(400) if f"\t- note: note {n}\n" not in f"{text}\n"] == []


def test_entries_above_the_limit_are_counted(monkeypatch):
    monkeypatch.setattr(additions, "MAX_ENTRIES", 3)
    data = annotated([f"/Subtype /Text /Contents (note {n}) /Rect [9 9 99 40]" for n in range(5)])

    text = decoded(data)[1]

    assert "note 2" in text
    assert text.endswith("... the first 3 of 5 fields, links and annotations of this page are read, 2 are left out")


def test_a_string_above_the_limit_is_not_called_empty(monkeypatch):
    monkeypatch.setattr(additions, "MAX_STRING_BYTES", 100)
    data = annotated([f"/Subtype /Widget /FT /Tx /T (story) /V ({'x' * 400}) /Rect [9 9 99 40]"], is_form=True)

    assert "- story: (400 characters, too long to be shown)" in decoded(data)[1]


def test_a_long_marked_text_is_cut_with_its_length():
    text = "word " * 20 + "word"
    data = annotated(["/Subtype /Highlight /Rect [70 690 6000 715] /Contents (see)"], text=text * 2)

    assert f'highlight on "{(text * 2)[:120]}... (' in decoded(data)[1]


def test_marked_texts_that_take_too_long_are_counted(monkeypatch):
    monkeypatch.setattr(additions, "QUOTES_SECONDS", 0.0)
    data = annotated([f"/Subtype /Highlight /Rect [70 690 600 715] /Contents (note {n})" for n in range(2)])

    text = decoded(data)[1]

    assert "- highlight: note 1" in text
    assert text.endswith("... the texts under 2 links and annotations are left out: they take too long")


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

    def test_bookmarks_above_the_limit_are_counted(self, tmp_path):
        more = {60: "<< /Type /Outlines /First 1000 0 R /Last 1299 0 R /Count 300 >>"}
        for n in range(1000, 1300):
            following = f"/Next {n + 1} 0 R" if n < 1299 else ""
            more[n] = f"<< /Title (Part {n}) /Parent 60 0 R {following} /Dest [10 0 R /Fit] >>"

        text = shown(tmp_path, pages(words((72, 700, "words")), catalog="/Outlines 60 0 R", more=more)).text

        assert "\t- Part 1059 (p1)\n\t- ... 240 more\n" in text

    @pytest.mark.parametrize(
        ("limit", "end"),
        [
            (2, [(0, "Title 1", 1), (0, "Title 2", 1), (0, "(bookmarks after the first 2 are not read)", 0)]),
            (3, [(0, f"Title {n}", 1) for n in (1, 2, 3)]),
        ],
    )
    def test_a_list_of_bookmarks_that_is_not_read_to_its_end_states_it(self, monkeypatch, limit, end):
        more = {60: "<< /Type /Outlines /First 1001 0 R /Last 1003 0 R /Count 3 >>"}
        for n in (1, 2, 3):
            following = f"/Next {1001 + n} 0 R" if n < 3 else ""
            more[1000 + n] = f"<< /Title (Title {n}) /Parent 60 0 R {following} /Dest [10 0 R /Fit] >>"
        monkeypatch.setattr(additions, "MAX_BOOKMARKS", limit)

        facts, _ = decoded(pages(words((72, 700, "words")), catalog="/Outlines 60 0 R", more=more))

        assert [tuple(entry) for entry in facts["bookmarks"]] == end

    def test_a_damaged_list_of_bookmarks_states_it(self):
        class Damaged:
            def get_toc(self, max_depth):
                raise ValueError
                yield

        assert additions.bookmarks(Damaged()) == [(0, "(the list of bookmarks is damaged; others may follow)", 0)]

    def test_a_bookmark_without_a_page_is_listed(self, tmp_path):
        more = {**OUTLINE, 61: "<< /Title (Front matter) /Parent 60 0 R /Next 62 0 R >>"}

        text = shown(tmp_path, pages(words((72, 700, "words")), catalog="/Outlines 60 0 R", more=more)).text

        assert "\tBookmarks:\n\t- Front matter\n" in text

    def test_a_deep_bookmark_is_listed(self, tmp_path):
        more = {60: "<< /Type /Outlines /First 1000 0 R /Last 1000 0 R /Count 1 >>"}
        for n in range(1000, 1020):
            below = f"/First {n + 1} 0 R /Last {n + 1} 0 R /Count 1" if n < 1019 else ""
            more[n] = f"<< /Title (Level {n}) /Parent {n - 1 if n > 1000 else 60} 0 R {below} /Dest [10 0 R /Fit] >>"

        text = shown(tmp_path, pages(words((72, 700, "words")), catalog="/Outlines 60 0 R", more=more)).text

        assert "- Level 1019 (p1)" in text

    def test_bookmarks_that_do_not_fit_are_named(self, tmp_path):
        page = words(*[(72, 10 + 12 * n, f"line {n} of a long page") for n in range(60)])
        data = pages(page, page, page, page, catalog="/Outlines 60 0 R", more=OUTLINE)

        reply = shown(tmp_path, data, budget=200)

        assert ">note: bookmarks, attachments and signatures do not fit; a larger budget shows them\n" in reply.text
        assert reply.facts["tokens"] <= 200

    def test_a_search_finds_the_last_page_of_a_file_with_bookmarks(self, tmp_path, book):
        reply = shown(tmp_path, book, "?page 4")

        assert [part["selector"] for part in reply.structured["parts"][0]["parts"]] == ["a.pdf:p4:1"]

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


def test_attachments_above_the_limit_are_counted(tmp_path):
    names = " ".join([f"(n{n:03d}) 60 0 R" for n in range(100)])
    more = {
        60: "<< /Type /Filespec /F (data.csv) /UF (data.csv) /EF << /F 61 0 R >> >>",
        61: stream("a,b", "/Type /EmbeddedFile /Params << /Size 3 >>"),
    }
    catalog = f"/Names << /EmbeddedFiles << /Names [{names}] >> >>"

    text = shown(tmp_path, pages(words((72, 700, "one")), catalog=catalog, more=more)).text

    assert text.count("\t- data.csv") == 60
    assert "\t- ... 40 more\n" in text


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


def test_signatures_are_counted(tmp_path):
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

    assert "Digital signatures, not verified:\n\t- 1\n" in text
    assert "- sign: (field of a signature)" in text
