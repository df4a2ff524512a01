"""Detection of encodings: proofs, guesses, and no guess where there is a proof."""

from __future__ import annotations

import codecs
import errno
import random
import subprocess
import sys

import pytest

from eyespan import Workspace, opened
from eyespan.context import CallContext
from eyespan.errors import Internal, Missing
from eyespan.lines import detect as detect_module
from eyespan.lines.detect import detect
from eyespan.lines.encodings import Encoding
from eyespan.lines.whole import decoded
from eyespan.model import ReadRequest
from eyespan.opened import ask_encoding


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
    monkeypatch.setitem(sys.modules, "chardet", None)
    monkeypatch.setattr(detect_module, "shortage", lambda error: errno.EMFILE)

    with pytest.raises(ImportError):
        detect_module._guess(b"\xf0\xe1\xe2" * 9)


def test_without_its_package_a_guess_reports_the_package_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "chardet", None)

    with pytest.raises(Missing, match="chardet"):
        detect(b"caf\xe9 \xff\xfe\xe9\n" * 9)


@pytest.mark.parametrize("found", [{"encoding": None, "confidence": 0.0}, {"encoding": "cp9999", "confidence": 0.9}])
def test_bytes_without_any_match_are_not_guessed_at(monkeypatch, found):
    import chardet

    monkeypatch.setattr(chardet, "detect", lambda *_, **__: found)

    assert detect_module._guess(b"\x81\x8d\x8f\x90\x9d" * 9) is None


CHINESE = "一年四季，港口都有船。漁民一早出海，晚上回來。"
KOREAN = "나는 고양이로소이다. 이름은 아직 없다.\n"
JAPANESE = "吾輩は猫である。名前はまだ無い。\n"
RUSSIAN = "Съешь же ещё этих мягких французских булок.\n"


class TestDeclarations:
    @pytest.mark.parametrize(
        ("declaration", "text", "name"),
        [
            ('<?xml version="1.0" encoding="euc-kr" ?>\n', KOREAN, "cp949"),
            ("<?xml version='1.0' encoding='windows-1251'?>\n", RUSSIAN, "cp1251"),
            ('<!DOCTYPE html><html><head><meta charset="Shift_JIS">\n', JAPANESE, "cp932"),
            (
                '<html><meta http-equiv="Content-Type" content="text/html; charset=koi8-r">\n',
                RUSSIAN,
                "koi8-r",
            ),
            ("#!/usr/bin/python\n# -*- coding: koi8-r -*-\n", RUSSIAN, "koi8-r"),
            ("/* vim: set fileencoding=cp1251 : */\n", RUSSIAN, "cp1251"),
            ('@charset "windows-1251";\n', RUSSIAN, "cp1251"),
            ('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=EUC-JP\\n"\n', JAPANESE, "euc-jp"),
            ("Subject: a\nContent-Type: text/plain; charset=ISO-8859-5\n\n", RUSSIAN, "iso8859-5"),
            ('<?xml version="1.0" encoding="ISO-8859-1"?>\n', "l\u2019été\n", "cp1252"),
        ],
    )
    def test_the_encoding_that_a_text_declares_is_used(self, declaration, text, name):
        found = detect((declaration + text).encode(name))

        assert (found.name, found.how, found.confidence) == (name, "declared", None)

    def test_a_declaration_that_does_not_fit_is_ignored(self):
        assert detect(('<?xml version="1.0" encoding="shift_jis"?>\n' + RUSSIAN * 5).encode("cp1251")).name == "cp1251"

    def test_valid_utf8_needs_no_declaration(self):
        assert detect(('<meta charset="iso-8859-1">' + RUSSIAN).encode()).how == "utf-8"

    @pytest.mark.parametrize("name", ["no-such", "base64", "rot13", "zlib", "unicode_escape" * 4, "utf-16"])
    def test_a_name_that_is_no_text_encoding_of_bytes_is_ignored(self, name):
        assert detect((f'<?xml version="1.0" encoding="{name}"?>\n' + RUSSIAN * 5).encode("cp1251")).name == "cp1251"

    def test_a_text_about_encodings_declares_nothing(self):
        text = "The header is Content-Type: text/html; charset=koi8-r, or coding: koi8-r.\n" + RUSSIAN * 5

        assert detect(text.encode("cp1251")).name == "cp1251"


