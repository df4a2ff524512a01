"""Every block of the pages is run, or it is listed in NOT_RUN with the reason."""

from __future__ import annotations

import hashlib
import io
import json
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import pytest

from eyespan import Workspace
from eyespan.cli.main import main
from eyespan.cli.serve import parse_words
from eyespan.extras.http.auth.callers import read_callers
from eyespan.extras.http.log import Log
from tests.extras.hosts.fakes import Call, FakeAnthropic, FakeOpenAI
from tests.snippets import PAGES, ROOT, Block, blocks, commands
from tools import native_transcript

BLOCKS = [block for page in PAGES for block in blocks(page)]
GENERATED = {
    "docs/reference/api.md": "tests/tools/test_reference.py",
    "docs/reference/cli.md": "tests/tools/test_reference.py",
    "docs/native-transcript.md": "the test below",
}
"""Pages that a program writes, with the test that compares them."""
NOT_RUN = {
    ("README.md", "$ git clone"): "an installation; tests/extras/hosts/test_installation.py makes one",
    ("docs/architecture.md", "src/eyespan/"): "a layout; tests/test_docs.py compares it with the layers",
    ("docs/architecture.md", "      library"): "a diagram",
    ("docs/architecture.md", "arguments ─>"): "a diagram",
    ("docs/architecture.md", "main process"): "a diagram",
    ("docs/bulk.md", "from eyespan.extras.bulk.ray"): "needs a cluster; tests/extras/bulk/test_bulk.py runs its steps",
    ("docs/plugins.md", '"""'): "tests/test_plugin_wheels.py installs it",
    ("docs/plugins.md", "[project]"): "tests/test_plugin_wheels.py installs it",
    ("docs/plugins.md", "plugin calendar"): "a row of doctor; tests/test_plugin_wheels.py compares it",
    ("docs/native.md", "answer    ="): "a grammar; tests/dialects/native/test_own_lines.py parses answers by it",
    ("docs/selectors.md", "target    ="): "a grammar; tests/test_selectors.py runs the examples of the page",
}


def reason_not_to_run(block: Block) -> str:
    if block.page in GENERATED:
        return f"written by a program, compared by {GENERATED[block.page]}"
    return next(
        (why for (page, start), why in NOT_RUN.items() if page == block.page and block.text.startswith(start)), ""
    )


RUN = [block for block in BLOCKS if not reason_not_to_run(block)]


def test_every_block_is_run_or_has_a_reason(capsys):
    used = {
        (block.page, start)
        for block in BLOCKS
        for page, start in NOT_RUN
        if block.text.startswith(start) and page == block.page
    }
    counts = Counter(block.language for block in RUN)
    with capsys.disabled():
        compared = sum(block.page in GENERATED for block in BLOCKS)
        print(f"\n{len(BLOCKS)} blocks, {len(RUN)} run: {dict(counts)}; {compared} compared", end=" ")

    assert set(NOT_RUN) - used == set(), "reasons for blocks that do not exist"
    assert {block.page for block in BLOCKS} >= set(GENERATED)
    reasons = [*NOT_RUN.values(), *GENERATED.values()]
    named = [name for why in reasons for name in re.findall(r"(?:tests|tools)/[\w/]+\.py", why)]
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert len(RUN) >= 61


def test_the_transcript_shows_what_the_server_answers():
    """The calls of docs/native-transcript.md are sent again."""
    assert native_transcript.page() == native_transcript.PAGE.read_text("utf-8")


# --- running ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Return the current directory: a project with the files that the pages name, below a home directory of its own."""
    root = tmp_path / "work"
    for path in (root, tmp_path / "code", tmp_path / "notes", tmp_path / "Documents"):
        path.mkdir()
    (started,) = [block.text for block in blocks("docs/start.md") if block.text.startswith('"""A harbour.')]
    (root / "app.py").write_text(started)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(root)
    return root


