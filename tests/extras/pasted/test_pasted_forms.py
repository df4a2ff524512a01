"""The table of pasted forms: every row is needed, reads its own examples, and may stand anywhere in the table."""

from __future__ import annotations

import random

import pytest

from eyespan.errors import NoSymbol, NotFound, ReadError
from eyespan.extras.pasted import pasted_forms
from eyespan.extras.pasted.forgive import forgive
from eyespan.extras.pasted.interpretations import EXAMPLES, interpretations
from eyespan.extras.pasted.pasted_forms import ROWS, PastedForm
from eyespan.selectors import Named, Ranges, SymbolPiece, Target, write_target
from eyespan.suggest import Located

from .pasted_lines import ROWS as PRINTED

FILES = {
    *("a.py", "src/a.c", "./src/a.c", "src/a.py", "src/net.rs", "lib.py", "guide.md", "doc.pdf", "nb.ipynb"),
    *("logs.zip", "AppTest.java", "Makefile", "my notes.txt", "src/"),
}
SYMBOLS = {"Class.method", "Class::method", "Class::method[a-1]", "after", "tests::opens"}
PATTERNS = {"", "line", "int (x|y);", "(?i)LINE|y", r"\b(?:int)\b"}
TEXTS = [text for row in ROWS for text, _ in row.examples]
TEXTS += [*[text for text, _ in EXAMPLES], *[text for _, text, _ in PRINTED]]


def take(target: Target) -> None:
    """Accept a target whose file and symbol exist."""
    is_named = target.path in FILES and target.revision in ("", "HEAD", "HEAD~3", "HEAD~3..")
    if not is_named or target.pattern not in PATTERNS:
        raise NotFound(target.path)
    is_unknown = isinstance(target.piece, (SymbolPiece, Named)) and target.piece.name not in SYMBOLS
    if is_unknown or (target.path == "doc.pdf" and isinstance(target.piece, Ranges)):
        raise NoSymbol(target.path, symbol="")


class NoSuggestions:
    """No path is similar to another."""

    is_remote = False

    def locate(self, path: str) -> Located:
        return Located()

    def near(self, path: str) -> list[str]:
        return []


def read(text: str) -> str:
    """Return the selectors that a text is read as."""
    try:
        found, _ = forgive(text, NotFound(text), take, NoSuggestions())
    except ReadError:
        return ""
    return ", ".join([write_target(target) for target, _ in found])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_an_example_is_read_by_its_own_row(row: PastedForm):
    unmatched = [text for text, _ in row.examples if row.pattern.search(text) is None and "?" not in text]

    assert [read(text) for text, _ in row.examples] == [meant for _, meant in row.examples]
    assert unmatched == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_no_row_can_be_left_out(row: PastedForm, monkeypatch):
    monkeypatch.setattr(pasted_forms, "ROWS", tuple(other for other in ROWS if other is not row))

    assert [meant for text, meant in row.examples if read(text) != meant] != []


def test_each_row_has_a_name_of_its_own():
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_the_order_of_the_rows_has_no_meaning(monkeypatch):
    expected = [list(interpretations(text)) for text in TEXTS]
    monkeypatch.setattr(pasted_forms, "ROWS", tuple(random.Random(1).sample(ROWS, len(ROWS))))

    assert [list(interpretations(text)) for text in TEXTS] == expected


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        # the place is not sure: the whole file, or nothing
        ("spec src/a.c[1:2]", "src/a.c"),
        ("src/a.c (2024)", "src/a.c"),
        ("copied src/a.c 12:30", "src/a.c"),
        ("Updated src/a.c with +3 -7", "src/a.c"),
        ("+3/-7 src/a.c", "src/a.c"),
        ("src/a.c, 3 files", "src/a.c"),
        ("a.py:1-2-3", ""),
        ("a.py:3,+5", ""),
        ("a.py:+5", ""),
        ("a.py:8-45.3: message", ""),
        # the file lacks the part
        ("lib.py::nope", ""),
        ("lib.py:nope", ""),
        ("FAILED lib.py::Class::nope - AssertionError", ""),
        # other machines
        ("https://example.org/src/a.c:3:7", ""),
        ("https://example.org/view/a.py", ""),
        ("s3://bucket/src/a.c", ""),
        ("ssh://host/src/a.c:3", ""),
        # a program's text beside the place
        ("src/a.c:3: error: see line 7 of lib.py", "src/a.c:3"),
        ("src/a.c:3, 4 errors", "src/a.c:3"),
        ("a.py:docstring of f:3: WARNING", "a.py"),
        ("see a.py, then line 3 of src/a.c", "src/a.c:3"),
        ('File "<frozen importlib._bootstrap>", line 241, in _call', ""),
    ],
)
def test_an_unsure_text_names_no_line(text, meant):
    assert read(text) == meant