class TestEncodingsWithoutLines:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (JAPANESE * 3, "iso2022_jp"),
            (KOREAN * 3, "iso2022_kr"),
            ("plain\n" + JAPANESE + "丂\n", "iso2022_jp_1"),
        ],
    )
    def test_switching_encodings_are_decoded_and_their_lines_found(self, tmp_path, text, name):
        (tmp_path / "a.txt").write_bytes(text.encode(name))
        tool = Workspace(tmp_path).tool("forge", encoding="auto", show_line_numbers=False)

        whole = tool.call({"path": "a.txt"}).structured
        second = tool.call({"path": "a.txt", "start_line": 2, "end_line": 2}).structured

        assert whole["text"] == text
        assert whole["encoding"].replace("-", "_").startswith(name)
        assert second["text"] == text.split("\n")[1] + "\n"

    def test_ebcdic_is_guessed_and_decoded(self, tmp_path):
        text = "The quick brown fox jumps over the lazy dog, and nobody was surprised by that at all.\n" * 8
        (tmp_path / "a.txt").write_bytes(text.encode("cp037"))

        reply = Workspace(tmp_path).tool("native").call({"files": "a.txt:2"})

        assert "The quick brown fox" in reply.text
        assert "by detected" in reply.text

    def test_colours_of_a_terminal_are_no_other_alphabet(self):
        assert detect(b"\x1b[1mbold\x1b(B\x1b[m price $B\n").name == "utf-8"

    def test_a_larger_text_than_can_be_decoded_whole_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setattr("eyespan.lines.whole.MAX_BYTES", 50)
        (tmp_path / "a.txt").write_bytes((JAPANESE * 9).encode("iso2022_jp"))

        assert Workspace(tmp_path).tool("native").call({"files": "a.txt"}).error.code == "too_large"


class TestWideTextWithoutBom:
    @pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
    @pytest.mark.parametrize("text", [RUSSIAN, JAPANESE * 2, KOREAN, CHINESE, "𐐀𐐁𐐂 𐐀\n𐐃\n", "Āā Ēē\n"])
    def test_other_scripts_are_recognised(self, name, text):
        found = detect(text.encode(name))

        assert (found.name, found.how) == (name, "plain")

    def test_numbers_of_two_and_four_bytes_are_no_text(self):
        assert detect(b"".join((n * 40503 & 0xFFFF).to_bytes(2, "little") for n in range(2000))) is None
        assert detect(b"".join((n * 7 + 33).to_bytes(4, "little") for n in range(0, 90000, 97))) is None


class TestBytesOfABom:
    @pytest.mark.parametrize("data", [b"\xff\xfe" + bytes(range(256)) * 8, b"\xff\xfe" + b"\0\0\1\0\7\0" * 90])
    def test_other_data_that_begins_like_a_bom_is_binary(self, tmp_path, data):
        (tmp_path / "a.fli").write_bytes(data)

        assert "binary data of unknown type" in Workspace(tmp_path).tool("native").call({"files": "a.fli"}).text

    def test_text_after_a_bom_may_hold_a_stray_character(self):
        text = "\ufeff" + RUSSIAN * 20 + "\x01"

        assert detect(text.encode("utf-16-le")).how == "bom"


LONG_RUSSIAN = (
    "Каждое утро мы вставали рано и шли пешком до самого порта. Рыбаки к тому времени давно уже собрали сети и пили "
    "чай, а над городом долго разносились гудки пароходов. Дети бежали вниз по лестнице, чтобы ничего не пропустить; "
    "старики сидели на скамейках и говорили о погоде, о ценах и о том, как раньше всё было иначе.\n"
)


@pytest.mark.parametrize(("text", "is_sure"), [("год\n", False), ("год за годом\n", False), (LONG_RUSSIAN, True)])
def test_a_guess_from_little_text_is_called_unsure(text, is_sure):
    assert (detect(text.encode("cp1251")).confidence > 0.8) == is_sure


class TestStrangeBytes:
    @pytest.mark.parametrize("strange", [b"\x81\x8d\x8f", b"\xff\xfe\xfd", b"\xc3(\xa0\xa1", bytes(range(128, 256))])
    def test_a_text_with_a_few_of_them_is_shown_and_called_unsure(self, tmp_path, strange):
        data = b"An ordinary text of many plain words and lines.\n" * 30 + strange + b"\n"
        (tmp_path / "a.txt").write_bytes(data)

        reply = Workspace(tmp_path).tool("native").call({"files": "a.txt"})

        assert "An ordinary text" in reply.text
        assert detect(data).confidence < 0.98

    @pytest.mark.parametrize("seed", range(5))
    def test_random_bytes_are_no_text(self, seed):
        data = random.Random(seed).randbytes(4000).replace(b"\0", b"\1")

        assert detect(data) is None


