"""Metrics and traces over OTLP."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec

import pytest

from eyespan.extras.http import telemetry
from eyespan.extras.http.app import reached_addresses
from eyespan.extras.http.http_options import HttpOptions
from eyespan.server.sandboxing import needs_of
from eyespan.server.serve_options import InvalidOptions

HAS_OTEL = find_spec("opentelemetry.sdk") is not None if find_spec("opentelemetry") else False


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, ["http://localhost:4318"]),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:9"}, ["http://c:9"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t:1", "OTEL_SERVICE_NAME": "x"}, ["http://t:1"]),
    ],
)
def test_the_addresses_of_the_collector(environment, found):
    assert telemetry.endpoints(environment) == found


def test_the_sandbox_allows_the_port_of_the_collector(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4399")

    assert needs_of(HttpOptions(), (), reached_addresses(HttpOptions(otel=True))).ports == (53, 443, 4399)
    assert needs_of(HttpOptions(), ()).ports is None


@pytest.mark.skipif(HAS_OTEL, reason="the extra [otel] is installed")
def test_a_missing_package_is_named():
    with pytest.raises(InvalidOptions, match=r"eyespan\[otel\]"):
        telemetry.require()


@pytest.mark.skipif(not HAS_OTEL or find_spec("httptools") is None, reason="needs the extras [otel] and [http]")
def test_calls_and_refusals_reach_the_collector_from_inside_the_sandbox(tmp_path):
    from tests.server.clients import HttpServer

    received: dict[str, bytes] = {}

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received[self.path] = received.get(self.path, b"") + body
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    collector = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=collector.serve_forever)
    thread.start()
    (tmp_path / "a.txt").write_text("a\n")
    server = HttpServer(
        tmp_path,
        *("--dialect", "codex", "--otel"),
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{collector.server_port}",
        OTEL_EXPORTER_OTLP_COMPRESSION="none",
    )
    try:
        trace = "0af7651916cd43dd8448eb211c80319c"
        params = {"name": "read_file", "arguments": {"file_path": str(tmp_path / "a.txt")}}
        status = server.rpc("tools/call", params, traceparent=f"00-{trace}-b7ad6b7169203331-01")[0]
        server.request(b"{}", Host="evil.example")
        ended = server.end()
    finally:
        collector.shutdown()
        thread.join()
        collector.server_close()

    assert (status, ended) == (200, 0)
    assert b"tools/call read_file" in received["/v1/traces"]
    assert bytes.fromhex(trace) in received["/v1/traces"]
    assert str(tmp_path).encode() not in received["/v1/traces"]
    assert b"eyespan.calls" in received["/v1/metrics"]
    assert b"eyespan.refused" in received["/v1/metrics"]
