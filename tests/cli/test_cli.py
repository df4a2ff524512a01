"""The command line, run in process: what is printed, where, and the exit status."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eyespan import cli
from eyespan.cli import read
from eyespan.context import CallContext


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "poem.txt").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "open.txt").write_text("alpha\nomega")
    return tmp_path


@pytest.fixture
def eyespan(capfdbinary):
    """Runs a command: its exit status, standard output and standard error."""

    def run(*argv):
        code = cli.main(list(argv))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return run


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
def test_read_shows_the_lines_that_a_selector_names(folder, eyespan, selector, shown):
    assert eyespan("read", selector) == (0, shown, "")


def test_read_without_numbers_is_exact(folder, eyespan):
    (folder / "odd").write_bytes(b"caf\xc3\xa9\r\n\x1b[31mred\n\xe2\x80\xaeback")

    assert eyespan("read", "-n", "odd") == (0, "café\r\n\x1b[31mred\n\u202eback", "")


def test_several_files_have_headings(folder, eyespan):
    code, out, _ = eyespan("read", "open.txt", "poem.txt:1")

    assert code == 0
    assert out == "==> open.txt <==\n     1\talpha\n     2\tomega\n\n==> poem.txt:1 <==\n     1\tone\n"


def test_a_file_whose_name_looks_like_a_selector_still_opens(folder, eyespan):
    (folder / "log:10-20").write_text("odd name\n")

    assert eyespan("read", "log:10-20") == (0, "     1\todd name\n", "")


@pytest.mark.parametrize(
    ("argument", "told"),
    [
        ("missing.txt", "eyespan: missing.txt: no such file"),
        ("poem.txt:9", "eyespan: poem.txt:9: no line 9: the file has 4 lines"),
        ("..", "eyespan: ..: outside the workspace"),
        (".", "eyespan: .: is a directory"),
        ("key.pem", "eyespan: key.pem: denied by the rule '**/*.pem'"),
        ("data.bin", "eyespan: data.bin: is a binary file"),
    ],
)
def test_what_cannot_be_read_is_told_with_what_to_do(folder, eyespan, argument, told):
    (folder / "key.pem").write_text("secret")
    (folder / "data.bin").write_bytes(b"\0\1\2")

    code, out, err = eyespan("read", argument, "open.txt")

    assert code == 1
    assert err.startswith(told)
    assert "alpha" in out
    assert "secret" not in out


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("nonsense",),
        ("read",),
        ("read", "--nonsense", "x"),
        ("read", "--root"),
        ("read", "--root", "nowhere", "x"),
        ("read", "--config", "nowhere.toml", "x"),
        ("call",),
        ("call", "latin"),
        ("call", "forge", "not json"),
        ("call", "forge", "--set", "nonsense=1", "{}"),
        ("schema",),
        ("schema", "latin"),
        ("schema", "forge", "--for", "nobody"),
    ],
)
def test_wrong_usage_is_2_and_one_line_that_helps(folder, eyespan, argv):
    code, _, err = eyespan(*argv)

    assert code == 2
    assert err.count("\n") == (1 if argv else 0)


@pytest.mark.parametrize("command", ["read", "call", "schema", "dialects", "doctor"])
def test_help_teaches_each_command(eyespan, command):
    code, out, err = eyespan(command, "--help")

    assert (code, err) == (0, "")
    assert out.startswith(f"usage: eyespan {command}")


def test_common_options_go_before_or_after(folder, tmp_path_factory, eyespan):
    other = tmp_path_factory.mktemp("other")
    (other / "a.txt").write_text("hello\n")

    assert eyespan("--root", str(other), "read", "a.txt")[1] == "     1\thello\n"
    assert eyespan("read", "a.txt", f"--root={other}")[1] == "     1\thello\n"


def test_call_answers_with_the_reply_as_json(folder, eyespan):
    code, out, _ = eyespan("call", "forge", '{"path": "poem.txt", "head": 1}')

    assert code == 0
    assert json.loads(out) == {
        "is_error": False,
        "content": [{"type": "text", "text": "1\tone\n"}],
        "structured": {
            "text": "1\tone\n",
            "binary": False,
            "path": "poem.txt",
            "start_line": 1,
            "end_line": 1,
            "total_lines": 4,
        },
        "error": None,
    }


def test_call_takes_settings_and_fails_with_1(folder, eyespan):
    code, out, _ = eyespan("call", "forge", "--set", "max_file_read_bytes=5", '{"path": "poem.txt"}')

    assert code == 1
    assert json.loads(out)["error"]["code"] == "ExecutionFailed"


def test_jsonl_answers_every_line_in_order(folder):
    calls = [
        {"id": 1, "args": {"path": "poem.txt", "head": 1}},
        {"id": "two", "args": {"path": "missing"}},
        {"args": {"path": "open.txt", "tail": 1}},
    ]
    lines = [*map(json.dumps, calls), "not json", '{"id": 9}', "", "[" * 100_000]
    done = subprocess.run(
        [sys.executable, "-m", "eyespan", "call", "forge", "--jsonl"],
        input="\n".join(lines).encode(), stdout=subprocess.PIPE, cwd=folder,
    )  # fmt: skip
    replies = [json.loads(line) for line in done.stdout.decode().split("\n") if line]

    assert [reply.get("id") for reply in replies] == [1, "two", None, None, None, None]
    assert [reply["is_error"] for reply in replies] == [False, True, False, True, True, True]
    assert replies[2]["structured"]["text"] == "2\tomega"


def test_a_closed_pipe_is_success(folder):
    (folder / "long.txt").write_text("line\n" * 500_000)
    script = f"{sys.executable} -m eyespan read long.txt | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, cwd=folder)

    assert done.stdout.decode().split("\n")[:2] == ["     1\tline", "0"]
    assert done.stderr == b""


def test_a_file_of_any_length_streams(folder):
    (folder / "long.txt").write_text("a line of text\n" * 2_000_000)
    done = subprocess.run(
        [sys.executable, "-m", "eyespan", "read", "-n", "long.txt"], stdout=subprocess.PIPE, cwd=folder
    )

    assert done.stdout == (folder / "long.txt").read_bytes()


def on_terminal(folder, *argv, **environment):
    """What a person sees: the command run on a terminal of its own."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "eyespan", *argv],
        stdout=child, stderr=child, stdin=child, cwd=folder, env={**os.environ, "TERM": "xterm", **environment},
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


