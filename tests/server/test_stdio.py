"""The server over stdio, as a process: what comes back, in which order, and that nothing ends it."""

from __future__ import annotations

import base64
import json
import logging
import os
import subprocess
import sys
import threading
import time

import pytest

from eyespan import Workspace
from eyespan.context import CallContext, WouldBlock
from eyespan.sandbox import landlock
from eyespan.server import stdio, threads
from eyespan.server.service import Service
from tests.hung_fuse import hung_mount, why_not

from .clients import SERVE, VERSIONS

HANG_SECONDS = 120
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


@pytest.mark.parametrize("version", VERSIONS)
def test_every_revision_lists_and_calls_the_tool(lines, tree, version):
    server = lines("--dialect", "claude", version=version)

    listed = server.ask("tools/list")["result"]["tools"]
    result = server.call("Read", file_path=str(tree / "hello.txt"))

    assert [tool["name"] for tool in listed] == ["Read"]
    assert result["content"] == [{"type": "text", "text": "     1\thello\n     2\tworld"}]
    assert result["isError"] is False


def test_wrong_messages_are_refused_and_the_server_continues(lines):
    server = lines()
    wrong = [
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
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}', -32602),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///none.txt"}}', -32002),
        (b"x" * (4 * 1024 * 1024 + 70_000), -32600),
    ]

    for message, code in wrong:
        server.write(message + b"\n")
        assert server.read()["error"]["code"] == code, message[:80]
        assert server.ask("ping")["result"] == {}


def test_bytes_are_sent_as_base64(lines):
    contents = lines().ask("resources/read", {"uri": "file:///blob.bin"})["result"]["contents"][0]

    assert base64.b64decode(contents["blob"]) == bytes(range(256))


def test_no_lone_surrogate_is_sent(lines, tree):
    server = lines("--dialect", "claude")

    assert server.call("Read", file_path=str(tree) + "/\ud800.txt")["isError"] is True
    assert server.ask("tools/call", {"name": "\udfff"})["error"]["message"] == "Unknown tool: \\udfff"


def test_a_file_of_100_mb_and_a_pipe_are_answered(lines, tree):
    with (tree / "large.txt").open("wb") as file:
        file.write(b"first\n")
        file.truncate(100 * 1024 * 1024)
    server = lines("--dialect", "codex")

    first_line = server.call("read_file", file_path=str(tree / "large.txt"), limit=1)
    pipe = server.call("read_file", file_path=str(tree / "pipe"))

    assert first_line["content"][0]["text"] == "L1: first"
    assert pipe["isError"] is True
    assert server.ask("ping")["result"] == {}


def test_a_cancelled_scan_stops_and_is_not_answered(lines, tree, endless):
    server = lines("--dialect", "codex", "--timeout", "3600")

    request = server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(endless), "offset": 2}})
    assert server.ask("ping")["result"] == {}  # a slow read blocks no other request
    assert server.call("read_file", file_path=str(tree / "hello.txt"))["isError"] is False
    server.cancel(request)
    time.sleep(0.3)

    assert server.ask("ping")["result"] == {}  # `wait` fails if the cancelled call is answered
    assert server.close() == 0  # the server ends only after all its calls


def test_a_read_beyond_its_deadline_is_answered_with_an_error(lines, endless):
    server = lines("--dialect", "codex", "--timeout", "0.2")

    result = server.call("read_file", file_path=str(endless), offset=2)

    assert result["isError"] is True
    assert "0.2 s" in result["content"][0]["text"]


def test_progress_is_reported_to_callers_that_ask_for_it(lines, endless):
    server = lines("--dialect", "codex", "--timeout", "3600")
    params = {"name": "read_file", "arguments": {"file_path": str(endless), "offset": 2}}

    calls = [server.start("tools/call", params)]
    calls.append(server.start("tools/call", {**params, "_meta": {"progressToken": "p"}}))
    notices = [server.read() for _ in range(3)]
    server.cancel(*calls)

    progress = [notice["params"] for notice in notices]
    assert {notice["method"] for notice in notices} == {"notifications/progress"}
    assert {notice["progressToken"] for notice in progress} == {"p"}
    assert [notice["progress"] for notice in progress] == sorted({notice["progress"] for notice in progress})
    assert {notice["total"] for notice in progress} == {1 << 40}


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


