"""`eyespan read`: the lines it prints, on a terminal and in a pipe, and its exit status."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from eyespan.cli import target_printer
from eyespan.cli.main import main
from eyespan.lines import index
from eyespan.memory import Ledger
from eyespan.source import Source
from tests.clock import Clock

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.mark.parametrize(
    ("selector", "shown"),
    [
        ("poem.txt", "     1\tone\n     2\ttwo\n     3\tthree\n     4\tfour\n"),
        ("poem.txt:2-3", "     2\ttwo\n     3\tthree\n"),
        ("poem.txt:3-", "     3\tthree\n     4\tfour\n"),
        ("poem.txt:-1", "     4\tfour\n"),
        ("poem.txt:2+2", "     2\ttwo\n     3\tthree\n"),
        ("poem.txt:2", "     2\ttwo\n"),
        ("poem.txt:1,4", "     1\tone\n     4\tfour\n"),
        ("open.txt", "     1\talpha\n     2\tomega"),
    ],
)
def test_read_shows_the_lines_that_a_selector_names(directory, eyespan, selector, shown):
    assert eyespan("read", selector) == (0, shown, "")


def test_read_without_numbers_is_exact(directory, eyespan):
    (directory / "odd").write_bytes(b"caf\xc3\xa9\r\n\x1b[31mred\n\xe2\x80\xaeback")

    assert eyespan("read", "-N", "odd") == (0, "café\r\n\x1b[31mred\n\u202eback", "")


def test_several_files_have_headings(directory, eyespan):
    code, out, _ = eyespan("read", "open.txt", "poem.txt:1")

    assert code == 0
    assert out == "==> open.txt <==\n     1\talpha\n     2\tomega\n\n==> poem.txt:1 <==\n     1\tone\n"


def test_a_file_whose_name_looks_like_a_selector_still_opens(directory, eyespan):
    (directory / "log:10-20").write_text("odd name\n")

    assert eyespan("read", "log:10-20") == (0, "     1\todd name\n", "")


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("missing.txt", "eyespan: missing.txt: no such file"),
        ("poem.txt:9", "eyespan: poem.txt:9: no line 9: the file has 4 lines"),
        ("key.pem", "eyespan: key.pem: denied by the rule '**/*.pem'"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_with_a_way_out(directory, eyespan, argument, message):
    (directory / "key.pem").write_text("secret")
    (directory / "data.bin").write_bytes(b"\0\1\2")

    code, out, err = eyespan("read", argument, "open.txt")

    assert code == 1
    assert err.startswith(message)
    assert "alpha" in out
    assert "secret" not in out


def test_a_closed_pipe_is_success(directory):
    (directory / "long.txt").write_text("line\n" * 500_000)
    script = f"{sys.executable} -m eyespan read long.txt | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, cwd=directory)

    assert done.stdout.decode().split("\n")[:2] == ["     1\tline", "0"]
    assert done.stderr == b""


def test_a_large_file_is_streamed(directory):
    (directory / "long.txt").write_text("a line of text\n" * 2_000_000)
    done = subprocess.run(
        [sys.executable, "-m", "eyespan", "read", "-N", "long.txt"], stdout=subprocess.PIPE, cwd=directory
    )

    assert done.stdout == (directory / "long.txt").read_bytes()


def on_terminal(directory, *argv, **environment):
    """Run the command on a terminal of its own. Returns all that it shows."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "eyespan", *argv],
        stdout=child, stderr=child, stdin=child, cwd=directory,
        env={**os.environ, "TERM": "xterm", **environment},
    )  # fmt: skip
    os.close(child)
    seen = b""
    while True:
        try:
            piece = os.read(parent, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(parent)
    process.wait()
    return seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_escapes_instead_of_control_characters(directory):
    (directory / "evil.txt").write_bytes("a\x1b[2Jb\u202ec\u200bd\U000e0041e\tf\x9b\n".encode())

    assert on_terminal(directory, "read", "evil.txt") == (
        "\x1b[2m     1\x1b[0m\ta\\x1b[2Jb\\u202ec\\u200bd\\U000e0041e\tf\\x9b\n"
    )
    assert "\x1b[2m" not in on_terminal(directory, "read", "evil.txt", NO_COLOR="1")


def test_a_terminal_gets_long_lines_shortened(directory):
    (directory / "wide.txt").write_text("x" * 300_000 + "\nend\n")

    seen = on_terminal(directory, "read", "wide.txt", NO_COLOR="1")

    assert seen == f"     1\t{'x' * 2000}... [line of 300000 characters]\n     2\tend\n"


CONTENTS = {
    "text": b"one\ntwo\n",
    "open": b"one\ntwo",
    "one": b"\n",
    "empty": b"",
    "crlf": b"one\r\ntwo\rthree\r\n",
    "wide": "z\u00e4hlen \u2028 \U0001f600\x0c\x1b[1m\n".encode() * 3,
    "bom": b"\xef\xbb\xbfone\n",
    "utf16": "one\ntwo\n".encode("utf-16"),
    "nul": b"a\0b\n",
    "long": b"x" * 70_000 + b"\n",
    "declared": b"# -*- coding: latin-1 -*-\nx = 1\n",
    "xml": b"<?xml version='1.0' encoding='iso-8859-1'?>\n<a/>\n",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>\n",
    "pdf": b"%PDF-1.4\nnothing\n",
    "rtf": b"{\\rtf1 hello}\n",
    "a.ipynb": b"{}\n",
    "a.csv": b"a,b\n1,2\n",
    "a.html": b"<p>hello</p>\n",
    "a.eml": b"From: a@b.c\nSubject: x\n\nhello\n",
    "a.xpm": b"/* XPM */\n",
    ".env": b"KEY=1\n",
    "id_rsa": b"secret\n",
    "a:3": b"a name like a selector\n",
    " space": b"a name with a space\n",
}


@pytest.mark.parametrize("name", CONTENTS)
def test_a_file_is_the_same_by_every_path_to_it(name, directory, eyespan):
    (directory / name).write_bytes(CONTENTS[name])
    paths = [[name], ["--root", ".", name], [f"./{name}"], [str(directory / name)]]

    for words in (["read"], ["read", "-N"]):
        status, out, err = eyespan(*words, name)
        named = [(status, out, err.replace(f"eyespan: {name}:", f"eyespan: {path[-1]}:")) for path in paths]
        assert [eyespan(*words, *path) for path in paths] == named


def test_a_file_of_the_whole_name_comes_first(directory, eyespan):
    (directory / "a").write_bytes(b"one\ntwo\n")
    (directory / "a:1").write_bytes(b"a name like a selector\n")
    (directory / "a:2").symlink_to("nothing")

    assert eyespan("read", "a:1") == (0, "     1\ta name like a selector\n", "")
    assert eyespan("read", "a:2") == (0, "     2\ttwo\n", "")


@pytest.fixture
def small_index(monkeypatch):
    """Index with sizes a thousand times smaller."""
    monkeypatch.setattr(index, "STRIDE", 64)
    monkeypatch.setattr(index, "MIN_FILE_BYTES", 1)
    monkeypatch.setattr(Source, "max_first_bytes", 64)
    monkeypatch.setattr("eyespan.source.RACY_NS", 0)
    index._indexes.clear()


LARGE = {
    "plain": b"".join(b"line %d\n" % n for n in range(400)),
    "open": b"".join(b"line %d\n" % n for n in range(400)) + b"end",
    "crlf": b"line\r\n" * 400,
    "later": b"x" * 64 + b"\n" + (b"\xc3\xa9" * 9 + b"\xff") * 30 + "\nend \u00e9\n".encode() * 40,
    "wide": "z\u00e4hlen\n".encode() * 200,
}


@pytest.mark.parametrize("name", LARGE)
def test_lines_of_an_indexed_file_are_those_of_the_whole(name, small_index, directory, capfdbinary):
    (directory / name).write_bytes(LARGE[name])
    os.utime(directory / name, (1_000_000_000, 1_000_000_000))
    rows = LARGE[name].splitlines(keepends=True)

    for first, last in [(390, 390), (2, 3), (100, 149), (398, 400), (1, 1), (20, 20), (3, 90), (38, len(rows))]:
        for _ in range(2):  # without the index, and with it
            status = main(["read", "-N", f"{name}:{first}-{last}"])
            shown = b"".join(rows[first - 1 : last])
            assert (status, capfdbinary.readouterr().out) == (0 if shown else 1, shown)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("pdfs/unicode.pdf", "second line of the page"),
        ("office/report.docx:7", "     7\t## Arrivals"),
        ("office/ledger.xlsx", "## Ledger (A1:D4)"),
        ("notebooks/tides.ipynb", "tide = 42"),
        ("pictures/alpha.png", "[an image: image/png"),
        ("office/page.html", "<"),
    ],
)
def test_documents_are_shown_as_text(eyespan, path, shown):
    code, out, err = eyespan("read", "--root", str(FIXTURES), path)

    assert (code, err) == (0, "")
    assert shown in out


