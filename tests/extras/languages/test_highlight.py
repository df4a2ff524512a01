"""Colours of source code: only on a terminal, only colours, and never another text."""

from __future__ import annotations

import io
import re

import pytest

from eyespan.errors import TimedOut
from eyespan.extras.languages import highlight
from eyespan.extras.languages import lexers as decoder
from eyespan.outline import language_of, languages
from tests.outline.symbol_checks import ALL

SOURCE = 'def moor(boat):  # moor\n    """Moor\n    a boat."""\n    return 1\n'
ESCAPE = re.compile(r"\x1b\[\d+m")


@pytest.fixture
def source(directory):
    (directory / "a.py").write_text(SOURCE)
    return directory


def test_source_has_colours(source, eyespan):
    _, out, _ = eyespan("read", "-N", "a.py", "--color", "always")

    assert out == (
        "\x1b[35mdef\x1b[0m \x1b[34mmoor\x1b[0m(boat):  \x1b[90m# moor\x1b[0m\n"
        '    \x1b[32m"""Moor\x1b[0m\n\x1b[32m    a boat."""\x1b[0m\n    \x1b[35mreturn\x1b[0m \x1b[36m1\x1b[0m\n'
    )


def test_a_window_has_the_colours_of_the_whole_file(source, eyespan):
    """Line 3 is the end of a string that begins in line 2."""
    assert eyespan("read", "-N", "a.py:3", "--color", "always")[1] == '\x1b[32m    a boat."""\x1b[0m\n'


@pytest.mark.parametrize("words", [[], ["--color", "never"]])
def test_a_pipe_gets_no_colours(source, eyespan, words):
    assert "\x1b" not in eyespan("read", "a.py", *words)[1]


@pytest.mark.parametrize(
    "response",
    [
        ({}, []),
        ({"styles": ["plain", "comment"]}, [b"\1"]),
        ({"styles": "comment"}, [b"\0" * len(SOURCE)]),
        ({"styles": [["\x1b[2J"]]}, [b"\0" * len(SOURCE)]),
        ({"styles": ["plain", "\x1b[2J"]}, [b"\1" * len(SOURCE)]),
        ({"styles": ["plain"]}, [b"\xff" * len(SOURCE)]),
        TimedOut("a.py", seconds=1),
    ],
)
def test_an_invalid_response_means_no_colours(source, eyespan, monkeypatch, response):
    def answer(*_):
        if isinstance(response, Exception):
            raise response
        return response

    monkeypatch.setattr(highlight, "decode_bytes", answer)

    assert eyespan("read", "-N", "a.py", "--color", "always")[1] == SOURCE


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_every_language_has_colours_and_its_text_stays(path):
    text = path.read_text("utf-8")
    decode = getattr(decoder, f"decode_{language_of(path.name, path.read_bytes()[:200])}")
    if decode is decoder._refuse:
        pytest.skip("Pygments has no lexer for this language")

    facts, [numbers] = decode(io.BytesIO(text.encode()), {})

    assert any(numbers)
    styles = [facts["styles"][number] for number in numbers]
    lines = ["".join(piece for piece, _ in pieces) for pieces in highlight._pieces(text, styles)]
    assert lines == text.split("\n")


def test_the_languages_without_a_lexer_are_known():
    assert [name for name in languages() if getattr(decoder, f"decode_{name}") is decoder._refuse] == ["asciidoc"]


@pytest.mark.parametrize("name", ["page.html", "notes.md", "a.json"])
def test_lexers_that_use_others_work_in_the_sandbox(directory, eyespan, name):
    text = {
        "page.html": "<script>let a = 1</script>\n",
        "notes.md": "# A\n\n```python\ndef f(): 1\n```\n",
        "a.json": "{}\n",
    }
    (directory / name).write_text(text[name] * 2)

    _, out, err = eyespan("read", "-N", name, "--color", "always")

    assert (ESCAPE.sub("", out), err) == (text[name] * 2, "")
    assert name == "a.json" or "\x1b" in out
