from __future__ import annotations

from .answers import shown


def test_an_outline_names_the_symbols_with_their_lines(call):
    reply = call("src/lib.py", outline=True)

    assert reply.text.startswith(">outline of src/lib.py, by ast\n")
    assert "5-15 class Harbour" in reply.text
    assert "  14-15 def enter(self, ship)" in reply.text


def test_a_file_without_symbols_is_answered_with_that(root, call):
    (root / "notes.xyz").write_text("just words\n")

    assert call("notes.xyz", outline=True).text == "> notes.xyz: no symbols found, its language is not known"


def test_a_large_source_file_is_answered_with_its_first_lines_and_its_outline(root, call):
    source = "".join(f"def function_{n}(argument):\n    return argument + {n}\n\n\n" for n in range(200))
    (root / "big.py").write_text(source)

    reply = call("big.py", budget=1000)

    rows = shown(reply.text)
    assert rows[0] == (1, 1, "def function_0(argument):")
    assert "\n>outline of big.py:\n" in reply.text
    assert "def function_150" in reply.text or "… " in reply.text
    assert reply.structured["left_out"] == [f"big.py:{rows[-1][0] + 1}-"]
    assert reply.structured["tokens"] <= 1000
    assert "outline" not in call("big.py:1-300", budget=1000).text