SENTENCES = {
    "cp1250": "Příliš žluťoučký kůň úpěl ďábelské ódy.\n",
    "cp1253": "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.\n",
    "cp1252": "Déjà vu : l'élève était à l'école.\n",
    "koi8-r": RUSSIAN,
    "cp866": RUSSIAN,
    "mac-cyrillic": RUSSIAN,
    "shift_jis": JAPANESE,
    "euc_jp": JAPANESE,
    "johab": KOREAN,
    "cp037": "Plain words in EBCDIC, line after line.\n",
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_worker_guesses_as_this_process_does(name):
    sample = (SENTENCES[name] * 5).encode(name)

    assert ask_encoding(sample, CallContext(60)) == detect_module.ask_here(sample)


def test_no_read_loads_the_detector_into_this_process(tmp_path):
    for name in SENTENCES:
        (tmp_path / f"{name}.csv").write_bytes((SENTENCES[name] * 5).encode(name))
        (tmp_path / f"{name}.txt").write_bytes((SENTENCES[name] * 5).encode(name))
        (tmp_path / f"large-{name}.txt").write_bytes((SENTENCES[name] * 2500).encode(name))
    code = (
        "import os, sys; from eyespan import Workspace\n"
        "tool = Workspace(sys.argv[1]).tool('native')\n"
        "for name in sorted(os.listdir(sys.argv[1])): tool.call({'files': name})\n"
        "tool.call({'files': '.?nowhere'})\n"
        "print('chardet' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)

    assert shown.stdout == "False\n"


@pytest.mark.parametrize("facts", [{}, {"encoding": 3, "score": 0.5}, {"encoding": "cp1252", "score": "high"}])
def test_an_invalid_response_of_the_worker_is_no_guess(monkeypatch, facts):
    monkeypatch.setattr(opened, "decode_bytes", lambda *_: (facts, []))

    assert ask_encoding(b"\xe9" * 40 + repr(facts).encode(), CallContext()) == (None, 0.0)


def test_without_a_worker_a_text_is_shown_as_unsure(tmp_path, monkeypatch):
    def fail(*_):
        raise Internal("", "the decoding process cannot be started")

    monkeypatch.setattr(opened, "decode_bytes", fail)
    (tmp_path / "a.txt").write_bytes("Les élèves étaient déjà à l'école, où l'on fêtait Noël.\n".encode("cp1252"))
    found = Workspace(tmp_path).tool("forge", encoding="auto").call({"path": "a.txt"}).structured

    assert (found["encoding"], found["encoding_confidence"]) == ("cp1252", 0.5)


def test_guesses_are_cached_up_to_a_limit(monkeypatch):
    asked = []
    monkeypatch.setattr(
        opened, "decode_bytes", lambda task, data, *_: asked.append(data) or ({"encoding": "cp1252", "score": 0.5}, [])
    )
    monkeypatch.setattr(opened, "_guesses", {})
    for number in (*range(opened.MAX_GUESSES), 0, 1):
        ask_encoding(b"%d" % number, CallContext())
    assert len(asked) == opened.MAX_GUESSES

    ask_encoding(b"one more", CallContext())
    assert len(opened._guesses) == 1


def test_a_text_that_is_decoded_whole_is_paid_for(tmp_path):
    (tmp_path / "a.txt").write_bytes(JAPANESE.encode("iso2022-jp") * 1000)
    call = CallContext()
    with Workspace(tmp_path) as workspace:
        file = workspace.engine.open(ReadRequest("a.txt"), call)
        try:
            held, _ = decoded(file.source, Encoding("iso2022-jp"), call)
        finally:
            file.close()
    charged = call.memory.charged_bytes
    call.finish()

    assert charged >= held.size_bytes > 1000


def test_no_more_than_16_kib_of_a_text_are_judged_by_chardet():
    judged = []

    def ask(sample):
        judged.append(len(sample))
        return "koi8-r", 1.0

    detect(("слово слово сл\n".encode("koi8-r") + b"ascii\n") * 2000, ask=ask)

    assert judged == [16 * 1024 // 15 * 15 - 1]
