"""The native tool: selectors, many files, hashes, facts, help on a miss, structure, folders."""

from __future__ import annotations

import os
import unicodedata

import pytest
from native_answers import shown

from eyespan import Policy, Workspace, tokens
from eyespan.dialects.native import Native


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.py").write_text("".join(f"line {n}\n" for n in range(1, 31)))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "lib.py").write_text(LIB)
    return tmp_path


LIB = '''\
"""A harbour."""
import os


class Harbour:
    """Ships come and go."""

    # Where ships lie.
    # Two lines of it.
    @property
    def berths(self):
        return 3

    def enter(self, ship):
        return ship


def close():
    pass
'''


@pytest.fixture
def call(root):
    with Workspace(root) as workspace:
        tool = workspace.tool("native")
        yield lambda files, **more: tool.call({"files": files, **more})


def lines(reply):
    return [number for number, _, _ in shown(reply.text)]


# --- the tool ------------------------------------------------------------------------------------------------------


def test_schema_and_description_cost_little():
    import json

    spec = Native().spec

    assert spec.name == "read"
    assert tokens.estimate(json.dumps([spec.description, spec.input_schema])) <= 400


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"separator": "dash"}, "separator must be one of tab, colon, pipe, arrow, blank"),
        ({"numbers": -1}, "numbers must be"),
        ({"budget": 10}, "budget must be"),
    ],
)
def test_senseless_settings_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        Native(**settings)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "files is required"),
        ({"files": []}, "files is required"),
        ({"files": [3]}, "each must be a path"),
        ({"files": "a.py", "offset": 3}, 'no argument "offset"'),
        ({"files": "a.py", "budget": "much"}, "budget must be"),
        ({"files": "a.py", "known": ["xyz"]}, "known must be hashes"),
        ({"files": "a.py", "outline": "yes"}, "outline must be"),
        ({"files": [{"path": "a.py", "lines": "x"}]}, 'lines must be as in "10-20,40-60"'),
        ({"files": [{"path": "a.py", "line": 3}]}, "a file given as an object has path"),
        ({"files": ["a.py"] * 101}, "at most 100"),
        ([], "must be an object"),
    ],
)
def test_arguments_that_cannot_be_meant_are_answered_with_what_can(root, arguments, words):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert reply.error.code == "invalid_arguments"
    assert words in reply.text


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": "a.py:3-4"},
        {"files": ["a.py:3-4"]},
        {"files": '["a.py:3-4"]'},
        {"files": [{"path": "a.py", "lines": "3-4"}]},
        {"files": [{"path": "a.py", "lines": [3, 4]}]},
        {"path": "a.py:3-4"},
        {"file_path": "a.py:3+2"},
        "a.py:3-4",
    ],
)
def test_files_may_be_spelled_in_several_ways(root, arguments):
    with Workspace(root) as workspace:
        reply = workspace.tool("native").call(arguments)

    assert shown(reply.text) == [(3, 1, "line 3"), (4, 1, "line 4")]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "4\tline 4\n5\tline 5\n\tline 6"),
        ({"numbers": 1}, "4\tline 4\n5\tline 5\n6\tline 6"),
        ({"numbers": 0}, "line 4\nline 5\nline 6"),
        ({"numbers": 1, "separator": "colon"}, "4:line 4\n5:line 5\n6:line 6"),
        ({"separator": "pipe", "numbers": 2}, "4|line 4\n|line 5\n6|line 6"),
        ({"separator": "arrow", "numbers": 1}, "4→line 4\n5→line 5\n6→line 6"),
        ({"separator": "blank", "numbers": 1}, "4 line 4\n5 line 5\n6 line 6"),
    ],
)
def test_numbers_and_separators_are_settings(root, settings, text):
    with Workspace(root) as workspace:
        reply = workspace.tool("native", **settings).call({"files": "a.py:4-6"})

    assert reply.text.partition("\n")[2] == text


