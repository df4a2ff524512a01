from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("chardet")

PROGRAM = """
import sys
from eyespan.decoders import encoding
from eyespan.lines.detect import ask_here

opened = []
sys.addaudithook(lambda event, arguments: opened.append(arguments[0]) if event in ("open", "import") else None)
texts = {
    "gb18030": "第{0}行：这是一个用来测试编码检测的普通文件，内容没有什么特别。",
    "big5": "第{0}行：這是一個普通的檔案，內容沒有什麼特別。",
    "cp932": "{0}行目：これは普通のテキストです。特別なことはありません。",
    "cp949": "{0}번째 줄: 이것은 평범한 글입니다. 특별한 것은 없습니다.",
    "koi8-r": "Строка {0}: это обычный текст, в нём нет ничего особенного.",
    "cp1253": "Γραμμή {0}: ένα συνηθισμένο κείμενο χωρίς τίποτα ιδιαίτερο.",
    "cp1252": "Où est la bibliothèque ? Elle a été fermée à Noël, ligne {0}.",
    "iso8859-2": "Wiersz {0}: zażółć gęślą jaźń, zwykły tekst.",
    "cp500": "Ligne {0} : l'élève était à l'école, déjà vu.",
}
for name, text in texts.items():
    for count in (1, 10, 300):
        ask_here("\\n".join([text.format(number) for number in range(count)]).encode(name))
print(opened)
"""


def test_a_job_opens_nothing_that_the_fork_server_has_not_loaded():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)

    assert (found.stdout, found.stderr) == ("[]\n", "")
