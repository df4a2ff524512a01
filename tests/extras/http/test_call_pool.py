"""Calls in threads: a long one delays no other, their number has a limit, and those that wait can be cancelled."""

from __future__ import annotations

import asyncio
import threading

import pytest

from eyespan.context import CallContext, WouldBlock
from eyespan.extras.http import call_pool
from eyespan.extras.http.call_pool import CallPool, PendingCall
from eyespan.extras.http.metrics import Metrics
from eyespan.server import mcp_names
from eyespan.server.messages import Message

WAIT_SECONDS = 60


class Scripted:
    """A session whose calls do what their parameters contain."""

    caller = "test"

    def __init__(self):
        self.ran = []
        self.gate = threading.Event()

    def answer(self, method, params, context):
        self.ran.append(params["name"])
        act = params.get("act")
        if act == "wait":
            assert self.gate.wait(WAIT_SECONDS)
        elif act == "block" and not context.may_block:
            raise WouldBlock
        elif act == "fail":
            raise MemoryError
        return {"content": [{"type": "text", "text": params["name"]}]}


class Desk:
    """Calls over a scripted session, in the running loop."""

    def __init__(self, max_running, max_share=None):
        self.session = self.first = Scripted()
        self.metrics = Metrics()
        self.calls = CallPool(asyncio.get_running_loop(), max_running, self.metrics, max_share=max_share)
        self.answered = {}

    def start(self, name, act=""):
        context = CallContext(10, may_block=False)
        ended = asyncio.get_running_loop().create_future()

        def done(answer, pieces):
            self.answered[name] = answer
            ended.set_result(answer)

        params = {"name": name, "act": act}
        self.calls.start(PendingCall(Message(name, "tools/call", params), self.session, context, done))
        return context, ended

    def running(self):
        lines = self.metrics.text().splitlines()
        return next(line for line in lines if line.startswith("eyespan_calls_running"))


async def ended(future):
    return await asyncio.wait_for(future, WAIT_SECONDS)


async def until(condition):
    while not condition():
        await asyncio.sleep(0.001)


def text_of(answer):
    return answer["result"]["content"][0]["text"]


def test_a_long_call_delays_no_other():
    async def talk():
        desk = Desk(2)
        _, long = desk.start("long", "wait")
        found = [text_of(await ended(desk.start(f"short {n}")[1])) for n in range(20)]
        is_long_running = not long.done()
        desk.session.gate.set()
        await ended(long)
        return found, is_long_running, desk.running()

    assert asyncio.run(talk()) == ([f"short {n}" for n in range(20)], True, "eyespan_calls_running 0")


@pytest.mark.parametrize("max_running", [1, 3])
def test_no_more_than_the_limit_run_at_once_and_the_rest_wait(max_running):
    async def talk():
        desk = Desk(max_running, max_share=10)  # the share of their caller would limit them as well
        futures = [desk.start(f"first {n}", "wait")[1] for n in range(max_running)]
        await until(lambda: len(desk.session.ran) == max_running)
        late = [desk.start(f"late {n}")[1] for n in range(4)]
        await asyncio.sleep(0.02)
        before = list(desk.session.ran)
        desk.session.gate.set()
        for future in [*futures, *late]:
            await ended(future)
        return before, desk.session.ran, desk.running()

    before, ran, running = asyncio.run(talk())

    assert sorted(before) == [f"first {n}" for n in range(max_running)]
    assert sorted(ran[max_running:]) == [f"late {n}" for n in range(4)]
    assert running == "eyespan_calls_running 0"


async def occupied():
    """Return a desk whose only thread runs a call that waits, and the future of that call."""
    desk = Desk(1)
    _, first = desk.start("first", "wait")
    await until(lambda: desk.session.ran)
    return desk, first