# --- selectors -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("a.py", list(range(1, 31))),
        ("a.py:10", [10]),
        ("a.py:29-", [29, 30]),
        ("a.py:29-99", [29, 30]),
        ("a.py:-2", [29, 30]),
        ("a.py:2-3,5,4", [2, 3, 4, 5]),
        ("a.py:1-3,20-21,3-4", [1, 2, 3, 4, 20, 21]),
        ("a.py:1,-1", [1, 30]),
        ("a.py:12:3", list(range(7, 18))),
        ("a.py:2:4-3", [2, 3]),
        ("src/lib.py::Harbour.enter", [14, 15]),
        ("src/lib.py::close", [18, 19]),
        ("src/lib.py:close", [18, 19]),
    ],
)
def test_a_selector_shows_the_lines_it_names(call, selector, expected):
    assert lines(call(selector)) == expected


def test_a_cursor_starts_with_its_character(call):
    assert shown(call("a.py:2:4-2").text) == [(2, 4, "e 2")]


def test_a_symbol_comes_with_its_decorators_and_the_comment_above(call):
    reply = call("src/lib.py::Harbour.berths")

    assert shown(reply.text)[0] == (8, 1, "    # Where ships lie.")
    assert reply.text.startswith("src/lib.py::Harbour.berths 8-12/19 #")


def test_a_file_whose_name_looks_like_a_selector_still_opens(root, call):
    (root / "a.py:2-3").write_text("the odd one\n")
    (root / "x@v1").write_text("at\n")

    assert shown(call("a.py:2-3").text) == [(1, 1, "the odd one")]
    assert shown(call("a.py:2-3:1").text) == [(1, 1, "the odd one")]
    assert lines(call([{"path": "a.py", "lines": "2-3"}])) == [2, 3]
    assert shown(call("x@v1").text) == [(1, 1, "at")]


def test_names_that_begin_like_an_address_are_names(root, call):
    (root / "data").write_text("1\n2\n3\n")

    assert lines(call("data:2-3")) == [2, 3]


def test_a_selector_longer_than_any_name_is_understood(call):
    ranges = ",".join(f"{n}-{n + 1}" for n in range(1, 30, 3))

    assert lines(call(f"a.py:{ranges},{ranges},{ranges},{ranges},{ranges},{ranges}")) == [
        n for n in range(1, 31) if n % 3
    ]
    assert "no such file" in call("n" * 300).text or "too long" in call("n" * 300).text


def test_a_place_in_a_long_line_is_shown_with_the_characters_around_it(root, call):
    (root / "min.js").write_text("first\n" + "".join(f"{n:07},"[:8] for n in range(5000)) + "\nlast\n")
    reply = call("min.js:2:20001")

    [(number, column, text)] = shown(reply.text)
    assert (number, column, len(text)) == (2, 19501, 1000)
    assert text[500:508] == "0002500,"
    assert "left_out" not in reply.structured


# --- many files ----------------------------------------------------------------------------------------------------


def test_each_part_has_its_own_answer_or_error(root, call):
    reply = call(["a.py:1-2", "none.py", "src/lib.py:1", "a.py:2-3"])

    assert not reply.is_error
    assert [part.get("selector") or part["error"]["code"] for part in reply.structured["parts"]] == [
        "a.py:1-3",
        "not_found",
        "src/lib.py:1",
    ]
    assert "none.py: no such file" in reply.text


def test_when_nothing_can_be_read_the_answer_is_an_error(call):
    reply = call(["none.py", "neither.py"])

    assert reply.error.code == "not_found"
    assert "none.py: no such file" in reply.text
    assert "neither.py: no such file" in reply.text


def test_the_same_file_under_two_names_is_one_part(root, call):
    (root / "link.py").symlink_to("a.py")

    reply = call(["a.py:1-2", "link.py:3-4"])

    assert [part["selector"] for part in reply.structured["parts"]] == ["a.py:1-4"]


# --- hashes --------------------------------------------------------------------------------------------------------


def test_what_the_caller_holds_is_one_line(call):
    first = call("a.py")
    value = first.structured["parts"][0]["hash"]

    again = call("a.py", known=[value])

    assert again.text == f"a.py:1-30/30 #{value} unchanged"
    assert again.structured["parts"][0]["unchanged"] is True
    assert call("a.py", known=[f"#{value}"]) == again
    assert call("a.py", known=[int(value)]) == again


