"""Real Claude Code and real Codex with a fake model on loopback: the server's answers must reach the model.

Each host starts the server itself, as for a user, in its current directory. The model's script calls the tool once for
each kind of file, and the host's requests show what the model receives. This must equal a direct call of the tool:
every block, in order, byte for byte.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import zlib
from base64 import b64decode

import pytest

from eyespan import ImageContent, TextContent, Workspace
from eyespan.extras.hosts import to_mcp

from .fakes import Call, FakeAnthropic, FakeOpenAI
from .programs import BIN, run, run_claude_code

if not BIN:
    pytest.skip("hundreds of megabytes from npm; tools/hosts.sh installs them", allow_module_level=True)

SERVE = [sys.executable, "-m", "eyespan", "serve", "--dialect", "claude"]
TOKEN = "a-token-for-the-tests-0123456789"
IN_CLAUDE_CODE, IN_CODEX = "mcp__eyespan__Read", "mcp__eyespan"
FILES = ("hello.txt", "long.txt", "wide.txt", "empty.txt", "missing.txt", "picture.png", "page.pdf")


def png(width: int, height: int) -> bytes:
    """Return an image, made without a library: a gradient, in which a changed pixel shows."""
    rows = b"".join(
        b"\0" + bytes(value % 256 for x in range(width) for value in (3 * x, 3 * y, x * y)) for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pdf(text: str) -> bytes:
    """Return a PDF of one page with one line of text."""
    drawn = f"BT /F1 24 Tf 40 100 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 5 0 R "
        b"/Resources << /Font << /F1 4 0 R >> >> >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
    ]
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out + b"trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % start)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    directory = tmp_path_factory.mktemp("project")
    (directory / "hello.txt").write_text("hello\nwörld ✓\n")
    (directory / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 3001)))
    (directory / "wide.txt").write_text("".join(f"{number} {'x' * 100}\n" for number in range(1, 1501)))
    (directory / "empty.txt").touch()
    (directory / "picture.png").write_bytes(png(40, 30))
    (directory / "page.pdf").write_bytes(pdf("A page of its own"))
    return directory


@pytest.fixture(scope="module")
def replies(project):
    """Return the answers of direct calls, by file name."""
    with Workspace(project) as workspace:
        tool = workspace.tool("claude")
        return {name: tool.call({"file_path": f"{project}/{name}"}) for name in FILES}


@pytest.fixture(scope="module")
def spec(project):
    with Workspace(project) as workspace:
        return workspace.tool("claude", describes_roots=True).spec  # as the server describes it


@pytest.fixture(scope="module", params=["stdio", "http"])
def address(request, project):
    """Return None if the host starts the server, or the address of a running one."""
    if request.param == "stdio":
        yield None
        return
    pytest.importorskip("eyespan.extras.http.app", reason="HTTP needs the extra http")
    command = [*SERVE, "--root", str(project), "--http", "127.0.0.1:0"]
    process = subprocess.Popen(command, env={**os.environ, "EYESPAN_TOKEN": TOKEN}, stderr=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stderr.readline, "")
        yield next(found[0] for line in lines if (found := re.search(r"http://127\.0\.0\.1:\d+/mcp", line)))
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def claude_code(address, project, tmp_path_factory):
    """The model that Claude Code talked to, after it was asked to read the files."""
    home = tmp_path_factory.mktemp("claude")
    server: dict = {"command": SERVE[0], "args": SERVE[1:]}
    if address:
        server = {"type": "http", "url": address, "headers": {"Authorization": f"Bearer {TOKEN}"}}
    (home / "mcp.json").write_text(json.dumps({"mcpServers": {"eyespan": server}}))
    with FakeAnthropic([Call(IN_CLAUDE_CODE, {"file_path": f"{project}/{name}"}) for name in FILES]) as model:
        run_claude_code(["--allowedTools", IN_CLAUDE_CODE], project, home, model)
    return model


@pytest.fixture(scope="module")
def codex(address, project, tmp_path_factory):
    """The model that Codex talked to, after it was asked to read the files."""
    home = tmp_path_factory.mktemp("codex")
    server = f"command = {json.dumps(SERVE[0])}\nargs = {json.dumps(SERVE[1:])}\n"
    if address:
        server = f'url = "{address}"\nbearer_token_env_var = "EYESPAN_TOKEN"\n'
    with FakeOpenAI([Call("Read", {"file_path": f"{project}/{name}"}, IN_CODEX) for name in FILES]) as model:
        (home / "config.toml").write_text(
            'model = "fake"\nmodel_provider = "fake"\ntool_output_token_limit = 100000\n'
            f'[model_providers.fake]\nname = "fake"\nbase_url = "{model.url}/v1"\nwire_api = "responses"\n'
            f"[mcp_servers.eyespan]\n{server}"
            'required = true\ndefault_tools_approval_mode = "approve"\n'
        )
        codex = ["codex", "exec", "--skip-git-repo-check", "read them"]
        out = run(codex, project, home, CODEX_HOME=str(home), EYESPAN_TOKEN=TOKEN)
    assert out.strip() == "done"
    return model


def test_claude_code_shows_its_model_the_dialects_own_words_and_schema(claude_code, spec):
    shown = claude_code.tool(IN_CLAUDE_CODE)

    assert (shown["description"], shown["input_schema"]) == (spec.description, spec.input_schema)


def test_codex_shows_its_model_the_dialects_own_words_and_schema(codex, spec):
    shown = codex.tool("Read")

    assert (shown["namespace"], shown["description"]) == (IN_CODEX, spec.description)
    assert shown["parameters"] == spec.input_schema


@pytest.mark.parametrize("name", FILES)
def test_answers_reach_the_model_of_claude_code_unchanged(claude_code, project, replies, name):
    if name == "wide.txt" and "_meta" not in to_mcp(Workspace(project).tool("claude")):
        pytest.skip("above 50,000 characters it shows 2,000, unless the listed tool has anthropic/maxResultSizeChars")
    result = claude_code.results()[FILES.index(name)]

    assert [_of_anthropic(block) for block in _blocks(result["content"])] == list(replies[name].content)
    assert result.get("is_error", False) == replies[name].is_error


@pytest.mark.parametrize("name", FILES)
def test_answers_reach_the_model_of_codex_unchanged(codex, replies, name):
    first, *blocks = codex.results()[FILES.index(name)]["output"]

    assert first["text"].startswith("Wall time: ")  # added by the host
    assert [_of_openai(block) for block in blocks] == list(replies[name].content)


@pytest.mark.parametrize("name", ["picture.png", "page.pdf"])
def test_an_image_reaches_the_model_of_claude_code(claude_code, name):
    result = claude_code.results()[FILES.index(name)]

    assert "image" in [block["type"] for block in _blocks(result["content"])]


@pytest.mark.parametrize("name", ["picture.png", "page.pdf"])
def test_an_image_reaches_the_model_of_codex(codex, name):
    blocks = codex.results()[FILES.index(name)]["output"]

    assert "input_image" in [block["type"] for block in blocks]


def test_claude_code_connects_to_the_server_that_was_added_by_its_own_command(project, tmp_path):
    environment = {"CLAUDE_CONFIG_DIR": f"{tmp_path}/config", "IS_SANDBOX": "1"}
    run(["claude", "mcp", "add", "eyespan", "--", *SERVE], project, tmp_path, **environment)

    listed = run(["claude", "mcp", "list"], project, tmp_path, **environment)

    assert "Connected" in next(line for line in listed.splitlines() if line.startswith("eyespan:"))


def test_codex_knows_the_server_that_was_added_by_its_own_command(project, tmp_path):
    run(["codex", "mcp", "add", "eyespan", "--", *SERVE], project, tmp_path, CODEX_HOME=str(tmp_path))

    (listed,) = json.loads(run(["codex", "mcp", "list", "--json"], project, tmp_path, CODEX_HOME=str(tmp_path)))

    assert (listed["name"], listed["transport"]["command"]) == ("eyespan", SERVE[0])
    assert listed["transport"]["args"] == SERVE[1:]


def _blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _of_anthropic(block):
    if block["type"] == "text":
        return TextContent(block["text"])
    return ImageContent(b64decode(block["source"]["data"]), block["source"]["media_type"])


def _of_openai(block):
    if block["type"] == "input_text":
        return TextContent(block["text"])
    head, _, data = block["image_url"].partition(";base64,")
    return ImageContent(b64decode(data), head.removeprefix("data:"))
