import io
import json
import unicodedata
from pathlib import Path

import pytest
from PIL import Image

from eyespan import Workspace, worker
from eyespan.dialects.arguments import BadArguments
from eyespan.dialects.claude import Claude
from eyespan.model import DocumentContent, DocumentOptions, PdfOptions, ReadRequest
from eyespan.readers import pdf
from tests.readers import pdf_files

PDFS = Path(__file__).parent.parent / "fixtures" / "pdfs"
EXPECTED = json.loads((PDFS / "expected.json").read_text(encoding="utf-8"))


def read(path, pages=None, **settings):
    arguments = {"file_path": str(path)} if pages is None else {"file_path": str(path), "pages": pages}
    return Workspace("/").tool("claude", **settings).call(arguments)


def document(path, **options):
    request = ReadRequest(path.name, documents=frozenset(["pdf"]), options=DocumentOptions(pdf=PdfOptions(**options)))
    return Workspace(path.parent).engine.read(request)


def words(text):
    return unicodedata.normalize("NFKC", text).split()


def page_text(block):
    """Return the words of a page after its heading."""
    return words(block.text.partition(":\n\n")[2])


def types(reply):
    return [block.type for block in reply.content]


@pytest.mark.parametrize("name", ["linear.pdf", "unicode.pdf", "owner_only.pdf"])
def test_the_text_of_every_page_is_what_another_program_finds(name):
    reply = read(PDFS / name)

    texts = [page_text(block) for block in reply.content if block.type == "text"]
    assert texts == [words(text) for text in EXPECTED[name]["text"]]
    assert reply.structured["total_pages"] == EXPECTED[name]["pages"]


def test_the_text_of_a_whole_book_is_what_another_program_finds():
    found = document(PDFS / "book.pdf", has_images=False, max_pages=1000)

    assert [words(part.text.partition(":\n\n")[2]) for part in found.parts] == [
        words(text) for text in EXPECTED["book.pdf"]["text"]
    ]


def test_each_page_is_its_text_then_its_image():
    reply = read(PDFS / "linear.pdf")

    assert types(reply) == ["text", "image"] * 3
    assert [block.text.partition(":")[0] for block in reply.content[::2]] == [f"Page {n} of 3" for n in (1, 2, 3)]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_page_has_the_shape_that_another_program_finds_and_fits_the_image_limit(name):
    reply = read(PDFS / name, "1")

    width, height = EXPECTED[name]["size_pt"]
    image = Image.open(io.BytesIO(reply.content[1].data))
    assert max(image.size) == min(1568, round(4 * max(width, height)))
    assert image.width / image.height == pytest.approx(width / height, rel=0.01)


def test_a_turned_page_is_drawn_upright():
    reply = read(PDFS / "rotated.pdf", "1-2")

    first, second = (Image.open(io.BytesIO(reply.content[at].data)).size for at in (1, 3))
    assert first == second[::-1]


def test_a_page_without_text_is_its_image_and_a_note():
    reply = read(PDFS / "scan.pdf")

    assert types(reply) == ["text", "image"]
    assert reply.text == "Page 1 of 1: no text layer, only this image."
    assert reply.structured["pages"][0]["has_text"] is False


def test_twenty_pages_are_shown_and_the_last_block_names_the_next():
    reply = read(PDFS / "book.pdf")

    assert types(reply) == ["text", "image"] * 20 + ["text"]
    assert reply.content[-1].text == (
        "<system-reminder>Pages 1-20 of 25 are shown; pages 21-25 are left out. "
        'To read on, use pages "21-25".</system-reminder>'
    )
    assert reply.structured["pages_returned"] == list(range(1, 21))
    assert reply.structured["truncated"] is True


@pytest.mark.parametrize(
    ("pages", "shown", "reminder"),
    [
        ("3", [3], None),
        (3, [3], None),
        (" 2 - 4 ", [2, 3, 4], None),
        ("24-30", [24, 25], None),
        ("5-25", list(range(5, 25)), 'page 25 is left out. To read on, use pages "25"'),
        ("1-25", list(range(1, 21)), 'pages 21-25 are left out. To read on, use pages "21-25"'),
        ("", list(range(1, 21)), 'pages 21-25 are left out. To read on, use pages "21-25"'),
    ],
)
def test_pages_selects_pages(pages, shown, reminder):
    reply = read(PDFS / "book.pdf", pages)

    assert reply.structured["pages_returned"] == shown
    last = reply.content[-1]
    assert (reminder in last.text) if reminder else last.type == "image"


