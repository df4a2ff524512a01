"""Where other read tools have stated something false (shared survey, section 1D): here each is true."""

from __future__ import annotations

import pytest
from native_answers import follow, shown

from eyespan import Workspace


@pytest.fixture
def call(tmp_path):
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        tool_call = tool.call

        def run(name, data, selector="", **more):
            (tmp_path / name).write_bytes(data)
            return tool_call({"files": f"{name}{selector}", **more})

        run.tool = tool
        yield run


def numbered(count):
    return b"".join(b"this is line %d\n" % n for n in range(1, count + 1))


def test_numbers_are_those_of_the_file_wherever_an_answer_was_cut(call):
    for selector in ("", ":500-", ":-300", ":10-20,700-"):
        reply = call("f.txt", numbered(1000), selector, budget=500)
        rows = shown(reply.text)
        assert len(rows) > 10
        assert all(text == f"this is line {number}" for number, _, text in rows)


def test_the_header_claims_exactly_the_lines_that_are_shown(call):
    for budget in (60, 100, 333, 5000):
        reply = call("f.txt", numbered(1000), budget=budget)
        rows = shown(reply.text)
        assert reply.text.startswith(f"f.txt:1-{rows[-1][0]}/1000 #")
        assert reply.structured["left_out"] == [f"f.txt:{rows[-1][0] + 1}-"]


def test_a_start_past_the_end_is_not_called_an_empty_file(call):
    reply = call("f.txt", b"one\ntwo\n", ":11-")

    assert reply.text == "f.txt: no line 11: the file has 2 lines"
    assert "empty" not in reply.text


def test_a_deep_line_of_a_large_file_is_the_exact_one(call):
    data = b"".join(b"%d %s\n" % (n, b"x" * (n % 97)) for n in range(1, 300_001))
    assert len(data) > 10_000_000
    reply = call("big.txt", data, ":250000-250001")

    assert [text.split(" ")[0] for _, _, text in shown(reply.text)] == ["250000", "250001"]


def test_no_character_is_split_at_any_block_or_budget(call):
    text = "語🙂é" * 30_000
    reply = call("f.txt", text.encode())
    rows, _ = follow(call.tool, "f.txt", 20_000)

    assert "\ufffd" not in reply.text
    assert "".join(piece for _, _, piece in rows) == text


def test_trailing_blanks_are_shown(call):
    reply = call("f.txt", b"ends in blanks  \n\t \n   \n")

    assert [text for _, _, text in shown(reply.text)] == ["ends in blanks  ", "\t ", "   "]


def test_only_a_line_feed_ends_a_line(call):
    text = "a\x0cb\x0bc\u2028d\u2029e\x85f\x1cg\rh\nsecond\n"
    reply = call("f.txt", text.encode())

    assert shown(reply.text) == [(1, 1, text.split("\n")[0]), (2, 1, "second")]


@pytest.mark.parametrize(("data", "total"), [(b"a\nb\n", 2), (b"a\nb", 2), (b"\n", 1), (b"a\n\n", 2)])
def test_a_final_newline_opens_no_line(call, data, total):
    reply = call("f.txt", data)

    assert reply.structured["parts"][0]["total_lines"] == total
    assert f"f.txt:1{f'-{total}' if total > 1 else ''}/{total} #" in reply.text


def test_a_line_that_is_cut_says_so_and_goes_on(call):
    reply = call("f.txt", b"word " * 4000 + b"\n", budget=200)

    [(number, _, text)] = shown(reply.text)
    assert reply.text.startswith(f"f.txt:{number}-{number}:{len(text)}/1 #")
    assert reply.structured["left_out"] == [f"f.txt:1:{len(text) + 1}-"]


def test_reading_on_in_a_file_of_one_line_makes_progress(call):
    (text,) = ("word " * 4000,)
    call("f.txt", text.encode())
    rows, calls = follow(call.tool, "f.txt", 200)

    assert "".join(piece for _, _, piece in rows) == text
    assert calls < 60


@pytest.mark.parametrize("shift", range(4))
def test_text_of_other_scripts_is_text_wherever_a_sample_ends(call, shift):
    data = b"x" * shift + "漢字かな交じり文".encode() * 3000 + b"\n"
    reply = call("f.txt", data, budget=100_000)

    assert not reply.is_error
    assert shown(reply.text)[0][2] == data.decode().rstrip("\n")


def test_a_hundred_wrong_names_are_answered_with_a_bounded_number_of_looks(call, monkeypatch):
    """Each could have its 32 folders above listed, six times over."""
    from eyespan.dialects.native.suggestions import MAX_LOOKUPS
    from eyespan.guard import Guard

    asked = []
    listed = Guard.list_beneath
    monkeypatch.setattr(Guard, "list_beneath", lambda guard, path: asked.append(path) or listed(guard, path))
    reply = call.tool.call({"files": [f"{'é/' * 500}{number}" for number in range(100)]})

    assert reply.is_error
    assert len(asked) <= MAX_LOOKUPS


def test_nothing_is_looked_for_near_a_name_that_no_file_can_have(call, monkeypatch):
    from eyespan.guard import Guard

    monkeypatch.setattr(Guard, "list_beneath", lambda guard, path: pytest.fail(f"listed {path[:50]}"))
    reply = call.tool.call({"files": "é/" * 800_000})

    assert "File name too long" in reply.text
