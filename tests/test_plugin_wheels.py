"""The plugins of docs/plugins.md, as wheels in a fresh environment, in every surface of eyespan."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "plugins.md").read_text("utf-8")
FILE = re.compile(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", re.MULTILINE | re.DOTALL)
CALENDAR = b"BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART:20261118\r\nSUMMARY:launch\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
NO_CALENDAR = b"\0\1\2nothing\n"


def examples() -> list[dict[str, str]]:
    """Return the files of each example of the page by name; `pyproject.toml` is the last of an example."""
    made: list[dict[str, str]] = [{}]
    for name, text in FILE.findall(PAGE):
        made[-1][name] = text
        if name == "pyproject.toml":
            made.append({})
    return made[:-1]


EXAMPLES = examples()


def write_wheel(files: dict[str, str], directory: Path) -> Path:
    """Write the wheel that a build of these files makes."""
    project = tomllib.loads(files["pyproject.toml"])["project"]
    name, version = project["name"].replace("-", "_"), project["version"]
    groups = [
        f"[{group}]\n" + "".join([f"{key} = {value}\n" for key, value in rows.items()])
        for group, rows in project["entry-points"].items()
    ]
    contents = {path: text for path, text in files.items() if path != "pyproject.toml"}
    info = f"{name}-{version}.dist-info"
    contents |= {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "\n".join(groups),
    }
    digests = {path: urlsafe_b64encode(hashlib.sha256(text.encode()).digest()) for path, text in contents.items()}
    record = [f"{path},sha256={digest.decode().rstrip('=')},{len(contents[path])}" for path, digest in digests.items()]
    contents[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    path = directory / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in contents.items():
            archive.writestr(member, text)
    return path


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return the interpreter of a fresh environment with eyespan and the plugins of the page."""
    top = tmp_path_factory.mktemp("plugins")
    wheels = [write_wheel(files, top) for files in EXAMPLES]
    venv.create(top / "env", symlinks=True)
    installed = Path(next((top / "env").glob("l*/python*/site-packages")))
    (installed / "development.pth").write_text("\n".join([path for path in sys.path if path and Path(path).is_dir()]))
    interpreter = top / "env" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", interpreter, "install", "-q", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--disable-pip-version-check", *wheels], check=True)
    return interpreter


@pytest.fixture
def files(tmp_path):
    (tmp_path / "team.ics").write_bytes(CALENDAR)
    (tmp_path / "broken.ics").write_bytes(NO_CALENDAR)
    (tmp_path / "poem.txt").write_text("one\ntwo\n")
    (tmp_path / "app.acme").write_text("task build\n  run\ntask test\n")
    return tmp_path


SCRIPT = """
import contextlib, io, json, sys
from eyespan import Workspace
from eyespan.cli.main import main

def run(*words):
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        status = main([*words])
    return status, out.buffer.getvalue().decode()

made = {}
with Workspace(".") as workspace:
    native = workspace.tool("native")
    made["native"] = [native.call({"files": [name]}).text for name in ("team.ics", "broken.ics", "app.acme:test")]
    made["crush"] = workspace.tool("crush_view").call({"file_path": "poem.txt", "offset": 1}).text
with Workspace("package://json") as workspace:
    made["package"] = workspace.tool("native").call({"files": ["tool.py:1"]}).text
    made["names"] = workspace.tool("native").call({"files": ["."]}).text
made["read"] = run("read", "team.ics")
made["call"] = json.loads(run("call", "crush_view", '{"file_path": "poem.txt", "limit": 1}')[1])["content"]
made["doctor"] = [row for row in json.loads(run("doctor", "--json")[1]) if row["name"].startswith("plugin")]
made["export"] = run("export", "team.ics", "--to", "records.jsonl")[0]
print(json.dumps(made))
"""


FIRST_LINE = "<file>\n     1|one\n\n(File has more lines. Use 'offset' parameter to read beyond line 1)\n</file>\n"
"""What the example dialect, the tool of Crush, answers for the first of two lines."""


def origin(plugin: str) -> str:
    """Return the text of doctor for a plugin of the page."""
    for example in EXAMPLES:
        project = tomllib.loads(example["pyproject.toml"])["project"]
        for group, rows in project["entry-points"].items():
            if plugin in rows:
                return f"{group}, from {project['name']} {project['version']} ({rows[plugin]})"
    raise AssertionError(f"the page has no plugin {plugin}")


def test_every_example_is_short():
    sizes = {files["pyproject.toml"]: sum([text.count("\n") for text in files.values()]) for files in EXAMPLES}

    assert [size for size in sizes.values() if size > 60] == []


def test_the_plugins_work_in_the_library_and_in_the_commands(python, files):
    done = subprocess.run([python, "-c", SCRIPT], cwd=files, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)

    assert "\t- 20261118 launch" in made["native"][0]
    assert made["native"][1] == (
        ">! broken.ics: not a calendar, despite its name (plugin acme-calendar 1.0 (acme_calendar:CALENDAR))"
    )
    assert made["native"][2].split("\n")[1:] == ["3\ttask test"]
    assert made["crush"] == "<file>\n     2|two\n</file>\n"
    assert "\tr" in made["package"]
    assert "tool.py" in made["names"]
    assert made["read"] == [0, "     1\t- 20261118 launch\n"]
    assert made["call"] == [{"type": "text", "text": FIRST_LINE}]
    assert {row["name"]: (row["state"], row["what"]) for row in made["doctor"]} == {
        f"plugin {name}": ("ok", origin(name)) for name in ("calendar", "crush_view", "tasks", "package")
    }
    [record] = [json.loads(line) for line in (files / "records.jsonl").read_text().splitlines()]
    assert (made["export"], record["text"]) == (0, "- 20261118 launch\n")


def test_the_plugins_work_in_the_server(python, files):
    def call(number, name, arguments):
        params = {"name": name, "arguments": arguments}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call(2, "native_read", {"files": ["team.ics"]}),
        call(3, "crush_view_view", {"file_path": "poem.txt", "limit": 1}),
        call(4, "native_read", {"files": ["/package/json/tool.py:1"]}),
        call(5, "native_read", {"files": ["app.acme:test"]}),
    ]
    words = ["serve", ".", "package://json", "--dialect", "native", "--dialect", "crush_view"]
    sent = "".join([json.dumps(message) + "\n" for message in messages])
    done = subprocess.run([python, "-m", "eyespan", *words], cwd=files, input=sent, capture_output=True, text=True)
    replies = {reply["id"]: reply for reply in map(json.loads, done.stdout.splitlines())}

    texts = {number: replies[number]["result"]["content"][0]["text"] for number in (2, 3, 4, 5)}
    assert "\t- 20261118 launch" in texts[2]
    assert texts[3] == FIRST_LINE
    assert "\tr" in texts[4]
    assert texts[5].split("\n")[1:] == ["3\ttask test"]
