from __future__ import annotations

import gzip
import io
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.context import CallContext
from eyespan.dialects.native import searches
from eyespan.engine import Engine
from eyespan.memory import Ledger

from .answers import line_numbers, read_back, shown

FIXTURES = Path(__file__).parents[2] / "fixtures"
LITTLE_BYTES = 4 << 20
"""Less memory than a block for each of many matches takes."""


def test_the_lines_that_match_are_shown_with_those_around_them(call):
    reply = call("src/lib.py?return")

    assert line_numbers(reply) == [10, 11, 12, 13, 14, 15, 16, 17]
    assert ">note: match: 12 in Harbour.berths; 15 in Harbour.enter" in reply.text
    assert call("src/lib.py?retur[nx] 3$").text.count("return") == 1


def test_a_search_within_lines_or_a_symbol(call):
    assert "match: 15 in" in call("src/lib.py:13-16?return").text
    assert "match: 12 in" in call("src/lib.py::Harbour.berths?return").text
    assert line_numbers(call("src/lib.py:15?return")) == [15]


def test_no_match_is_an_answer(call):
    reply = call("src/lib.py?nothing at all")

    assert not reply.is_error
    assert reply.text == "> src/lib.py?nothing at all: no line matches"


def test_a_doubled_sign_is_part_of_the_name_of_a_symbol(root, call):
    (root / "guide.md").write_text("# What? And why\n\nbecause\n\n# What\n\n And why\n")

    assert call("guide.md::What?? And why").text.startswith("> guide.md::What?? And why 1-3/7 ")
    assert line_numbers(call("guide.md::What?? And why?because")) == [1, 2, 3]
    assert line_numbers(call("guide.md::What? And why")) == [5, 6, 7]
    (root / "faq.md").write_text("# What? And why\n")
    assert "near: faq.md::What?? And why" in call("faq.md::Wat?? And wyh").text


def test_a_file_whose_name_contains_the_sign_still_opens(root, call):
    (root / "lib.py?x").write_text("odd\n")

    assert shown(call("lib.py?x").text) == [(1, 1, "odd")]


@pytest.mark.parametrize("pattern", ["enter(", "*a", r"(x)\1", "["])
def test_a_text_that_is_no_expression_is_searched_as_it_is(call, pattern):
    assert "searched as plain text: as an expression," in call(f"src/lib.py?{pattern}").text


def test_words_of_other_scripts_are_noted(root, call):
    (root / "de.txt").write_text("über\n")

    assert "\\b, \\w, \\d and \\s know ASCII only" in call(r"de.txt?\büber|über").text
    assert "ASCII" not in call(r"de.txt?(?i)ÜBER").text


def test_a_search_without_its_module_names_the_command_that_installs_it(call, monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)

    assert "pip install google-re2" in call("src/lib.py?return").text


def test_an_expression_that_backtracks_for_ever_is_answered(root, call):
    (root / "long.txt").write_text("a" * 5000 + "\nb\n")

    assert "no line matches" in call("long.txt?(a+)+c").text


def test_a_directory_is_searched_file_by_file(root, call):
    (root / ".env").write_text("return SECRET\n")
    (root / "src" / "deep").mkdir()
    (root / "src" / "deep" / "b.txt").write_text("one\ntwo return\n")
    (root / "x.bin").write_bytes(b"\0\1\2\xff\xfe" * 100 + b"return")

    reply = call(".?return")

    assert reply.text.startswith("> .?return: 2 files of 3 match\n")
    parts = read_back(reply.text, Workspace(root).tool("native").dialect.style)
    assert [name.partition(":")[0] for kind, name, _ in parts if kind == "text"] == ["src/deep/b.txt", "src/lib.py"]
    assert "SECRET" not in reply.text


def test_what_cannot_be_read_is_named_and_not_counted(root, call):
    (root / "damaged.txt.gz").write_bytes(gzip.compress(b"a word\n" * 1000)[:40])
    deep = root.joinpath(*["deep"] * 70)
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("no other place has this word\n")
    text = call("**?no other place").text

    assert text.startswith("> **?no other place: no line matches in ")
    assert "; not searched, because it cannot be read: damaged.txt.gz, deep/deep/" in text


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the directory is one of Linux")
def test_a_search_in_a_directory_that_is_not_listed_is_an_error():
    with Workspace("/") as workspace:
        text = workspace.tool("native").call({"path": "/proc/self?root"}).text

    assert text.startswith(">! /proc/self?root: permission denied")


