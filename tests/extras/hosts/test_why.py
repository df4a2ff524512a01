"""`eyespan why`: the reads of transcripts, and their cost in each dialect."""

from __future__ import annotations

import json

import pytest

from eyespan import Workspace
from eyespan.cli.options import Arguments
from eyespan.dialects import dialect_names
from eyespan.extras.hosts.transcripts import HostRead, sessions, shell_read
from eyespan.extras.hosts.why import HeldLines, LiveReport
from eyespan.tokens import estimate


def claude_code(directory, path, arguments, answer, number=1):
    use = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {"file_path": str(path), **arguments}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": [{"type": "text", "text": answer}]}
    return [
        {"type": "assistant", "cwd": str(directory), "message": {"content": [use]}},
        {"type": "user", "message": {"content": [result]}},
    ]


def codex(command, answer):
    arguments = json.dumps({"command": ["bash", "-lc", command]})
    return [
        {"type": "session_meta", "payload": {"cwd": "/project"}},
        {"payload": {"type": "function_call", "name": "shell", "call_id": "1", "arguments": arguments}},
        {"payload": {"type": "function_call_output", "call_id": "1", "output": json.dumps({"output": answer})}},
    ]


def written(path, records):
    path.write_text("".join([json.dumps(record) + "\n" for record in records]))
    return str(path)


def reads_of(path):
    return [read for session in sessions([path]) for read in session.reads]


def test_a_read_of_claude_code_is_found(tmp_path):
    transcript = written(tmp_path / "a.jsonl", claude_code("/p", "/p/a.py", {"offset": 5, "limit": 2}, "5\tx\n6\ty"))

    assert reads_of(transcript) == [HostRead("/p/a.py", 5, 6, "5\tx\n6\ty")]


def test_a_read_of_codex_by_the_shell_is_found(tmp_path):
    transcript = written(tmp_path / "a.jsonl", codex("cd /p && sed -n '10,20p' src/a.py", "text"))

    assert reads_of(transcript) == [HostRead("src/a.py", 10, 20, "text")]


def test_a_read_of_gemini_cli_is_found(tmp_path):
    result = [{"functionResponse": {"response": {"output": "text"}}}]
    call = {"name": "read_file", "args": {"file_path": "a.py", "start_line": 2, "end_line": 4}, "result": result}
    (tmp_path / "chat.json").write_text(json.dumps({"messages": [{"type": "gemini", "toolCalls": [call]}]}))

    assert reads_of(str(tmp_path)) == [HostRead("a.py", 2, 4, "text")]


def test_the_parts_of_an_answer_of_native_are_reads(tmp_path):
    root = tmp_path / "project"
    root.mkdir()
    for name in "abcd":
        (root / f"{name}.py").write_text("".join([f"def f{n}():\n    return {n}\n" for n in range(40)]))
    arguments = {"files": ["a.py:3-4", "b.py::f7", "c.py:9", "d.py?return 1[12]", "none.py", "."]}
    with Workspace(root) as workspace:
        answer = workspace.tool("native").call(arguments).text
    records = claude_code(root, "", arguments, answer)
    records[0]["message"]["content"][0]["name"] = "mcp__eyespan__read"

    reads = reads_of(written(tmp_path / "a.jsonl", records))

    assert [(read.path, read.first, read.last) for read in reads] == [
        ("a.py", 3, 4),
        ("b.py", 15, 16),
        ("c.py", 9, 9),
        ("d.py", 22, 28),
    ]
    assert "".join([read.answer for read in reads]) in answer


@pytest.mark.parametrize(
    "line", ["", "no JSON", "[" * 100_000, '{"type": "assistant", "message": 7}', '{"payload": {"type": 3}}', "null"]
)
def test_a_line_of_unknown_form_is_passed_over(tmp_path, line):
    records = claude_code("/p", "/p/a.py", {}, "1\tx")
    transcript = tmp_path / "a.jsonl"
    transcript.write_text(line + "\n" + "".join([json.dumps(record) + "\n" for record in records]))

    assert reads_of(str(transcript)) == [HostRead("/p/a.py", None, None, "1\tx")]


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("cat a.py", ("a.py", None, None)),
        ("nl -ba a.py | sed -n '3,9p'", ("a.py", 3, 9)),
        ("sed -n '3,$p' a.py", ("a.py", 3, None)),
        ("head -n 40 a.py", ("a.py", 1, 40)),
        ("head -40 a.py", ("a.py", 1, 40)),
        ("cat a.py b.py", None),
        ("cat a.py > b.py", None),
        ("rg word src", None),
        ("cat 'a.py", None),
        ("", None),
    ],
)
def test_commands_that_read_one_file(command, read):
    assert shell_read(command) == read


