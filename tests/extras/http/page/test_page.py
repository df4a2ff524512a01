"""The page of `eyespan view`: its answers, its headers and its refusals."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading

import pytest

from eyespan import Workspace
from eyespan.extras.http.page.activity import Activity, summary
from eyespan.extras.http.page.api import Api, WorkspaceBackend
from eyespan.extras.http.page.local_server import MAX_STRANGERS, ViewServer
from eyespan.extras.http.page.static_files import FILES, HEADERS
from tests.clock import until

PAGES = list(FILES)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "reads.jsonl"


@pytest.fixture
def server(tmp_path, log):
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "a.txt").write_text("one\ntwo\n")
    (tree / "<img src=x onerror=alert(1)>.txt").write_text("<script>alert(1)</script>\n")
    (tree / ".env").write_text("KEY=1\n")
    with Workspace(tree) as workspace:
        server = ViewServer(Api(WorkspaceBackend(workspace, Activity(str(log)))))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server
        server.shutdown()
        server.server_close()


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    sent = {"Cookie": server.cookie, "Content-Type": "application/json", **headers}
    connection.request(
        method, server.path + path, body, {name: value for name, value in sent.items() if value is not None}
    )
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


def call(server, **request):
    answer, data = ask(server, "POST", "api/call", json.dumps(request))
    assert answer.status == 200
    return json.loads(data)


def test_the_page_has_strict_headers_and_needs_no_token(server):
    for path in PAGES:
        answer, data = ask(server, "GET", path, Cookie=None)
        assert (answer.status, bool(data)) == (200, True)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert "Access-Control-Allow-Origin" not in answer.headers


def test_the_page_loads_nothing_from_elsewhere_and_sets_no_markup(server):
    page = b"".join([ask(server, "GET", path)[1] for path in PAGES]).decode()

    assert re.findall(r"(?:src|href)=\"(?!page\.|#)", page) == []
    assert not any(word in page for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("))
    assert not re.search(r"\son\w+=", page)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Cookie": None}, 401),
        ({"Cookie": "eyespan=wrong"}, 401),
        ({"Cookie": "eyespan="}, 401),
        ({"Cookie": None, "Authorization": "Bearer wrong"}, 401),
        ({"Cookie": None, "Authorization": "Bearer "}, 401),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_data_needs_the_cookie_and_the_own_page(headers, status, server):
    for method, path, body in (("GET", "api/state", None), ("GET", "api/names", None), ("POST", "api/call", "{}")):
        answer, data = ask(server, method, path, body, **headers)
        assert answer.status == status
        assert b"a.txt" not in data


def test_a_token_admits_one_browser_once(server):
    token = {"Cookie": None, "Authorization": f"Bearer {server.new_token()}"}
    first, again = [ask(server, "GET", "api/state", **token)[0] for _ in range(2)]

    assert (first.status, again.status) == (200, 401)
    assert first.headers["Set-Cookie"] == f"{server.cookie}; Path={server.path}; HttpOnly; SameSite=Strict"
    assert "Set-Cookie" not in again.headers
    assert "Set-Cookie" not in ask(server, "GET", "api/state")[0].headers


def test_a_request_of_another_page_spends_no_token(server):
    token = {"Cookie": None, "Authorization": f"Bearer {server.new_token()}"}
    for headers in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
        assert ask(server, "GET", "api/state", **token, **headers)[0].status in (403, 421)

    assert ask(server, "GET", "api/state", **token)[0].status == 200


def test_the_cookie_is_found_among_those_of_other_ports(server):
    cookies = f"eyespan=of-another; broken; x=\xe9; {server.cookie}; y"

    assert ask(server, "GET", "api/state", Cookie=cookies)[0].status == 200


def connections(server, count):
    """Connect as another user of the machine can, and send half of a request."""
    links = [socket.create_connection(("127.0.0.1", server.server_port), timeout=10) for _ in range(count)]
    for link in links:
        link.sendall(b"GET ")
    return links


def is_closed(link):
    try:
        link.settimeout(0)
        return link.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_the_oldest_connection_without_cookie_or_token_makes_place(server):
    links = connections(server, MAX_STRANGERS + 10)

    assert ask(server, "GET", "api/state")[0].status == 200
    assert ([is_closed(link) for link in links[:11]], is_closed(links[-1])) == ([True] * 11, False)
    for link in links:
        link.close()


@pytest.mark.parametrize("length", ["", "-1", "+2", "\xb2", "9" * 5000])
def test_a_length_that_is_no_number_is_refused(length, server):
    assert ask(server, "POST", "api/call", **{"Content-Length": length})[0].status == 413


def test_a_connection_with_the_cookie_makes_no_place(server):
    body = json.dumps({"dialect": "native", "arguments": {"path": "a.txt"}})
    admitted = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    admitted.putrequest("POST", f"{server.path}api/call")
    sent = {"Cookie": server.cookie, "Content-Type": "application/json", "Content-Length": len(body)}
    for name, value in sent.items():
        admitted.putheader(name, value)
    admitted.endheaders()
    assert ask(server, "GET", "api/state")[0].status == 200  # both are accepted
    until(lambda: not server.strangers)
    links = connections(server, MAX_STRANGERS + 10)
    admitted.send(body.encode())

    assert admitted.getresponse().status == 200
    for link in (admitted, *links):
        link.close()


def test_every_server_has_a_path_and_a_cookie_of_its_own(server):
    with ViewServer(server.api) as other:
        assert {other.path, other.cookie}.isdisjoint({server.path, server.cookie})


@pytest.mark.parametrize("path", ["/", "/page.js", "/api/state", "//api/state", "/x/api/state", "api/state", "?"])
def test_nothing_is_served_outside_of_the_path(path, server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.request("GET", path, headers={"Cookie": server.cookie})

    assert connection.getresponse().status == 404
    connection.close()


@pytest.mark.parametrize(
    ("error", "is_shown"), [(BrokenPipeError, False), (ConnectionResetError, False), (ValueError, True)]
)
def test_a_browser_that_leaves_is_no_error(error, is_shown, server, capfd):
    try:
        raise error
    except error:
        server.handle_error(None, ("127.0.0.1", 1))

    assert (error.__name__ in capfd.readouterr().err) == is_shown


def test_all_files_have_sizes_and_hidden_names_are_counted_by_rule(server):
    found = json.loads(ask(server, "GET", "api/files")[1])

    assert found == {
        "files": [["<img src=x onerror=alert(1)>.txt", 26], ["a.txt", 8]],
        "count": 2,
        "is_complete": True,
        "hidden": [["**/.env", 1]],
        "errors": [],
    }


def test_files_are_measured_without_a_trace_in_the_activity(server):
    costs = call(server, dialect="codex", files=["a.txt", ".env", "none"])["costs"]
    read = call(server, dialect="codex", file={"path": "a.txt"})["tokens"]
    events = json.loads(ask(server, "GET", "api/activity")[1])["events"]

    assert (costs, len(events)) == ([{"tokens": read, "is_whole": True}, None, None], 1)


def test_a_long_file_is_measured_whole(server, tmp_path):
    (tmp_path / "tree" / "long.py").write_text("x = 1\n" * 5000)
    (tmp_path / "tree" / "longer.py").write_text("x = 1\n" * 100_000)

    costs = call(server, dialect="codex", files=["long.py", "longer.py"])["costs"]
    first = call(server, dialect="codex", file={"path": "long.py"})["tokens"]

    assert [cost["is_whole"] for cost in costs] == [True, False]
    assert costs[0]["tokens"] > 2 * first


@pytest.mark.parametrize("files", [None, "a.txt", {}, [1]])
def test_files_to_measure_must_be_a_list_of_paths(server, files):
    answer, data = ask(server, "POST", "api/call", json.dumps({"dialect": "codex", "files": files}))

    assert (answer.status, b"path" in data) == (400, True)


@pytest.mark.parametrize("dialect", ["claude", "codex", "native", "forge", "text-editor"])
def test_styles_cover_every_line_of_an_answer(server, tmp_path, dialect):
    (tmp_path / "tree" / "b.py").write_text("def π():\n    return '😀'  # x\n")
    block = call(server, dialect=dialect, file={"path": "b.py"})["blocks"][0]
    lines = block["text"].split("\n")

    assert [size + sum([length for length, _ in pieces]) for size, pieces in block["styles"]] == list(map(len, lines))
    assert {"keyword", "name", "string", "comment"} <= {style for _, pieces in block["styles"] for _, style in pieces}


def test_an_answer_of_unknown_language_has_its_numbers_apart(server):
    block = call(server, dialect="claude", file={"path": "a.txt"})["blocks"][0]

    assert block["styles"] == [[7, [[len(line) - 7, ""]]] for line in block["text"].split("\n")]


def test_an_answer_without_numbers_has_no_styles(server):
    assert call(server, dialect="pi", file={"path": "a.txt"})["blocks"][0]["styles"] is None


def test_the_state_has_every_dialect_with_its_schema(server):
    state = json.loads(ask(server, "GET", "api/state")[1])

    names = [dialect["name"] for dialect in state["dialects"]]
    assert {"native", "codex", "claude", "forge", "workspace"} <= set(names)
    for dialect in state["dialects"]:
        assert all(tool["schema"]["type"] == "object" and tool["name"] for tool in dialect["tools"])


def test_names_leave_out_what_is_denied(server):
    entries = json.loads(ask(server, "GET", "api/names?path=.")[1])["entries"]

    assert [entry["name"] for entry in entries] == ["<img src=x onerror=alert(1)>.txt", "a.txt", "src"]
    assert json.loads(ask(server, "GET", "api/names?path=..")[1])["error"]["code"] == "outside_root"


def test_a_preview_is_what_the_model_receives(server, tmp_path):
    found = call(server, dialect="claude", arguments={"file_path": str(tmp_path / "tree" / "a.txt")})

    with Workspace(tmp_path / "tree") as workspace:
        reply = workspace.tool("claude").call({"file_path": str(tmp_path / "tree" / "a.txt")})
    assert [block["text"] for block in found["blocks"]] == [reply.text]
    assert found["tokens"] > 0
    assert found["error"] is None


def test_a_refusal_has_its_code_and_its_rule(server):
    found = call(server, dialect="native", arguments={"files": [".env"]})

    assert (found["error"]["code"], found["rule"]) == ("policy_denied", "**/.env")


def test_tokens_of_the_blocks_add_up_with_images(server, tmp_path):
    from PIL import Image

    Image.new("RGB", (40, 30), "teal").save(tmp_path / "tree" / "shot.png")
    found = call(server, dialect="native", file={"path": "shot.png"})

    assert [block["type"] for block in found["blocks"]] == ["text", "image"]
    assert found["tokens"] == sum(block["tokens"] for block in found["blocks"])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ('{"dialect": "codex", "file": {"path": 1}}', 400),
        ("{}", 400),
        ("[]", 400),
        ("{", 400),
        ('{"dialect": "no"}', 400),
        ("[" * 60_000, 400),
        ("x" * 70_000, 413),
    ],
)
def test_bad_requests_are_refused(body, status, server):
    assert ask(server, "POST", "api/call", body)[0].status == status


def test_other_paths_and_types_are_refused(server):
    assert ask(server, "GET", "api/other")[0].status == 404
    assert ask(server, "GET", "../server.py")[0].status == 404
    assert ask(server, "POST", "api/call", "{}", **{"Content-Type": "text/plain"})[0].status == 415


def test_activity_follows_a_log_and_counts_reads_of_the_same(server, log):
    def line(**fields):
        entry = {
            "time": "t",
            "caller": "c",
            "dialect": "codex",
            "path": "a",
            "canonical": "a",
            "range": [1, 5],
            "bytes": 3,
        }
        return json.dumps({**entry, "verdict": "read", "code": None, "ms": 1, **fields}) + "\n"

    log.write_text(line() + line() + line(range=[6, 9]) + line(verdict="refused", code="x", bytes=0) + '{"half')
    first = json.loads(ask(server, "GET", "api/activity?after=0")[1])
    with log.open("a") as file:
        file.write('": 1}\n' + line(path="b", canonical="b"))
    second = json.loads(ask(server, "GET", f"api/activity?after={first['last']}")[1])

    assert (first["last"], len(first["events"])) == ("4", 4)
    row = first["files"][0]
    assert (row["reads"], row["again"], row["refused"], row["bytes"]) == (3, 1, 1, 9)
    assert [event["path"] for event in second["events"]] == ["b"]


def test_previews_are_activity_too(server, tmp_path):
    call(server, dialect="native", arguments={"files": ["a.txt"]})
    call(server, dialect="codex", arguments={"file_path": str(tmp_path / "tree" / "a.txt")})
    call(server, dialect="native", arguments={"files": ["a.txt", "none.txt", "<img src=x onerror=alert(1)>.txt"]})
    found = json.loads(ask(server, "GET", "api/activity")[1])

    assert [event["caller"] for event in found["events"]] == ["this page"] * 3
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]{12}Z", event["time"]) for event in found["events"])
    rows = [(row["path"], row["reads"], row["again"], [part["last"] for part in row["heat"]]) for row in found["files"]]
    assert rows == [("a.txt", 3, 2, [2]), ("<img src=x onerror=alert(1)>.txt", 1, 0, [1])]
    assert (found["totals"]["reads"], found["totals"]["again"]) == (3, 2)


def test_lines_that_were_shown_before_are_counted_by_version():
    def read(lines, version=1, **fields):
        return {"path": "a", "canonical": "a", "range": lines, "mtime_ns": version, "verdict": "read", **fields}

    reads = [
        read("1-100", tokens=5),
        read("50-60", tokens=2),
        read("101-150"),
        read("90-120"),
        read("1-100", 2),
        read("none"),
    ]
    found = summary([*reads, {"path": "b", "range": None, "verdict": "refused", "rule": "x"}])

    a, b = found["files"]
    assert (a["reads"], a["again"], a["tokens"], b["refused"]) == (6, 2, 7, 1)
    assert a["heat"][0] == {"first": 1, "last": 49, "reads": 2}
    assert max(part["reads"] for part in a["heat"]) == 3
    assert [part["last"] for part in a["heat"]][-1] == 150
    assert found["totals"] == {"reads": 6, "refused": 1, "again": 2, "again_tokens": 2, "bytes": 0, "tokens": 7}


def test_a_log_of_strange_values_is_shown():
    strange = [{"verdict": "read", "range": value, "files": [1, None]} for value in ([], [3, 1], "9-1", "x", 7, {})]

    assert summary(strange)["totals"]["reads"] == 6
    assert summary([{"verdict": "read", "range": value} for value in ("9-1", "٣-٤", "1-" + "9" * 5000)])["files"]


def test_the_heat_of_many_ranges_covers_the_whole_file():
    reads = [{"verdict": "read", "path": "a", "range": f"{n}-{n + 1}", "mtime_ns": 1} for n in range(1, 2000, 2)]
    (row,) = summary(reads)["files"]

    assert len(row["heat"]) <= 80
    assert (row["heat"][0]["first"], row["heat"][-1]["last"]) == (1, 2000)
    assert {part["reads"] for part in row["heat"][:-1]} == {13}