def test_a_caller_has_no_more_than_its_share():
    async def run():
        desk = Desk(4, max_share=2)
        greedy = [desk.start(f"greedy {number}", "wait")[1] for number in range(6)]
        desk.session = other = Scripted()
        other.caller = "other"
        answer = await desk.start("small")[1]
        answered = list(desk.answered)
        desk.first.gate.set()
        await asyncio.gather(*greedy)
        return answer["result"]["content"][0]["text"], answered, len(desk.first.ran)

    assert asyncio.run(run()) == ("small", ["small"], 6)


def test_a_call_that_waits_for_too_long_is_refused_and_never_runs(monkeypatch):
    monkeypatch.setattr(call_pool, "SLOW_SECONDS", 2 * call_pool.BUSY_SECONDS)

    async def talk():
        desk, first = await occupied()
        context, second = desk.start("second")
        context.seconds = None
        now = asyncio.get_running_loop().time()
        desk.calls.expire(now + call_pool.BUSY_SECONDS - 1)
        is_early = second.done()
        desk.calls.expire(now + call_pool.BUSY_SECONDS + 1)
        refused = await ended(second)
        desk.session.gate.set()
        await ended(first)
        return is_early, refused["error"]["code"], desk.session.ran, desk.running(), desk.metrics.text()

    is_early, code, ran, running, metrics = asyncio.run(talk())

    assert (is_early, code, ran, running) == (False, mcp_names.BUSY, ["first"], "eyespan_calls_running 0")
    assert 'eyespan_turned_away_total{reason="busy"} 1' in metrics


def test_no_call_waits_beyond_its_own_deadline():
    """Here that is earlier than the time that any call may wait."""

    async def talk():
        desk, first = await occupied()
        context, second = desk.start("second")
        context.seconds = call_pool.BUSY_SECONDS / 5
        now = asyncio.get_running_loop().time()
        desk.calls.expire(now + call_pool.BUSY_SECONDS / 5 + 1)
        is_refused = second.done()
        desk.session.gate.set()
        await ended(first)
        return is_refused, (await ended(second))["error"], desk.session.ran

    is_refused, error, ran = asyncio.run(talk())

    assert (is_refused, error["code"], ran) == (True, mcp_names.BUSY, ["first"])
    assert error["message"].endswith("; try again later")


def test_a_call_whose_deadline_passed_while_it_waited_is_answered_without_a_read():
    async def talk():
        desk, first = await occupied()
        context, second = desk.start("second")
        context._end = 0.0
        desk.session.gate.set()
        refused = await ended(second)
        await ended(first)
        return refused["error"], desk.session.ran

    error, ran = asyncio.run(talk())

    text = "not answered within 10 s, because other calls were running; try again later"
    assert (error, ran) == ({"code": mcp_names.BUSY, "message": text}, ["first"])


def test_a_call_that_is_cancelled_while_it_waits_never_runs():
    async def talk():
        desk, first = await occupied()
        context, second = desk.start("second")
        context.cancelled = True
        desk.session.gate.set()
        await ended(first)
        await ended(desk.start("third")[1])
        code = (await ended(second))["error"]["code"]
        return desk.session.ran, code, desk.running(), desk.metrics.text()

    ran, code, running, metrics = asyncio.run(talk())

    assert (ran, code, running) == (["first", "third"], mcp_names.CANCELLED, "eyespan_calls_running 0")
    assert 'eyespan_calls_total{verdict="cancelled"} 1' in metrics


def test_a_call_that_would_block_runs_again_in_a_thread_of_its_own():
    async def talk():
        desk = Desk(1)
        answer = await ended(desk.start("mount", "block")[1])
        return text_of(answer), desk.session.ran, desk.running()

    assert asyncio.run(talk()) == ("mount", ["mount", "mount"], "eyespan_calls_running 0")


def test_a_failure_is_the_answer_of_its_call_alone():
    async def talk():
        desk = Desk(1)
        failed = await ended(desk.start("bad", "fail")[1])
        return failed["error"]["message"], text_of(await ended(desk.start("good")[1])), desk.running()

    assert asyncio.run(talk()) == (
        "No memory left for the answer; ask for less of the file",
        "good",
        "eyespan_calls_running 0",
    )