def test_a_terminal_gets_colour_and_escapes_instead_of_control_characters(folder):
    (folder / "evil.txt").write_bytes("a\x1b[2Jb\u202ec\u200bd\U000e0041e\tf\x9b\n".encode())

    assert on_terminal(folder, "read", "evil.txt") == (
        "\x1b[2m     1\x1b[0m\ta\\x1b[2Jb\\u202ec\\u200bd\\U000e0041e\tf\\x9b\n"
    )
    assert "\x1b[2m" not in on_terminal(folder, "read", "evil.txt", NO_COLOR="1")


def test_a_terminal_gets_long_lines_shortened(folder):
    (folder / "wide.txt").write_text("x" * 300_000 + "\nend\n")

    seen = on_terminal(folder, "read", "wide.txt", NO_COLOR="1")

    assert seen == f"     1\t{'x' * 2000}... [line of 300000 characters]\n     2\tend\n"


def test_configuration_narrows(folder, eyespan):
    (folder / "eyespan.toml").write_text('[policy]\ndeny = ["poem*"]\n[tools.read_file]\nshow_line_numbers = false\n')

    assert eyespan("read", "poem.txt")[2].startswith("eyespan: poem.txt: denied by the rule 'poem*'")
    assert json.loads(eyespan("call", "forge", '{"path": "open.txt"}')[1])["structured"]["text"] == "alpha\nomega"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nonsense = 1", "unknown key nonsense"),
        ("[policy]\ndenny = []", "unknown key policy.denny"),
        ("[policy]\ndeny = 'x'", "policy.deny must be of type list"),
        ("[tools.read_file]\nmax_scan_bytes = true", "tools.read_file.max_scan_bytes must be of type int"),
        ("[policy]\nallow = ['*.pem']", "policy.allow works only in a file outside the roots"),
        ("roots = ['/']", "is not inside the workspace"),
        ("roots = ['..']", "is not inside the workspace"),
        ("= broken", "Invalid"),
    ],
)
def test_a_configuration_inside_the_workspace_cannot_widen_or_be_misspelt(folder, eyespan, text, told):
    (folder / "eyespan.toml").write_text(text)

    code, _, err = eyespan("read", "poem.txt")

    assert code == 2
    assert told in err


