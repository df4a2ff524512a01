"""The protocol of a worker: a process that calls a read function and times the call itself.

A request is one JSON line: {"op": "window" | "tail" | "many" | ..., "path", "start", "count", "paths", "repeats"}; an
operation that is not among the first three is the method of its name.
The answer is one line too: {"ns": [time of each repeat], "chars": length of the answer, "steady": every repeat gave the
same length}, or {"error"}, or {"not_offered"}. {"op": "dump", "path"} writes the last answer to a file, so that the
driver can check every line of it without that being timed or counted as memory.
"""

from __future__ import annotations

import json
import os
import sys
import time


class NotOfferedError(Exception):
    """Raised if the tool has no such request."""


class Reader:
    """The requests of a tool. `many` is a call for each file, unless the tool has a request for several."""

    def window(self, path, start, count):
        raise NotOfferedError

    def tail(self, path, count):
        raise NotOfferedError

    def whole(self, path):
        return self.window(path, 1, 2000)

    def many(self, paths):
        return [self.whole(path) for path in paths]


def serve(make):
    """Answer requests until standard input closes; `make` returns the reader."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a tool that prints must not disturb the protocol
    reader = make()
    print(json.dumps({"ready": True}), file=out, flush=True)
    last = ""
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "dump":
            with open(request["path"], "w", encoding="utf-8", errors="surrogatepass") as file:
                file.writelines([last] if isinstance(last, str) else [f"{text}\n" for text in last])
            answer = {}
        else:
            last = ""
            answer, last = _timed(reader, request)
        print(json.dumps(answer), file=out, flush=True)


def _other(reader, request):
    method = getattr(reader, request["op"], None)
    if method is None:
        raise NotOfferedError
    return method(request)


def _timed(reader, request):
    call = {
        "window": lambda: reader.window(request["path"], request["start"], request["count"]),
        "tail": lambda: reader.tail(request["path"], request["count"]),
        "many": lambda: reader.many(request["paths"]),
    }.get(request["op"]) or (lambda: _other(reader, request))
    times, lengths, result = [], set(), ""
    start = time.perf_counter_ns()
    try:
        for _ in range(request.get("repeats", 1)):
            result = ""
            start = time.perf_counter_ns()
            result = call()
            times.append(time.perf_counter_ns() - start)
            lengths.add(len(result) if isinstance(result, str) else sum(map(len, result)))
    except NotOfferedError:
        return {"not_offered": True}, ""
    except BaseException as error:  # any exception of a tool is its result
        return {"error": f"{type(error).__name__}: {error}"[:300], "ns": [time.perf_counter_ns() - start]}, ""
    return {"ns": times, "chars": max(lengths), "steady": len(lengths) == 1}, result
