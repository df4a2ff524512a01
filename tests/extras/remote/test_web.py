"""Web servers as roots, with a real server that counts requests and misbehaves."""

from __future__ import annotations

import gc
import os
import sys
import time
import tracemalloc
from urllib.parse import urlsplit

import pytest

from eyespan import Policy, Workspace
from eyespan.context import CallContext
from eyespan.errors import ReadError, StoreFailure
from eyespan.extras.remote import remote_file, web
from eyespan.extras.remote import store as remote_store
from eyespan.guard import blocking
from eyespan.model import ReadRequest

from .range_server import hangs, status

CALLS = {
    "native": {"files": ["a.txt"]},
    "codex": {"file_path": "/data/a.txt"},
    "claude": {"file_path": "/data/a.txt"},
    "forge": {"path": "a.txt"},
    "workspace": {"path": "a.txt"},
}


def lines(count):
    return b"".join([b"line %07d of a remote file\n" % number for number in range(1, count + 1)])


MODIFIED_NS = 1_793_577_600_000_000_000
"""The time that the server reports."""


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(web, "FIRST_PAUSE_SECONDS", 0.001)
    monkeypatch.setattr(web, "REQUEST_SECONDS", 0.5)


@pytest.mark.parametrize("dialect", CALLS)
def test_a_small_file_takes_one_request_in_every_dialect(dialect, server, workspace, tmp_path):
    (tmp_path / "a.txt").write_bytes(server.files["a.txt"])
    os.utime(tmp_path / "a.txt", ns=(MODIFIED_NS, MODIFIED_NS))
    with Workspace(tmp_path) as local:
        arguments = {
            key: str(tmp_path / "a.txt") if key == "file_path" else value for key, value in CALLS[dialect].items()
        }
        expected = local.tool(dialect).call(arguments).text

    reply = workspace.tool(dialect).call(CALLS[dialect])

    assert not reply.is_error
    assert reply.text == expected
    assert len(server.requests) == 1


def test_a_large_file_is_read_in_ranges_of_its_own(server, workspace):
    server.files["big.log"] = lines(400_000)
    tool = workspace.tool("codex")

    assert tool.call({"file_path": "/data/big.log", "limit": 5000}).text.count("\n") == 4999
    assert (len(server.requests), server.sent_bytes < 500_000) == (2, True)
    assert "L390000: line 0390000" in tool.call({"file_path": "/data/big.log", "offset": 390_000, "limit": 2}).text
    server.requests.clear()
    server.sent_bytes = 0
    assert "L380000: line 0380000" in tool.call({"file_path": "/data/big.log", "offset": 380_000, "limit": 2}).text
    assert len(server.requests) <= 3, "the index of the first scan is used"
    assert server.sent_bytes < 500_000


def test_memory_is_bounded_by_blocks(server, workspace, monkeypatch):
    server.files["big.log"] = lines(400_000)
    opened = []
    real = remote_file.RemoteFile.read_at

    def read_at(self, offset, size_bytes):
        data = real(self, offset, size_bytes)
        opened.append(sum(map(len, self._blocks.values())))
        return data

    monkeypatch.setattr(remote_file.RemoteFile, "read_at", read_at)
    monkeypatch.setattr(remote_file, "MAX_STEP_BYTES", 2 << 20)
    workspace.tool("codex").call({"file_path": "/data/big.log", "offset": 390_000})

    assert max(opened) <= remote_file.MAX_STEP_BYTES + remote_file.KEPT_BLOCKS * remote_file.BLOCK_BYTES


def test_a_server_without_versions_is_compared_by_size_and_time(server, workspace):
    server.files["big.log"] = lines(100_000)
    server.etags["big.log"] = 'W/"weak"'

    def replaced(handler):
        server.files["big.log"] = lines(100_001)
        server.answer(handler)

    server.faults = [None, replaced]
    assert workspace.tool("codex").call({"file_path": "/data/big.log", "offset": 90_000}).is_error


def test_a_server_without_ranges_sends_small_files_whole(server, workspace, monkeypatch):
    server.has_ranges = False
    assert "three" in workspace.tool("forge").call({"path": "a.txt"}).text
    monkeypatch.setattr(web, "MAX_WHOLE_BYTES", 10)
    assert "cannot send parts of a file" in workspace.tool("native").call({"files": ["a.txt"]}).text


