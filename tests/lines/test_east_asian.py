"""Texts of East Asia are recognised where that is clear, and left to chardet otherwise."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyespan.lines.detect import detect
from eyespan.lines.east_asian import LEAST_CHARS, ROWS, likeliest
from tests.sizes import examples

CHINESE = (
    "我们在这里说一下这个程序是怎么工作的。它先打开用户要看的文件，然后把里面的内容分成很多行，"
    "最后只把需要的部分交给用户。如果文件太大，它不会一次都读进来，所以用的时间不多。"
)
TAIWANESE = (
    "我們在這裡說一下這個程式是怎麼工作的。它先打開使用者要看的檔案，然後把裡面的內容分成很多行，"
    "最後只把需要的部分交給使用者。如果檔案太大，它不會一次都讀進來，所以用的時間不多。"
)
JAPANESE = (
    "このプログラムは、人が見たいファイルを開いて、内容を行に分けます。大きいファイルは一度に全部読まないので、"
    "時間はあまりかかりません。新しい行が後から書かれた場合は、前に読んだ所から続けて読みます。文字の種類も自動で分かります。"
)
KOREAN = (
    "이 프로그램은 사용자가 보려는 파일을 열고 내용을 여러 줄로 나눕니다. 큰 파일은 한 번에 모두 읽지 않기 때문에 "
    "시간이 많이 걸리지 않습니다. 나중에 새로운 줄이 추가되면 이전에 읽은 곳부터 다시 읽습니다."
)
RIGHT = [
    (CHINESE, "gb2312", "gb18030"),
    (CHINESE, "gbk", "gb18030"),
    (TAIWANESE, "gb18030", "gb18030"),
    (TAIWANESE, "big5", "big5hkscs"),
    (JAPANESE, "shift_jis", "cp932"),
    (JAPANESE, "euc_jp", "euc-jp"),
    (KOREAN, "euc_kr", "cp949"),
]
OTHERS = [
    (
        "Это обычный русский текст, который ничего не значит, но в нём много букв и слов. ",
        ["cp1251", "koi8-r", "cp866"],
    ),
    ("Αυτό είναι ένα απλό κείμενο στα ελληνικά, χωρίς ιδιαίτερη σημασία. ", ["cp1253", "iso8859-7"]),
    ("זהו טקסט פשוט בעברית שאין לו משמעות מיוחדת אבל יש בו מילים. ", ["cp1255", "iso8859-8"]),
    ("นี่คือข้อความธรรมดาในภาษาไทยที่ไม่มีความหมายพิเศษใดๆ", ["cp874"]),
    ("هذا نص بسيط باللغة العربية بدون معنى خاص ", ["cp1256"]),
    ("Déjà vu, garçon, là-bas, où êtes-vous, naïve façade, œuvre ", ["cp1252"]),
    ("žluťoučký kůň úpěl ďábelské ódy příliš ", ["cp1250", "iso8859-2"]),
]


def refuse(sample):
    raise AssertionError("chardet is asked")


@pytest.mark.parametrize(("text", "codec", "name"), RIGHT)
@pytest.mark.parametrize("before", ["", "id = 1  # ", "line\r\n" * 500])
def test_a_clear_text_is_recognised_without_chardet(text, codec, name, before):
    found = detect((before + text + "\n").encode(codec), None, refuse)

    assert (found.name, found.how, found.confidence) == (name, "detected", 0.98)


@pytest.mark.parametrize(("text", "codec", "name"), RIGHT)
@pytest.mark.parametrize("part", range(0, 60, 7))
def test_a_part_of_a_text_is_never_read_in_another_encoding(text, codec, name, part):
    assert likeliest(text[part : part + 45].encode(codec, "ignore")) in (None, name)


@pytest.mark.parametrize("codec", [codec for codec, *_ in ROWS])
def test_a_short_text_is_left_to_chardet(codec):
    for text in (CHINESE, TAIWANESE, JAPANESE, KOREAN):
        assert likeliest(text[: LEAST_CHARS - 10].encode(codec, "ignore")) is None


@pytest.mark.parametrize(("text", "codecs"), OTHERS)
def test_other_scripts_are_left_to_chardet(text, codecs):
    for codec in codecs:
        for times in (1, 20):
            assert likeliest((text * times).encode(codec, "replace")) is None
            assert likeliest((text * times).replace(" ", "").encode(codec, "replace")) is None


def test_japanese_in_an_encoding_of_china_is_left_to_chardet():
    kana = "".join(
        [character for character in JAPANESE if character in "はがをにのでとてしますたらないっ日本人大中、。"]
    )

    assert likeliest((JAPANESE * 3).encode("gb18030")) is None
    assert likeliest((kana * 3 + "日本人大中" * 20).encode("gb2312", "ignore")) != "cp932"


@pytest.mark.parametrize("word", ["啊", "啊啊，", "哈哈", "错误", "连接失败"])
def test_a_repeated_word_is_left_to_chardet(word):
    assert likeliest((word * 100).encode("gbk")) is None


@settings(max_examples=examples(100))
@given(st.lists(st.integers(0xB0A1, 0xF7FE), min_size=60, max_size=300, unique=True))
def test_characters_from_everywhere_are_no_text(codes):
    pairs = [code.to_bytes(2, "big") for code in codes if code & 0xFF >= 0xA1]

    assert likeliest(b"".join(pairs)) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits descriptors")
def test_a_codec_that_found_no_descriptor_is_loaded_later():
    """Python remembers a codec whose library it could not load as unknown."""
    code = """
import resource, sys
from eyespan.lines import east_asian

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
def limited(name):  # the library, not the module of the codec, finds no descriptor
    if name.startswith("_codecs_"):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
sys.addaudithook(lambda event, arguments: limited(arguments[0]) if event == "import" and is_short else None)
is_short = True
try:
    east_asian.likeliest(b"caf\\xe9")
except ImportError as error:
    print(error)
is_short = False
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(east_asian.likeliest(b"caf\\xe9"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    failed, later = done.stdout.splitlines()

    assert ("Too many open files" in failed, later, done.stderr) == (True, "None", "")