def test_lines_shown_before_are_held():
    held = HeldLines()
    held.held_tokens(HostRead("a", 1, 2, "1\tone\n2\ttwo\n"))

    assert held.held_tokens(HostRead("a", 2, 3, "2\ttwo\n3\tthree\n")) == estimate("2\ttwo\n")


def test_a_changed_line_is_not_held():
    held = HeldLines()
    held.held_tokens(HostRead("a", 1, 1, "1\tone\n"))

    assert held.held_tokens(HostRead("a", 1, 1, "1\tother\n")) == 0


def test_an_answer_without_numbers_is_held_as_a_whole():
    held = HeldLines()
    held.held_tokens(HostRead("a", None, None, "}\none\n}\n"))

    assert held.held_tokens(HostRead("a", None, None, "}\ntwo\n}\n")) == 0
    assert held.held_tokens(HostRead("a", None, None, "one\n}\n")) == estimate("one\n}\n")


def test_the_report_compares_every_dialect(tmp_path, eyespan):
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    answer = "1\tx = 1\n2\ty = 2\n"
    records = [
        *claude_code(tmp_path, tmp_path / "a.py", {}, answer, 1),
        *claude_code(tmp_path, tmp_path / "a.py", {}, answer, 2),
        *claude_code(tmp_path, tmp_path / "gone.py", {}, answer, 3),
    ]
    transcript = written(tmp_path / "a.jsonl", records)

    code, out, _ = eyespan("why", transcript, "--json")

    report = json.loads(out)
    assert code == 0
    assert (report["reads"], report["repeated_reads"], report["not_compared"]) == (3, 1, 1)
    assert report["compared"]["reads"] == 2
    assert sorted(report["compared"]["dialects"]) == sorted(dialect_names())


def costs_of(eyespan, transcript):
    """Return the tokens of each dialect, without those that cannot name the last line of a range."""
    dialects = json.loads(eyespan("why", transcript, "--json")[1])["compared"]["dialects"]
    return {name: cost["tokens"] for name, cost in dialects.items() if name not in ("filesystem", "continue")}


@pytest.mark.parametrize(("first", "last"), [(1, 400), (200, 300)])
def test_every_dialect_shows_the_lines_that_the_host_showed(tmp_path, eyespan, first, last):
    text = [f"line {number} of a file\n" for number in range(1, 401)]
    (tmp_path / "a.txt").write_text("".join(text))
    answer = "".join([f"{number}\t{text[number - 1]}" for number in range(first, last + 1)])
    asked = {} if last == 400 else {"offset": first, "limit": last - first + 1}
    transcript = written(tmp_path / "a.jsonl", claude_code(tmp_path, tmp_path / "a.txt", asked, answer))

    costs = costs_of(eyespan, transcript)

    shown = estimate("".join(text[first - 1 : last]))
    assert sorted(costs) == sorted(set(dialect_names()) - {"filesystem", "continue"})
    assert [name for name, tokens in costs.items() if not 0.9 * shown <= tokens < 2.5 * shown] == []


def test_lines_without_numbers_are_counted(tmp_path, eyespan):
    text = [f"line {number} of a file\n" for number in range(1, 401)]
    (tmp_path / "a.txt").write_text("".join(text))
    records = codex("cat a.txt", "".join(text[:100]))
    records[0]["payload"]["cwd"] = str(tmp_path)

    costs = costs_of(eyespan, written(tmp_path / "a.jsonl", records))

    assert costs["pi"] < 1.2 * estimate("".join(text[:100]))