def test_an_empty_file_is_empty(server, workspace):
    server.files["empty"] = b""

    assert "empty" in workspace.tool("native").call({"files": ["empty"]}).text
    server.faults = [status(416)]
    assert "empty" in workspace.tool("native").call({"files": ["empty"]}).text, "a server that does not report its size"


@pytest.mark.parametrize("host", ["a" * 64, "a..b", "a\u2028b", "[::1", "a:b", "a:99999"])
def test_a_host_that_no_request_can_have_is_an_error_of_the_store(host):
    reply = Workspace(f"/data=http://{host}/dir").tool("native").call({"files": ["a.txt"]})

    assert reply.error.code == "store"
    assert reply.text.endswith("has an invalid host or port")


@pytest.mark.parametrize("directory", ["ä", "%C3%A4"])
def test_the_directory_of_a_root_is_quoted_once(directory, server):
    server.files["%C3%A4/a.txt"] = b"quoted\n"

    assert "quoted" in Workspace(f"{server.url}/{directory}").tool("native").call({"files": ["a.txt"]}).text


@pytest.mark.parametrize(
    "path", ["../a.txt", "x/../../a.txt", "x//a.txt", "%2e%2e/a.txt", "x%2fa.txt", "a.txt?x", "a.txt#x"]
)
def test_odd_names_are_refused_or_exact(path, server, workspace):
    server.files["x/a.txt"] = b"below\n"
    reply = workspace.tool("forge").call({"path": path})

    assert reply.is_error
    assert all(asked.startswith("/files/") and "/../" not in asked for asked, _ in server.requests)


@pytest.mark.parametrize("signs", ["", ";", ";a=b", "%00", "?", "#x", " "])
@pytest.mark.parametrize("rounds", range(6))
@pytest.mark.parametrize("separator", ["/", "\\"])
def test_no_server_can_take_a_name_for_the_directory_above(separator, rounds, signs, server, workspace):
    path = f"x{separator}..{signs}{separator}..{signs}{separator}secret.txt"
    for _ in range(rounds):
        path = path.replace("%", "%25").replace("..", "%2e%2e").replace("\\", "%5c").replace(";", "%3b")

    assert "OUTSIDE" in workspace.tool("workspace").call({"path": path}).text.upper()
    assert server.requests == []


def test_a_name_that_is_not_utf_8_is_that_of_a_file(server, workspace):
    server.files["caf%E9.txt"] = b"latin\n"

    assert "latin" in workspace.tool("forge").call({"path": "caf\udce9.txt"}).text


def test_denied_names_cost_no_request(server, workspace):
    server.files[".env"] = b"KEY=1\n"

    assert workspace.tool("native").call({"files": [".env"]}).is_error
    assert server.requests == []


def test_rules_of_the_host_apply(server):
    with Workspace(server.url, policy=Policy(deny=["a.*"])) as workspace:
        assert workspace.tool("forge").call({"path": "a.txt"}).is_error
    assert server.requests == []


def test_a_store_that_hangs_ends_at_the_deadline(server, monkeypatch):
    monkeypatch.setattr(web, "REQUEST_SECONDS", 30)
    server.faults = [hangs(0.6)]
    with Workspace(server.url, deadline_seconds=0.3) as workspace:
        reply = workspace.tool("native").call({"files": ["a.txt"]})

    assert "no answer within 0.3 s" in reply.text
    until = time.monotonic() + 60
    while blocking.stuck() and time.monotonic() < until:
        time.sleep(0.02)  # other tests count the reads that hang
    assert blocking.stuck() == 0


METADATA = [
    "169.254.169.254",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.100.100.200",
    "[fd00:ec2::254]",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::169.254.169.254]",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[fe80::a9fe:a9fe]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[fd00:ec2::23]",
    "[fd20:ce::254]",
    "[fd00:c1::a9fe:a9fe]",
    "[fd00:42::42]",
]


@pytest.mark.parametrize("address", METADATA)
def test_addresses_of_cloud_metadata_are_never_asked(address):
    with Workspace(f"http://{address}/latest") as workspace:
        reply = workspace.tool("native").call({"files": ["meta-data"]})

    assert "never read" in reply.text


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:169.254.169.254"])
def test_a_name_that_leads_to_metadata_is_refused_when_it_is_connected_to(address, server, workspace, monkeypatch):
    assert "three" in workspace.tool("forge").call({"path": "a.txt"}).text
    workspace.roots[0].store().close()
    family = web.socket.AF_INET6 if ":" in address else web.socket.AF_INET
    good = (web.socket.AF_INET, web.socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))
    found = [good, (family, web.socket.SOCK_STREAM, 6, "", (address, 80))]
    monkeypatch.setattr(web.socket, "getaddrinfo", lambda *_, **__: found)

    assert "never read" in workspace.tool("native").call({"files": ["a.txt"]}).text


