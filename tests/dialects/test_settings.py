"""Settings of the dialects: their types, their effect, and the same by keyword, file and command line."""

from __future__ import annotations

import errno
import json
from dataclasses import replace

import pytest

from eyespan import Workspace, errors
from eyespan.context import CallContext
from eyespan.dialects import dialect_class, dialect_names
from eyespan.server.service import PLAIN, Service
from eyespan.tokens import estimate

LONG = "x" * 30


@pytest.fixture
def root(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("".join(f"{number} {LONG}\n" for number in range(1, 10)))
    return tmp_path / "work"


def call(root, dialect, arguments, **settings):
    with Workspace(root) as workspace:
        return workspace.tool(dialect, **settings).call(arguments)


# --- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", dialect_names())
def test_a_setting_that_is_a_predicate_takes_only_true_or_false(dialect):
    predicates = [name for name, default in dialect_class(dialect).settings.items() if isinstance(default, bool)]

    for name in ["allowed", *predicates]:
        with pytest.raises(ValueError, match=f"{name} must be true or false, not 'no'"):
            dialect_class(dialect)(**{name: "no"})


@pytest.mark.parametrize("dialect", dialect_names())
def test_a_limit_takes_only_whole_numbers(dialect):
    for name in dialect_class(dialect).limits:
        for value in (-1, 1.5, "2", True, 2**62):
            with pytest.raises(ValueError, match=name):
                dialect_class(dialect)(**{name: value})


@pytest.mark.parametrize("name", ["pdf", "line_number_format"])
def test_a_setting_with_choices_takes_no_other_value(name):
    with pytest.raises(ValueError, match=f'{name} must be ".*" or ".*", not None'):
        dialect_class("claude")(**{name: None})


# --- claude ----------------------------------------------------------------------------------------------------------


def test_the_variables_of_the_prompt_are_settings(root):
    with Workspace(root) as workspace:
        tool = workspace.tool("claude", default_read_lines=2, max_line_length=5, bash_tool_name="Shell")
        reply = tool.call({"file_path": f"{root}/a.txt"})
        refusal = tool.call({"file_path": str(root)})

    assert "up to 2 lines" in tool.spec.description
    assert "longer than 5 characters" in tool.spec.description
    assert "ls command via the Shell tool." in tool.spec.description
    assert "(default: 2)" in tool.spec.input_schema["properties"]["limit"]["description"]
    assert reply.content[0].text.split("\n")[0] == "     1\t1 xxx... [line truncated, 32 chars total]"
    assert reply.facts["lines"] == 2
    assert refusal.text.endswith("via the Shell tool.")


@pytest.mark.parametrize("dialect", ["claude-upstream", "claude@2.1"])
def test_a_whole_file_over_the_size_of_the_shipped_product_is_refused(root, dialect):
    (root / "big.txt").write_text("line\n" * 60_000)
    arguments = {"file_path": f"{root}/big.txt"}

    refusal = call(root, dialect, arguments)

    assert refusal.error.code == "too_large"
    assert refusal.text.startswith("File content (293KB) exceeds maximum allowed size (256KB). Use offset")
    assert not call(root, dialect, {**arguments, "limit": 5}).is_error
    assert not call(root, dialect, {**arguments, "allow_large": True}).is_error
    assert not call(root, "claude", arguments).is_error


@pytest.mark.parametrize("dialect", ["claude-upstream", "claude@2.1"])
def test_the_size_of_a_file_over_the_limit_of_an_answer_is_named_too(root, dialect):
    (root / "big.txt").write_text("line\n" * 1_000_000)
    arguments = {"file_path": f"{root}/big.txt"}

    whole = call(root, dialect, arguments)
    lines = call(root, dialect, {**arguments, "limit": 1_000_000})

    assert whole.text.startswith("File content (4.8MB) exceeds maximum allowed size (256KB). Use offset")
    assert lines.text.startswith("File content exceeds maximum allowed size: the lines asked for hold more than")


OWN_NAMES = {
    "any",
    "system",
    "tool_denied",
    "numbers_scan_limit",
    "nul",
    "directory",
    "pipe",
    "socket",
    "device",
    "link",
}


@pytest.mark.parametrize("dialect", dialect_names())
def test_every_text_of_an_error_is_of_an_error_that_exists(root, dialect):
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.ReadError)]
    known = {one.code for one in classes} | OWN_NAMES | set(errno.errorcode.values())
    with Workspace(root) as workspace:
        names = [name for tool in workspace.toolset(dialect) for name in getattr(tool.dialect, "error_texts", {})]

    assert [name for name in names if name not in known and not name.startswith(("binary_", "unreadable_"))] == []


