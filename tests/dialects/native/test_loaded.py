from __future__ import annotations

import pytest

from eyespan import Workspace
from eyespan.dialects.native import loaded
from eyespan.guard.guarded_file import LocalFile

from .answers import follow, shown


def test_only_the_shown_part_of_a_huge_line_or_file_is_read(tmp_path, monkeypatch):
    with (tmp_path / "line.txt").open("wb") as file:
        file.write(b"x y " * (50 << 20))
    with (tmp_path / "big.txt").open("wb") as file:
        file.write(b"line\n" * 1_000_000)
        file.truncate(1 << 30)
    seen = []
    whole = LocalFile.read_at
    monkeypatch.setattr(LocalFile, "read_at", lambda self, at, size: seen.append(size) or whole(self, at, size))
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool("native")
        for name in ("line.txt", "big.txt"):
            reply = tool.call({"files": name, "budget": 1000})
            assert reply.structured["left_out"][0].startswith(name)
            assert not reply.is_error

    # Eight megabytes of each are searched for the first byte that is not ASCII, and no more is read.
    assert sum(seen) < 40 << 20


def test_a_deep_line_of_a_large_file_is_the_exact_one(call_on):
    data = b"".join(b"%d %s\n" % (n, b"x" * (n % 97)) for n in range(1, 300_001))
    assert len(data) > 10_000_000
    reply = call_on("big.txt", data, ":250000-250001")

    assert [text.split(" ")[0] for _, _, text in shown(reply.text)] == ["250000", "250001"]


def test_no_character_is_split_at_any_block_or_budget(call_on, tool):
    text = "語🙂é" * 30_000
    reply = call_on("f.txt", text.encode())
    rows, _ = follow(tool, "f.txt", 20_000)

    assert "\ufffd" not in reply.text
    assert "".join(piece for _, _, piece in rows) == text


def test_trailing_blanks_are_shown(call_on):
    reply = call_on("f.txt", b"ends in blanks  \n\t \n   \n")

    assert [text for _, _, text in shown(reply.text)] == ["ends in blanks  ", "\t ", "   "]


def test_only_a_line_feed_ends_a_line(call_on):
    text = "a\x0cb\x0bc\u2028d\u2029e\x85f\x1cg\rh\nsecond\n"
    reply = call_on("f.txt", text.encode())

    assert shown(reply.text) == [(1, 1, text.split("\n")[0]), (2, 1, "second")]


@pytest.mark.parametrize(("data", "total"), [(b"a\nb\n", 2), (b"a\nb", 2), (b"\n", 1), (b"a\n\n", 2)])
def test_a_final_newline_opens_no_line(call_on, data, total):
    reply = call_on("f.txt", data)

    assert reply.structured["parts"][0]["total_lines"] == total
    assert f"f.txt:1{f'-{total}' if total > 1 else ''}/{total} #" in reply.text


@pytest.mark.parametrize("shift", range(4))
def test_text_of_other_scripts_is_text_wherever_a_sample_ends(call_on, shift):
    data = b"x" * shift + "漢字かな交じり文".encode() * 3000 + b"\n"
    reply = call_on("f.txt", data, budget=100_000)

    assert not reply.is_error
    assert shown(reply.text)[0][2] == data.decode().rstrip("\n")


# --- many rows -------------------------------------------------------------------------------------------------------


@pytest.fixture
def few_rows(monkeypatch):
    monkeypatch.setattr(loaded, "MAX_ROWS", 10)


@pytest.mark.parametrize(
    ("selector", "first", "last", "left"),
    [
        ("many.txt", 1, 10, "many.txt:11-"),
        ("many.txt:5-40", 5, 14, "many.txt:15-40"),
        ("many.txt:1-4,20-60", 1, 25, "many.txt:26-60"),
        ("many.txt:-20", 91, 100, "many.txt:81-90"),
        ("many.txt:91-100", 91, 100, None),
        ("ten.txt", 1, 10, None),
        ("ten.txt:1-", 1, 10, None),
    ],
)
def test_rows_beyond_the_limit_are_left_out_and_listed(root, call, few_rows, selector, first, last, left):
    (root / "many.txt").write_text("".join(f"row {n}\n" for n in range(1, 101)))
    (root / "ten.txt").write_text("".join(f"row {n}\n" for n in range(1, 11)))

    reply = call(selector)

    rows = shown(reply.text)
    assert (rows[0][0], rows[-1][0]) == (first, last)
    assert reply.structured.get("left_out", []) == ([] if left is None else [left])


def test_a_file_of_many_rows_is_read_to_its_end(root, call, few_rows):
    lines = [f"row {n}" for n in range(1, 36)]
    (root / "many.txt").write_text("\n".join(lines) + "\n")
    found, following = [], ["many.txt"]
    while following:
        reply = call(*following)
        found += [text for _, _, text in shown(reply.text)]
        following = reply.structured.get("left_out", [])

    assert found == lines