def test_a_configuration_outside_is_the_hosts_word(folder, tmp_path_factory, eyespan):
    (folder / "key.pem").write_text("not so secret\n")
    config = tmp_path_factory.mktemp("host") / "host.toml"
    config.write_text('[policy]\nallow = ["**/*.pem"]\n')

    assert eyespan("--config", str(config), "read", "key.pem")[1] == "     1\tnot so secret\n"


def test_reading_imports_nothing_that_it_does_not_need(folder):
    code = "import sys; old = set(sys.modules); from eyespan import cli; cli.main(['read', 'poem.txt'])"
    code += "; print(*sorted(set(sys.modules) - old), sep='\\n', file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, cwd=folder, text=True)
    imported = set(done.stderr.split())

    banned = {"argparse", "asyncio", "collections", "contextlib", "dataclasses", "enum", "functools", "inspect", "json"}
    banned |= {"logging", "pathlib", "re", "threading", "tomllib", "typing", "PIL", "pypdfium2", "charset_normalizer"}
    assert banned & imported == set()
    outside = [name for name in imported if name.partition(".")[0] not in {*sys.stdlib_module_names, "eyespan"}]
    assert "eyespan.engine" in imported
    assert outside == []


def test_schema_speaks_each_hosts_language(eyespan):
    for host, key in (("mcp", "inputSchema"), ("openai", "parameters"), ("anthropic", "input_schema")):
        shown = json.loads(eyespan("schema", "claude", "--for", host)[1])
        assert shown["name"] == "Read"
        assert shown[key]["required"] == ["file_path"]


def test_doctor_and_dialects_list_what_there_is(folder, eyespan):
    assert "guard" in eyespan("doctor")[1]
    assert {row["name"] for row in json.loads(eyespan("doctor", "--json")[1])} >= {"guard", "inner loops"}
    assert [line.split()[0] for line in eyespan("dialects")[1].splitlines()] == list(cli_dialects())


def cli_dialects():
    from eyespan.dialects import DIALECTS

    return DIALECTS


FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("pdfs/unicode.pdf", "second line of the page"),
        ("office/report.docx:5", "     5\t## Arrivals"),
        ("office/ledger.xlsx", "## Ledger (A1:D4)"),
        ("notebooks/tides.ipynb", "tide = 42"),
        ("pictures/alpha.png", "[an image: image/png"),
        ("office/page.html", "<"),
    ],
)
def test_documents_are_shown_as_what_they_say(eyespan, path, shown):
    code, out, err = eyespan("read", "--root", str(FIXTURES), path)

    assert (code, err) == (0, "")
    assert shown in out


def test_documents_can_be_shown_raw_and_pages_as_documents(eyespan):
    assert '"cells"' in eyespan("read", "--root", str(FIXTURES), "--raw", "notebooks/tides.ipynb")[1]
    assert "<html" not in eyespan("read", "--root", str(FIXTURES), "--document", "office/page.html")[1]


@pytest.mark.parametrize("words", [["--timeout", "0"], ["--timeout=soon"], ["--timeout", "4000"]])
def test_a_timeout_that_makes_no_sense_is_wrong_usage(capsys, words):
    assert cli.main(["read", "poem.txt", *words]) == 2
    assert "--timeout wants seconds" in capsys.readouterr().err


def test_a_long_scan_that_goes_on_is_no_reason_to_give_up():
    watch = read._Progress("big.log")
    watch.context = CallContext(0.05)
    end = watch.context.left()

    time.sleep(0.03)
    watch(read.RENEWING_BYTES - 1, 1 << 40)
    before = watch.context.left()
    watch(read.RENEWING_BYTES, 1 << 40)

    assert before is not None
    assert end is not None
    assert before < end
    assert (watch.context.left() or 0) > before
