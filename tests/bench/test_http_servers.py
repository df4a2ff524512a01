"""The comparison of HTTP servers: answers are understood, and the pages show the figures of the last run."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import http_servers
import pytest

NAMES = ["SDK", "fastmcp", "npm, mcp-proxy"]


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", None),
        (b"HTTP/1.1 200 OK\r\nContent-Le", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", b"hello"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n", None),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nll", None),
    ],
)
def test_the_body_of_an_answer(data, body):
    assert http_servers.body_of(data) == body


def test_only_an_answer_with_the_whole_file_is_right():
    whole = f"{http_servers.LINE}\n".encode() * http_servers.LINES

    assert http_servers.is_right(b"HTTP/1.1 200 OK\r\n", whole)
    assert not http_servers.is_right(b"HTTP/1.1 200 OK\r\n", whole[100:])
    assert not http_servers.is_right(b"HTTP/1.1 503 Service Unavailable\r\n", whole)


@pytest.mark.skipif(find_spec("httptools") is None, reason="the HTTP server needs the extra [http]")
def test_a_server_is_measured_and_ended(tmp_path):
    (tmp_path / "a.txt").write_text(f"{http_servers.LINE}\n" * http_servers.LINES)
    server = http_servers.eyespan(http_servers.sys.executable, "eyespan", tmp_path)
    try:
        http_servers.wait_for(server)
        run = http_servers.measure(server, 4, 0.1)
        (tmp_path / "a.txt").write_text("another file\n")
        wrong = http_servers.measure(server, 2, 0.0)
    finally:
        http_servers.stop(server)

    assert run.errors == 0
    assert run.requests >= 4
    assert (wrong.requests, wrong.errors) == (0, 2)
    assert http_servers.processes(server.process.pid) == []


def test_the_pages_show_the_figures_of_the_last_run():
    figures = json.loads(http_servers.FIGURES.read_text())
    readme = Path(http_servers.README).read_text()

    assert http_servers.PAGE.read_text() == http_servers.page(figures)
    assert http_servers.with_section(readme, http_servers.readme_text(figures)) == readme
    assert [name for name in NAMES if name not in figures["servers"]] == []