@pytest.mark.parametrize("dialect", ["claude-upstream", "claude@2.1"])
def test_an_answer_over_the_tokens_of_the_shipped_product_is_cut_or_refused(root, dialect):
    (root / "wide.txt").write_text("many words on every line of it, and some more\n" * 3000)
    arguments = {"file_path": f"{root}/wide.txt"}

    cut = call(root, dialect, arguments)
    refusal = call(root, dialect, {**arguments, "limit": 3000})

    last = cut.structured["lines_returned"]
    assert f"PARTIAL view \u2014 lines 1-{last} of 3000 are shown; to read on, use offset {last + 1}]" in cut.text
    assert estimate("many words on every line of it, and some more\n" * last) < 25_000
    assert "tokens) exceeds maximum allowed tokens (25000). Use offset and limit" in refusal.text
    assert call(root, dialect, arguments, max_tokens=None).structured["lines_returned"] == 3000
    assert call(root, dialect, {**arguments, "allow_large": True}).structured["lines_returned"] == 3000


def test_one_line_over_the_tokens_of_the_shipped_product_is_refused(root):
    (root / "line.txt").write_text("word " * 40_000)

    assert "exceeds maximum allowed tokens" in call(root, "claude@2.1", {"file_path": f"{root}/line.txt"}).error.message


def test_the_schema_of_claude_upstream_has_the_fields_of_the_product():
    for name in ("claude-upstream", "claude@2.1"):
        fields = ["file_path", "offset", "limit", "pages", "allow_large"]
        assert list(dialect_class(name)().spec.input_schema["properties"]) == fields


def test_the_definition_names_the_roots_where_they_are_narrower(root):
    with Workspace(root) as workspace:
        tool = workspace.tool("claude", describes_roots=True)

        assert f"any file below {root} directly" in tool.spec.description
        assert "all files on the machine" not in tool.spec.description
        refusal = tool.call({"file_path": "/etc/hostname"}).text
        plain = workspace.tool("claude").call({"file_path": "/etc/hostname"}).text
    assert refusal == f"Access denied: the file is outside the directories that may be read: {root}."
    assert str(root) not in plain


def test_the_definition_claims_the_machine_where_the_root_is_the_machine():
    with Workspace("/") as workspace:
        described, plain = workspace.tool("claude", describes_roots=True), workspace.tool("claude")

    assert described.spec == plain.spec


def test_an_mcp_server_names_the_roots_unless_a_setting_turns_that_off(root):
    with Workspace(root) as workspace:

        def description(**settings):
            service = Service(workspace, ["claude"], replace(PLAIN, settings={"claude": settings}))
            return service.handler("tools/list")({}, "test", CallContext())["tools"][0]["description"]

        assert str(root) in description()
        assert str(root) not in description(describes_roots=False)


def test_a_permission_error_is_described_once(root, monkeypatch):
    from eyespan.errors import PermissionRefused

    error = dialect_class("claude")().render_error(PermissionRefused("/a"))

    assert error.message == "EACCES: permission denied, read."


# --- forge -----------------------------------------------------------------------------------------------------------


def test_the_schema_announces_the_default_of_the_host():
    schema = dialect_class("forge")(show_line_numbers=False).spec.input_schema

    assert schema["properties"]["show_line_numbers"]["default"] is False


@pytest.mark.parametrize(("tail", "is_read"), [(1, True), (10, True), (11, False), (10**12, False)])
def test_a_tail_without_numbers_scans_only_its_own_lines(root, tail, is_read):
    (root / "log").write_text("".join(f"line{number:05}\n" for number in range(1, 101)))

    reply = call(root, "forge", {"path": "log", "tail": tail, "show_line_numbers": False}, max_scan_bytes=100)

    assert reply.is_error is not is_read
    if is_read:
        assert reply.text == "".join(f"line{number:05}\n" for number in range(101 - tail, 101))
        assert "start_line" not in reply.structured
    else:
        assert reply.text == "Read failed: Scan limit exceeded; narrow the range"


def test_a_tail_with_numbers_explains_that_they_need_a_scan_of_the_whole_file(root):
    (root / "log").write_text("line\n" * 100)

    reply = call(root, "forge", {"path": "log", "tail": 1}, max_scan_bytes=100)

    assert "the numbers of the last lines need a scan of the whole file" in reply.text
    assert "show_line_numbers false" in reply.text