def test_a_dialect_that_refuses_a_read_is_compared_by_the_others(tmp_path, eyespan):
    (tmp_path / "a.txt").write_text("x\n" * 600)
    (tmp_path / "b.txt").write_text("x\n")
    whole = "".join([f"{number}\tx\n" for number in range(1, 601)])
    records = [
        *claude_code(tmp_path, tmp_path / "a.txt", {}, whole, 1),
        *claude_code(tmp_path, tmp_path / "b.txt", {}, "1\tx\n", 2),
    ]

    compared = json.loads(eyespan("why", written(tmp_path / "a.jsonl", records), "--json")[1])["compared"]

    refuses_500_lines = compared["dialects"]["workspace"]
    assert (compared["reads"], refuses_500_lines["reads"]) == (2, 1)
    assert refuses_500_lines["host_tokens"] == estimate("1\tx\n")


def test_the_directory_of_gemini_cli_is_found(tmp_path, eyespan):
    project = tmp_path / "project"
    chats = tmp_path / "tmp" / "project" / "chats"
    project.mkdir()
    chats.mkdir(parents=True)
    (project / "a.txt").write_text("one\n")
    (chats.parent / ".project_root").write_text(str(project))
    result = [{"functionResponse": {"response": {"output": "one\n"}}}]
    record = {"type": "gemini", "toolCalls": [{"name": "read_file", "args": {"file_path": "a.txt"}, "result": result}]}
    written(chats / "session.jsonl", [record])

    assert json.loads(eyespan("why", str(tmp_path), "--json")[1])["not_compared"] == 0


def test_the_report_for_a_person_lists_files(tmp_path, eyespan):
    (tmp_path / "a.py").write_text("x = 1\n")
    transcript = written(tmp_path / "a.jsonl", claude_code(tmp_path, tmp_path / "a.py", {}, "1\tx = 1\n"))

    code, out, _ = eyespan("why", transcript)

    assert code == 0
    assert out.startswith("1 read in 1 transcript (Claude Code)\n")
    assert str(tmp_path / "a.py") in out


def test_a_file_without_reads_is_an_error(tmp_path, eyespan):
    (tmp_path / "a.jsonl").write_text("{}\n")

    code, out, err = eyespan("why", str(tmp_path / "a.jsonl"))

    assert (code, out) == (1, "")
    assert err == "eyespan why: no reads found: no file is a transcript of Claude Code, Codex, Gemini CLI\n"


def test_without_a_transcript_those_in_the_home_directory_are_read(tmp_path, eyespan, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    missing = eyespan("why")
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / ".claude" / "projects" / "one").mkdir(parents=True)
    written(
        tmp_path / ".claude" / "projects" / "one" / "a.jsonl",
        claude_code(tmp_path, tmp_path / "a.py", {}, "1\tx = 1\n"),
    )

    code, out, _ = eyespan("why")

    message = (
        "eyespan: no transcripts in ~/.claude/projects, ~/.codex/sessions, ~/.gemini/tmp. Name one: eyespan why PATH\n"
    )
    assert missing == (2, "", message)
    assert code == 0
    assert out.startswith("1 read in 1 transcript (Claude Code)\n")


def test_a_missing_transcript_is_an_error(tmp_path, eyespan):
    code, _, err = eyespan("why", str(tmp_path / "none.jsonl"))

    assert code == 1
    assert "none.jsonl: no such file" in err.lower()


def test_a_live_report_ends_with_the_figures_of_the_command(tmp_path, eyespan):
    (tmp_path / "a.py").write_text("x\n")
    transcript = written(tmp_path / "a.jsonl", claude_code(tmp_path, tmp_path / "a.py", {}, "1\tx"))
    live = LiveReport([transcript], Arguments({}, []))

    begun = live()
    live.thread.join()

    assert begun["reads"] in (0, 1)
    assert live() == json.loads(eyespan("why", transcript, "--json")[1]) | {"is_complete": True, "error": None}


def test_a_live_report_names_a_transcript_that_cannot_be_read(tmp_path):
    live = LiveReport([str(tmp_path / "none.jsonl")], Arguments({}, []))
    live()
    live.thread.join()

    assert live()["error"].endswith("No such file or directory")
