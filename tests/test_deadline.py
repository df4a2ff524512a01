"""No call takes longer than its deadline, even on a real mount that never answers."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from eyespan import Workspace
from eyespan.context import CallContext, WouldBlock
from eyespan.dialects import dialect_names
from eyespan.errors import Stuck, TimedOut
from eyespan.guard import blocking, mounts
from eyespan.model import Lines, ReadRequest
from tests.backends import BACKENDS, reads_in_place
from tests.clock import HANG_SECONDS, until
from tests.hung_fuse import hung_mount, why_not

from .descriptors import open_descriptors

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "a mount that hangs can be made")

SHORT = 0.3
SILENT = ("open-1", "read-1", "lookup-1")
HOSTILE = (*SILENT, "drip-1")
ARGUMENTS = {"codex": "file_path", "claude": "file_path", "workspace": "path", "forge": "path", "native": "path"}


@pytest.fixture
def place(tmp_path: Path, monkeypatch):
    """A directory with a plain file, in which `net` is a mount that hangs on demand."""
    (tmp_path / "plain.txt").write_text("plain\n")
    (tmp_path / "link").symlink_to("net/read-9")
    (tmp_path / "net").mkdir()
    monkeypatch.setattr(mounts, "_FRESH_SECONDS", 0.0)  # the mount is newer than the cached table
    with hung_mount(tmp_path / "net") as mount:
        yield Place(tmp_path, mount)
    until(lambda: blocking.stuck() == 0)


class Place:
    def __init__(self, root: Path, mount) -> None:
        self.root = root
        self.mount = mount

    def arguments(self, dialect: str, path: str) -> dict[str, str]:
        """Return the arguments that read a file in a dialect."""
        return {ARGUMENTS[dialect.removesuffix("-upstream")]: str(self.root / path)}

    def fill(self, workspace: Workspace) -> None:
        """Let eight reads of the mount get stuck. A thread that starts after the deadline of its call does not."""
        tool = workspace.tool("workspace")
        end = time.monotonic() + HANG_SECONDS
        while (missing := 8 - blocking.stuck()) > 0:
            assert time.monotonic() < end, "no read gets stuck"
            calls = [
                threading.Thread(target=lambda n=n: tool.call({"path": f"net/read-{n}"}, context=CallContext(SHORT)))
                for n in range(missing)
            ]
            for call in calls:
                call.start()
            for call in calls:
                call.join(HANG_SECONDS)


def in_time(act):
    """Return the result of `act`. Fail if it hangs."""
    found = []
    thread = threading.Thread(target=lambda: found.append(act()), daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    assert found, "it hangs"
    return found[0]


# --- the deadline ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_call_ends_whatever_the_mount_does(place, backend, name):
    with Workspace(place.root, backend=backend) as workspace:
        tool = workspace.tool("workspace")

        late = in_time(lambda: tool.call({"path": f"net/{name}"}, context=CallContext(SHORT)))
        plain = in_time(lambda: tool.call({"path": "plain.txt"}))

    assert late.error.code == "TIMEOUT"
    assert plain.structured["content"] == "plain\n"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mount_that_works_is_read_like_any_other(place, backend):
    with Workspace(place.root, place.root / "net", backend=backend) as workspace:
        tool = workspace.tool("workspace")

        found = [tool.call({"path": path}) for path in ("net/plain.txt", str(place.root / "net" / "plain.txt"))]

    assert [reply.structured["content"] for reply in found] == ["one\ntwo\nthree\n"] * 2


def test_a_link_to_a_hung_mount_times_out(place):
    with Workspace(place.root) as workspace:
        tool = workspace.tool("workspace")
        reply = in_time(lambda: tool.call({"path": "link"}, context=CallContext(SHORT)))

    assert reply.error.code == "TIMEOUT"


def test_a_directory_that_cannot_be_listed_times_out(place):
    with Workspace(place.root) as workspace:
        tool = workspace.tool("native")
        reply = in_time(lambda: tool.call({"files": ["net/list"]}, context=CallContext(SHORT)))

    assert reply.error.code == "timeout"


def test_opening_listing_and_streaming_have_the_same_deadline(place):
    with Workspace(place.root) as workspace:
        engine = workspace.engine
        acts = [
            lambda: engine.open(ReadRequest("net/read-1"), CallContext(SHORT)),
            lambda: engine.list("net/list", CallContext(SHORT)),
            lambda: list(engine.open(ReadRequest("net/read-2"), CallContext(SHORT)).stream()),
            lambda: engine.read(ReadRequest("net/read-3", revision="HEAD")),
        ]

        def error_of(act):
            try:
                return act()
            except TimedOut as error:
                return error.code

        found = [in_time(lambda act=act: error_of(act)) for act in acts[:3]]
        tool = workspace.tool("native")
        past = in_time(lambda: tool.call({"files": ["net/read-3@HEAD"]}, context=CallContext(SHORT)))

    assert found == ["timeout"] * 3
    assert past.is_error


def test_a_stream_of_a_slow_mount_has_the_same_parts(place):
    with Workspace(place.root) as workspace:
        context = CallContext(HANG_SECONDS)
        with workspace.engine.open(ReadRequest("net/plain.txt", Lines(2)), context) as opened:
            parts = list(opened.stream())

    assert b"".join([bytes(part.data) for part in parts]) == b"two\nthree\n"


def test_a_stream_that_is_not_read_to_its_end_leaves_nothing_open(place):
    with Workspace(place.root) as workspace:
        before = len(open_descriptors())
        with workspace.engine.open(ReadRequest("net/plain.txt"), CallContext(HANG_SECONDS)) as opened:
            next(opened.stream())

        assert len(open_descriptors()) <= before


def test_a_root_that_does_not_respond_is_reported(place):
    def make():
        try:
            Workspace(place.root / "net" / "lookup-1", deadline_seconds=SHORT)
        except TimeoutError as error:
            return str(error)

    assert "lookup-1' cannot be opened: no answer within 0.3 s" in in_time(make)


def test_a_document_of_a_slow_mount_is_decoded_from_a_copy(place):
    pytest.importorskip("PIL", reason="images need pillow")
    with Workspace(place.root) as workspace:
        reply = workspace.tool("claude").call({"file_path": str(place.root / "net" / "plain.png")})

    assert [block.type for block in reply.content] == ["image"]


@reads_in_place
def test_a_context_that_may_not_block_raises_and_starts_nothing(place):
    with Workspace(place.root) as workspace:
        with pytest.raises(WouldBlock):
            workspace.tool("workspace").call({"path": "net/read-1"}, context=CallContext(HANG_SECONDS, may_block=False))
        reply = workspace.tool("workspace").call(
            {"path": "plain.txt"}, context=CallContext(HANG_SECONDS, may_block=False)
        )

    assert (reply.is_error, blocking.stuck()) == (False, 0)


def test_a_cancelled_call_is_answered_while_its_mount_hangs(place):
    context = CallContext(HANG_SECONDS)
    threading.Timer(0.1, lambda: setattr(context, "cancelled", True)).start()
    with Workspace(place.root) as workspace:
        reply = in_time(lambda: workspace.tool("codex").call(place.arguments("codex", "net/read-1"), context=context))

    assert reply.error.code == "cancelled"


# --- mounts that hang -------------------------------------------------------------------------------------------------


def test_after_eight_a_hung_mount_is_busy_at_once_and_nothing_else_is(place, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    with hung_mount(other), Workspace(place.root, other, deadline_seconds=HANG_SECONDS * 2) as workspace:
        place.fill(workspace)
        tool = workspace.tool("workspace")
        names = ["net/read-1", "net/plain.txt", str(other / "plain.txt"), "plain.txt"]

        replies = [in_time(lambda name=name: tool.call({"path": name})) for name in names]

    assert [reply.error and reply.error.code for reply in replies] == ["BUSY", "BUSY", None, None]
    assert blocking.stuck() == 8


def test_a_mount_that_comes_back_is_read_again(place):
    with Workspace(place.root) as workspace:
        place.fill(workspace)
        place.mount.answer()
        until(lambda: blocking.stuck() == 0)

        assert not workspace.tool("workspace").call({"path": "net/read-1"}).is_error


def test_no_thread_and_no_descriptor_is_left_when_the_mount_is_removed(place):
    until(lambda: blocking._pool.threads == 0)
    with Workspace(place.root) as workspace:
        tool = workspace.tool("workspace")

        def in_use():
            return len(open_descriptors()), len(os.listdir("/proc/self/task"))

        tool.call({"path": "plain.txt"})
        until(lambda: blocking._pool.threads == 0)  # without the accelerator, a root is opened in a thread
        fds, threads = in_use()
        for name in HOSTILE:
            in_time(lambda name=name: tool.call({"path": f"net/{name}"}, context=CallContext(SHORT)))
        place.mount.remove()

        until(lambda: blocking.stuck() == 0 and blocking._pool.threads == 0)
        # Fewer, because the test's own pipes to the server are closed with it.
        assert in_use()[0] <= fds
        assert in_use()[1] <= threads


# --- what callers see -------------------------------------------------------------------------------------------------

FORMS = {
    "codex": ("timeout", "busy", "failed to read file: "),
    "codex-upstream": ("timeout", "busy", "failed to read file: "),
    "workspace": ("TIMEOUT", "BUSY", ""),
    "workspace-upstream": ("TIMEOUT", "BUSY", ""),
    "forge": ("ExecutionFailed", "ExecutionFailed", "Read failed: "),
    "claude": ("timeout", "busy", "Error reading file: "),
    "claude-upstream": ("timeout", "busy", "Error reading file: "),
}
"""The codes of both errors and the start of their texts, where a dialect has its own."""


@pytest.mark.parametrize("dialect", dialect_names())
def test_both_errors_suggest_what_to_do_next(tmp_path, dialect):
    timeout, busy, lead = FORMS.get(dialect, ("timeout", "busy", ""))
    with Workspace(tmp_path) as workspace:
        tool = workspace.toolset(dialect)[0]

        first = tool.error_reply(TimedOut("net/read-1", seconds=1, hangs=True))
        error = tool.dialect.render_error(Stuck("net/read-1", count=8))

    assert (first.error.code, first.error.message.startswith(lead)) == (timeout, True)
    assert "no answer within 1 s" in first.error.message
    assert "read other directories" in first.error.message
    assert first.content[0].text == first.error.message
    assert (error.code, error.message.startswith(lead)) == (busy, True)
    assert "8 reads of this mount are already waiting" in error.message
    assert "read files in other directories" in error.message


# --- many at once -----------------------------------------------------------------------------------------------------


def test_sixty_four_hanging_calls_do_not_delay_plain_ones(place):
    with Workspace(place.root, deadline_seconds=HANG_SECONDS) as workspace:
        tool = workspace.tool("workspace")
        paths = [f"net/{SILENT[n % 3]}" for n in range(64)]
        hostile = [threading.Thread(target=tool.call, args=({"path": path},)) for path in paths]
        for thread in hostile:
            thread.start()

        replies = [tool.call({"path": "plain.txt"}) for _ in range(100)]
        waiting = sum(thread.is_alive() for thread in hostile)
        place.mount.answer()
        for thread in hostile:
            thread.join(HANG_SECONDS)

    assert {reply.structured["content"] for reply in replies} == {"plain\n"}
    assert waiting == 64, "the plain ones were answered before any of the hanging ones"


def test_hanging_calls_of_an_event_loop_do_not_delay_plain_ones(place):
    async def ask():
        with Workspace(place.root, deadline_seconds=HANG_SECONDS) as workspace:
            tool = workspace.tool("workspace")
            hostile = [asyncio.create_task(tool.acall({"path": f"net/{SILENT[n % 3]}"})) for n in range(64)]
            await asyncio.sleep(0.2)
            replies = [await tool.acall({"path": "plain.txt"}) for _ in range(20)]
            waiting = sum(not task.done() for task in hostile)
            hostile[0].cancel()
            place.mount.answer()
            answers = await asyncio.gather(*hostile, return_exceptions=True)
            return replies, waiting, answers

    replies, waiting, answers = in_time(lambda: asyncio.run(ask()))

    assert {reply.structured["content"] for reply in replies} == {"plain\n"}
    assert waiting == 64
    assert isinstance(answers[0], asyncio.CancelledError)


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_the_command_answers_and_ends(place, name):
    argv = [sys.executable, "-m", "eyespan", "read", f"net/{name}", "plain.txt", "--timeout", "2"]

    done = subprocess.run(argv, cwd=place.root, capture_output=True, timeout=HANG_SECONDS)

    assert (done.returncode, done.stdout) == (1, b"==> plain.txt <==\n     1\tplain\n")
    assert f"eyespan: net/{name}: no answer within 2 s" in done.stderr.decode()


def test_a_call_from_the_command_line_answers_and_ends(place):
    argv = [sys.executable, "-m", "eyespan", "call", "workspace", '{"path": "net/read-1"}', "--timeout=2"]

    done = subprocess.run(argv, cwd=place.root, capture_output=True, timeout=HANG_SECONDS)

    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (1, "TIMEOUT")


def test_the_command_reads_a_mount_that_works(place):
    argv = [sys.executable, "-m", "eyespan", "read", "-N", "net/plain.txt"]

    done = subprocess.run(argv, cwd=place.root, capture_output=True, timeout=HANG_SECONDS)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"one\ntwo\nthree\n", b"")


@pytest.mark.parametrize(
    "options", [["--root", "net/lookup-1"], ["--config", "net/read-1"]], ids=["a root", "a configuration"]
)
def test_a_command_that_cannot_start_reports_it_and_ends(place, options):
    argv = [sys.executable, "-m", "eyespan", "read", "plain.txt", *options, "--timeout", "2"]

    done = subprocess.run(argv, cwd=place.root, capture_output=True, timeout=HANG_SECONDS)

    assert done.returncode == 2
    assert "no answer within 2 s" in done.stderr.decode()
