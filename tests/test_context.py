"""The memory of a call: everything built from the contents of files is paid for, and large calls take turns."""

from __future__ import annotations

import functools
import gc
import gzip
import io
import os
import sys
import tarfile
import threading
import time
import zipfile
from types import SimpleNamespace
from unittest import mock

import pytest

import eyespan.guard.blocking
import eyespan.outline.isolated
from eyespan import Workspace
from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.dialects.native.items import NAME_COPIES
from eyespan.dialects.native.text import READ_COPIES, SPLIT_COPIES, HeldText
from eyespan.errors import Cancelled, NoTurn, TimedOut, TooMuchMemory
from eyespan.extras.git.revisions import Refs
from eyespan.guard.listing import ENTRY_BYTES
from eyespan.memory import (
    FREE_BYTES,
    LEDGER,
    MAX_BYTES,
    RELEASE_BYTES,
    RELEASE_SUM_BYTES,
    SHARED_BYTES,
    Ledger,
)
from eyespan.model import CharRange, ReadRequest
from eyespan.sources.nested import STEP_BYTES
from tests.clock import Clock

LARGE = FREE_BYTES + SHARED_BYTES + 1
"""More than the shared memory, so the call needs the turn."""
LATE_SECONDS = DEADLINE_SECONDS + 6
"""A call that holds memory for so long, without a deadline of its own, loses it."""
MEDIUM = FREE_BYTES + SHARED_BYTES // 2
"""Two of these fit into the shared memory, and no more."""


@pytest.fixture(autouse=True)
def _no_memory_is_held():
    yield
    end = time.monotonic() + 60
    while not LEDGER.is_unused and time.monotonic() < end:
        gc.collect()  # a thread that listed a directory may hold its call for a moment longer than the caller waits
        time.sleep(0.01)
    assert LEDGER.is_unused


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(clock):
    made = Ledger(clock)
    yield made
    gc.collect()
    assert made.is_unused


@pytest.fixture
def start(ledger):
    """Start a call with a ledger of its own, whose time only passes while calls wait."""
    return functools.partial(CallContext, ledger=ledger)


def test_memory_up_to_the_limit_is_granted_and_more_is_too_large(start):
    call = start()
    call.charge(MAX_BYTES)

    with pytest.raises(TooMuchMemory) as caught:
        call.charge(1)
    call.finish()

    assert (caught.value.code, caught.value.limit_bytes) == ("too_large", MAX_BYTES)
    assert str(caught.value) == "reading it takes more than 36 MiB of memory; ask for a smaller part of it"


def test_memory_that_is_free_again_can_be_taken_again(start):
    call = start()
    for _ in range(3):
        call.charge(MAX_BYTES)
        call.memory.refund(MAX_BYTES)
    call.finish()

    assert call.memory.charged_bytes == 0