def test_a_tail_of_a_file_within_the_limit_reports_its_lines(root):
    reply = call(root, "forge", {"path": "a.txt", "tail": 2, "show_line_numbers": False})

    assert (reply.structured["start_line"], reply.structured["total_lines"]) == (8, 9)


# --- codex -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"offset": -1}, "offset must be a 1-indexed line number"),
        ({"limit": -1}, "limit must be greater than zero"),
        ({"mode": "indentation", "indentation": {"anchor_line": -1}}, "anchor_line must be a 1-indexed line number"),
        ({"mode": "indentation", "indentation": {"max_lines": -1}}, "max_lines must be greater than zero"),
    ],
)
def test_negative_numbers_are_refused_in_the_words_of_the_document(root, arguments, text):
    assert call(root, "codex", {"file_path": f"{root}/a.txt", **arguments}).text == text
    assert (
        "invalid value: integer `-1`, expected usize"
        in call(root, "codex-upstream", {"file_path": f"{root}/a.txt", **arguments}).text
    )


# --- encodings -------------------------------------------------------------------------------------------------------

GUESSED = {"codex": "file_path", "claude": "file_path", "forge": "path", "workspace": "path"}


@pytest.mark.parametrize("encoding", ["gbk", "shift_jis"])
@pytest.mark.parametrize("dialect", GUESSED)
def test_encodings_are_detected_if_the_host_asks_for_it(root, dialect, encoding):
    line = {
        "gbk": "这个文件使用国标编码，里面有很多中文句子。",
        "shift_jis": "このファイルはシフトＪＩＳで書かれた日本語の文章です。",
    }
    (root / "old.txt").write_bytes((line[encoding] + "\n").encode(encoding) * 30)
    arguments = {GUESSED[dialect]: f"{root}/old.txt"}

    detected, by_document = call(root, dialect, arguments, encoding="auto"), call(root, dialect, arguments)

    assert line[encoding] in detected.text
    assert line[encoding] not in by_document.text


# --- one configuration ----------------------------------------------------------------------------------------------


def test_deny_rules_of_the_workspace_apply_to_every_workspace(root):
    (root / "eyespan.toml").write_text('[policy]\ndeny = ["a.txt"]\n[tools.read_file]\nshow_line_numbers = false\n')
    (root / "b.txt").write_text("b\n")

    assert call(root, "forge", {"path": "a.txt"}).error.code == "SandboxViolation"
    assert call(root, "forge", {"path": "b.txt"}).text == "1\tb\n"


def test_a_broken_configuration_in_the_workspace_is_an_error(root):
    (root / "eyespan.toml").write_text("denny = 1\n")

    with pytest.raises(ValueError, match="unknown key denny"):
        Workspace(root)


def test_a_configuration_that_cannot_be_read_is_an_error(root):
    (root / "eyespan.toml").mkdir()

    with pytest.raises(ValueError, match=r"eyespan\.toml: not a regular file"):
        Workspace(root)


def test_from_config_takes_over_roots_rules_and_settings(root, tmp_path):
    file = tmp_path / "host.toml"
    file.write_text('roots = ["work"]\n[dialects.claude]\nline_number_format = "arrow"\nbash_tool_name = "sh"\n')

    with Workspace.from_config(file) as workspace:
        reply = workspace.tool("claude").call({"file_path": f"{root}/a.txt", "limit": 1})
        given = workspace.tool("claude", line_number_format="tab").call({"file_path": f"{root}/a.txt", "limit": 1})

    assert [one.path for one in workspace.roots] == [str(root)]
    assert (reply.text[:8], given.text[:8]) == ("     1→1", "     1\t1")


def test_from_config_uses_the_file_of_the_current_directory(root, monkeypatch):
    (root / "eyespan.toml").write_text("[tools.read_file]\nshow_line_numbers = false\n")
    monkeypatch.chdir(root)

    with Workspace.from_config() as workspace:
        assert workspace.tool("forge").call({"path": "a.txt", "head": 1}).text == f"1 {LONG}\n"


def test_rules_of_the_workspace_apply_beside_a_given_configuration(root, tmp_path):
    (root / "eyespan.toml").write_text('[policy]\ndeny = ["a.txt"]\n')
    (tmp_path / "host.toml").write_text('[policy]\ndeny = ["*.log"]\n')

    with Workspace.from_config(tmp_path / "host.toml", roots=[root]) as workspace:
        assert workspace.tool("forge").call({"path": "a.txt"}).error.code == "SandboxViolation"
        assert workspace.tool("forge").call({"path": "x.log"}).error.code == "SandboxViolation"