def fill(project):
    """Add the files that pages other than docs/start.md name."""
    (project / "src").mkdir()
    (project / "docs").mkdir()
    (project / "app.py").write_text("".join(f"line_{n} = {n}\n" for n in range(1, 61)))
    (project / "src" / "app.py").write_text("def main():\n    pass\n")
    (project / "docs" / "page.md").write_text("# A page\n")
    (project / "build.log").write_text("".join(f"step {n}\n" for n in range(1, 100)) + "ERROR: step 100\n")
    (project / "lib.py").write_text("class Parser:\n    def parse(self):\n        return 1\n")
    transcript = project.parent / ".claude" / "projects" / "work.jsonl"
    transcript.parent.mkdir(parents=True)
    use = {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": str(project / "lib.py")}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "1\tclass Parser:"}
    records = [("assistant", use), ("user", result)]
    lines = [json.dumps({"type": kind, "message": {"content": [block]}}) + "\n" for kind, block in records]
    transcript.write_text("".join(lines))


@pytest.mark.parametrize("block", RUN, ids=str)
def test_a_block_works(block, project, monkeypatch, capfdbinary):
    if block.page != "docs/start.md":  # a page with the files that it uses
        fill(project)
    if block.page == "README.md":  # in a clone
        (project / "src" / "eyespan").mkdir()
        for name in ("README.md", "CHANGELOG.md", "src/eyespan/tool.py"):
            shutil.copyfile(ROOT / name, project / name)
    match block.language, block.text.split(maxsplit=1)[0]:
        case "json", _ if "permissions" in block.text:
            check_permissions(block)
        case "caddy", _:
            check_caddy(block, project)
        case "indented", "eyespan" if block.text.startswith("eyespan serve: 421"):
            check_message(block, is_json=False, capture=capfdbinary)
        case "indented", '{"time":"2026-11-16T03:00:00.000Z","event":"refused","message":"421:':
            check_message(block, is_json=True, capture=capfdbinary)
        case "indented", "eyespan" if block.text.startswith("eyespan serve: standard"):
            check_first_message(block, project)
        case "indented", "systemctl":
            check_systemctl(block)
        case "indented", "podman":
            for command in commands(block):
                check_container(list(command.words), project)
        case "indented", "git":
            check_installation(block)
        case "python", _:
            run_python(block, project, monkeypatch)
        case "toml", _:
            run_toml(block, project)
        case "json", _:
            run_servers(json.loads(block.text), project)
        case "indented", "{" | '{"mcpServers":':
            run_servers(json.loads(block.text), project)
        case "indented", "[reviewer]":
            run_callers(block, project)
        case "console" | "sh" | "indented", _:
            for command in commands(block):
                run_command(list(command.words), command.output, project, capfdbinary)
        case "text", ">" | ">!":
            run_answer(block, project)
        case "ini", _:
            check_unit(block)
        case "nginx", _:
            check_nginx(block, project)
        case "yaml", "apiVersion:":
            (text,) = re.findall(r"args: (\[.*?\])", block.text, re.DOTALL)
            start_server(["eyespan", *json.loads(text)], project)
        case other:
            pytest.fail(f"no way to run {other}")


def run_command(words, output, project, capture):
    """Run one command. An empty `output` is not compared."""
    at = next((n for n, word in enumerate(words) if "=" not in word), 0)
    words = [word.replace("/work", str(project)) for word in words[at:]]
    if words[0] in ("claude", "codex"):
        assert words[1:3] == ["mcp", "add"]
        if "--" in words:
            start_server(words[words.index("--") + 1 :], project)
    elif words[0] == "uvx" or "serve" in words:
        start_server(words, project)
    elif words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text()
    elif words[:2] == ["pip", "install"]:
        check_requirement(words[-1])
    elif words[0] == ".venv/bin/python":
        assert (ROOT / words[3]).is_file()
    elif any("s3://" in word for word in words):
        assert main(words[1:]) in (1, 2)  # no bucket of that name can be reached
    else:
        assert words[0] == "eyespan"
        capture.readouterr()
        status = main(words[1:])
        sys.stdout.flush()
        captured = capture.readouterr()
        if output:
            assert (captured.out + captured.err).decode() == output
            assert status == (1 if captured.err else 0)
        else:
            assert status == 0, captured.err


def check_requirement(text):
    """Check that the extras of a requirement exist."""
    name, _, extras = text.rstrip("]").partition("[")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    assert name in (".", "eyespan")
    assert {extra for extra in extras.split(",") if extra} <= set(known)


def start_server(words, project):
    """Start the server that a command names and close its input at once, or check its options if it listens."""
    text = [word.replace("${workspaceFolder}", str(project)).replace("${TMPDIR:-/tmp}", str(project)) for word in words]
    if text[0] == "ssh":
        text = text[2:]
    if text[0] == "uvx":
        module = runpy.run_path(str(ROOT / "packaging/eyespan-mcp/src/eyespan_mcp/__init__.py"))
        assert text[1] == "eyespan-mcp"
        text = ["eyespan", *module["words"](text[2:])]
    assert text[0] == "eyespan"
    if "--http" in text or "https://" in str(text):
        parse_words(text[text.index("serve") + 1 :])
        return
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    done = subprocess.run([sys.executable, "-m", "eyespan", *text[1:]], input=request.encode(), capture_output=True)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "eyespan"


def run_servers(settings, project):
    servers = settings.get("mcpServers") or settings["servers"]
    for server in servers.values():
        start_server([word.replace("/work", str(project)) for word in [server["command"], *server["args"]]], project)


def run_toml(block, project):
    settings = tomllib.loads(block.text)
    if "mcp_servers" in settings:
        run_servers({"servers": settings["mcp_servers"]}, project)
        return
    (project / "eyespan.toml").write_text(block.text)
    with Workspace.from_config() as workspace:
        reply = workspace.tool("claude", **settings["dialects"]["claude"]).call({"file_path": str(project / "app.py")})
        assert reply.text.startswith("     1→")


def run_callers(block, project):
    text = block.text.replace('"..."', f'"{hashlib.sha256(b"a token").hexdigest()}"').replace(
        "/srv/project", str(project)
    )
    (project / "tokens.toml").write_text(text)

    (caller,) = read_callers(str(project / "tokens.toml")).values()

    assert (caller.name, caller.rate) == ("reviewer", 120)


def run_answer(block, project):
    """Make the calls whose answers docs/native.md shows."""
    is_text = block.text.startswith("> ")
    lines = [f"line_{n} = {n}" for n in range(1, 341)]
    lines[3] = "class Harbour:"
    lines[4] = "    def open(self): ..."
    if is_text:
        lines[9:14] = [
            "def open_port(name):",
            '    """Open it."""',
            "",
            "    harbour\u200b = Harbour(name)",
            "    return harbour",
        ]
        lines[39] = "    return None"
    (project / "src" / "app.py").write_bytes("".join(f"{line}\r\n" for line in lines).encode())
    (project / "src" / "node.py").touch()
    (project / ".env").write_text("A=1\n")
    failing = ["src/nod.py", "src/app.py:900", "src/app.py::Harbour.opne", ".env"]
    files = "src/app.py:10-14,40" if is_text else failing
    with Workspace(project) as workspace:
        text = workspace.tool("native").call({"files": files}).text

    assert text.replace("\u200b", "").replace("\r", "") + "\n" == block.text


def check_unit(block):
    sections = [line for line in block.text.splitlines() if line.startswith("[")]
    assert sections in (["[Unit]", "[Socket]", "[Install]"], ["[Unit]", "[Service]", "[Install]"])


def check_nginx(block, project):
    """Let nginx check the configuration, if it is installed. It makes all its directories, so they are in `project`."""
    assert block.text.count("{") == block.text.count("}") == 3
    assert re.search(r"proxy_set_header Host (?:127.0.0.1:8765|read.example);", block.text)
    nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if nginx is None:
        return
    built = subprocess.run([nginx, "-V"], capture_output=True, text=True).stderr
    modules = [name for name in ("proxy", "fastcgi", "uwsgi", "scgi") if f"--without-http_{name}_module" not in built]
    own = "".join(f"{name}_temp_path {project}/nginx-{name};\n" for name in ("client_body", *modules))
    text = f"pid {project}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{own}{block.text}}}\n"
    (project / "nginx.conf").write_text(text)
    done = subprocess.run(
        [nginx, "-t", "-c", str(project / "nginx.conf"), "-e", "stderr"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stderr


def check_caddy(block, project):
    assert block.text.count("{") == block.text.count("}") == 3
    assert "reverse_proxy 127.0.0.1:8765 {" in block.text
    caddy = shutil.which("caddy")
    if caddy is None:
        return
    (project / "Caddyfile").write_text(block.text)
    words = [caddy, "adapt", "--config", str(project / "Caddyfile"), "--adapter", "caddyfile"]
    done = subprocess.run(words, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "127.0.0.1:8765" in done.stdout


def check_systemctl(block):
    """Check that the unit of the page has the name that the commands use, and can be reloaded."""
    units = [unit.text for unit in blocks(block.page) if unit.language == "ini" and "[Service]" in unit.text]

    assert [list(command.words) for command in commands(block)] == [
        ["systemctl", "reload", "eyespan"],
        ["systemctl", "restart", "eyespan"],
    ]
    assert "/etc/systemd/system/eyespan.service" in (ROOT / block.page).read_text()
    assert any("ExecReload=" in unit or "Type=notify-reload" in unit for unit in units)


def check_container(words, project):
    """Check the files that a command for containers names, and start the server that the container would start."""
    recipe = (ROOT / "packaging/Containerfile").read_text()
    if words[1] == "build":
        assert words[-1] == "."
        assert words[words.index("-f") + 1] == "packaging/Containerfile"
        copied = re.findall(r"^COPY (?!--)(.*) \S+$", recipe, re.MULTILINE)
        assert all((ROOT / name).exists() for line in copied for name in line.split())
        return
    assert words[1] == "run"
    entry, default = (
        json.loads(re.search(f"^{word} (.*)$", recipe, re.MULTILINE)[1]) for word in ("ENTRYPOINT", "CMD")
    )
    given = words[words.index("eyespan") + 1 :]
    assert [word for word in entry if word == "/work"] == ["/work"]
    start_server(
        ["eyespan", *[word.replace("/work", str(project)) for word in entry[1:]], *(given or default)], project
    )


def check_installation(block):
    """Check the address and the extras of the commands for a clone; `make run` and the wheels install the same."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    clone, enter, install = [list(command.words) for command in commands(block)]

    assert clone == ["git", "clone", project["urls"]["Source"]]
    assert enter == ["cd", project["urls"]["Source"].rpartition("/")[2]]
    assert install[:2] == ["pip", "install"]
    check_requirement(install[2])


def check_permissions(block):
    """Check that the permission names the server as the page before it adds it."""
    added = [command.words for other in blocks(block.page) for command in add_commands(other)]

    assert json.loads(block.text) == {"permissions": {"allow": [f"mcp__{added[0][3]}"]}}


def add_commands(block):
    return [one for one in commands(block) if one.words[:3] == ("claude", "mcp", "add")] if is_shell(block) else []


def is_shell(block):
    return block.language == "indented" and block.text.startswith("claude mcp add")


def check_message(block, *, is_json, capture):
    """Write the message of the page again, and compare everything but the time."""
    log = Log(is_json=is_json)
    capture.readouterr()
    log.refused(421, "host", "Host reader.example is not allowed; start with --allow-host reader.example", "10.0.0.7")
    written = capture.readouterr().err.decode()
    if not is_json:
        assert written == block.text
        return
    shown, made = json.loads(block.text), json.loads(written)

    assert re.sub(r"\d", "0", shown.pop("time")) == re.sub(r"\d", "0", made.pop("time"))
    assert made == shown
    assert list(made) == list(shown)


def check_first_message(block, project):
    """Start a server; a kernel without a layer leaves it out of the message."""
    done = subprocess.run(
        [sys.executable, "-m", "eyespan", "serve"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=project,
    )
    layers = re.compile(r"(?<=sandboxed: )[^;]*|; not sandboxed: [^;]*")

    assert done.returncode == 0
    assert layers.sub("", done.stderr) == layers.sub("", block.text)
    assert set(layers.search(done.stderr)[0].split(", ")) <= set(layers.search(block.text)[0].split(", "))


def vars_of(record):
    return {name: getattr(record, name) for name in record.__slots__}


# --- Python -----------------------------------------------------------------------------------------------------------


def run_python(block, project, monkeypatch):
    """Run a block with the names that its page leaves to the reader."""
    path = str(project / "src" / "app.py")
    anthropic = FakeAnthropic([Call("Read", {"file_path": path})])
    openai = FakeOpenAI([Call("read_file", {"file_path": path})])
    created = []
    names = {
        "MODEL": "any",
        "messages": [],
        "calls": [{"type": "tool_use", "id": "1", "name": "Read", "input": {"path": "app.py", "head": 1}}],
        "client": SimpleNamespace(messages=SimpleNamespace(create=lambda *_, **request: created.append(request))),
        "workspace": Workspace(project),
    }
    names["tool"] = names["workspace"].tool("forge")
    exec("from eyespan.hosts import to_anthropic", names)
    with anthropic, openai:
        offer(monkeypatch, "anthropic", anthropic)
        offer(monkeypatch, "openai", openai)
        gemini = offer_gemini(monkeypatch, {"files": "src/app.py"})
        with_printing = io.StringIO()
        monkeypatch.setattr(sys, "stdout", with_printing)
        exec(compile(block.text, str(block), "exec"), names)
        monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    if "from anthropic" in block.text:
        assert [result["content"] for result in anthropic.results()] == ["     1\tdef main():\n     2\t    pass"]
    elif "from openai" in block.text:
        assert [result["output"] for result in openai.results()] == ["L1: def main():\nL2:     pass"]
    elif "from google" in block.text:
        assert "def main():" in gemini[-1][-1]["parts"][0]["functionResponse"]["response"]["output"]
    elif "messages +=" in block.text:
        assert "line_1 = 1" in json.dumps(names["messages"])
    elif "client.messages" in block.text:
        assert created[0]["tools"][0]["type"].startswith("text_editor_")
    elif "print(" in block.text:
        assert with_printing.getvalue().strip()


def offer_gemini(monkeypatch, arguments):
    """Offer the part of google-genai that the pages use; return the contents of its requests."""
    requests = []

    def generate_content(**request):
        requests.append(list(request["contents"]))
        calls = [SimpleNamespace(id=None, name="read", args=arguments)] if len(requests) == 1 else []
        parts = [{"functionCall": {"name": call.name, "args": call.args}} for call in calls]
        content = {"role": "model", "parts": parts}
        return SimpleNamespace(candidates=[SimpleNamespace(content=content)], function_calls=calls)

    module = ModuleType("google")
    module.genai = SimpleNamespace(
        Client=lambda: SimpleNamespace(models=SimpleNamespace(generate_content=generate_content))
    )
    monkeypatch.setitem(sys.modules, "google", module)
    return requests


def offer(monkeypatch, name, fake):
    """Let the SDK of a model API talk to a fake. Without that SDK, a module with the part of it that the pages use."""
    if find_spec(name) is not None:
        monkeypatch.setenv(f"{name.upper()}_BASE_URL", fake.url + ("" if name == "anthropic" else "/v1"))
        monkeypatch.setenv(f"{name.upper()}_API_KEY", "none")
        return

    def create(**request):
        sent = json.loads(json.dumps(request, default=vars))
        fake.requests.append(sent)
        answer = fake.whole(sent, fake.turn(sent))
        items = [SimpleNamespace(**item) for item in answer.get("content") or answer["output"]]
        return SimpleNamespace(content=items, output=items)

    api = SimpleNamespace(create=create)
    module = ModuleType(name)
    setattr(
        module,
        {"anthropic": "Anthropic", "openai": "OpenAI"}[name],
        lambda: SimpleNamespace(messages=api, responses=api),
    )
    monkeypatch.setitem(sys.modules, name, module)