def test_files_that_a_pattern_of_names_matches_are_searched(root, call):
    (root / "src" / "note.txt").write_text("return\n")

    assert call("src/**/*.py?return").text.startswith("> src/**/*.py?return: 1 file of 1 matches\n")
    assert call("*.py?line 7").text.startswith("> *.py?line 7: 1 file of 1 matches\n")


def follow(call, selector, budget):
    """Follow the continuations; return the lines that the notes call matches, by file, and the number of calls."""
    found, waiting, calls = set(), [selector], 0
    while waiting:
        calls += 1
        assert calls < 300
        reply = call(waiting.pop(0), budget=budget)
        assert not reply.is_error, reply.text
        name = ""
        for line in reply.text.split("\n"):
            if line.startswith("> "):
                name = line[2:].partition(":")[0]
            if line.startswith(">note: match: "):
                numbers = [one.partition(" in ")[0] for one in line.removeprefix(">note: match: ").split("; ")]
                found |= {(name, int(number)) for one in numbers for number in one.split(", ")}
        waiting = [*reply.structured.get("left_out", []), *waiting]
    return found, calls


@pytest.mark.parametrize("budget", [150, 400, 5000])
def test_a_search_over_the_budget_is_continued_to_the_last_match(root, call, budget):
    for name in ("a.txt", "b.txt"):
        lines = [f"line {n} {'match me' if n % 7 == 0 else 'nothing'}\n" for n in range(1, 121)]
        (root / "src" / name).write_text("".join(lines))

    found, calls = follow(call, "src?match me", budget)

    assert found == {(f"src/{name}", n) for name in ("a.txt", "b.txt") for n in range(7, 121, 7)}
    assert (calls == 1) == (budget == 5000)


def test_a_match_in_a_long_line_is_continued(root, call):
    (root / "min.js").write_text("var a;\n" + "word " * 3000 + "needle\nvar b; // needle\n")

    found, calls = follow(call, "min.js?needle", 300)

    assert ("min.js", 3) in found
    assert calls < 40


def test_an_archive_and_a_pdf_are_searched(root, call):
    with zipfile.ZipFile(root / "logs.zip", "w") as archive:
        archive.writestr("app/a.log", "one\ntwo error\n")
        archive.writestr("b.log", "nothing\n")
    with Workspace(FIXTURES) as workspace:
        pages = workspace.tool("native").call({"files": "pdfs/book.pdf?number 1[27] begins"})

    reply = call("logs.zip?error")

    assert "1 file of 2 matches" in reply.text
    assert "> logs.zip!/app/a.log:1-2/2 #" in reply.text
    assert "2 pages of 25 match" in pages.text
    assert "> pdfs/book.pdf:p12:" in pages.text


def test_documents_that_are_not_searched_with_other_files_are_noted(tmp_path):
    shutil.copy(FIXTURES / "pdfs" / "book.pdf", tmp_path)
    shutil.copy(FIXTURES / "notebooks" / "tides.ipynb", tmp_path)
    (tmp_path / "a.bin").write_bytes(b"\0\1\2\3")
    (tmp_path / "a.txt").write_text("harbour\n")
    reason = "not searched, because documents and archives are searched one by one: book.pdf, tides.ipynb"

    with Workspace(tmp_path) as workspace:
        texts = [workspace.tool("native").call({"files": f".?{word}"}).text for word in ("harbour", "nothing")]

    assert texts[0].startswith(f"> .?harbour: 1 file of 1 matches\n>note: {reason}\n")
    assert texts[1] == f"> .?nothing: no line matches in 1 file; {reason}"


def test_the_sources_of_drawings_and_tables_are_searched_too(tmp_path):
    (tmp_path / "a.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg">\n<title>harbour</title>\n</svg>\n')
    (tmp_path / "b.csv").write_text("name,size\n" + "boat,1\n" * 400 + "harbour,2\n")
    (tmp_path / "c.bin").write_bytes(b"harbour\0")

    text = Workspace(tmp_path).tool("native").call({"files": ".?harbour"}).text

    assert "a.svg" in text
    assert "b.csv" in text
    assert "c.bin" not in text


def test_a_search_that_takes_too_long_states_where_it_stopped(root, call, monkeypatch):
    monkeypatch.setattr("eyespan.context.CallContext.is_half_over", True)
    monkeypatch.setattr("eyespan.dialects.native.searches.BLOCK_CHARS", 1000)
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 1001)))

    reply = call("long.txt?line 9..$")
    assert ": no line before " in reply.text
    waiting, calls = reply.structured["left_out"], 1
    while waiting and "match:" not in reply.text:
        reply, calls = call(waiting), calls + 1
        waiting = reply.structured.get("left_out", [])

    assert ">note: match: 900" in reply.text
    assert calls > 3