def test_more_slow_calls_than_threads_wait_and_block_no_other_request(lines, endless):
    server = lines("--dialect", "codex", "--timeout", "3600")
    params = {"name": "read_file", "arguments": {"file_path": str(endless), "offset": 2}}

    slow = [server.start("tools/call", {**params, "_meta": {"progressToken": number}}) for number in range(12)]
    assert server.ask("ping")["result"] == {}
    server.cancel(*slow[:-1])
    while server.read()["params"]["progressToken"] != 11:
        pass  # The last one waited for a thread and runs.
    server.cancel(slow[-1])

    assert server.close() == 0


def test_nothing_else_that_prints_reaches_the_host(tree):
    code = (
        "import sys, os\n"
        "from eyespan.server.stdio import StdioServer\n"
        "receive = StdioServer._receive\n"
        "def noisy(self, line):\n"
        "    print('stray'); os.write(1, b'raw'); os.system('echo child'); assert sys.stdin.read() == ''\n"
        "    return receive(self, line)\n"
        "StdioServer._receive = noisy\n"
        "from eyespan.cli.main import main\n"
        "sys.exit(main(['serve', *sys.argv[1:]]))\n"
    )
    argv = [sys.executable, "-c", code, "--root", str(tree), "--no-sandbox"]
    done = subprocess.run(argv, input=PING + b"\n", capture_output=True)

    assert done.stdout == PONG
    assert b"child" in done.stderr
    assert done.returncode == 0


def test_a_non_blocking_pipe_is_served_too(tree):
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    process = subprocess.Popen([*SERVE, "--root", str(tree)], stdin=reading, stdout=subprocess.PIPE)
    os.close(reading)
    assert process.stdout is not None
    time.sleep(0.2)
    os.write(writing, PING + b"\n")

    answer = process.stdout.readline()
    os.close(writing)
    process.stdout.close()

    assert answer == PONG
    assert process.wait(HANG_SECONDS) == 0


def test_a_host_that_stops_listening_ends_the_server(lines, tree):
    server = lines("--dialect", "claude")
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.start("tools/call", {"name": "Read", "arguments": {"file_path": str(tree / "hello.txt")}})

    assert server.close() == 0


def test_blank_lines_are_skipped_and_the_last_line_needs_no_line_end(tree):
    done = subprocess.run([*SERVE, "--root", str(tree)], input=b"\n \n" + PING, capture_output=True)

    assert done.stdout == PONG


# --- a mount that hangs --------------------------------------------------------------------------------------------


def test_plain_reads_are_answered_while_sixty_four_others_hang(lines, tree, mount, hostile_paths):
    server = lines("--dialect", "codex", "--timeout", "3")
    hostile = {
        server.start("tools/call", {"name": "read_file", "arguments": {"file_path": path}}, f"hostile {n}")
        for n, path in enumerate(hostile_paths)
    }
    answers = {}
    plain = []
    for n in range(20):
        wanted = server.start(
            "tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / "hello.txt")}}, f"plain {n}"
        )
        while wanted not in answers:
            answer = server.read()
            answers[answer["id"]] = answer["result"]
        plain.append(answers[wanted])
    early = {key for key in answers if key in hostile and int(str(key).split()[1]) < 64}
    while len(answers) < len(hostile) + 20:
        answer = server.read()
        answers[answer["id"]] = answer["result"]
    codes = {answers[key]["_meta"]["eyespan/error"]["code"] for key in hostile}
    mount.answer()

    assert [one["content"][0]["text"] for one in plain] == ["L1: hello\nL2: world"] * 20
    assert early == set(), "the plain reads were answered before any read that hangs"
    assert codes <= {"timeout", "busy", "not_regular"}
    assert {"timeout", "not_regular"} <= codes


def test_a_hanging_call_can_be_cancelled(lines, tree, mount):
    server = lines("--dialect", "codex", "--timeout", "1")
    slow = server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / "net" / "read-1")}})
    server.cancel(slow)
    last = server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / "net" / "read-2")}})
    answer = server.read()
    mount.answer()

    assert (answer["id"], answer["result"]["isError"]) == (last, True)