def test_a_hash_is_of_the_file_the_window_and_the_content(root, call):
    (root / "b.py").write_bytes((root / "a.py").read_bytes())
    values = [call(selector).structured["parts"][0]["hash"] for selector in ("a.py", "b.py", "a.py:1-29", "a.py:2-")]

    assert len(set(values)) == 4
    assert call("a.py").structured["parts"][0]["hash"] == values[0]
    with Workspace(root) as other:
        assert other.tool("native").call({"files": "a.py"}).structured["parts"][0]["hash"] == values[0]


def test_what_changed_comes_anew_and_is_told_by_line(root, call):
    value = call("a.py").structured["parts"][0]["hash"]
    text = (root / "a.py").read_text().replace("line 7\n", "line seven\n").replace("line 20\n", "")
    (root / "a.py").write_text(text)

    reply = call("a.py", known=[value])

    assert (7, 1, "line seven") in shown(reply.text)
    assert f"changed since #{value}: 7, 1 removed before 20" in reply.text


def test_without_memory_of_the_old_version_only_the_hint_is_missing(root, call):
    value = call("a.py").structured["parts"][0]["hash"]
    (root / "a.py").write_text("new\n")
    with Workspace(root) as other:
        fresh = other.tool("native").call({"files": "a.py", "known": [value]})

    assert fresh.text == call("a.py").text
    assert call("a.py", known=[value]).text.startswith(fresh.text)


def test_holding_the_beginning_gives_the_rest(root, call):
    first = call("a.py", budget=100)
    part = first.structured["parts"][0]
    assert part["next"] is not None

    second = call("a.py", known=[part["hash"]])

    head, _, rest = second.text.partition("\n")
    assert head == f"{part['selector']}/30 #{part['hash']} unchanged"
    assert lines(first) + [number for number, _, _ in shown(rest)] == list(range(1, 31))


def test_holding_all_that_one_call_can_read_gives_what_follows(root, call):
    (root / "long.txt").write_text("word " * 40_000)
    first = call("long.txt", budget=2000)
    held = first.structured["parts"][0]["hash"]

    second = call("long.txt", budget=2000, known=[held])

    assert second.text != first.text
    assert second.structured["left_out"]


# --- facts beside the text -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"plain\nlines\n", None),
        (b"", None),
        (b"a\r\nb\r\n", "note: CRLF"),
        (b"a\r\nb\nc\n", "note: mixed line ends, CRLF on 1"),
        (b"a\nb", "note: no newline at the end"),
        (b"\xef\xbb\xbfa\n", "note: byte order mark"),
        ("ä\n".encode("utf-16"), "note: utf-16-le by byte order mark"),
        (b"if x:\n    a\n\tb\n", "note: mixed indentation, tabs on 3"),
        ("a\u200bb\n\u202ex\n".encode(), "note: hidden U+200B at 1:2, U+202E at 2:1"),
        ("a\U000e0041\n".encode(), "note: hidden U+E0041 at 1:2"),
        (b"a\x1b[31mb\n", "note: hidden U+001B at 1:2"),
        ("👨\u200d👩\n".encode(), None),
        ("語\n".encode() * 30 + b"a\xff\n", "note: bytes that are not utf-8 shown as U+FFFD on 31"),
    ],
)
def test_facts_are_told_only_when_they_matter(root, call, data, words):
    (root / "f.txt").write_bytes(data)
    reply = call("f.txt")

    notes = [line for line in reply.text.split("\n") if line.startswith("note: ")]
    assert notes == ([] if words is None else [words])


def test_hard_links_are_told(root, call):
    os.link(root / "a.py", root / "twin.py")

    assert call("a.py:1").text.endswith("note: 2 hard links")


def test_a_legacy_encoding_is_found_and_told(root, call):
    text = "Größe und Länge der Straße, für übliche Wörter geprüft.\n" * 40
    (root / "f.txt").write_bytes(text.encode("cp1252"))
    reply = call("f.txt")

    assert shown(reply.text)[0][2] == text.splitlines()[0]
    assert " by detected, " in reply.text


