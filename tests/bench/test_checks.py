"""The checks of the benchmark reject wrong answers."""

import sys

import contestants
import data
import drive
import pytest
import workloads

POOL = ["text"] * 8
SERVER = """
import json, os, select, sys

waiting, data, left = [], b"", 8

def take():
    global data
    data += os.read(0, 65536) or sys.exit()
    *lines, data = data.split(b"\\n")
    waiting.extend([json.loads(line) for line in lines])

while True:
    while not waiting:
        take()
    text = ""
    if waiting[0]["method"] == "tools/call":
        while len(waiting) < min(3, left):
            take()
        if select.select([0], [], [], 0.02)[0]:
            take()
        text = f"{waiting[0]['params']['arguments']['file_path']} of {len(waiting)}"
        left = left - 1 or 8
    request = waiting.pop(0)
    result = {"content": [{"type": "text", "text": text}]}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""
"""Wait for three calls, or for all that are left of eight; answer the first with the number of those that wait."""
LINES = data.log_lines(100, 20, POOL).decode().splitlines()


def numbered(first, lines):
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, first))


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("\n".join(LINES), "ok"),
        (numbered(100, LINES), "ok"),
        ("\n".join(f"L{n}: {line}" for n, line in enumerate(LINES, 100)), "ok"),
        ("", "wrong: no lines of the file"),
        ("\n".join(LINES[1:]), "wrong: starts at line 101 instead of 100"),
        ("\n".join(LINES[:-1]), "wrong: 19 of 20 lines"),
        ("\n".join([*LINES[:5], *LINES[6:]]), "wrong: 19 of 20 lines"),
        (numbered(99, LINES), "wrong: line numbers are not those of the file"),
        (data.log_lines(90, 60, POOL).decode(), "unbounded: 60 lines for 20"),
    ],
)
def test_a_window_of_a_log_is_checked_by_the_numbers_in_its_lines(text, outcome):
    assert workloads.log_window(100, 119)(text).outcome == outcome


def test_line_numbers_are_detected_in_the_answer():
    check = workloads.log_window(100, 119)

    assert [check(text).numbered for text in ("\n".join(LINES), numbered(100, LINES))] == [False, True]


def test_a_source_file_with_a_line_left_out_is_wrong(tmp_path):
    path = tmp_path / "a.py"
    data.write_source(path, 5000)
    lines = path.read_text().split("\n")
    longest = max(range(len(lines)), key=lambda at: len(lines[at]))
    check = workloads.whole_file(path)

    assert check(path.read_text()).outcome == "ok"
    assert check(numbered(1, lines)).numbered
    assert check("\n".join(lines[:longest] + lines[longest + 1 :])).outcome.startswith("wrong")


def test_a_missing_file_of_many_is_noticed(tmp_path):
    paths = []
    for name in "abc":
        paths.append(tmp_path / f"{name}.txt")
        paths[-1].write_text("".join(f"line {k} of file {name}, all of it\n" for k in range(9)))
    check = workloads.all_files(paths)
    texts = [path.read_text() for path in paths]

    assert check("".join(texts)).outcome == "ok"
    assert check("".join(texts[:2])).outcome.startswith("wrong: 1 of 3 files")


def test_an_endless_line_must_be_present_and_cut(tmp_path):
    path = tmp_path / "line.txt"
    data.write_one_line(path, 100_000)
    text = path.read_text()
    check = workloads.one_line(path)

    assert check(text[:2000] + " [cut]").outcome == "ok"
    assert check(text[:1997] + "...").outcome == "ok"
    assert check(text[:500]).outcome == "wrong: fewer than 2,000 characters of the line"
    assert check("The line is too long.").outcome == "wrong: no text"
    assert check(text).outcome == "unbounded: 100,000 characters"


def test_the_offset_after_a_line_is_found_by_bisection(tmp_path):
    path = tmp_path / "a.log"
    data.write_log(path, 200_000)
    text = path.read_bytes()
    last = data.last_line(path)

    assert last == text.count(b"\n")
    for line in (1, 2, last // 2, last - 1, last):
        assert text[: data.offset_behind(path, line)].count(b"\n") == line


def test_an_append_continues_the_numbers_of_the_log(tmp_path):
    path = tmp_path / "a.log"
    data.write_log(path, 50_000)

    last = data.append_log(path, data.log_pool(), data.last_line(path))

    assert last == data.last_line(path) == path.read_bytes().count(b"\n")


def test_names_that_are_missing_are_counted():
    check = workloads.has_all(["a.py", "b.py"])

    assert [check(text).outcome for text in ("a.py b.py", "a.py")] == ["ok", "wrong: 1 of 2 names are not there"]


def test_no_more_calls_wait_than_are_in_flight(tmp_path):
    argv = [sys.executable, "-c", SERVER]
    calls = [("read_file", {"file_path": str(number)}) for number in range(8)]
    server = contestants.Contestant("server", contestants.OURS, drive.Mcp, argv, (), calls=lambda _: calls, in_flight=3)
    driver = drive.Mcp(server, {}, {}, 20, tmp_path, tmp_path)
    try:
        answer = driver.ask({"op": "many"}, repeats=2)
    finally:
        driver.close()

    assert answer.text.split("\n") == [*[f"{number} of 3" for number in range(6)], "6 of 2", "7 of 1"]


def test_modules_have_the_searched_word_and_numbered_functions(tmp_path):
    text = data.module_text(3, 2)

    assert [line for line in text.split("\n") if line.startswith("def")] == [
        "def call_3_0(value, other=None):",
        "def call_3_1(value, other=None):",
    ]
    compile(text, "module", "exec")