def test_ordinary_addresses_are_no_metadata():
    for address in ("127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "8.8.8.8", "2001:db8::1", "64:ff9b::808:808"):
        assert not web.is_metadata(address)


def test_every_address_of_a_host_is_tried(server):
    with Workspace(server.url.replace("127.0.0.1", "localhost")) as workspace:
        assert "three" in workspace.tool("forge").call({"path": "a.txt"}).text


def test_connections_are_used_again(server, workspace):
    for _ in range(5):
        assert "three" in workspace.tool("forge").call({"path": "a.txt"}).text

    assert (len(server.requests), server.connections) == (5, 1)


def test_a_connection_that_the_server_has_closed_is_replaced(server, workspace):
    def last_on_its_connection(handler):
        server.answer(handler)
        handler.close_connection = True  # without a word to the client

    server.faults = [last_on_its_connection] * 3
    for _ in range(4):
        assert "three" in workspace.tool("forge").call({"path": "a.txt"}).text
    assert len(server.requests) == 4


def test_local_and_remote_roots_mix(server, tmp_path):
    (tmp_path / "b.txt").write_text("local\n")
    (tmp_path / "link").symlink_to("/data/a.txt")
    with Workspace(tmp_path, f"/data={server.url}") as workspace:
        tool = workspace.tool("native")
        assert "local" in tool.call({"files": ["b.txt"]}).text
        assert "three" in tool.call({"files": ["/data/a.txt"]}).text
        assert "three" not in tool.call({"files": ["link"]}).text


def test_documents_and_archives_are_read(server, workspace, tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.writestr("in.txt", "inside\n")
        archive.writestr(".env", "KEY=1")
    server.files["z.zip"] = (tmp_path / "z.zip").read_bytes()
    tool = workspace.tool("native")

    assert "in.txt" in tool.call({"files": ["z.zip"]}).text
    assert "inside" in tool.call({"files": ["z.zip!/in.txt"]}).text
    assert "KEY" not in tool.call({"files": ["z.zip!/.env"]}).text


def test_the_store_counts_what_it_was_asked(server, workspace):
    workspace.tool("forge").call({"path": "a.txt"})
    store = workspace.roots[0].store()

    assert isinstance(store, remote_store.Store)
    assert store.server.requests == 1


def test_requests_and_bytes_are_facts_of_a_call_and_in_the_audit_log(server, workspace, tmp_path):
    import json

    from eyespan import CallContext
    from eyespan.extras.http.metrics import Metrics
    from eyespan.server.audit import Audit
    from eyespan.server.service import Service

    expected = {"store_requests": 1, "store_bytes": len(server.files["a.txt"])}
    facts = workspace.tool("native").call({"files": ["a.txt"]}).facts
    assert {name: facts[name] for name in expected} == expected

    service = Service(workspace, ["native"], audit=Audit(str(tmp_path / "audit.jsonl")))
    context = CallContext(5)
    service.handler("tools/call")({"name": "read", "arguments": {"files": ["a.txt"]}}, "test", context)
    line = json.loads((tmp_path / "audit.jsonl").read_text().splitlines()[-1])
    assert {name: line[name] for name in expected} == expected

    metrics = Metrics()
    metrics.count_store(context.store_requests, context.store_bytes)
    assert "eyespan_store_requests_total 1\n" in metrics.text()
    assert f"eyespan_store_bytes_total {expected['store_bytes']}\n" in metrics.text()


def test_a_local_read_has_no_counts_of_a_store(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    with Workspace(tmp_path) as local:
        assert "store_requests" not in local.tool("native").call({"files": ["a.txt"]}).facts


@pytest.mark.parametrize("pasted", ["a.txt:2: error: x", '"a.txt:2"', "a.txt#L2", 'File "a.txt", line 2, in f'])
def test_what_other_tools_print_is_read(workspace, pasted):
    reply = workspace.tool("native").call({"files": pasted})

    assert "two" in reply.text
    assert "note: read as a.txt:2" in reply.text


def test_a_text_that_means_no_file_costs_few_requests(server, workspace):
    reply = workspace.tool("native").call(
        {"files": "in b/one.txt:3:7 and two.txt line 4, see c\\three.txt(5,6): error"}
    )

    assert reply.is_error
    assert len(server.requests) < 60


@pytest.fixture
def big(server):
    server.files["big.log"] = lines(250_000)
    server.etags["big.log"] = f'"{time.monotonic_ns()}"'  # no index of another test fits
    return server


def test_last_lines_are_shown_without_numbers_by_few_requests(big, workspace):
    reply = workspace.tool("native").call({"files": ["big.log:-3"]})

    assert reply.text.split("\n")[1:4] == [f"\tline 02{number} of a remote file" for number in (49998, 49999, 50000)]
    assert reply.text.startswith(f"> big.log: the last 3 lines of {len(big.files['big.log'])} bytes #")
    assert "not numbered, because that reads all of the file; big.log:1,-3 does" in reply.text
    assert len(big.requests) == 3, "for the name big.log:-3, the first bytes and the end"
    assert big.sent_bytes < 600_000
    assert reply.structured["parts"][0]["total_lines"] is None


def test_last_lines_are_numbered_if_asked_or_if_an_index_exists(big, workspace):
    tool = workspace.tool("native")

    assert "250000\t" in tool.call({"files": ["big.log:1,-1"]}).text
    big.requests.clear()
    assert "249998\tline 0249998" in tool.call({"files": ["big.log:-3"]}).text, "with the index"
    assert len(big.requests) <= 3


def test_last_lines_beyond_the_budget_can_be_read_on(big, workspace):
    tool = workspace.tool("native")
    reply = tool.call({"files": ["big.log:-500"], "budget": 300})

    assert "line 0250000" in reply.text
    assert reply.structured["left_out"] == ["big.log:1,-500"]
    assert "249501\tline 0249501" in tool.call({"files": reply.structured["left_out"], "budget": 20_000}).text


def test_secrets_in_last_lines_are_replaced(server):
    secret = b"AKIA" + b"IOSFODNN7EXAMPLQ"
    server.files["big.log"] = lines(250_000) + b"key = " + secret + b"\n"
    with Workspace(server.url) as workspace:
        reply = workspace.tool("native", redact=True).call({"files": ["big.log:-2"]})

    assert "redacted" in reply.text
    assert secret.decode() not in reply.text


@pytest.mark.parametrize(("option", "is_numbered"), [([], False), (["-n"], True), (["-N"], False)])
def test_the_command_line_numbers_last_lines_only_if_asked(option, is_numbered, big, capfd):
    from eyespan.cli.main import main

    assert main(["--root", f"/data={big.url}", "read", *option, "big.log:-2"]) == 0
    out, err = capfd.readouterr()
    last = "line 0250000 of a remote file\n"
    assert out.endswith(f"250000\t{last}" if is_numbered else f"\n{last}")
    assert ("not numbered" in err) is not is_numbered


def test_blocks_of_a_file_are_paid_for_before_they_come_and_free_after_the_call(server, workspace, monkeypatch):
    server.files["large.txt"] = b"line\n" * 2_000_000
    received = []
    real = web.Server.get

    def get(self, prepare, start, size_bytes, known, context, asked):
        received.append((size_bytes, context.memory.charged_bytes))
        return real(self, prepare, start, size_bytes, known, context, asked)

    monkeypatch.setattr(web.Server, "get", get)
    context = CallContext(60)

    with workspace.engine.open(ReadRequest("/data/large.txt"), context) as opened:
        descriptor = opened.source.fd
        held = context.memory.charged_bytes

    assert descriptor >= 0
    assert max(received)[0] == remote_file.RANGE_BYTES
    assert [size for size, paid in received[1:] if paid < size] == []
    assert held < 1 << 20
    assert context.memory.charged_bytes == 0


def test_a_server_without_ranges_costs_the_requested_part_only(server, workspace):
    server.has_ranges = False
    server.files["large.bin"] = data = os.urandom(8 << 20)
    with workspace.engine.open(ReadRequest("/data/large.bin"), CallContext(10)) as opened:
        tracemalloc.start()
        try:
            part = opened.source.read_at(7 << 20, 1000)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert part == data[7 << 20 : (7 << 20) + 1000]
    assert most < 2 << 20


def test_a_connection_with_the_rest_of_a_body_is_closed(server):
    """The next request on it would get that rest as its answer, or fail."""
    server.has_ranges = False
    server.files["a.bin"] = bytes(200_000)
    store = web.Server(server.url, "the server")
    path = urlsplit(server.url).path.rstrip("/") + "/a.bin"

    part, version = store.get(lambda headers: (path, headers), 0, 1000, None, CallContext(10), "a.bin")
    after_part = len(store._idle)
    whole, _ = store.get(lambda headers: (path, headers), 0, 200_000, version, CallContext(10), "a.bin")
    after_whole = len(store._idle)
    store.close()

    assert (len(part), len(whole)) == (1000, 200_000)
    assert (after_part, after_whole) == (0, 1)


# --- answers that are not to be trusted ----------------------------------------------------------------------------

MAX_SENT_BYTES = 32 << 20
"""More than fits into the buffers of a connection: a client that reads no further ends the server before that."""


def sends(*headers, status=206, body=b"abc"):
    """Return a fault: an answer with these headers and body."""

    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 %d x\r\n" % status)
        handler.wfile.write(b"".join([f"{header}\r\n".encode("latin-1") for header in headers]))
        handler.wfile.write(b"\r\n" + body)
        handler.close_connection = True

    return answer


def sends_for_ever(start, piece, sent, act=lambda: None):
    """Return a fault: bytes without end, until the client leaves. `sent` gets their number; `act` is called once."""

    def answer(handler):
        handler.close_connection = True
        try:
            handler.wfile.write(start)
            act()
            while sum(sent) < MAX_SENT_BYTES:
                handler.wfile.write(piece)
                sent.append(len(piece))
        except OSError:
            sent.append(0)

    return answer


def tried(store, start=0, size_bytes=10, version=None, context=None):
    """Return the code and the words of the error for a range of `a.txt`."""
    with pytest.raises(ReadError) as caught:
        store.get("a.txt", start, size_bytes, version, context or CallContext(10), "a.txt")
    return caught.value.code, str(caught.value)


@pytest.fixture
def store(server):
    store = web.WebStore(server.url)
    yield store
    store.close()


RANGES = {
    "no range": "",
    "bytes 0-9/*": "does not report the size",
    "bytes 0-9/9": "another range",
    "bytes 1-10/20": "another range",
    "bytes 0-8/20": "another range",
    "bytes 0-10/20": "another range",
    "bytes 9-0/20": "another range",
    "bytes 0-9/-1": "invalid header",
    "bytes -5-9/20": "invalid header",
    "bytes 0-9/+20": "invalid header",
    "bytes 0-9/2_0": "invalid header",
    "bytes 0-9/\xb2\xb3": "invalid header",
    "bytes 0-9/" + "9" * 19: "invalid header",
    "bytes 0-9/" + "9" * 5000: "invalid header",
    "pages 0-9/20": "invalid header",
}


@pytest.mark.parametrize("value", RANGES)
def test_a_range_other_than_the_one_asked_for_is_an_error(value, server, store):
    server.faults = [sends(f"Content-Range: {value}", "Content-Length: 10", body=b"0123456789")]

    code, text = tried(store)

    assert code == "store"
    assert RANGES[value] in text


@pytest.mark.parametrize("total", [4, 5, 99])
def test_a_total_before_the_start_of_a_range_is_an_error(total, server, store):
    """The size of such a range is negative."""
    sent = []
    header = b"HTTP/1.1 206 x\r\nContent-Range: bytes 100-%d/%d\r\nContent-Length: 99999999999\r\n\r\n"
    for last in (total - 1, 109):
        server.faults = [sends_for_ever(header % (last, total), bytes(65536), sent)]
        assert "another range" in tried(store, 100)[1]
    store.close()

    assert sum(sent) < MAX_SENT_BYTES


@pytest.mark.parametrize("length", ["-5", "+5", "5_0", "0x5", "\xb2", "", "9" * 19, "9" * 5000])
def test_a_length_that_is_no_number_is_an_error(length, server, store):
    server.faults = [sends(f"Content-Length: {length}", status=200)]

    assert "invalid header" in tried(store)[1]


@pytest.mark.parametrize("tag", ['"' + "e" * 60_000 + '"', '"a\r\n b"', '"a\x01"'])
def test_an_etag_that_cannot_be_sent_back_is_an_error(tag, server, store):
    server.faults = [sends("Content-Range: bytes 0-2/3", "Content-Length: 3", f"ETag: {tag}")]

    assert "invalid header" in tried(store)[1]


@pytest.mark.parametrize("date", ["Fri, 31 Dec 9999 23:59:59 GMT", "Thu, 01 Jan 1801 00:00:00 GMT", "x" * 60_000])
def test_a_time_that_no_file_has_is_unknown(date, server, store):
    server.faults = [sends("Content-Range: bytes 0-2/3", "Content-Length: 3", f"Last-Modified: {date}")]

    data, version = store.get("a.txt", 0, 10, None, CallContext(10), "a.txt")

    assert (data, version.modified_ns) == (b"abc", 0)


def test_another_version_is_found_before_its_body_is_read(server, store):
    _, version = store.get("a.txt", 0, 4, None, CallContext(10), "a.txt")
    sent = []
    header = b"HTTP/1.1 206 x\r\nContent-Range: bytes 4-7/9999\r\nContent-Length: 4\r\n\r\n"
    server.faults = [sends_for_ever(header, bytes(65536), sent)]

    assert tried(store, 4, 4, version)[0] == "changed"
    assert sum(sent) < MAX_SENT_BYTES


ENDLESS = {
    "preliminary answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "headers": (b"HTTP/1.1 200 x\r\n", b"X: y\r\n" * 20),
    "long headers": (b"HTTP/1.1 200 x\r\n", b"X: " + b"y" * 60_000 + b"\r\n"),
    "a chunk of -1 bytes": (
        b"HTTP/1.1 206 x\r\nContent-Range: bytes 0-9/20\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        bytes(65536),
    ),
    "empty extensions of a chunk": (
        b"HTTP/1.1 206 x\r\nContent-Range: bytes 0-9/20\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1\r\n\r\n" * 1000,
    ),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_an_endless_answer_ends_after_what_was_asked_for(what, server, store):
    sent = []
    server.faults = [sends_for_ever(*ENDLESS[what], sent) for _ in range(web.MAX_TRIES)]
    tracemalloc.start()
    try:
        code, _ = tried(store)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    store.close()

    assert code == "store"
    assert most < 4 << 20


@pytest.mark.parametrize(
    "start", [b"HTTP/1.1 200 x\r\nX: ", b"HTTP/1.1 206 x\r\nContent-Range: bytes 0-16777215/99999999\r\n\r\n"]
)
def test_a_call_that_has_ended_receives_no_more(start, server, store):
    """In headers and in a body: a slow server holds no thread."""
    context = CallContext(10)

    def cancel():
        context.cancelled = True

    server.faults = [sends_for_ever(start, b"x" * 1000, [], cancel)]

    assert tried(store, size_bytes=16 << 20, context=context)[0] == "cancelled"


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 x\r\nX: ", b"HTTP/1.1 200 x\r\nContent-Length: 9999999\r\n\r\n"])
def test_an_whole_answer_has_a_time_limit(start, server):
    seconds = [0.0]
    other = web.Server(server.url, "the server", clock=lambda: seconds[0])

    def wait():
        seconds[0] += web.MAX_ANSWER_SECONDS + 1

    server.faults = [sends_for_ever(start, b"x" * 1000, [], wait)]
    with pytest.raises(StoreFailure, match="too slowly"):
        other.exchange("GET", "/files/a.txt", {}, b"", 1 << 30)
    other.close()


def test_an_whole_answer_has_a_size_limit(server):
    other = web.Server(server.url, "the server")
    server.files["a.txt"] = bytes(1001)

    assert len(other.exchange("GET", "/files/a.txt", {}, b"", 1001)[1]) == 1001
    with pytest.raises(StoreFailure, match="more than was asked for"):
        other.exchange("GET", "/files/a.txt", {}, b"", 1000)
    other.close()


def test_buffers_of_a_remote_file_can_be_dropped(server, workspace):
    server.files["large.txt"] = data = lines(60_000)
    call = CallContext(10)
    with workspace.engine.open(ReadRequest("/data/large.txt"), call) as opened:
        opened.source.read_at(1_000_000, 1000)
        held_bytes = call.memory.charged_bytes
        opened.source.drop_buffers()
        dropped_bytes = call.memory.charged_bytes
        part = opened.source.read_at(1_000_000, 1000)
    call.finish()

    assert part == data[1_000_000:1_001_000]
    assert dropped_bytes < held_bytes
    assert dropped_bytes <= remote_file.FIRST_BYTES


@pytest.mark.parametrize("what", ENDLESS)
def test_a_body_that_fails_leaves_nothing_that_cannot_be_collected(what, server, store, monkeypatch):
    failures = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)
    server.faults = [sends_for_ever(*ENDLESS[what], []) for _ in range(web.MAX_TRIES)]

    tried(store)
    store.close()
    gc.collect()

    assert failures == []