def test_without_a_thread_calls_wait_and_are_refused(monkeypatch):
    def no_thread(function, arguments):
        raise RuntimeError("can't start new thread")

    async def talk():
        desk = Desk(4)
        monkeypatch.setattr(call_pool, "start_new_thread", no_thread)
        _, first = desk.start("first")
        desk.calls.expire(asyncio.get_running_loop().time() + call_pool.BUSY_SECONDS + 1)
        code = (await ended(first))["error"]["code"]
        monkeypatch.undo()
        return code, text_of(await ended(desk.start("second")[1])), desk.running()

    assert asyncio.run(talk()) == (mcp_names.BUSY, "second", "eyespan_calls_running 0")


@pytest.mark.parametrize("act", ["", "block"])
def test_a_call_whose_thread_never_begins_is_refused_and_gives_its_place_back(act, monkeypatch):
    """A new thread that gets no memory ends before its first line: without an error for the one who started it."""
    begun = []
    real = call_pool.start_new_thread

    def start(function, arguments):
        begun.append(function)
        return real(function, arguments) if len(begun) < 1 + (act == "block") else 1

    async def talk():
        desk = Desk(1)
        monkeypatch.setattr(call_pool, "start_new_thread", start)
        monkeypatch.setattr(CallPool, "_finish_and_rest", CallPool._finish)  # no thread is kept
        _, first = desk.start("first", act)
        await until(lambda: len(begun) == 1 + (act == "block"))
        desk.calls.expire(asyncio.get_running_loop().time() + call_pool.BUSY_SECONDS + 1)
        code = (await ended(first))["error"]["code"]
        monkeypatch.undo()
        second = text_of(await ended(desk.start("second")[1]))
        return code, second, desk.running(), (desk.calls._slow, desk.calls._placed, desk.calls._unstarted)

    assert asyncio.run(talk()) == (mcp_names.BUSY, "second", "eyespan_calls_running 0", (0, {}, {}))


def test_a_thread_stays_for_the_next_call_and_too_many_end(monkeypatch):
    begun = []
    real = call_pool.start_new_thread
    monkeypatch.setattr(call_pool, "start_new_thread", lambda *given: (begun.append(given), real(*given)))

    async def talk():
        desk = Desk(2)
        for n in range(9):
            await ended(desk.start(f"quick {n}")[1])
        one_by_one = len(begun)
        blocked = [desk.start(f"blocked {n}", "block")[1] for n in range(6)]
        for future in blocked:
            await ended(future)
        return one_by_one, desk.calls._idle, desk.running()

    one_by_one, idle, running = asyncio.run(talk())

    assert (one_by_one, running) == (1, "eyespan_calls_running 0")
    assert 1 <= idle <= 2


def test_slow_calls_do_not_hold_all_places():
    """As many as there are places give theirs up; others start in the order in which they came."""

    async def talk():
        desk = Desk(2)
        slow = [desk.start(f"slow {n}", "wait")[1] for n in range(5)]
        await until(lambda: len(desk.session.ran) == 2)
        quick = [desk.start(f"quick {n}")[1] for n in range(3)]
        loop = asyncio.get_running_loop()
        desk.calls.expire(loop.time() + call_pool.SLOW_SECONDS + 1)
        await until(lambda: len(desk.session.ran) == 4)
        desk.calls.expire(loop.time() + call_pool.SLOW_SECONDS + 1)
        await asyncio.sleep(0)
        most = list(desk.session.ran)
        desk.session.gate.set()
        for future in [*slow, *quick]:
            await ended(future)
        return most, sorted(desk.session.ran), desk.running(), (desk.calls._slow, desk.calls._placed)

    most, ran, running, left = asyncio.run(talk())

    assert sorted(most) == [f"slow {n}" for n in range(4)]
    assert ran == [f"quick {n}" for n in range(3)] + [f"slow {n}" for n in range(5)]
    assert (running, left) == ("eyespan_calls_running 0", (0, {}))
