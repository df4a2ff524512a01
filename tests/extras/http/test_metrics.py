"""Metrics of one worker and of several."""

from __future__ import annotations

from eyespan.extras.http.metrics import Metrics


def parsed(text):
    return dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))


def test_rows_of_workers_are_summed_and_gauges_end_with_their_worker():
    metrics = Metrics(workers=2)
    for row in (0, 1):
        metrics.take_row(row)
        metrics.add("running")
        metrics.count_call("read", 0.002, 100)
    metrics.leave_row(0)

    found = parsed(metrics.text())

    assert found['eyespan_calls_total{verdict="read"}'] == "2"
    assert found["eyespan_answer_bytes_total"] == "200"
    assert found["eyespan_calls_running"] == "1"
    assert found["eyespan_workers"] == "1"


def test_metrics_need_the_token_and_count_calls(server):
    server.rpc("tools/call", {"name": "read_file", "arguments": {"file_path": "/etc/passwd"}})
    refused = server.request(method="GET", path="/metrics", drop=("Authorization",))
    status, headers, body = server.request(method="GET", path="/metrics", drop=("Content-Type",))
    found = parsed(body.decode())

    assert refused[0] in (401, 429)
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert int(found['eyespan_calls_total{verdict="refused"}']) >= 1
    assert int(found['eyespan_turned_away_total{reason="token"}']) >= 1
    assert int(found["eyespan_workers"]) == 1
    assert int(found['eyespan_call_seconds_bucket{le="+Inf"}']) == int(found["eyespan_call_seconds_count"])