def test_a_large_file_in_a_directory_is_noted_if_it_is_not_searched_to_its_end(root, call, monkeypatch):
    (root / "src" / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 100_001)))

    def stop_early(text, ranges, search, notes, stopped):
        stopped.append(101)
        return iter(())

    monkeypatch.setattr(searches, "matching_lines", stop_early)

    assert "src/long.txt is too large to be searched to its end" in call("src?nothing like this").text


@pytest.mark.parametrize("name", ["long.txt", "long.txt.gz"])
def test_text_that_was_searched_is_free_again(name, root, tool, monkeypatch):
    """All blocks together would take more than the limit."""
    monkeypatch.setattr(searches, "BLOCK_CHARS", 100_000)
    data = b"a line of text\n" * 60_000
    (root / name).write_bytes(gzip.compress(data, 9) if name.endswith("gz") else data)

    call = CallContext(ledger=Ledger(max_bytes=5 << 20))
    reply = tool.call({"files": f"{name}?none of these$"}, context=call)

    assert reply.text == f"> {name}?none of these$: no line matches"


def test_a_long_line_is_searched_up_to_the_limit(root, call, monkeypatch):
    monkeypatch.setattr(searches, "BLOCK_CHARS", 100)
    monkeypatch.setattr(searches, "CHUNK_CHARS", 1000)
    (root / "long.txt").write_text("short\n" + "a" * 998 + "bc" + "d" * 1000 + "\nlast\n")

    assert "match: 2" in call("long.txt?bc").text
    assert "no line matches" in call("long.txt?cd").text
    assert "match: 3" in call("long.txt?last").text


# --- memory --------------------------------------------------------------------------------------------------------


def many_matches(count):
    return "".join([f"needle {n}\n" + "other words\n" * 20 for n in range(count)])


def test_many_matches_in_one_file_are_shown(root, call_within):
    (root / "busy.txt").write_text(many_matches(400))

    reply = call_within(LITTLE_BYTES, "busy.txt?^needle", budget=20_000)

    assert not reply.is_error
    assert reply.text.count("\tneedle ") == 400


def test_a_directory_with_many_matches_is_searched_to_its_end(root, call_within):
    """Files that no budget could show take little memory."""
    directory = root / "busy"
    directory.mkdir()
    for number in range(60):
        (directory / f"{number:02}.txt").write_text(many_matches(60))

    reply = call_within(LITTLE_BYTES, "busy?^needle", budget=1000)

    assert reply.text.startswith("> busy?^needle: 60 files of 60 match\n")
    assert len(reply.structured["left_out"]) >= 59


def test_a_file_that_takes_too_much_memory_is_noted(root, call_within):
    (root / "src" / "wide.txt").write_text("\U0001f600" * 300_000)
    (root / "src" / "z.txt").write_text("needle\n")

    text = call_within(LITTLE_BYTES, "src?needle").text

    assert text.startswith("> src?needle: 1 file of 2 matches\n")
    assert "src/wide.txt is too large to be searched to its end" in text


def test_a_file_that_ends_within_a_character_is_searched_to_its_end(root, call):
    (root / "src" / "cut.txt").write_bytes("é".encode() + b"\nabc \xc3")

    assert call("src?^abc .$").text.startswith("> src?^abc .$: 1 file of 2 matches\n> src/cut.txt:1-2/2 ")


def test_members_of_a_compressed_archive_that_match_hold_no_buffers(root, call_within):
    with tarfile.open(root / "t.tar.gz", "w:gz") as archive:
        for number in range(20):
            member = tarfile.TarInfo(f"{number:02}.txt")
            member.size = len(b"needle\n")
            archive.addfile(member, io.BytesIO(b"needle\n"))

    assert call_within(LITTLE_BYTES, "t.tar.gz?needle").text.startswith("> t.tar.gz?needle: 20 files of 20 match\n")