def test_a_change_during_the_read_is_told(root, call, monkeypatch):
    from eyespan.guard.source import LocalFile

    monkeypatch.setattr(LocalFile, "changed", lambda self: True)

    assert "note: changed while it was read, read it again" in call("a.py:1").text


# --- nothing there -------------------------------------------------------------------------------------------------


def test_an_empty_file_an_empty_window_and_a_missing_file_never_look_alike(root, call):
    (root / "empty.txt").write_text("")

    assert call("empty.txt").text == "empty.txt: the file is empty"
    assert call("empty.txt:5").text == "empty.txt: the file is empty"
    assert call("empty.txt:-5").text == "empty.txt: the file is empty"
    assert call("a.py:31-40").text == "a.py: no line 31: the file has 30 lines"
    assert call("a.py:99:1").text == "a.py: no line 99: the file has 30 lines"
    assert call("none.txt").text == "none.txt: no such file"
    assert [call(f).is_error for f in ("empty.txt", "a.py:31-40", "none.txt")] == [False, False, True]


def test_a_column_past_the_end_of_its_line_is_told(call):
    assert "note: line 3 has 6 characters" in call("a.py:3:50").text
    assert "line 3 has 6 characters" in call("a.py:3:50-3").text


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("src/libb.py", "src/lib.py"),
        ("src/lib.pt:3", "src/lib.py"),
        ("SRC/LIB.py", "src/"),
        ("src/LIB.PY", "src/lib.py"),
        ("scr/lib.py", "src/lib.py"),
        ("project/src/lib.py", "src/lib.py"),
        ("src/lib.py/x", None),
        ("nothing/like/it.txt", None),
    ],
)
def test_a_wrong_name_is_answered_with_near_ones(call, asked, near):
    reply = call(asked)

    assert reply.error.code == "not_found"
    found = reply.text.partition("; near: ")[2].split(", ")
    assert (near in found) if near else found == [""]


@pytest.mark.parametrize(
    ("real", "asked"),
    [
        (unicodedata.normalize("NFD", "Café.txt"), unicodedata.normalize("NFC", "Café.txt")),
        (unicodedata.normalize("NFC", "Café.txt"), unicodedata.normalize("NFD", "Café.txt")),
        ("Screen\u202fshot.txt", "Screen shot.txt"),
        ("It\u2019s.txt", "It's.txt"),
        ("a\xa0b.txt", "a b.txt"),
    ],
)
def test_a_name_that_only_looks_different_to_a_computer_is_opened_and_told(root, call, real, asked):
    (root / real).write_text("found\n")
    reply = call(f"{asked}:1")

    assert shown(reply.text) == [(1, 1, "found")]
    assert "note: the name as asked has other characters" in reply.text
    assert reply.structured["parts"][0]["path"] == real


def test_names_that_a_rule_forbids_are_not_suggested(root):
    (root / "secret.txt").write_text("x")
    (root / "It\u2019s.key").write_text("x")
    with Workspace(root, policy=Policy(["secret.*"])) as workspace:
        tool = workspace.tool("native")

        assert "near" not in tool.call({"files": "secret.tx"}).text
        assert tool.call({"files": "It's.key"}).is_error


def test_nothing_is_told_of_names_outside(root):
    (root / "inside").mkdir()
    with Workspace(root / "inside") as workspace:
        reply = workspace.tool("native").call({"files": ["../a.pz", str(root / "a.pz"), "x/../../a.py"]})

    assert reply.error.code == "outside_root"
    assert [line.partition(": ")[2] for line in reply.text.split("\n")] == [
        "outside the directories that may be read",
        "outside the directories that may be read",
        "no such file",
    ]
    assert "a.py" not in reply.text.replace("x/../../a.py", "")


def test_a_wrong_symbol_is_answered_with_near_ones(call):
    reply = call("src/lib.py::Harbour.entr")

    assert reply.error.code == "no_symbol"
    assert "near: src/lib.py::Harbour.enter" in reply.text