def test_memory_of_a_source_is_refunded_by_the_source_only(start):
    call = start()
    part = eyespan.guard.blocking.Relay(call)
    part.charge_source(MAX_BYTES // 2)
    part.charge(MAX_BYTES // 2)
    call.memory.end_loan(0)
    call.renew()

    with pytest.raises(TooMuchMemory):
        call.charge(MAX_BYTES // 2 + 1)
    part.charge_source(-(MAX_BYTES // 2))
    call.charge(MAX_BYTES)
    assert call.memory.charged_bytes == MAX_BYTES
    call.finish()


def test_an_outline_leaves_the_memory_of_a_compressed_file_charged(tmp_path):
    (tmp_path / "a.py.gz").write_bytes(gzip.compress(b"def f(): pass\n" * 1000))
    call = CallContext()
    opened = Workspace(tmp_path).engine.open(ReadRequest("a.py.gz", documents=frozenset({"compressed"})), call)
    opened.outline()

    assert call.memory.charged_bytes - call.memory.loan_start() >= STEP_BYTES
    assert call.memory.loan_start() > 0
    opened.close()
    assert call.memory.charged_bytes == call.memory.loan_start() > 0
    call.finish()


def test_a_delivered_part_is_free(start):
    call = start()
    call.charge(MAX_BYTES)
    call.renew()
    call.charge(MAX_BYTES)
    call.finish()


def test_a_delivered_part_starts_the_deadline_again(clock, start):
    call = start(1000)
    clock.now += 900
    call.renew()

    assert call.left() == 1000


def test_memory_is_returned_to_the_system_after_a_large_call_and_after_the_next(monkeypatch):
    released = []
    monkeypatch.setattr("ctypes.CDLL", lambda _: mock.Mock(malloc_trim=released.append))
    ledger = Ledger()
    counts = []
    for size_bytes in (0, RELEASE_BYTES + 1, 0, 0):
        call = CallContext(ledger=ledger)
        call.charge(size_bytes)
        call.finish()
        counts.append(len(released))

    assert counts == [0, 1, 2, 2]


def test_a_call_without_a_deadline_is_late_after_the_usual_one(clock, start):
    first = start()
    first.charge(LARGE)
    clock.now += LATE_SECONDS
    second = start(5)
    second.charge(LARGE)

    assert second.memory.has_turn
    first.finish()
    second.finish()


def test_small_calls_never_wait(start):
    others, small = [start() for _ in range(3)], start(0.001)
    for other, size_bytes in zip(others, (MEDIUM, MEDIUM, LARGE), strict=True):
        other.charge(size_bytes)
    small.charge(FREE_BYTES)
    for other in others:
        other.finish()


def test_a_call_that_gets_the_turn_returns_its_part_of_the_shared_memory(start):
    first, *others = [start(0.05) for _ in range(3)]
    first.charge(MEDIUM)
    first.charge(LARGE)
    for other in others:
        other.charge(MEDIUM)

    assert [first.memory.has_turn, *[other.memory.has_turn for other in others]] == [True, False, False]
    for call in (first, *others):
        call.finish()


def test_calls_share_memory_without_the_turn_until_it_is_used_up(start):
    calls = [start(0.05) for _ in range(4)]
    for call in calls[:3]:
        call.charge(MEDIUM)

    assert [call.memory.has_turn for call in calls] == [False, False, True, False]
    with pytest.raises(TimedOut):
        calls[3].charge(MEDIUM)
    for call in calls:
        call.finish()


@pytest.mark.parametrize("end", ["finish", "refund", "renew", "drop", "late"])
def test_shared_memory_is_returned(end, clock, start):
    holders = [start() for _ in range(2)]
    for holder in holders:
        holder.charge(MEDIUM)
    if end == "late":
        clock.now += LATE_SECONDS
    turn = start()
    turn.charge(LARGE)
    if end == "drop":
        del holder
        holders.clear()
        gc.collect()
    elif end != "late":
        for holder in holders:
            if end == "refund":
                holder.memory.refund(MEDIUM)
            else:
                getattr(holder, end)()

    later = [start(0.05) for _ in range(2)]
    for call in later:
        call.charge(MEDIUM)
    assert [call.memory.has_turn for call in later] == [False, False]
    for call in (*later, *holders, turn):
        call.finish()


def test_a_call_that_holds_little_again_ends_its_turn(start):
    first, second = start(), start(0.05)
    first.charge(LARGE)
    first.memory.refund(LARGE - FREE_BYTES)
    second.charge(LARGE)

    assert (first.memory.has_turn, second.memory.has_turn) == (False, True)
    first.finish()
    second.finish()


def test_all_calls_together_take_no_more_than_the_promise():
    """Eight calls at once stay below 64 MB, with some space for what is not counted."""
    assert 8 * FREE_BYTES + SHARED_BYTES + MAX_BYTES < 56_000_000


def test_a_large_call_waits_for_another_and_at_most_until_its_deadline(start):
    first, second = start(), start(0.05)
    first.charge(LARGE)
    with pytest.raises(TimedOut):
        second.charge(LARGE)
    first.finish()


@pytest.mark.parametrize("worked_seconds", [0.0, 3.0, 9.995])
def test_the_deadline_of_a_call_covers_its_wait_for_memory(worked_seconds, clock, start):
    first, second = start(), start(10)
    first.charge(LARGE)
    clock.now += worked_seconds

    with pytest.raises(NoTurn) as caught:
        second.charge(LARGE)
    first.finish()

    assert clock.now == pytest.approx(15.0)
    assert sum(clock.naps) == pytest.approx(10 - worked_seconds)
    assert (caught.value.code, str(caught.value)) == (
        "timeout",
        "no answer within 10 s, because other calls used the memory for it; try again later",
    )


def test_a_call_gets_memory_that_is_free_again_before_its_deadline(clock, start):
    first, second = start(), start(10)
    first.charge(LARGE)
    clock.sleep = lambda seconds: first.finish()

    second.charge(LARGE)

    assert (second.memory.has_turn, clock.now) == (True, 5.0)
    second.finish()


@pytest.mark.parametrize("dialect", ["native", "codex", "forge", "claude"])
def test_a_call_that_waited_for_memory_in_vain_is_answered_with_advice(tmp_path, monkeypatch, dialect, clock):
    (tmp_path / "a.txt").write_bytes((b"x" * 99 + b"\n") * 9000)
    arguments = {"native": {"files": "a.txt"}, "codex": {"file_path": f"{tmp_path}/a.txt"}}
    arguments |= {"claude": arguments["codex"], "forge": {"path": f"{tmp_path}/a.txt"}}
    settings = {"max_file_read_bytes": 10**6} if dialect == "forge" else {}
    tool = Workspace(tmp_path).tool(dialect, **settings)
    ledger = Ledger(clock, free_bytes=10)
    others = [CallContext(ledger=ledger) for _ in range(3)]
    for other, size_bytes in zip(others, (SHARED_BYTES // 2, SHARED_BYTES // 2, LARGE), strict=True):
        other.charge(size_bytes)

    reply = tool.call(arguments[dialect], context=CallContext(10, ledger=ledger))
    for other in others:
        other.finish()

    assert "because other calls used the memory for it; try again later" in reply.error.message


def test_a_large_call_that_waits_can_be_cancelled(start):
    first, second = start(), start()
    first.charge(LARGE)
    second.cancelled = True
    with pytest.raises(Cancelled):
        second.charge(LARGE)
    first.finish()


@pytest.mark.parametrize("end", ["finish", "drop", "late"])
def test_the_turn_passes_on(end, clock, start):
    first = start()
    first.charge(LARGE)
    if end == "finish":
        first.finish()
    elif end == "drop":
        del first
        gc.collect()
    else:
        clock.now += LATE_SECONDS

    second = start(10)
    second.charge(LARGE)
    assert (second.memory.has_turn, clock.naps) == (True, [])
    second.finish()


def test_a_call_that_lost_its_turn_does_not_end_that_of_another(clock, start):
    late = start()
    late.charge(LARGE)
    clock.now += LATE_SECONDS
    second, third = start(10), start(0.05)
    second.charge(LARGE)
    late.finish()

    with pytest.raises(TimedOut):
        third.charge(LARGE)
    second.finish()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_does_not_wait_for_calls_of_its_parent():
    call = CallContext()
    call.charge(LARGE)
    child = os.fork()
    if not child:
        try:
            CallContext(1).charge(LARGE)
            os._exit(0)
        finally:
            os._exit(1)
    call.finish()

    assert os.waitpid(child, 0)[1] == 0


def test_every_context_of_a_part_of_a_call_charges_the_call():
    """A context with a budget of its own would wait for the turn of its own call."""
    whole = CallContext()
    parts = {
        eyespan.guard.blocking.Relay: eyespan.guard.blocking.Relay(whole),
        eyespan.outline.isolated.PartDeadline: eyespan.outline.isolated.PartDeadline(whole, 1),
    }
    for number, part in enumerate(parts.values(), 1):
        part.charge(LARGE)
        assert whole.memory.charged_bytes == part.memory.charged_bytes == number * LARGE
        assert (whole.memory.has_turn, part.memory.has_turn) == (True, True)
        part.memory.refund(1)
        part.charge(1)
    whole.finish()

    ours = {one for one in CallContext.__subclasses__() if one.__module__.startswith("eyespan.")}
    assert ours == set(parts)


def test_an_abandoned_thread_takes_no_memory(clock, start):
    whole = start(1)
    clock.now += 2
    with pytest.raises(TimedOut):
        eyespan.guard.blocking.Relay(whole).charge(1)

    assert whole.memory.charged_bytes == 0


# --- reads ------------------------------------------------------------------------------------------------------------


def zip_of(count: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for number in range(count):
            file.writestr(f"{number:040}", b"")
    return buffer.getvalue()


def tar_of(count: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"comment": "c" * 500}) as file:
        for number in range(count):
            file.addfile(tarfile.TarInfo(f"{number:040}"))
    return buffer.getvalue()


FILES = {
    "lines.txt": b"x" * 99 + b"\n",
    "long.txt": b"x" * 500,
    "cells.ipynb": b'{"source": "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},',
    "escapes.txt": b'\x1b$B$"$"$"$"$"$"$"$"$"$"$"$"$"$"$"$"$"$"\x1b(B\n',
    "page.html": b"<p>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</p>",
    "names.zip": zip_of,
    "names.tar": tar_of,
    "names": None,
}


@pytest.mark.parametrize("name", FILES)
def test_a_read_pays_for_what_it_builds(tmp_path, monkeypatch, name):
    """The memory charged grows with the contents, for every way to contents."""
    monkeypatch.setattr(CallContext, "finish", lambda self: None)
    piece = FILES[name]
    charged = []
    for count in (300, 1500):
        path = tmp_path / f"{count}{name}"
        if piece is None:
            path.mkdir()
            for number in range(count):
                (path / f"{number:040}").touch()
        elif callable(piece):
            path.write_bytes(piece(count))
        elif name.endswith(".ipynb"):
            path.write_bytes(b'{"cells": [' + piece * count + b"{}]}")
        else:
            path.write_bytes(piece * count)
        call = CallContext(30)
        reply = Workspace(tmp_path).tool("native").call({"files": path.name, "budget": 200_000}, context=call)
        assert not reply.is_error
        charged.append(call.memory.charged_bytes)

    assert charged[0] > 30 * 300
    assert charged[1] > 3.5 * charged[0]


def test_names_in_a_directory_are_paid_for_with_their_copies(tmp_path, monkeypatch):
    monkeypatch.setattr(CallContext, "finish", lambda self: None)
    names = [f"{number:03}{'語' * 60}" for number in range(200)]
    for name in names:
        (tmp_path / name).touch()
    call = CallContext(30)
    Workspace(tmp_path).tool("native").call({"files": ".", "budget": 1000}, context=call)

    name_bytes = sum(map(sys.getsizeof, names))
    assert call.memory.charged_bytes > (NAME_COPIES + 0.9) * name_bytes + ENTRY_BYTES * len(names)


@pytest.mark.parametrize("dialect", ["native", "codex", "workspace", "forge", "claude"])
def test_a_read_over_the_limit_is_an_error_of_its_dialect(tmp_path, dialect):
    (tmp_path / "a.txt").write_bytes(b"x" * 99 + b"\n" + b"y" * 200_000)
    arguments = {"native": {"files": "a.txt"}, "codex": {"file_path": f"{tmp_path}/a.txt"}}
    arguments |= {"claude": arguments["codex"], "workspace": {"path": "a.txt"}, "forge": {"path": f"{tmp_path}/a.txt"}}
    settings = {"max_file_read_bytes": 10**6} if dialect == "forge" else {}
    tool = Workspace(tmp_path).tool(dialect, **settings)

    call = CallContext(ledger=Ledger(free_bytes=10, max_bytes=20))
    reply = tool.call(arguments[dialect], context=call)

    assert "of memory; ask for a smaller part of it" in reply.error.message


def test_the_next_call_after_one_that_was_too_large_works(tmp_path):
    (tmp_path / "large.txt").write_bytes(b"x\n" * 200_000)
    (tmp_path / "small.txt").write_bytes(b"plain\n")
    tool = Workspace(tmp_path).tool("codex")
    ledger = Ledger(free_bytes=FREE_BYTES // 1000, max_bytes=FREE_BYTES // 100)
    large = {"file_path": f"{tmp_path}/large.txt", "limit": 150_000}
    failed = tool.call(large, context=CallContext(ledger=ledger))

    assert failed.is_error
    small = {"file_path": f"{tmp_path}/small.txt"}
    assert tool.call(small, context=CallContext(ledger=ledger)).text == "L1: plain"


def test_large_calls_at_once_are_all_answered(tmp_path):
    line = "x" * 79
    (tmp_path / "large.txt").write_text(f"{line}\n" * 60_000)
    workspace = Workspace(tmp_path)
    tool = workspace.tool("codex")
    replies: list[str] = []

    def call() -> None:
        replies.append(tool.call({"file_path": f"{tmp_path}/large.txt", "limit": 60_000}).text)

    threads = [threading.Thread(target=call) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(replies) == 6
    assert {reply.count(line) for reply in replies} == {60_000}


def test_a_call_ends_its_turn_also_if_its_context_lives_on(tmp_path):
    (tmp_path / "large.txt").write_bytes((b"x" * 99 + b"\n") * 50_000)
    call = CallContext(30)
    reply = (
        Workspace(tmp_path).tool("codex").call({"file_path": f"{tmp_path}/large.txt", "limit": 50_000}, context=call)
    )
    assert not reply.is_error
    assert call.memory.charged_bytes == 0

    assert LEDGER.is_unused


def test_an_engine_without_a_context_ends_its_turn(tmp_path):
    (tmp_path / "large.txt").write_bytes((b"x" * 99 + b"\n") * 50_000)
    document = Workspace(tmp_path).engine.read(ReadRequest("large.txt"))

    assert document.parts[0].line_count == 50_000


def test_text_that_is_made_from_a_document_is_paid_for_with_its_copies(monkeypatch):
    emoji = "\U0001f600" * 50_000
    call = CallContext()
    paid = []
    charge = call.charge
    monkeypatch.setattr(call, "charge", lambda size_bytes: charge(size_bytes) or paid.append(call.memory.charged_bytes))
    held = HeldText(SimpleNamespace(facts=None), emoji, call)

    held.read(CharRange())
    call.finish()

    assert max(paid) >= (SPLIT_COPIES + READ_COPIES) * 4 * len(emoji)


def test_packed_refs_are_split_in_small_blocks():
    sizes = []
    lines = b"".join(b"%040d refs/heads/b%d\n" % (0, number) for number in range(5000))

    class Packed:
        size_bytes = len(lines)

        def read_at(self, offset, size_bytes):
            sizes.append(size_bytes)
            return lines[offset : offset + size_bytes]

        def close(self):
            pass

    class Repository:
        hash_bytes = 20
        is_hash = staticmethod(lambda word: len(word) == 40)
        open_packed_refs = staticmethod(Packed)
        read_ref = staticmethod(lambda name: None)

    with Refs(Repository(), CallContext()) as refs:
        assert refs.find("refs/heads/b4999") == "0" * 40
    assert max(sizes) <= 1 << 16


def test_a_call_whose_answer_is_still_to_be_sent_keeps_the_turn(start):
    call, other = start(), start(0.05)
    call.memory.is_held = True
    call.charge(LARGE)
    call.finish()
    with pytest.raises(TimedOut):
        other.charge(LARGE)

    call.memory.release()
    waiting = start()
    waiting.charge(LARGE)
    waiting.finish()


def test_an_answer_that_is_still_to_be_sent_leaves_the_turn_to_others(start):
    call, other = start(), start(0.05)
    call.memory.is_held = True
    call.charge(LARGE)
    call.finish()

    call.memory.hold(2 << 20)
    other.charge(LARGE)

    assert (call.memory.charged_bytes, other.memory.has_turn) == (2 << 20, True)
    other.finish()
    call.memory.release()
    assert call.memory.charged_bytes == 0


def test_an_answer_that_others_leave_no_memory_for_keeps_the_turn_until_it_was_sent(start):
    call, other = start(), start(0.05)
    call.memory.is_held = True
    call.charge(LARGE)
    call.finish()

    call.memory.hold(SHARED_BYTES + (1 << 20))
    with pytest.raises(TimedOut):
        other.charge(LARGE)
    call.memory.release()
    waiting = start()
    waiting.charge(LARGE)

    assert waiting.memory.has_turn
    waiting.finish()


def test_the_memory_of_many_small_calls_is_returned_together(monkeypatch):
    returned = []
    monkeypatch.setattr("ctypes.CDLL", lambda _: mock.Mock(malloc_trim=returned.append))
    ledger = Ledger()
    for _ in range(2 * RELEASE_SUM_BYTES // FREE_BYTES):
        call = CallContext(ledger=ledger)
        call.charge(FREE_BYTES)
        call.finish()

    assert len(returned) == 2


@pytest.mark.parametrize(
    ("name", "data", "documents"),
    [
        ("a.txt", "a line of text\n" * 20_000, ()),
        ("cjk.txt", "第一行 这是一个句子\n" * 20_000, ()),
        ("gbk.txt", ("第一行 这是一个句子\n" * 20_000).encode("gbk"), ()),
        ("jis.txt", ("これは文です\n" * 20_000).encode("iso2022-jp"), ()),
        ("wide_later.txt", "a line of text\n" * 3000 + "\U0001f600\n" + "a line of text\n" * 3000, ()),
        ("a.html", "<p>a line of text</p>\n" * 2000, ("html",)),
        ("a.txt.gz", gzip.compress(b"a line of text\n" * 20_000), ("compressed",)),
    ],
)
def test_a_range_stays_charged_for_its_own_text(name, data, documents, tmp_path):
    """Blocks, converted texts and answers of decoders that a read is made of are free after it."""
    (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    call = CallContext()
    encoding = {"gbk.txt": "gbk", "jis.txt": "iso2022-jp"}.get(name, "auto")
    request = ReadRequest(name, encoding=encoding, documents=frozenset(documents))
    with Workspace(tmp_path) as workspace, workspace.engine.open(request, call) as opened:
        opened.read(CharRange(1, 1, 1))
        before_bytes = call.memory.loan_start()
        for line in range(2, 12):
            opened.read(CharRange(line, 1, line))
        kept_bytes = call.memory.loan_start() - before_bytes
    call.finish()

    assert 0 < kept_bytes < 10 * 2000


def test_a_read_that_fails_takes_no_memory(tmp_path):
    (tmp_path / "wide.txt").write_text("\U0001f600" * 100_000)
    call = CallContext(ledger=Ledger(max_bytes=1 << 20))
    with Workspace(tmp_path) as workspace, workspace.engine.open(ReadRequest("wide.txt"), call) as opened:
        with pytest.raises(TooMuchMemory):
            opened.read(CharRange(max_chars=100_000))
        charged_bytes = call.memory.charged_bytes
    call.finish()

    assert charged_bytes == 0


def test_the_members_of_an_archive_are_charged_only_while_one_is_looked_up(tmp_path):
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        for number in range(100):
            archive.writestr(f"{number}.txt", "text\n")
    call = CallContext()
    with Workspace(tmp_path) as workspace, workspace.engine.open(ReadRequest("z.zip", member="7.txt"), call) as opened:
        charged_bytes = call.memory.loan_start()
        data = opened.source.read_at(0, 100)
    call.finish()

    assert (charged_bytes, data) == (0, b"text\n")