def test_documents_can_be_shown_raw_and_pages_as_documents(eyespan):
    assert '"cells"' in eyespan("read", "--root", str(FIXTURES), "--raw", "notebooks/tides.ipynb")[1]
    assert "<html" not in eyespan("read", "--root", str(FIXTURES), "--document", "office/page.html")[1]


def test_progress_renews_the_deadline():
    clock = Clock()
    context = target_printer.renewing_context(10, Ledger(clock))

    clock.now += 3
    context.advance(target_printer.RENEWING_BYTES - 1, 1 << 40)
    before = context.left()
    context.advance(target_printer.RENEWING_BYTES, 1 << 40)

    assert (before, context.left()) == (7, 10)


def test_a_directory_is_listed(directory, eyespan):
    (directory / "src").mkdir()
    (directory / "a\nb").write_text("")
    (directory / "link").symlink_to("poem.txt")

    assert eyespan("read", ".") == (0, "a\\x0ab\nlink@\nopen.txt\npoem.txt\nsrc/\n", "")
    assert eyespan("read", "src", "poem.txt:1")[1] == "==> src <==\n\n==> poem.txt:1 <==\n     1\tone\n"


def test_standard_input_is_a_file(directory):
    def read(*targets, text=b"one\ntwo\nthree\n"):
        command = [sys.executable, "-m", "eyespan", "read", *targets]
        run = subprocess.run(command, input=text, capture_output=True, cwd=directory)
        return run.returncode, run.stdout.decode(), run.stderr.decode()

    assert read("-") == (0, "     1\tone\n     2\ttwo\n     3\tthree\n", "")
    assert read("-:2") == (0, "     2\ttwo\n", "")
    assert read("-:-1", "-N") == (0, "three\n", "")
    assert read("-:9") == (1, "", "eyespan: -:9: no line 9: the file has 3 lines\n")


