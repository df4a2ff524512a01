"""Detection of encodings: proofs, guesses, and no guess where there is a proof."""

from __future__ import annotations

import codecs
import errno
import sys

import pytest

from eyespan import Workspace
from eyespan.errors import Missing
from eyespan.lines import detect as detect_module
from eyespan.lines.detect import detect


def test_a_bom_and_valid_utf8_need_no_guess():
    assert detect("\ufeffa\n".encode("utf-16-le")).name == "utf-16-le"
    assert detect("\ufeffa\n".encode("utf-32-be")).name == "utf-32-be"
    assert detect(codecs.BOM_UTF8 + b"a\n").bom == codecs.BOM_UTF8
    assert (detect("é\n".encode()).name, detect("é\n".encode()).how) == ("utf-8", "utf-8")


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_usual_wide_text_is_detected_without_a_bom(name):
    found = detect("Plain words,\nin two lines with an é.\n".encode(name))

    assert (found.name, found.how) == (name, "plain")


def test_a_binary_file_is_no_wide_text():
    assert detect(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01\0\0\0") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cp1252", "Déjà vu : l'élève était à l'école, où il a mangé des œufs — 3 € la pièce.\n"),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy. Zítra bude hezky a půjdeme na výlet.\n"),
        ("cp1251", "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"),
        ("koi8-r", "Съешь же ещё этих мягких французских булок, да выпей чаю.\n"),
        ("shift_jis", "吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。\n"),
        ("euc_jp", "吾輩は猫である。名前はまだ無い。どこで生れたか頓と見当がつかぬ。\n"),
        ("gbk", "人之初，性本善。性相近，习相远。苟不教，性乃迁。\n"),
        ("big5", "人之初，性本善。性相近，習相遠。苟不教，性乃遷。\n"),
        ("euc_kr", "나는 고양이로소이다. 이름은 아직 없다.\n"),
    ],
)
def test_code_pages_are_guessed_and_the_guess_is_reported(tmp_path, name, text):
    (tmp_path / "a.txt").write_bytes((text * 4).encode(name))
    workspace = Workspace(tmp_path)

    forge = workspace.tool("forge", encoding="auto", show_line_numbers=False).call({"path": "a.txt"})
    claude = workspace.tool("claude", encoding="auto").call({"file_path": f"{tmp_path}/a.txt"})
    codex = workspace.tool("codex", encoding="auto").call({"file_path": f"{tmp_path}/a.txt"})

    assert forge.structured["text"] == text * 4
    assert 0 < forge.structured["encoding_confidence"] <= 1
    assert "encoding was guessed" in claude.content[-1].text
    assert "encoding was guessed" in codex.notes[0]


def test_a_first_foreign_byte_far_into_the_file_is_found(tmp_path):
    text = "plain line of code\n" * 20_000 + "// größe und länge, über Straßen\n" * 5
    (tmp_path / "a.c").write_bytes(text.encode("cp1252"))
    tool = Workspace(tmp_path).tool("forge", encoding="auto", show_line_numbers=False)

    assert tool.call({"path": "a.c", "start_line": 20_005}).structured["text"] == "// größe und länge, über Straßen\n"


def test_the_sample_is_cut_at_a_line_end():
    text = "吾輩は猫である。名前はまだ無い。\n" * 4000

    assert detect(text.encode("shift_jis")[:65536]).name == "cp932"


def test_the_sample_is_around_the_first_byte_beyond_ascii(monkeypatch):
    monkeypatch.setattr(detect_module, "SAMPLE_BYTES", 8)
    monkeypatch.setattr(detect_module, "SEARCH_BYTES", 600)

    def of(data):
        return lambda offset, size: data[offset : offset + size]

    assert detect_module._sample_beyond_ascii(0, of(b"a\n" * 200)) == b""  # the file ends
    assert detect_module._sample_beyond_ascii(0, of(b"a\n" * 2000)) == b""  # the search ends before the file does
    # The line began in the block before.
    assert detect_module._sample_beyond_ascii(0, of(b"a" * 126 + b"\nb" + b"c\xe9d\n" + b"e" * 200)) == b"bc\xe9d\neee"
    assert detect_module._sample_beyond_ascii(0, of(b"a\n" * 63 + b"\xe9\n")) == b"\xe9\n"


def test_a_detector_that_cannot_be_loaded_now_is_not_reported_as_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)
    monkeypatch.setattr(detect_module, "shortage", lambda error: errno.EMFILE)

    with pytest.raises(ImportError):
        detect_module._guess(b"text")


def test_without_its_package_a_guess_reports_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "charset_normalizer", None)

    with pytest.raises(Missing, match="charset-normalizer"):
        detect(b"caf\xe9 \xff\xfe\xe9\n" * 9)


def test_bytes_without_any_match_are_not_guessed_at(monkeypatch):
    import charset_normalizer

    monkeypatch.setattr(charset_normalizer, "from_bytes", lambda *_, **__: [])

    assert detect_module._guess(b"\x81\x8d\x8f\x90\x9d") is None
