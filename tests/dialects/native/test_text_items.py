from __future__ import annotations

import pytest

from .answers import shown


def test_an_outline_names_the_symbols_with_their_lines(call):
    reply = call("src/lib.py", outline=True)

    assert reply.text.startswith(">outline of src/lib.py, by ast #")
    assert "5-15 class Harbour" in reply.text
    assert "  14-15 def enter(self, ship)" in reply.text


def test_a_file_without_symbols_is_answered_with_that(root, call):
    (root / "notes.xyz").write_text("just words\n")

    assert call("notes.xyz", outline=True).text == (
        "> notes.xyz: no symbols found: files of this type have no outline; search with notes.xyz?PATTERN"
    )


def test_a_large_source_file_is_answered_with_its_first_lines_and_its_outline(root, call):
    source = "".join(f"def function_{n}(argument):\n    return argument + {n}\n\n\n" for n in range(200))
    (root / "big.py").write_text(source)

    reply = call("big.py", budget=1000)

    rows = shown(reply.text)
    assert rows[0] == (1, 1, "def function_0(argument):")
    assert reply.text.startswith(">outline of big.py, 800 lines, 10980 bytes, by ast\n1-2 ")
    assert "def function_150" in reply.text or "… " in reply.text
    assert reply.structured["left_out"] == [f"big.py:{rows[-1][0] + 1}-"]
    assert reply.structured["tokens"] <= 1000
    assert "outline" not in call("big.py:1-300", budget=1000).text


def test_symbols_of_one_name_are_shown_with_a_selector_for_each(root, call):
    (root / "twice.py").write_text("def a():\n    return 1\n\n\ndef a():\n    return 2\n")

    reply = call("twice.py::a")

    assert "note: 2 symbols are named a: ::a#1 (1-2), ::a#2 (5-6)" in reply.text
    assert shown(call("twice.py::a#2").text)[0] == (5, 1, "def a():")


def test_a_symbol_whose_parse_was_broken_has_a_note(root, call):
    pytest.importorskip("tree_sitter", reason="the extra `outline` is not installed")
    (root / "broken.go").write_text("package p\n\nfunc f() {\n\tx := {{ (\n}\n}\n\nfunc g() {\n}\n")

    assert "note: parser lost track near line 4; the end may be wrong" in call("broken.go::f").text
    assert "lost track" not in call("broken.go::g").text


def test_a_symbol_that_an_incomplete_outline_lacks_is_not_denied(root, call):
    (root / "broken.json").write_text('{"a": {"b": 1, \n')
    (root / "whole.py").write_text("x = 1\n")
    (root / "notes.txt").write_text("just words\n")

    assert call("broken.json::gone").text == (
        ">! broken.json::gone: no symbol gone found: the outline is incomplete; search with broken.json?gone"
    )
    assert call("notes.txt::gone").text == (
        ">! notes.txt::gone: no symbol gone found: files of this type have no outline; search with notes.txt?gone"
    )
    assert call("whole.py::gone").text == ">! whole.py::gone: no symbol gone found: search with whole.py?gone"
    assert call("whole.py::A::gone[1-b]").text.endswith("search with whole.py?gone")


def test_an_outline_that_the_caller_holds_is_not_sent_again(root, call):
    value = call("src/lib.py", outline=True).structured["parts"][0]["hash"]

    again = call("src/lib.py", outline=True, known=[value])

    assert again.text.rstrip("\n").endswith(f"#{value} unchanged")
    assert again.structured["parts"][0]["unchanged"] is True
    (root / "src/lib.py").write_text("def other():\n    pass\n")
    assert "def other" in call("src/lib.py", outline=True, known=[value]).text