def test_a_person_may_name_any_file(directory, eyespan, monkeypatch):
    below = directory / "below"
    below.mkdir()
    monkeypatch.chdir(below)

    for name in ("../poem.txt", str(directory / "poem.txt"), "../below/../poem.txt"):
        assert eyespan("read", "-N", f"{name}:2") == (0, "two\n", "")
    code, out, error = eyespan("--root", ".", "read", "../poem.txt")
    assert (code, out) == (1, "")
    assert "outside the workspace" in error
    assert eyespan("read", "..")[1] == "below/\nopen.txt\npoem.txt\n"


def test_names_of_secrets_are_refused_everywhere(directory, eyespan, monkeypatch):
    (directory / ".env").write_text("KEY=1\n")
    below = directory / "below"
    below.mkdir()
    (below / "link").symlink_to("../.env")
    monkeypatch.chdir(below)

    for name in ("../.env", str(directory / ".env"), "link"):
        code, out, _ = eyespan("read", name)
        assert (code, out) == (1, "")


@pytest.mark.parametrize("selector", ["src?needle", "src/?needle", "src/*.txt?needle", "**/*.txt?needle"])
def test_read_searches_all_files_of_a_directory_or_a_pattern(directory, eyespan, selector):
    (directory / "src").mkdir()
    (directory / "src" / "a.txt").write_text("a\nneedle\n")
    (directory / "src" / "b.txt").write_text("nothing\n")
    (directory / "src" / "c.txt").write_text("needle 2\n")
    (directory / "src" / "d.bin").write_bytes(b"needle\0\1\2" * 100)

    shown = "==> src/a.txt <==\n     1\ta\n     2\tneedle\n\n==> src/c.txt <==\n     1\tneedle 2\n"
    assert eyespan("read", selector) == (0, shown, "")


