"""`eyespan setup`: the entry in a host's configuration, written, tried and removed."""

from __future__ import annotations

import json
import os
import tomllib

import pytest

from eyespan.extras.hosts.host_table import HOSTS, SETTINGS, server_command

CONFIGS = {
    "json": '{\n  // mine\n  "theme": "dark",\n  "KEY": {\n    "other": { "command": "x" }\n  }\n}\n',
    "toml": 'model = "x" # mine\n\n[KEY.other]\ncommand = "y"\n',
    "yaml": "# mine\nKEY:\n  other:\n    enabled: true\n",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return the home directory, with a project in it that is the current directory."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("hello\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(project)
    return tmp_path


@pytest.fixture
def untried(monkeypatch):
    """Do not start the server."""
    monkeypatch.setattr("eyespan.extras.hosts.setup_command._test", lambda *_: 0)


@pytest.mark.parametrize("name", HOSTS)
def test_setup_and_remove_leave_the_file_as_it_was(home, untried, eyespan, name):
    host = HOSTS[name]
    before = CONFIGS[host.form].replace("KEY", host.key)
    host.path.parent.mkdir(parents=True, exist_ok=True)
    host.path.write_text(before)

    written = eyespan("setup", name)[0], host.path.read_text()
    removed = eyespan("setup", name, "--remove")[0], host.path.read_text()

    assert written[0] == 0
    assert "eyespan" in written[1]
    assert removed == (0, before)
    assert [path.name for path in host.path.parent.iterdir() if "before-eyespan" in path.name] == []


@pytest.mark.parametrize("name", HOSTS)
def test_a_file_that_setup_made_is_removed(home, untried, eyespan, name):
    eyespan("setup", name)
    eyespan("setup", name, "--remove")

    assert not HOSTS[name].path.exists()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("name", HOSTS)
def test_changes_made_after_setup_stay(home, untried, eyespan, name, end):
    host = HOSTS[name]
    host.path.parent.mkdir(parents=True, exist_ok=True)
    config = CONFIGS[host.form].replace("KEY", host.key).encode().replace(b"\n", end)
    host.path.write_bytes(config)
    eyespan("setup", name)
    host.path.write_bytes(host.path.read_bytes().replace(b"mine", b"changed"))

    eyespan("setup", name, "--remove")

    assert host.path.read_bytes() == config.replace(b"mine", b"changed")
    assert [one.name for one in host.path.parent.iterdir() if "before-eyespan" in one.name] == []


@pytest.mark.parametrize("before", ["", '{\n  "mcpServers": {}\n}\n', '{"a": 1, "mcpServers": {"other": {}}}'])
@pytest.mark.parametrize("dialects", [("native", "claude"), ("native", "claude", "native"), ("native", "native")])
def test_an_entry_that_was_written_again_is_removed(home, untried, eyespan, before, dialects):
    path = home / "project/.mcp.json"
    if before:
        path.write_text(before)

    for dialect in dialects:
        eyespan("setup", "claude-code", "--dialect", dialect)
    eyespan("setup", "claude-code", "--remove")

    assert (path.read_text() if path.exists() else "") == before
    assert [one.name for one in path.parent.iterdir() if "before-eyespan" in one.name] == []


def test_the_server_is_started_and_read_from(home, eyespan):
    code, out, err = eyespan("setup", "claude-code")

    assert (code, err) == (0, "")
    assert "The server starts and lists read (native).\nIt reads a.txt.\n" in out


def test_the_entry_runs_no_module_of_the_project(home, eyespan):
    (home / "project/eyespan.py").write_text("raise SystemExit('planted')\n")

    code, out, err = eyespan("setup", "claude-code")

    assert (code, err) == (0, "")
    assert "It reads a.txt." in out


def test_a_read_that_fails_is_reported(home, eyespan):
    (home / "project/a.txt").rename(home / "project/credentials.json")

    code, _, err = eyespan("setup", "claude-code")

    assert code == 1
    assert err.startswith("It does not read credentials.json:\n")


def test_the_entry_is_printed_and_nothing_written(home, eyespan):
    code, out, _ = eyespan("setup", "cursor", "--print", "--dialect", "claude")

    entry = json.loads(out)["mcpServers"]["eyespan"]
    assert code == 0
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    assert entry["args"][-11:] == ["${workspaceFolder}", "--dialect", "claude", *settings]
    assert not HOSTS["cursor"].path.exists()


def test_a_file_that_cannot_be_edited_is_left_alone(home, eyespan):
    (home / "project/.mcp.json").write_text("{ broken")

    code, _, err = eyespan("setup", "claude-code")

    assert code == 1
    assert "not valid JSON" in err
    assert "Nothing was written" in err
    assert (home / "project/.mcp.json").read_text() == "{ broken"


def test_the_mode_of_the_file_and_a_link_to_it_stay(home, untried, eyespan):
    path = home / "project/.mcp.json"
    (home / "dotfiles.json").write_text("{}")
    os.chmod(home / "dotfiles.json", 0o640)
    path.symlink_to(home / "dotfiles.json")

    for step in ([], ["--remove"]):
        eyespan("setup", "claude-code", *step)

        assert path.is_symlink()
        assert path.stat().st_mode & 0o777 == 0o640
    assert path.read_text() == "{}"


def test_setup_alone_lists_the_hosts_found(home, untried, eyespan):
    eyespan("setup", "claude-code")
    code, out, _ = eyespan("setup")

    rows = [line.split()[:1] + line.split()[3:5] for line in out.splitlines() if line.startswith("  claude-code")]
    assert code == 0
    assert rows == [["claude-code", "set", "up"]]


def test_a_host_without_its_file_is_not_set_up(home, eyespan):
    (home / "project/.vscode").mkdir()

    assert "VS Code       not set up" in eyespan("setup")[1]


def test_a_wrong_host_is_answered_with_the_nearest(home, eyespan):
    code, _, err = eyespan("setup", "codx")

    assert code == 2
    assert "no host 'codx'; did you mean codex?" in err


def test_a_host_that_starts_elsewhere_gets_the_directory(home):
    assert os.getcwd() in server_command(HOSTS["windsurf"], "native", [], [])


def test_the_entry_has_the_options_of_the_command(home, eyespan):
    (home / "maps.toml").write_text("[map]\n")
    options = ["--root", "..", "--config", "../maps.toml", "--timeout", "3", "--", "--map", "/w=/tmp"]
    code, out, _ = eyespan("setup", "codex", "--print", *options)

    arguments = tomllib.loads(out)["mcp_servers"]["eyespan"]["args"]
    assert code == 0
    assert arguments[arguments.index("serve") + 1] == str(home)
    assert arguments[-6:] == ["--map", "/w=/tmp", "--config", str(home / "maps.toml"), "--timeout", "3"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--", "--mpa", "/w=/tmp"], "no option --mpa; did you mean --map?"),
        (["--dialect", "cluade"], "claude"),
        (["gemini"], "setup takes one host"),
    ],
)
def test_wrong_options_of_the_server_are_wrong_usage(home, eyespan, words, message):
    code, out, err = eyespan("setup", "codex", *words)

    assert (code, out) == (2, "")
    assert message in err
    assert not HOSTS["codex"].path.exists()