def test_pages_of_a_text_are_refused_by_what_it_has(call):
    assert call("a.py:p3").text == "a.py:p3: a text has no pages"


def test_a_binary_file_is_no_text(root, call):
    (root / "x.bin").write_bytes(b"\0\1\2" * 100)

    assert call("x.bin").text == "x.bin: binary, no text to show"


# --- folders -------------------------------------------------------------------------------------------------------


def test_a_folder_gives_its_names(root, call):
    (root / "link").symlink_to("src")
    (root / ".env").write_text("SECRET")

    assert call(".").text == ".: directory, 3 names\na.py\nlink@\nsrc/"
    assert call("src/").text == "src: directory, 1 name\nlib.py"


def test_a_large_folder_is_read_on_like_a_file(root, call):
    (root / "many").mkdir()
    names = [f"name-{n:04}.txt" for n in range(300)]
    for name in names:
        (root / "many" / name).touch()

    seen, waiting = [], ["many"]
    while waiting:
        reply = call(waiting, budget=400)
        seen += [line for line in reply.text.split("\n") if line.startswith("name-")]
        waiting = reply.structured.get("left_out", [])

    assert seen == names


# --- structure -----------------------------------------------------------------------------------------------------


def test_an_outline_names_the_symbols_with_their_lines(call):
    reply = call("src/lib.py", outline=True)

    assert reply.text.startswith("outline of src/lib.py, by ast\n")
    assert "5-15 class Harbour" in reply.text
    assert "  14-15 def enter(self, ship)" in reply.text


def test_a_file_without_symbols_says_so(root, call):
    (root / "notes.xyz").write_text("just words\n")

    assert call("notes.xyz", outline=True).text == "notes.xyz: no symbols found, its language is not known"


def test_a_large_source_file_is_answered_by_its_outline_and_its_head(root, call):
    source = "".join(f"def function_{n}(argument):\n    return argument + {n}\n\n\n" for n in range(200))
    (root / "big.py").write_text(source)

    reply = call("big.py", budget=1000)

    rows = shown(reply.text)
    assert rows[0] == (1, 1, "def function_0(argument):")
    assert "\noutline of big.py:\n" in reply.text
    assert "def function_150" in reply.text or "… " in reply.text
    assert reply.structured["left_out"] == [f"big.py:{rows[-1][0] + 1}-"]
    assert reply.structured["tokens"] <= 1000
    assert "outline" not in call("big.py:1-300", budget=1000).text


# --- secrets -------------------------------------------------------------------------------------------------------


def test_redaction_is_a_setting_and_keeps_lines_and_numbers(root):
    (root / "settings.py").write_text('host = "db"\npassword = "hunter2hunter2"\nport = 5432\n')
    with Workspace(root) as workspace:
        plain = workspace.tool("native").call({"files": "settings.py"})
        marked = workspace.tool("native", redact=True).call({"files": "settings.py"})

    assert shown(plain.text)[1] == (2, 1, 'password = "hunter2hunter2"')
    assert shown(marked.text) == [(1, 1, 'host = "db"'), (2, 1, 'password = "«redacted:value»"'), (3, 1, "port = 5432")]


@pytest.mark.parametrize("budget", [50, 90, 200])
def test_no_cut_shows_half_of_a_secret(root, budget):
    secret = "ghp_" + "a1B2c3D4e5" * 4
    (root / "one.json").write_text("".join(f'{{"n": {n}, "auth": "{secret}"}}, ' for n in range(60)))
    texts, waiting = [], ["one.json"]
    with Workspace(root) as workspace:
        tool = workspace.tool("native", redact=True)
        while waiting:
            reply = tool.call({"files": waiting[:1], "budget": budget})
            texts += [text for _, _, text in shown(reply.text)]
            waiting = reply.structured.get("left_out", []) + waiting[1:]

    shown_text = "".join(texts)
    assert shown_text.count("«redacted:") == 60
    assert "a1B2c3D4" not in shown_text
    assert "ghp_" not in shown_text