def test_a_search_without_a_match_in_a_directory_is_an_error(directory, eyespan):
    assert eyespan("read", ".?not in any file") == (
        1,
        "",
        "eyespan: .?not in any file: no line matches not in any file\n",
    )


def test_a_search_of_what_is_no_text_is_refused_with_what_searches_it(directory, eyespan):
    with zipfile.ZipFile(directory / "a.zip", "w") as archive:
        archive.writestr("a.txt", "needle\n")

    assert eyespan("read", "a.zip?needle") == (
        1,
        "",
        "eyespan: a.zip?needle: only texts are searched here; `eyespan call native` also searches pages and archives\n",
    )


def test_a_search_with_too_many_matches_states_where_it_stopped(directory, eyespan, monkeypatch):
    monkeypatch.setattr("eyespan.dialects.native.searches.MAX_MATCHING_FILES", 1)
    (directory / "src").mkdir()
    for name in "ab":
        (directory / "src" / name).write_text("needle\n")

    assert eyespan("read", "src?needle") == (
        0,
        "==> src/a <==\n     1\tneedle\n",
        "eyespan: src?needle: files 1-1 were searched, up to src/b; src:2-?needle continues\n",
    )
    assert eyespan("read", "src:2-?needle") == (0, "==> src/b <==\n     1\tneedle\n", "")


def test_read_states_that_the_end_of_a_symbol_may_be_wrong(directory, eyespan):
    pytest.importorskip("tree_sitter_go")
    (directory / "broken.go").write_text("package x\nfunc f() {\n  a(\n  }\nfunc g() {\n}}}\n")

    status, _, note = eyespan("read", "broken.go::f")
    assert (status, note) == (0, "eyespan: broken.go::f: parser lost track near line 3; the end may be wrong\n")


def test_text_of_another_encoding_is_shown_in_utf8(directory, capfdbinary):
    data = "Größe: 5 °C\n".encode("cp1252")
    (directory / "a.txt").write_bytes(data)

    assert main(["read", "-N", "a.txt"]) == 0
    assert main(["read", "-N", "--raw", "a.txt"]) == 0

    shown = capfdbinary.readouterr()
    assert shown.out == "Größe: 5 °C\n".encode() + data
    assert shown.err == b"eyespan: a.txt: decoded from cp1252; --raw shows the bytes\n"


def test_a_notebook_is_markdown_without_tags(directory, eyespan):
    output = {"output_type": "stream", "name": "stdout", "text": "```\n"}
    cells = [
        {"cell_type": "markdown", "source": "# Title"},
        {"cell_type": "code", "source": "f()", "outputs": [output]},
    ]
    (directory / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))

    shown = "```python\nf()\n```\n\n````\n```\n````\n\n"
    assert eyespan("a.ipynb", "--markdown") == (0, f"# Title\n\n{shown}", "")
    assert eyespan("a.ipynb:c2", "--markdown") == (0, shown, "")