def test_an_archive_is_searched_beyond_the_members_that_a_listing_shows(root, call):
    with zipfile.ZipFile(root / "z.zip", "w") as archive:
        for number in range(1001):
            archive.writestr(f"{number:04}.txt", "needle\n" if number == 1000 else "")

    assert call("z.zip?needle").text.startswith("> z.zip?needle: 1 file of 1001 matches\n")


def test_members_that_are_not_searched_are_noted(root, call, monkeypatch):
    monkeypatch.setattr(searches, "MAX_MEMBERS", 3)
    with zipfile.ZipFile(root / "z.zip", "w") as archive:
        for number in range(5):
            archive.writestr(f"{number}.txt", "needle\n" if number == 4 else "other\n")

    assert call("z.zip?needle").text == (
        "> z.zip?needle: no line matches in 3 files; only the first 3 of 5 members were searched"
    )


@pytest.mark.parametrize("target", ["many?needle", "many/*.txt?needle"])
def test_a_search_that_stops_continues_until_every_file_was_searched(root, call, monkeypatch, target):
    monkeypatch.setattr(searches, "MAX_MATCHING_FILES", 3)
    (root / "many").mkdir()
    for number in range(20):
        (root / "many" / f"{number:02}.txt").write_text("needle\n" if number % 2 else "other\n")
    path, _, pattern = target.partition("?")

    def found_from(target):
        found, following = [], [target]
        while following:
            reply = call(following[-1])
            found += [part["path"] for part in reply.structured["parts"][0].get("parts", [])]
            following = reply.facts.get("left_out", [])
        return found

    assert found_from(target) == [f"many/{number:02}.txt" for number in range(1, 20, 2)]
    assert found_from(f"{path}:3-18?{pattern}") == [f"many/{number:02}.txt" for number in range(3, 18, 2)]


@pytest.mark.parametrize("target", ["many?needle", "many/*.txt?needle"])
def test_a_search_that_continues_walks_on_from_where_it_was(root, monkeypatch, target):
    monkeypatch.setattr(searches, "MAX_MATCHING_FILES", 3)
    monkeypatch.setattr(searches, "PLACE_FILES", 2)
    (root / "many").mkdir()
    for number in range(20):
        (root / "many" / f"{number:02}.txt").write_text("needle\n" if number % 2 else "other\n")
    starts = []
    walk = Engine.walk
    monkeypatch.setattr(Engine, "walk", lambda *args: starts.append(args) or walk(*args))

    with Workspace(root) as workspace:
        found, following = [], [target]
        while following:
            reply = workspace.tool("native").call({"files": following[-1:]})
            with Workspace(root) as other:
                assert other.tool("native").call({"files": following[-1:]}) == reply
            found += [part["path"] for part in reply.structured["parts"][0].get("parts", [])]
            following = reply.facts.get("left_out", [])

    assert found == [f"many/{number:02}.txt" for number in range(1, 20, 2)]
    assert [after for *_, after in starts if after] == ["05.txt", "11.txt", "17.txt"]


def test_names_of_directories_that_were_searched_are_free_again(root, call_within):
    for directory in range(16):
        (root / "tree" / f"{directory:02}").mkdir(parents=True)
        for name in range(100):
            (root / "tree" / f"{directory:02}" / f"{name:03}{'n' * 240}").symlink_to("nowhere")
    (root / "tree" / "last.txt").write_text("needle\n")

    assert call_within(600 << 10, "tree?needle").text.startswith("> tree?needle: 1 file of 1 matches\n")


ENCODED = {
    "utf-8": "a naïve word\n",
    "utf-8-sig": "a naïve word\n",
    "utf-16": "a naïve word\n",
    "utf-16-le": "a naïve word in a text without a mark of its order\n" * 4,
    "latin-1": "Une pensée naïve, déjà très répandue à l'été.\nLe garçon naïve a mangé des pêches.\n" * 6,
    "iso2022-jp": "日本語の naïve テキスト\n".replace("ï", "i"),
}


def test_a_search_sees_the_text_of_every_encoding(tmp_path):
    """Most files without a match are left by their bytes; those whose text differs from their bytes are not."""
    for name, text in ENCODED.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode(name))
    (tmp_path / "crlf.txt").write_bytes(b"a naive\r\nword\r\n")
    tool = Workspace(str(tmp_path)).tool("native")

    assert "7 files of 7 match" in tool.call({"files": [".?na.ve"]}).text
    assert "1 file of 7 matches" in tool.call({"files": [".?a naive$"]}).text
    assert "1 file of 7 matches" in tool.call({"files": [".?日本語"]}).text
