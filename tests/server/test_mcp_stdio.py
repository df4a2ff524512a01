"""The lean door, seen from the wire: what comes back, in which order, and that nothing ends the server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import ENVELOPE, ERAS

TEMPLATE = "file:///{+path}{?start,limit}"
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c4944415408d763f8cfc000000301010018dd8db00000000049454e44ae426082"
)


@pytest.mark.parametrize("version", ERAS)
def test_every_revision_lists_and_calls_the_tool(lines, tree, version):
    server = lines("--dialect", "claude", version=version)

    listed = server.ask("tools/list")["result"]["tools"]
    result = server.call("Read", file_path=str(tree / "hello.txt"))

    assert [tool["name"] for tool in listed] == ["Read"]
    assert result["content"] == [{"type": "text", "text": "     1\thello\n     2\tworld"}]
    assert result["isError"] is False


@pytest.mark.parametrize("asked", ["1999-01-01", "2026-07-28", "2030-01-01"])
def test_an_unknown_handshake_gets_the_newest_handshake(lines, asked):
    server = lines(version=None)

    hello = server.ask("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "x"}})

    assert hello["result"]["protocolVersion"] == "2025-11-25"


def test_the_handshake_names_the_server_and_what_it_offers(lines, tree):
    hello = lines("--dialect", "codex").hello

    assert hello["capabilities"] == {"tools": {}, "resources": {}, "completions": {}}
    assert hello["serverInfo"]["name"] == "eyespan"
    assert str(tree) in hello["instructions"]
    assert len(hello["instructions"]) < 500


def test_discover_answers_without_a_handshake(lines):
    server = lines(version="2026-07-28")

    result = server.ask("server/discover")["result"]

    assert result["supportedVersions"] == ["2026-07-28"]
    assert result["resultType"] == "complete"
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "eyespan"


def test_the_schema_goes_out_byte_for_byte(lines, tree):
    import eyespan

    spec = eyespan.Workspace(tree).tool("codex").spec
    server = lines("--dialect", "codex")

    tool = server.ask("tools/list")["result"]["tools"][0]

    assert json.dumps(tool["inputSchema"]) == json.dumps(spec.input_schema)
    assert tool["description"] == spec.description
    assert tool["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }


def test_several_dialects_get_prefixed_names_and_answer_to_names_that_are_unique(lines, tree):
    server = lines("--dialect", "codex", "--dialect", "claude", "--dialect", "workspace")

    names = [tool["name"] for tool in server.ask("tools/list")["result"]["tools"]]
    prefixed = server.call("codex_read_file", file_path=str(tree / "hello.txt"))
    unique = server.call("Read", file_path=str(tree / "hello.txt"))
    ambiguous = server.ask("tools/call", {"name": "read_file", "arguments": {"path": "hello.txt"}})

    assert names == ["codex_read_file", "claude_Read", "workspace_read_file"]
    assert prefixed["content"][0]["text"] == "L1: hello\nL2: world"
    assert unique["isError"] is False
    assert ambiguous["error"]["code"] == -32602


def test_only_the_workspace_dialect_answers_with_a_structure(lines, tree):
    workspace = lines("--dialect", "workspace")
    tool = workspace.ask("tools/list")["result"]["tools"][0]
    structured = workspace.call("read_file", path="hello.txt")
    claude = lines("--dialect", "claude")
    blocks = claude.call("Read", file_path=str(tree / "hello.txt"))

    assert set(tool["outputSchema"]["required"]) == set(structured["structuredContent"])
    assert json.loads(structured["content"][0]["text"]) == structured["structuredContent"]
    assert "outputSchema" not in claude.ask("tools/list")["result"]["tools"][0]
    assert "structuredContent" not in blocks
    assert blocks["_meta"] == {"eyespan/facts": {"lines_returned": 2, "truncated": False, "total_lines": 2}}


def test_facts_repeat_no_contents(lines, tree):
    server = lines("--dialect", "forge")

    result = server.call(server.ask("tools/list")["result"]["tools"][0]["name"], path=str(tree / "hello.txt"))

    assert "hello" not in json.dumps(result["_meta"]["eyespan/facts"]).replace("hello.txt", "")


def test_a_refused_read_is_the_tools_own_error(lines, tree):
    server = lines("--dialect", "claude")

    result = server.call("Read", file_path=str(tree / ".env"))

    assert result["isError"] is True
    assert result["_meta"] == {"eyespan/error": {"code": "policy_denied"}}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", -32700),
        (b"nonsense", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"} trailing', -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"ping"}', -32700),
        (b'"\xff"', -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b"3", -32600),
        (b'{"id":1,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1}', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"nothing/here"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"prompts/list"}', -32601),
        (b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["Read"]}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":7}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///none.txt"}}', -32002),
        (b'{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt"}}}', -32602),
        (b"x" * (4 * 1024 * 1024 + 70_000), -32600),
    ],
)
def test_what_makes_no_sense_is_refused_and_the_server_lives(lines, message, code):
    server = lines()

    server.write(message + b"\n")
    answer = server.read()

    assert answer["error"]["code"] == code
    assert server.ask("ping")["result"] == {}


@pytest.mark.parametrize(
    ("meta", "method", "code"),
    [
        ({"io.modelcontextprotocol/clientCapabilities": None}, "tools/list", None),
        ({"io.modelcontextprotocol/protocolVersion": "2031-01-01"}, "tools/list", -32022),
        ({"io.modelcontextprotocol/protocolVersion": 3}, "tools/list", -32602),
        ({}, "ping", -32601),
        ({}, "logging/setLevel", -32601),
    ],
)
def test_the_stateless_envelope_is_judged(lines, meta, method, code):
    server = lines(version="2026-07-28")

    answer = server.ask(method, {"_meta": meta})

    assert answer.get("error", {}).get("code") == code


def test_an_envelope_without_capabilities_is_refused(lines):
    server = lines(version=None)

    answer = server.ask("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}})

    assert answer["error"]["code"] == -32602


def test_nothing_is_served_before_either_handshake_or_envelope(lines):
    server = lines(version=None)

    assert server.ask("tools/list")["error"]["code"] == -32602
    assert server.ask("ping")["result"] == {}


def test_a_missing_file_as_a_resource_has_the_code_of_its_revision(lines):
    old = lines().ask("resources/read", {"uri": "file:///none.txt"})["error"]
    new = lines(version="2026-07-28").ask("resources/read", {"uri": "file:///none.txt"})["error"]

    assert (old["code"], new["code"]) == (-32002, -32602)
    assert old["data"] == new["data"] == {"uri": "file:///none.txt"}


def test_batches_belong_to_one_revision(lines, tree):
    server = lines("--dialect", "claude", version="2025-03-26")
    call = {"name": "Read", "arguments": {"file_path": str(tree / "hello.txt")}}

    server.send(
        [
            {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": call},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": "b", "method": "tools/call", "params": call},
        ]
    )
    answers = server.read()

    assert [answer["id"] for answer in answers] == ["a", "b"]
    assert answers[0]["result"] == answers[1]["result"]


def test_a_picture_is_a_picture(lines, tree):
    import base64

    server = lines("--dialect", "claude")
    (tree / "dot.png").write_bytes(PNG)

    block = server.call("Read", file_path=str(tree / "dot.png"))["content"][0]

    assert (block["type"], block["mimeType"]) == ("image", "image/png")
    assert base64.b64decode(block["data"]).startswith(b"\x89PNG")


@pytest.mark.parametrize("rich", [False, True])
def test_a_document_is_a_note_unless_rich_blocks_were_asked_for(tree, rich):
    from eyespan import Workspace
    from eyespan.context import CallContext
    from eyespan.server.protocol import Service

    data = (Path(__file__).parents[1] / "fixtures" / "pdfs/book.pdf").read_bytes()
    (tree / "a b.pdf").write_bytes(data)
    service = Service(Workspace(tree), ["claude"], rich=rich, settings={"claude": {"pdf": "document"}})

    params = {"name": "Read", "arguments": {"file_path": str(tree / "a b.pdf")}}
    block = service.handler("tools/call")(params, "", CallContext())["content"][0]

    resource = {"uri": "file:///a%20b.pdf", "mimeType": "application/pdf", "blob": data}
    note = f"[A document of type application/pdf, {len(data)} bytes, which is not sent over MCP.]"
    assert block == ({"type": "resource", "resource": resource} if rich else {"type": "text", "text": note})


# --- resources -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["{name}", "{root}/{name}"])
def test_a_file_is_a_resource_with_ranges(lines, tree, spelling):
    server = lines()
    uri = f"file:///{spelling.format(name='src/app.py', root=str(tree).lstrip('/'))}?start=3&limit=2"

    contents = server.ask("resources/read", {"uri": uri})["result"]["contents"][0]

    assert contents["uri"] == uri
    assert contents["text"] == "line 3\nline 4\n"
    assert contents["mimeType"] == "text/x-python"
    assert contents["_meta"]["eyespan/facts"]["total_lines"] == 100


def test_a_binary_file_is_a_blob(lines):
    import base64

    contents = lines().ask("resources/read", {"uri": "file:///blob.bin"})["result"]["contents"][0]

    assert base64.b64decode(contents["blob"]) == bytes(range(256))
    assert "text" not in contents


@pytest.mark.parametrize(
    "uri",
    [
        "file:///.env",
        "file:///out",
        "file:////etc/passwd",
        "file:///../../etc/passwd",
        "file:///%2e%2e/%2e%2e/etc/passwd",
        "file://evil/hello.txt",
        "http://localhost/hello.txt",
        "hello.txt",
        "file:///hello.txt?start=0",
        "file:///hello.txt?start=x",
        "file:///hello.txt?other=1",
        "file:///pipe",
        "file:///src",
        "file:///a%00b",
        "file:///",
    ],
)
def test_a_resource_goes_through_the_guard(lines, uri):
    answer = lines().ask("resources/read", {"uri": uri})

    assert answer["error"]["data"] == {"uri": uri}
    assert "root:" not in json.dumps(answer)


def test_paths_are_completed(lines, tree):
    server = lines()

    def complete(value):
        argument = {"name": "path", "value": value}
        params = {"ref": {"type": "ref/resource", "uri": TEMPLATE}, "argument": argument}
        return server.ask("completion/complete", params)["result"]["completion"]["values"]

    assert complete("s") == ["src/"]
    assert complete("src/") == ["src/app.py"]
    assert complete(f"{tree}/hel") == [f"{tree}/hello.txt"]
    assert complete(".e") == []  # .env is denied, so it is not named either
    assert complete("../") == []
    assert complete("/etc/") == []
    assert server.ask("resources/templates/list")["result"]["resourceTemplates"][0]["uriTemplate"] == TEMPLATE
    assert server.ask("resources/list")["result"] == {"resources": []}


def test_a_long_completion_is_cut_and_says_so(lines, tree):
    (tree / "many").mkdir()
    for number in range(150):
        (tree / "many" / f"f{number:03}").touch()
    argument = {"name": "path", "value": "many/f"}

    found = lines().ask("completion/complete", {"ref": {"type": "ref/resource", "uri": TEMPLATE}, "argument": argument})

    completion = found["result"]["completion"]
    assert (len(completion["values"]), completion["total"], completion["hasMore"]) == (100, 150, True)


# --- hard cases ----------------------------------------------------------------------------------------------------


def test_a_lone_surrogate_never_leaves(lines, tree):
    server = lines("--dialect", "claude")
    (tree / os.fsdecode(b"bad\xffname.txt")).write_text("x\n")

    by_escape = server.call("Read", file_path=str(tree) + "/\ud800.txt")
    by_bytes = server.call("Read", file_path=str(tree / os.fsdecode(b"bad\xffname.txt")))
    unknown = server.ask("tools/call", {"name": "\udfff"})

    assert by_escape["isError"] is True
    assert by_bytes["content"][0]["text"] == "     1\tx"
    assert unknown["error"]["message"] == "Unknown tool: \\udfff"


def test_a_file_of_100_mb_and_a_pipe_are_answered(lines, huge):
    server = lines("--dialect", "codex")

    whole = server.call("read_file", file_path=str(huge), limit=1)
    pipe = server.call("read_file", file_path=str(huge.parent / "pipe"))

    assert whole["isError"] is False
    assert pipe["isError"] is True
    assert server.ask("ping")["result"] == {}


def test_a_cancelled_scan_stops_and_is_not_answered(lines, tree):
    # A terabyte of nothing: sparse, and hours to scan. Only the cancellation ends it within this test's life.
    path = tree / "endless.txt"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    server = lines("--dialect", "codex", "--timeout", "3600")

    request = server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(path), "offset": 2}})
    assert server.ask("ping")["result"] == {}  # a slow read blocks nobody
    assert server.call("read_file", file_path=str(tree / "hello.txt"))["isError"] is False
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request}})
    time.sleep(0.3)

    assert server.ask("ping")["result"] == {}  # `wait` fails if the cancelled call were answered
    assert server.close() == 0  # and it does not run on: the server ends only when every call has


def test_a_read_that_takes_too_long_is_answered_with_an_error(lines, tree):
    with (tree / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    server = lines("--dialect", "codex", "--timeout", "0.2")

    result = server.call("read_file", file_path=str(tree / "endless.txt"), offset=2)

    assert result["isError"] is True
    assert "0.2 s" in result["content"][0]["text"]


def test_progress_is_told_to_those_who_ask(lines, tree):
    with (tree / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    server = lines("--dialect", "codex", "--timeout", "2")
    arguments = {"file_path": str(tree / "endless.txt"), "offset": 2}

    server.ask("tools/call", {"name": "read_file", "arguments": arguments})
    assert server.notices == []
    server.ask("tools/call", {"name": "read_file", "arguments": arguments, "_meta": {"progressToken": "p"}})

    told = [notice["params"] for notice in server.notices]
    assert told
    assert all(notice["method"] == "notifications/progress" for notice in server.notices)
    assert {notice["progressToken"] for notice in told} == {"p"}
    assert [notice["progress"] for notice in told] == sorted({notice["progress"] for notice in told})
    assert {notice["total"] for notice in told} == {1 << 40}


def test_many_calls_at_once_are_each_answered_once(lines, tree):
    server = lines("--dialect", "claude")
    wanted = {}
    for number in range(200):
        arguments = {"file_path": str(tree / "src" / "app.py"), "offset": number % 100, "limit": 1}
        wanted[server.start("tools/call", {"name": "Read", "arguments": arguments})] = number % 100 + 1

    answers = {}
    for _ in wanted:
        message = server.read()
        answers[message["id"]] = message["result"]["content"][0]["text"]

    assert answers == {request: f"{line:>6}\tline {line}" for request, line in wanted.items()}


def test_more_slow_calls_than_threads_wait_and_block_nobody(lines, tree):
    with (tree / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    server = lines("--dialect", "codex", "--timeout", "1.5")
    arguments = {"file_path": str(tree / "endless.txt"), "offset": 2}

    slow = {server.start("tools/call", {"name": "read_file", "arguments": arguments}) for _ in range(12)}
    ping = server.start("ping")
    order = [server.read()["id"] for _ in range(13)]

    assert order[0] == ping
    assert set(order[1:]) == slow


def test_what_anything_prints_does_not_reach_the_wire(tree):
    code = (
        "import sys, os\n"
        "from eyespan.server import stdio\n"
        "take = stdio.Door._take\n"
        "def noisy(self, line):\n"
        "    print('stray'); os.write(1, b'raw'); os.system('echo child'); assert sys.stdin.read() == ''\n"
        "    return take(self, line)\n"
        "stdio.Door._take = noisy\n"
        "from eyespan.server.__main__ import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    done = subprocess.run(
        [sys.executable, "-c", code, "--root", str(tree), "--no-sandbox"], input=ping, capture_output=True
    )

    assert done.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert b"child" in done.stderr
    assert done.returncode == 0


def test_a_pipe_that_does_not_wait_is_served_all_the_same(tree):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    argv = [sys.executable, "-m", "eyespan.server", "--root", str(tree)]
    process = subprocess.Popen(argv, stdin=reading, stdout=subprocess.PIPE)
    os.close(reading)
    assert process.stdout is not None
    time.sleep(0.2)
    os.write(writing, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')

    answer = process.stdout.readline()
    os.close(writing)
    process.stdout.close()

    assert json.loads(answer) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert process.wait(10) == 0


def test_a_host_that_stops_listening_ends_the_server(lines, tree):
    server = lines("--dialect", "claude")
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.start("tools/call", {"name": "Read", "arguments": {"file_path": str(tree / "hello.txt")}})

    assert server.close() == 0


def test_the_last_request_may_lack_its_line_end(tree):
    argv = [sys.executable, "-m", "eyespan.server", "--root", str(tree)]
    done = subprocess.run(argv, input=b'\n \n{"jsonrpc":"2.0","id":1,"method":"ping"}', capture_output=True)

    assert done.stdout == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


def test_a_root_that_is_not_there_is_told_on_standard_error(tmp_path):
    argv = [sys.executable, "-m", "eyespan.server", "--root", str(tmp_path / "none")]
    done = subprocess.run(argv, input=b"", capture_output=True)

    assert done.returncode == 1
    assert b"a root must be an existing directory" in done.stderr
    assert done.stdout == b""


def test_the_server_starts_without_the_heavy_modules(tree):
    # Not with -m: runpy brings modules of its own.
    code = "import sys; from eyespan.server.__main__ import run; sys.exit(run(sys.argv[1:]))"
    argv = [sys.executable, "-X", "importtime", "-c", code, "--root", str(tree), "--dialect", "claude"]
    listing = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": ENVELOPE}})
    done = subprocess.run(argv, input=listing.encode() + b"\n", capture_output=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}

    assert b"file_path" in done.stdout
    assert "eyespan.server.stdio" in imported
    heavy = {"json", "re", "typing", "dataclasses", "asyncio", "logging", "threading", "enum", "contextlib", "argparse"}
    assert imported & heavy == set()