def test_a_pickled_workspace_keeps_its_settings(root):
    import pickle

    (root / "eyespan.toml").write_text("[tools.read_file]\nshow_line_numbers = false\n")

    with Workspace.from_config(roots=[root]) as workspace, pickle.loads(pickle.dumps(workspace)) as again:
        assert again.tool("forge").call({"path": "a.txt", "head": 1}).text == f"1 {LONG}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[dialects.claude]\nbash_tool_name = "obey me"', "bash_tool_name cannot be set by a file in the workspace"),
        ("[dialects.claude]\ndefault_read_lines = 9000", "can only be lowered from 2000 by a file in the workspace"),
        ("[dialects.claude]\nmax_line = 1", "dialects.claude: claude has no setting max_line"),
        ("[dialects.claud]\nmax_line = 1", "unknown key dialects.claud; the dialects are native, codex"),
        ("[dialects]\nclaude = 1", "dialects.claude must be a table"),
        ('[dialects.claude]\npdf = "all"', 'dialects.claude: pdf must be "pages" or "document"'),
        ('[dialects.codex]\nencoding = "klingon"', "dialects.codex: "),
    ],
)
def test_a_file_in_the_workspace_sets_only_what_narrows(root, text, message):
    (root / "eyespan.toml").write_text(text + "\n")

    with pytest.raises(ValueError, match=message):
        Workspace(root)


def test_an_empty_root_is_an_error():
    with pytest.raises(ValueError, match=r'the current directory is "\."'):
        Workspace("")


# --- what a server announces ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "shown", "not_shown"),
    [
        ("codex", "as lines of text", "Images"),
        ("workspace", "Binary files are refused", "Images"),
        ("forge", "as base64", "Images"),
        ("claude", "Images, PDF pages and notebooks", "base64"),
        ("native", "Images, PDF pages and notebooks", "base64"),
    ],
)
def test_the_instructions_describe_what_the_dialect_shows(root, dialect, shown, not_shown):
    with Workspace(root) as workspace:
        instructions = Service(workspace, [dialect]).instructions

    assert shown in instructions
    assert not_shown not in instructions


def test_the_instructions_of_several_dialects_name_each_tool(root):
    with Workspace(root) as workspace:
        instructions = Service(workspace, ["codex", "forge"]).instructions

    assert "codex_read_file: Every file is returned as lines of text." in instructions
    assert "forge_Read: Text is returned by lines, other files as base64." in instructions


def test_settings_of_the_command_line_take_precedence_over_the_file(root, tmp_path, capsysbinary):
    from eyespan.cli.main import main

    (root / "eyespan.toml").write_text("[tools.read_file]\nshow_line_numbers = false\n")
    words = ["call", "--root", str(root), "forge", '{"path": "a.txt", "head": 1}']

    texts = []
    for more in [], ["--set", "show_line_numbers=true"], ["--set", "forge.show_line_numbers=true"]:
        main([*words, *more])
        texts.append(json.loads(capsysbinary.readouterr().out)["content"][0]["text"])

    assert texts == [f"1 {LONG}\n", f"1\t1 {LONG}\n", f"1\t1 {LONG}\n"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["call", "forge", "--set", "claude.pdf=pages", "{}"], "--set claude.pdf: the dialect is forge"),
        (["serve", "--set", "nonsense"], "--set must be NAME=VALUE or DIALECT.NAME=VALUE, not 'nonsense'"),
        (["serve", "--dialect", "claude", "--set", "claude.can_read_pdf=no"], "can_read_pdf must be true or false"),
        (["serve", "--set", "claude.pdf=pages"], "--set claude.pdf: the dialect is native"),
    ],
)
def test_wrong_settings_on_the_command_line_are_wrong_usage(root, words, message, capsys):
    from eyespan.cli.main import main

    assert main([*words, "--root", str(root)]) == 2
    assert message in capsys.readouterr().err


def test_serve_takes_settings_for_each_dialect():
    from eyespan.cli.serve import parse_words

    words = ["--dialect", "claude", "--dialect", "forge", "--set", "claude.pdf=document", "--set", "encoding=auto"]

    assert parse_words(words).settings == {
        "claude": {"pdf": "document", "encoding": "auto"},
        "forge": {"encoding": "auto"},
    }


def test_a_dialect_of_several_tools_is_described_by_its_first():
    assert dialect_class("filesystem")().spec.name == "read_file"