@pytest.mark.parametrize(
    "pages", ["0", "-1", "1-0", "5-3", "x", "1-", "1,2", "1-2-3", "1.5", 0, -3, 2.5, True, [1], "²"]
)
def test_invalid_pages_are_an_error(pages):
    with pytest.raises(BadArguments, match="pages must be"):
        Claude().parse({"file_path": "/x.pdf", "pages": pages}, lambda *_: "")


def test_pages_beyond_the_end_are_an_error_with_the_number_of_pages():
    reply = read(PDFS / "book.pdf", "26")

    assert reply.error.message == "pages starts at 26, but the PDF has only 25 pages"
    assert read(PDFS / "scan.pdf", "2").error.message == "pages starts at 2, but the PDF has only 1 page"


def test_pages_of_other_files_are_ignored(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")

    assert read(tmp_path / "a.txt", "7").text == "     1\tone"


def test_one_page_decodes_one_page(monkeypatch):
    asked = []
    run = worker.run
    monkeypatch.setattr(
        worker, "run", lambda task, fd, params, **kw: asked.append(params) or run(task, fd, params, **kw)
    )

    facts = read(PDFS / "book.pdf", "25").structured

    assert [(params["first"], params["last"]) for params in asked] == [(25, 25)]
    assert [page["page"] for page in facts["pages"]] == [25]


def test_the_whole_file_is_one_document_block_if_the_host_wants_it():
    reply = read(PDFS / "linear.pdf", pdf="document")

    assert reply.content == (DocumentContent((PDFS / "linear.pdf").read_bytes(), "application/pdf"),)
    assert reply.structured["total_pages"] == 3


def test_selected_pages_are_never_a_document_block():
    assert types(read(PDFS / "linear.pdf", "2", pdf="document")) == ["text", "image"]


@pytest.mark.parametrize(("limit", "words"), [("MAX_DOCUMENT_PAGES", "3 pages"), ("MAX_DOCUMENT_BYTES", "MiB")])
def test_a_document_over_the_limits_of_the_apis_is_an_error_that_advises_pages(monkeypatch, limit, words):
    monkeypatch.setattr(pdf, limit, 2)

    reply = read(PDFS / "linear.pdf", pdf="document")

    assert words in reply.error.message
    assert 'request some of its pages with the argument pages, as in "1-5"' in reply.error.message


@pytest.mark.parametrize("mode", ["pages", "document"])
@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("locked.pdf", None, "This PDF cannot be read: it is protected by a password"),
        ("cut.pdf", b"%PDF-1.7\n1 0 obj\n<<", "This PDF cannot be read: not a PDF, or a corrupt one"),
        ("page.pdf", b"<html></html>", "This PDF cannot be read: not a PDF, despite its name"),
    ],
)
def test_each_reason_has_a_message_of_its_own(tmp_path, mode, name, data, message):
    path = PDFS / name
    if data is not None:
        path = tmp_path / name
        path.write_bytes(data)

    assert read(path, pdf=mode).error.message == message


def small_pdf(objects):
    """Return a PDF of these objects with a valid table of their offsets."""
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def test_a_pdf_without_pages_is_an_error(tmp_path):
    path = tmp_path / "none.pdf"
    path.write_bytes(small_pdf([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]))

    assert read(path).error.message == "This PDF cannot be read: it has no pages"


def test_an_empty_file_named_pdf_is_an_empty_file(tmp_path):
    (tmp_path / "empty.pdf").touch()

    assert "contents are empty" in read(tmp_path / "empty.pdf").text