def test_resources_and_completion_have_the_same_deadline(lines, tree, mount, tmp_path):
    log = tmp_path / "audit.jsonl"
    server = lines("--timeout", "2", "--audit", str(log))
    read = server.ask("resources/read", {"uri": f"file://{tree}/net/read-1"})
    fine = server.ask("resources/read", {"uri": f"file://{tree}/net/plain.txt"})
    params = {"ref": {"type": "ref/resource", "uri": "file:///{+path}{?start,limit}"}}
    listed = server.ask("completion/complete", {**params, "argument": {"name": "path", "value": "net/list/"}})
    mount.answer()

    assert "no answer within 2 s" in read["error"]["message"]
    assert fine["result"]["contents"][0]["text"] == "one\ntwo\nthree\n"
    assert listed["result"]["completion"]["values"] == []
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(entries) == 3, "a request that is repeated in a thread is logged once"
    assert [entry["code"] for entry in entries] == ["timeout", None, "timeout"]


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "a mount that hangs can be made")
@pytest.mark.skipif(landlock.version() < 1, reason="this kernel has no Landlock: /proc stays open")
def test_a_sandboxed_server_sees_a_mount_that_was_made_after_its_start(lines, tree):
    """Let eight files of the mount hang, so that it is busy for the ninth without being asked."""
    (tree / "net").mkdir()
    (tree / "way").symlink_to(tree / "hello.txt")

    def ask(path):
        return server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / path)}}, path)

    def answer():
        message = server.read()
        result = message["result"]
        shown = result["_meta"]["eyespan/error"]["code"] if result["isError"] else result["content"][0]["text"]
        return message["id"], shown

    server = lines("--dialect", "codex", "--timeout", "3")
    ask("way")  # an absolute link is read in a thread, which loads the table of mounts
    first = answer()
    with hung_mount(tree / "net") as mount:
        ask("net/open-first")
        first_waited = answer()  # three seconds later, when the table of mounts is read again
        hostile = {ask(f"net/open-{n}") for n in range(8)}
        waited = dict(answer() for _ in hostile)
        ask("net/read-9")
        ninth = answer()
        ask("hello.txt")
        plain = answer()
        mount.answer()
        server.close()

    assert first == ("way", "L1: hello\nL2: world")
    assert first_waited == ("net/open-first", "timeout")
    assert waited == dict.fromkeys(hostile, "timeout")
    assert ninth == ("net/read-9", "busy")
    assert plain == ("hello.txt", "L1: hello\nL2: world")
    assert "sandboxed: files" in server.errors


