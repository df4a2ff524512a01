"""RTF."""

from __future__ import annotations

import io

import pytest

from eyespan.errors import Unreadable
from eyespan.extras.documents.office import rtf


def text_of(decoder, file) -> str:
    return decoder.decode(file, {"name": "a"})[1][0].decode()


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