def test_a_page_of_absurd_size_is_drawn_within_the_limit(tmp_path):
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 14400000 9000] >>"
    path = tmp_path / "wide.pdf"
    path.write_bytes(
        small_pdf([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>", page])
    )

    reply = read(path)

    assert max(Image.open(io.BytesIO(reply.content[1].data)).size) <= 1568


def nested(depth):
    """Return a PDF of arrays in arrays and page tree nodes in page tree nodes."""
    tree = [b"<< /Type /Catalog /Pages 2 0 R >>"]
    for number in range(2, depth + 2):
        tree.append(b"<< /Type /Pages /Count 1 /Kids [%d 0 R] >>" % (number + 1))
    tree.append(b"<< /Type /Page /MediaBox [0 0 9 9] /X " + b"[" * depth + b"]" * depth + b" >>")
    return small_pdf(tree)


def test_deep_nesting_is_answered_and_the_next_read_works(tmp_path):
    path = tmp_path / "deep.pdf"
    path.write_bytes(nested(20_000))

    reply = read(path)

    assert reply.is_error
    assert reply.error.code in ("unreadable", "timeout")
    assert not read(PDFS / "scan.pdf").is_error


def test_pages_that_take_too_long_are_left_out_with_a_note(monkeypatch):
    run = worker.run
    monkeypatch.setattr(worker, "run", lambda task, fd, params, **kw: run(task, fd, {**params, "seconds": 0.0}, **kw))

    reply = read(PDFS / "linear.pdf")

    assert types(reply) == ["text", "image", "text"]
    assert "pages 2-3 are left out (they take long to draw)" in reply.content[-1].text


def test_an_answer_stays_within_its_limit_of_bytes(monkeypatch):
    monkeypatch.setattr(pdf, "MAX_REPLY_BYTES", 40_000)

    reply = read(PDFS / "linear.pdf")

    assert types(reply) == ["text", "image", "text", "image", "text"]
    assert "page 3 is left out (the answer would become too large)" in reply.content[-1].text


def test_the_text_of_a_page_is_cut_at_a_limit_with_its_length(monkeypatch):
    monkeypatch.setattr(pdf, "MAX_PAGE_CHARS", 4)

    reply = read(PDFS / "linear.pdf", "1")

    assert reply.content[0].text.startswith("Page 1 of 3:\n\nPage\n... [text of the page cut, ")


@pytest.mark.parametrize(
    ("facts", "blobs"),
    [
        ({}, []),
        ({"total_pages": -1, "pages": []}, []),
        ({"total_pages": True, "pages": []}, []),
        ({"total_pages": 1, "pages": 7}, []),
        ({"total_pages": 1, "pages": [7]}, [b""]),
        ({"total_pages": 1, "pages": [{"page": 1}]}, []),
        ({"total_pages": 1, "pages": [{"page": "x"}]}, [b""]),
        ({"total_pages": 1, "pages": [{"page": 1, "media_type": "image/png"}]}, [b"", b"no image"]),
    ],
)
def test_an_invalid_response_is_not_returned(monkeypatch, facts, blobs):
    monkeypatch.setattr(worker, "run", lambda *_, **__: (facts, blobs))

    assert "invalid response" in read(PDFS / "scan.pdf").error.message


@pytest.mark.parametrize("blobs", [[], [b"no pdf"], [b"%PDF-1.4", b"%PDF-1.4"]])
def test_an_invalid_whole_document_is_not_returned(blobs, monkeypatch):
    monkeypatch.setattr(worker, "run", lambda *_, **__: ({"total_pages": 1}, blobs))

    assert "invalid response" in read(PDFS / "scan.pdf", pdf="document").error.message


def test_a_host_without_pdfs_has_no_argument_for_pages():
    assert "pages" not in Claude(can_read_pdf=False).spec.input_schema["properties"]
    assert Claude().spec.input_schema["properties"]["pages"]["type"] == "string"


@pytest.mark.parametrize("max_bytes", [200, 800])
def test_pages_stop_at_the_limit_of_an_answer(tmp_path, monkeypatch, max_bytes):
    (tmp_path / "a.pdf").write_bytes(
        pdf_files.pages(*[pdf_files.words((72, 700, f"page {n} {'x' * 40}")) for n in range(50)])
    )
    monkeypatch.setattr(pdf, "MAX_REPLY_BYTES", max_bytes)

    found = document(tmp_path / "a.pdf", has_images=False, max_pages=1000)

    assert found.extra["stopped"] == "bytes"
    assert 0 < len(found.extra["pages_returned"]) <= max_bytes // 40


@pytest.mark.parametrize("first_line", [b"%PXF-1.4", b"\0\0\0\0\0\0\0\0", b"junk before the file", b"%", b""])
def test_a_file_with_a_damaged_first_line_is_read(tmp_path, first_line):
    data = pdf_files.pages(pdf_files.words((72, 700, "Counted boxes")))
    (tmp_path / "a.pdf").write_bytes(first_line + b"\n%\0\xff" + data[data.index(b"\n") :])

    assert document(tmp_path / "a.pdf", has_images=False, has_layout=True).parts[0].text == "Counted boxes"
