"""Messages on standard error."""

from __future__ import annotations

import json

from eyespan.extras.http.log import REFUSALS_AT_ONCE, Log
from tests.clock import Clock


def test_a_line_is_for_people(capsys):
    Log().write("start", "http://x/mcp (no token)", url="http://x/mcp")

    assert capsys.readouterr().err == "eyespan serve: http://x/mcp (no token)\n"


def test_a_line_of_json_is_for_programs(capsys):
    Log(is_json=True).write("start", "started", url="http://x/mcp")

    line = json.loads(capsys.readouterr().err)
    assert line.pop("time").endswith("Z")
    assert line == {"event": "start", "message": "started", "url": "http://x/mcp"}


def test_a_refused_request_has_its_reason(capsys):
    Log().refused(421, "host", "Host x is not allowed; start with --allow-host x", "127.0.0.1")

    assert capsys.readouterr().err == (
        "eyespan serve: 421: Host x is not allowed; start with --allow-host x [127.0.0.1]\n"
    )


def test_a_flood_of_refusals_is_counted_and_not_written(capsys):
    clock = Clock()
    log = Log(clock=clock.monotonic)
    for _ in range(REFUSALS_AT_ONCE + 7):
        log.refused(401, "token", "no token", "a")
    log.refused(421, "host", "no host", "a")
    clock.now += 1
    log.refused(401, "token", "no token", "a")

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == REFUSALS_AT_ONCE + 2
    assert lines[-1] == "eyespan serve: 401: no token (7 more were not logged) [a]"


def test_a_line_for_people_is_one_line(capsys):
    Log(is_json=False).write("start", "root a\nb\x1b[31m\u202e")

    assert capsys.readouterr().err == "eyespan serve: root a\\x0ab\\x1b[31m\\u202e\n"
