"""Formats from before 2007: doc and msg in containers, and RTF."""

from __future__ import annotations

import io

import pytest

from eyespan.errors import Missing, Unreadable
from eyespan.extras.documents.mail import msg
from eyespan.extras.documents.office import doc, docx, rtf
from eyespan.extras.documents.shared import ole
from tests.extras.documents.office_files import FIXTURES, load_without, message, word97
from tests.extras.documents.office_files import ole as container


def text_of(decoder, file) -> str:
    return decoder.decode(file, {"name": "a"})[1][0].decode()


# --- doc -------------------------------------------------------------------------------------------------------------


def test_the_pieces_of_a_word_document_are_joined():
    assert text_of(doc, word97("Caf\xe9 ", "漢字\rnext\r")) == f"{doc.NOTE}\n\nCafé 漢字\n\nnext\n"


def test_fields_show_their_results_and_links_their_targets():
    link = '\x13 HYPERLINK "https://a.example/" \x14there\x15'
    body = f"see {link}, page \x13 PAGE \x141\x15 \x13EQ \\* jc2 \\o\\ad(\\s\\up 10(yomi),kanji)\x15\x01\r"

    assert text_of(doc, word97(body)).split("\n\n")[1] == "see [there](https://a.example/), page 1 yomi kanji\n"


def test_notes_and_headers_have_labels_and_cells_bars():
    shown = text_of(doc, word97("a\x07b\x07\x07end\rnote\rtop\r", lengths=(9, 5, 4, 0, 0, 0, 0, 0)))

    assert shown == f"{doc.NOTE}\n\na | b |\n\nend\n\n[footnotes]\n\nnote\n\n[headers and footers]\n\ntop\n"


def test_an_encrypted_word_document_is_called_encrypted():
    with pytest.raises(Unreadable, match="it is encrypted"):
        text_of(doc, word97("x", flags=0x300))


def test_a_word_document_of_another_format_is_read_as_such():
    assert text_of(doc, io.BytesIO(b"{\\rtf1 old name}")) == "old name\n"
    with (FIXTURES / "report.docx").open("rb") as file:
        assert text_of(doc, io.BytesIO(file.read())) == docx.decode(file, {"name": "a"})[1][0].decode()


def test_a_document_without_text_is_empty():
    assert text_of(doc, word97("\r")) == ""


# --- msg -------------------------------------------------------------------------------------------------------------


HEADERS = "From: Ada <ada@a.example>\nTo: Bob; Eve\nDate: 2024-01-01 00:00:00 UTC\nSubject: Tides\n"


def test_a_message_has_headers_text_and_attachments():
    place = "__attach_version1.0_#00000000/"
    body = {
        "__substg1.0_1000001E": "привет".encode("cp1251"),
        f"{place}__substg1.0_3707001F": "map.png".encode("utf-16-le"),
        f"{place}__substg1.0_37010102": b"?" * 5000,
    }

    assert text_of(msg, container(**message(**body))) == (
        f"{HEADERS}\nпривет\n\nAttachments:\n\n- map.png (5120 bytes)\n"
    )


def test_an_attached_message_is_shown_below():
    place = "__attach_version1.0_#00000000/__substg1.0_3701000D/"
    inner = message(place, **{f"{place}__substg1.0_1000001F": "inner".encode("utf-16-le")})

    shown = text_of(msg, container(**message(**inner)))

    assert shown == f"{HEADERS}\nAttachments:\n\n- unnamed (a message, below)\n\n---\n\n{HEADERS}\ninner\n"


def test_a_message_of_compressed_rtf_is_unpacked():
    # The example of the format's description: literals, then a reference to the dictionary, then the end.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d0a800fa0"
    )

    assert msg.unpacked_rtf(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert msg.unpacked_rtf(bytes(8) + b"MELA" + bytes(4) + b"{\\rtf1 x}") == b"{\\rtf1 x}"


def test_a_container_without_properties_is_no_message():
    with pytest.raises(Unreadable, match="not an Outlook message"):
        text_of(msg, container(WordDocument=b""))


# --- containers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoder", [doc, msg])
def test_a_damaged_container_is_refused(decoder):
    for data in (b"text", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), word97("x").getvalue()[:700]):
        with pytest.raises(Unreadable):
            text_of(decoder, io.BytesIO(data))
    wrapped = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500) + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(Unreadable, match="it is encrypted"):
        text_of(decoder, io.BytesIO(wrapped))


def test_without_its_library_the_module_loads_and_names_the_install_command(monkeypatch):
    module = load_without("olefile", ole, monkeypatch)

    with pytest.raises(Missing) as error:
        module.Container(b"")
    assert error.value.install == "pip install 'eyespan[docs]'"


# --- rtf -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (rb"one\par two\line three", "one\n\ntwo\nthree\n"),
        (rb"Caf\'e9 \u28450?\u23383? \u-10179?\u-8704?!", "Café 漢字 😀!\n"),
        (rb"{\fonttbl{\f1\fcharset204 Arial;}}\f1 \'ef\'f0", "пр\n"),
        (rb"\ansicpg1250 za\'bf\'f3", "zażó\n"),
        (rb"a{\*\unknown hidden}{\info{\title no}}b", "ab\n"),
        (rb"\{x\}\~y\_z \bullet \endash", "{x}\u00a0y-z •–\n"),
        (rb'{\field{\*\fldinst HYPERLINK "https://a.example/"}{\fldrslt there}}', "[there](https://a.example/)\n"),
        (rb"{\field{\*\fldinst PAGE}{\fldrslt 3}}", "3\n"),
        (rb"x{\footnote note}y", "x [note: note] y\n"),
        (rb"x{\*\atnauthor Ada}{\*\annotation why}y", "x [comment by Ada: why] y\n"),
        (
            rb"\trowd a\cell b|\cell\row\trowd c\cell d\cell\row\pard end",
            "| a | b\\| |\n| --- | --- |\n| c | d |\nend\n",
        ),
        (rb"{\pict\pngblip 8950}x", "x\n\n[1 images are left out]\n"),
        (rb"unclosed {group", "unclosed group\n"),
    ],
)
def test_rtf_is_text_with_its_structure(body, wanted):
    assert text_of(rtf, io.BytesIO(b"{\\rtf1\\ansi " + body + b"}")) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"a" + b" " * 300_000 + b"b", "a" + " " * 300_000 + "b\n"),
        (b"{" * 150 + b"a" * 30_000 + b"}" * 150, "a" * 30_000 + "\n"),
    ],
)
def test_long_runs_and_deep_groups_of_rtf_are_read(body, wanted):
    assert text_of(rtf, io.BytesIO(b"{\\rtf1 " + body + b"}")) == wanted


def test_what_is_no_rtf_is_refused():
    with pytest.raises(Unreadable, match="not RTF, despite its name"):
        text_of(rtf, io.BytesIO(b"plain"))
    with pytest.raises(Unreadable, match="nested too deeply"):
        text_of(rtf, io.BytesIO(b"{\\rtf1 " + b"{" * 20_000))
