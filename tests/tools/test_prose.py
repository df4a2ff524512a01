"""The prose of docstrings: tools/prose.py and its limit for src/eyespan."""

from __future__ import annotations

import pytest

from tools.prose import SOURCE, main, measure

MAX_HARD_SHARE = 0.02
"""The share of docstring sentences that may be hard to read."""


def test_docstrings_are_plain():
    total, hard = measure([SOURCE])

    assert len(hard) / total <= MAX_HARD_SHARE, "\n".join(f"{each.path}:{each.line}: {each.text}" for each in hard)


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("Return the lines.", []),
        ("What the request selects.", ["What the request selects."]),
        ("Return the lines. Whether they end is told elsewhere.", ["Whether they end is told elsewhere."]),
        ("The header says how many lines follow.", ["The header says how many lines follow."]),
        ('Write "says" and `tell()`.', []),
        ("Read a file.\n\n    Where it ends,\n    stop.\n    ", ["Where it ends, stop."]),
        ("Saying nothing is hard.", ["Saying nothing is hard."]),
    ],
)
def test_a_sentence_is_hard_if_it_begins_with_a_wh_word_or_lets_code_talk(tmp_path, docstring, found):
    (tmp_path / "module.py").write_text(f"def f():\n    '''{docstring}'''\n")

    assert [sentence.text for sentence in measure([tmp_path])[1]] == found


def test_strings_after_assignments_count_and_other_strings_do_not(tmp_path):
    (tmp_path / "module.py").write_text('"""Module."""\nX = "What a string."\n"""How large it is."""\n')

    total, hard = measure([tmp_path])

    assert (total, [sentence.line for sentence in hard]) == (2, [3])


def test_the_share_is_printed(tmp_path, capsys):
    (tmp_path / "module.py").write_text('"""Who knows. A module."""\n')

    status = main(["--list", str(tmp_path)])

    assert status == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path}/module.py:1: Who knows.",
        "1 of 2 docstring sentences are hard to read: 50.0%",
    ]
