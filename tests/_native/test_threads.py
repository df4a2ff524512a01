"""Many threads in the inner loops at once: each gets the answer of a thread alone, with an interpreter lock or not."""

import threading

import pytest

from eyespan import Workspace
from tests._native.test_twins import both
from tests.sizes import size

THREADS = 4
ROUNDS = size(short=60, long=4000)
TEXT = "".join(f"line {n} → {'x' * (n % 90)}\n" for n in range(400)).encode()
LONG = b"".join(b"%d " % n + b"y" * 3000 + b"\n" for n in range(60))


def together(work):
    """Run `work(thread number)` in all threads from one start; return what went wrong."""
    wrong, start = [], threading.Barrier(THREADS)

    def run(part):
        start.wait()
        try:
            work(part)
        except BaseException as error:
            wrong.append(error)

    crew = [threading.Thread(target=run, args=(part,)) for part in range(THREADS)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join()
    return wrong


@both
def test_numbering_in_many_threads(backend):
    # Texts of different sizes, so that a scratch buffer shared by mistake would show.
    texts = [TEXT[: len(TEXT) // (part + 1)] for part in range(THREADS)]
    expected = [backend.number(text, 1, width=6) for text in texts]

    def work(part):
        for _ in range(ROUNDS):
            assert backend.number(texts[part], 1, width=6) == expected[part]
            assert backend.count(texts[part]) == texts[part].count(b"\n")

    assert together(work) == []


@both
def test_totals_that_other_threads_change(backend):
    totals = {}

    def work(part):
        for turn in range(ROUNDS):
            if part == 0:
                for n in range(1, 61):
                    totals[n] = 10**6 + turn
                totals.clear()
            else:
                lines = backend.number(LONG, 1, max_chars=100, totals=totals)[0].splitlines()
                assert len(lines) == 60
                assert all("chars total]" in line for line in lines)

    assert together(work) == []


@both
def test_a_bytearray_that_another_thread_writes(backend):
    data = bytearray(TEXT[:4000])

    def work(part):
        for turn in range(ROUNDS):
            if part == 0:
                for at in range(turn % 7, len(data), 7):
                    data[at] = 10 if turn % 2 else 0xC3
            else:
                backend.number(data, 1, width=6)
                backend.count(data)
                backend.nth(data, 5)

    assert together(work) == []


@pytest.mark.parametrize("dialect", ["codex", "workspace", "forge", "claude", "native"])
def test_calls_of_one_tool_in_many_threads(tmp_path, dialect):
    names = [f"file{n}.txt" for n in range(12)]
    for n, name in enumerate(names):
        tmp_path.joinpath(name).write_bytes(TEXT[: 200 + 900 * n])
    with Workspace(tmp_path) as workspace:
        tool = workspace.tool(dialect)
        prefix, key = ("", "path") if dialect in ("workspace", "forge", "native") else (f"{tmp_path}/", "file_path")
        calls = [{key: prefix + name} for name in names]
        expected = [tool.call(call).text for call in calls]

        def work(part):
            for turn in range(ROUNDS // 4):
                n = (part * 5 + turn) % len(calls)
                assert tool.call(calls[n]).text == expected[n]

        assert together(work) == []