def test_a_server_whose_root_hangs_reports_that_and_does_not_start(tree, mount):
    argv = [*SERVE, "--root", str(tree / "net" / "lookup-1"), "--timeout", "2"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stdin is not None
    message = process.stderr.readline().decode()
    mount.answer()  # until then the process cannot end: its thread waits for the mount
    process.stdin.close()
    status = process.wait(HANG_SECONDS)
    process.stderr.close()

    assert "cannot be opened: no answer within 2 s" in message
    assert status == 2


def answers_in_this_process(tree, count):
    """Return the answers of a server to the start of a session and to some calls that all read the same file."""
    call = {"name": "Read", "arguments": {"file_path": f"{tree}/hello.txt"}}
    sent = [{"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call} for number in range(count)]
    start = {"protocolVersion": VERSIONS[-1], "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    sent.insert(0, {"jsonrpc": "2.0", "id": "start", "method": "initialize", "params": start})
    in_end, client_out = os.pipe()
    client_in, out_end = os.pipe()
    os.write(client_out, b"".join([json.dumps(message).encode() + b"\n" for message in sent]))
    os.close(client_out)
    with Workspace(tree) as workspace:
        assert stdio.StdioServer(Service(workspace, ("claude",)), in_end, out_end).run() == 0
    os.close(out_end)
    with os.fdopen(client_in, "rb") as answers:
        found = [json.loads(line) for line in answers]
    os.close(in_end)
    return found


@pytest.mark.parametrize("logs", [True, False])
def test_a_call_without_memory_for_its_answer_is_answered_and_so_are_the_others(tree, monkeypatch, logs):
    """The answer is made, but there is no memory for its JSON, nor perhaps for a line in the log."""
    dumps = stdio.json_messages.dumps

    def fail(message):
        if isinstance(message, dict) and "result" in message and message["id"] in (1, 3):
            raise MemoryError
        return dumps(message)

    def log(*_, **__):
        raise MemoryError

    monkeypatch.setattr(stdio.json_messages, "dumps", fail)
    if not logs:
        monkeypatch.setattr(logging.Logger, "error", log)
    found = {answer["id"]: answer for answer in answers_in_this_process(tree, 6)}

    assert set(found) == {"start", *range(6)}
    assert {number for number, answer in found.items() if "error" in answer} == {1, 3}
    assert "No memory left" in found[1]["error"]["message"]


def test_a_server_that_cannot_start_another_thread_answers_all_the_same(tree, monkeypatch):
    """As under a limit of memory or of processes. The only thread answers one call and then reads the next."""

    def fail(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "start_new_thread", fail)
    found = answers_in_this_process(tree, 20)

    assert [answer["id"] for answer in found] == ["start", *range(20)]
    assert {answer["result"]["content"][0]["text"] for answer in found[1:]} == {"     1\thello\n     2\tworld"}


def read_call(number, path):
    params = {"name": "Read", "arguments": {"file_path": str(path)}}
    return {"id": number, "method": "tools/call", "params": params}


START = {"id": "start", "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}}}


def all_at_once(tree, sent):
    """Return the answers to bytes that are all sent before an answer is read, grouped by write, and the server."""
    in_end, in_start = os.pipe()
    out_end, out_start = os.pipe()
    os.write(in_start, sent)
    os.close(in_start)
    server = stdio.StdioServer(Service(Workspace(tree), ("claude",)), in_end, out_start)
    found = []
    write = server._stream.write

    def noted(pieces):
        found.append([json.loads(line) for line in b"".join(pieces).splitlines()])
        return write(pieces)

    server._stream.write = noted
    thread = threading.Thread(target=server.run)
    thread.start()
    with os.fdopen(out_end, "rb") as answers:
        for line in answers:
            if json.loads(line)["id"] == "last":
                break
        thread.join()
    os.close(out_start)
    os.close(in_end)
    return found, server


def as_lines(*messages):
    return b"".join([json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n" for message in messages])


def test_an_answer_does_not_wait_for_what_comes_after_blank_lines_half_lines_and_other_calls(tree):
    (tree / "small.txt").write_text("hello\n")
    (tree / "invalid.txt").write_bytes(b"\xff\n")
    first = read_call(1, tree / "small.txt")
    for rest in (
        b"\n\n  \n",
        as_lines(read_call(2, tree / "small.txt"))[:-10],
        as_lines({"method": "notifications/initialized"}),
    ):
        in_end, in_start = os.pipe()
        out_end, out_start = os.pipe()
        server = stdio.StdioServer(Service(Workspace(tree), ("claude",)), in_end, out_start)
        thread = threading.Thread(target=server.run)
        thread.start()
        os.write(in_start, as_lines(START, first) + rest)
        with os.fdopen(out_end, "rb") as answers:
            assert [json.loads(answers.readline())["id"] for _ in range(2)] == ["start", 1]  # hangs otherwise
            os.close(in_start)
            thread.join()
            os.close(out_start)
        os.close(in_end)

    calls = [first, read_call(2, tree / "invalid.txt"), read_call("last", tree / "small.txt")]
    writes, _ = all_at_once(tree, as_lines(START, *calls))
    assert sorted([str(answer["id"]) for written in writes for answer in written]) == ["1", "2", "last", "start"]


def test_a_call_keeps_its_memory_until_its_answer_is_sent(tree):
    (tree / "control.txt").write_bytes(b"\x15" * 100_000)
    in_end, in_start = os.pipe()
    out_end, out_start = os.pipe()
    call = {"name": "read_file", "arguments": {"path": "control.txt"}}
    os.write(in_start, as_lines(START, {"id": "last", "method": "tools/call", "params": call}))
    os.close(in_start)
    server = stdio.StdioServer(Service(Workspace(tree), ("workspace",)), in_end, out_start)
    sizes, contexts = [], []
    add, write = server._threads.add, server._stream.write

    def noted(request):
        contexts.append(request.context)
        add(request)

    def weighed(pieces):
        sizes.append(sum([context.memory.charged_bytes for context in contexts]))
        return write(pieces)

    server._threads.add, server._stream.write = noted, weighed
    thread = threading.Thread(target=server.run)
    thread.start()
    with os.fdopen(out_end, "rb") as answers:
        found = [json.loads(answers.readline()) for _ in range(2)]
        thread.join()
    os.close(out_start)
    os.close(in_end)

    assert not found[1]["result"]["isError"]
    assert sizes[0] == 0
    assert sizes[1] > 20 * 100_000  # the escapes are paid for, as text and as JSON
    assert [context.memory.charged_bytes for context in contexts] == [0]


def test_messages_that_wait_have_a_limit_together(tree, monkeypatch):
    monkeypatch.setattr(threads, "MAX_HELD_BYTES", 50_000)
    monkeypatch.setattr(threads, "start_new_thread", lambda *_: None)  # nothing is answered
    server = stdio.StdioServer(Service(Workspace(tree), ("claude",)), -1, -1)
    server._session.version = "2025-06-18"
    written = []
    server._stream.write = lambda pieces: written.append(json.loads(b"".join(pieces))) or True
    requests = []
    for number, size_bytes in enumerate((100_000, 10, 30_000, 30_000)):
        message = {"jsonrpc": "2.0", **read_call(number, tree / "hello.txt"), "x": "x" * size_bytes}
        requests.append(server._receive(json.dumps(message).encode()))
        server._threads.add(requests[-1])

    assert [answer["id"] for answer in written] == [1, 2, 3], "the only message may have any size"
    assert [answer["error"]["message"] for answer in written] == ["too many calls are waiting; try again later"] * 3
    assert server._threads.held_bytes == requests[0].size_bytes
    assert set(server._running) == {0}


def test_requests_that_wait_have_a_limit_together(tree, monkeypatch):
    monkeypatch.setattr(threads, "MAX_WAITING", 2)
    monkeypatch.setattr(threads, "start_new_thread", lambda *_: None)
    server = stdio.StdioServer(Service(Workspace(tree), ("claude",)), -1, -1)
    server._session.version = "2025-06-18"
    written = []
    server._stream.write = lambda pieces: written.append(json.loads(b"".join(pieces))) or True

    for number in range(3):
        message = {"jsonrpc": "2.0", **read_call(number, tree / "hello.txt")}
        server._threads.add(server._receive(json.dumps(message).encode()))

    assert [answer["id"] for answer in written] == [2]


def test_a_message_of_many_values_is_refused_and_its_memory_is_free_after_a_call(tree):
    many = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[' + b"[]," * 60_000 + b"[]]}}\n"
    in_end, in_start = os.pipe()
    out_end, out_start = os.pipe()
    server = stdio.StdioServer(Service(Workspace(tree), ("claude",)), in_end, out_start)
    monitor = threading.Thread(target=server.run)
    monitor.start()
    with os.fdopen(in_start, "wb") as requests:
        requests.write(as_lines(START) + many + as_lines(read_call(2, tree / "src")))
    monitor.join()
    os.close(out_start)
    os.close(in_end)
    with os.fdopen(out_end, "rb") as answers:
        found = [json.loads(line) for line in answers]

    assert found[1]["error"]["message"] == "Parse error: more than 50000 values"
    assert found[2]["result"]["isError"]
    assert server._threads.held_bytes == 0


def test_calls_that_may_wait_have_a_bounded_number_of_threads(monkeypatch):
    started = []
    monkeypatch.setattr(threads, "MAX_BLOCKED", 0)
    monkeypatch.setattr(threads, "start_new_thread", lambda run, args: started.append(run.__name__))
    source = Blocking()
    threads.RequestThreads(source).answer(threads.Request(1, None, CallContext(may_block=False)))

    assert (started, source.answered) == ([], 2)


class Blocking:
    """A source whose first answer would block."""

    answered = 0

    def answer_request(self, request):
        self.answered += 1
        if self.answered == 1:
            raise WouldBlock
