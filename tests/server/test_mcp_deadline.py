"""Both doors with a mount that hangs: hostile reads wait elsewhere, plain ones are answered."""

from __future__ import annotations

import threading
import time

import pytest

from eyespan.sandbox import landlock
from hung_fuse import hung_mount, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "a mount that hangs can be made")

HANG_SECONDS = 60
HOSTILE = ("open-1", "read-1", "lookup-1", "drip-1")


@pytest.fixture
def mount(tree):
    (tree / "net").mkdir()
    with hung_mount(tree / "net") as made:
        yield made


def paths(tree) -> list[str]:
    """Sixty-four that hang, and between them some that would if pipes were opened."""
    return [str(tree / "net" / HOSTILE[n % 4]) for n in range(64)] + [str(tree / "pipe")] * 8


def test_plain_reads_over_stdio_are_answered_while_sixty_four_others_hang(lines, tree, mount):
    server = lines("--dialect", "codex", "--timeout", "3")
    hostile = {
        server.start("tools/call", {"name": "read_file", "arguments": {"file_path": path}}, f"hostile {n}")
        for n, path in enumerate(paths(tree))
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
    assert early == set(), "the plain ones were answered before any of those that hang"
    assert codes <= {"timeout", "busy", "not_regular"}
    assert {"timeout", "not_regular"} <= codes


def test_a_hanging_call_over_stdio_can_be_cancelled_and_a_batch_may_hold_one(lines, tree, mount):
    server = lines("--dialect", "codex", "--timeout", "1", version="2025-03-26")
    slow = server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / "net" / "read-1")}})
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": slow}})
    both = [
        {
            "jsonrpc": "2.0",
            "id": f"b{n}",
            "method": "tools/call",
            "params": {"name": "read_file", "arguments": {"file_path": str(tree / name)}},
        }
        for n, name in enumerate(("hello.txt", "net/read-2"))
    ]
    server.send(both)
    answer = server.read()
    mount.answer()

    assert [(one["id"], one["result"]["isError"]) for one in answer] == [("b0", False), ("b1", True)]


def test_resources_and_completion_have_the_same_deadline(lines, tree, mount, tmp_path):
    log = tmp_path / "audit.jsonl"
    server = lines("--timeout", "0.5", "--audit", str(log))
    read = server.ask("resources/read", {"uri": f"file://{tree}/net/read-1"})
    fine = server.ask("resources/read", {"uri": f"file://{tree}/net/plain.txt"})
    params = {"ref": {"type": "ref/resource", "uri": "file:///{+path}{?start,limit}"}}
    listed = server.ask("completion/complete", {**params, "argument": {"name": "path", "value": "net/list/"}})
    mount.answer()

    assert "no answer within 0.5 s" in read["error"]["message"]
    assert fine["result"]["contents"][0]["text"] == "one\ntwo\nthree\n"
    assert listed["result"]["completion"]["values"] == []
    assert len(log.read_text().splitlines()) == 2, "a read that had to be begun again is one read"


@pytest.mark.skipif(landlock.version() < 1, reason="this kernel has no Landlock: /proc stays open")
def test_from_inside_its_sandbox_a_server_sees_a_mount_that_was_made_after_its_start(lines, tree):
    """Eight files of it hang: so it is busy for the ninth, which was never asked for."""
    (tree / "net").mkdir()
    (tree / "way").symlink_to(tree / "hello.txt")

    def ask(path):
        return server.start("tools/call", {"name": "read_file", "arguments": {"file_path": str(tree / path)}}, path)

    def answer():
        message = server.read()
        result = message["result"]
        told = result["_meta"]["eyespan/error"]["code"] if result["isError"] else result["content"][0]["text"]
        return message["id"], told

    server = lines("--dialect", "codex", "--timeout", "1")
    ask("way")  # through an absolute link: done by a thread, so the table of mounts is known from now on
    first = answer()
    with hung_mount(tree / "net") as mount:
        hostile = {ask(f"net/open-{n}") for n in range(8)}
        waited = dict(answer() for _ in hostile)
        ask("net/read-9")
        ninth = answer()
        ask("hello.txt")
        plain = answer()
        mount.answer()
        server.close()

    assert first == ("way", "L1: hello\nL2: world")
    assert waited == dict.fromkeys(hostile, "timeout")
    assert ninth == ("net/read-9", "busy")
    assert plain == ("hello.txt", "L1: hello\nL2: world")
    assert "sandboxed: files" in server.errors


def test_a_server_whose_root_hangs_says_so_and_does_not_start(tree, mount):
    import subprocess
    import sys

    argv = [sys.executable, "-m", "eyespan.server", "--root", str(tree / "net" / "lookup-1"), "--timeout", "0.5"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    assert process.stdin is not None
    said = process.stderr.readline().decode()
    mount.answer()  # until then the process cannot end: its thread waits for the mount
    process.stdin.close()
    status = process.wait(HANG_SECONDS)
    process.stderr.close()

    assert "cannot be opened: no answer within 0.5 s" in said
    assert status == 1


def test_plain_reads_over_http_are_answered_while_sixty_four_others_hang(tree, mount):
    pytest.importorskip("mcp", reason="the HTTP door needs the extra [mcp]")
    pytest.importorskip("uvicorn", reason="the HTTP door needs the extra [mcp]")
    from http_server import HttpServer

    server = HttpServer(tree, "--dialect", "codex", "--timeout", "4")
    answers = []

    def call(path):
        return server.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": path}})

    hostile = [threading.Thread(target=lambda path=path: answers.append(call(path))) for path in paths(tree)]
    try:
        for thread in hostile:
            thread.start()
        time.sleep(0.5)
        plain = [call(str(tree / "hello.txt")) for _ in range(10)]
        waiting = sum(thread.is_alive() for thread in hostile)
        for thread in hostile:
            thread.join(HANG_SECONDS)
        with_progress = {"name": "read_file", "arguments": {"file_path": str(tree / "net" / "drip-1")}}
        told = server.rpc("tools/call", {**with_progress, "_meta": {"progressToken": "p"}})
    finally:
        mount.answer()
        status = server.end()

    assert [one["result"]["content"][0]["text"] for _, one in plain] == ["L1: hello\nL2: world"] * 10
    assert waiting >= 64, "the plain ones were answered before any of those that hang"
    codes = {one["result"]["_meta"]["eyespan/error"]["code"] for _, one in answers}
    assert {"timeout", "not_regular"} <= codes <= {"timeout", "busy", "not_regular"}
    assert told[1]["result"]["_meta"]["eyespan/error"]["code"] in ("timeout", "busy")
    assert status == 0
