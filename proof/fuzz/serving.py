"""Targets for configuration, the server's protocol and HTTP requests, and answers of the worker."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from proof.fuzz import damage
from proof.fuzz.arguments import KEYS, PATHS, JsonTarget, placed
from proof.fuzz.target import Broken, FileTarget, Target, dice_of


class Config(FileTarget):
    """`eyespan.toml`, from the text to the tools."""

    name = "config"
    invariant = (
        "A configuration, or BadConfig or ReadError with a message; a policy and tools are made of it or refused by "
        "ValueError; a file in the workspace allows nothing more: the built-in rules hold, no root lies outside."
    )
    how = damage.TEXT
    TEXTS = (
        'roots = ["."]\n[policy]\ndeny = ["**/.env", "**/*.pem", "secrets/**", "a[!b]*?"]\n',
        "[tools.read_file]\nmax_file_read_bytes = 204800\nmax_scan_bytes = 2097152\nshow_line_numbers = true\n",
        '[policy]\nallow = ["**/.env"]\n',
        'roots = ["sub", "../x", "/"]\n',
        'policy.deny = ["**", "*", "/", "a/", "**/**/**/x", "[", "é/**"]\ntools = {read_file = {}}\n',
    )

    def seeds(self) -> list[bytes]:
        return [text.encode() for text in self.TEXTS]

    def check(self, data: bytes) -> str:
        from eyespan import Workspace
        from eyespan.config import BadConfig, load
        from eyespan.errors import ReadError

        inside = dice_of(data).random() < 0.7
        path = self.write(data, "eyespan.toml")
        if not inside:
            outside = os.path.join(self.base, "host.toml")
            os.replace(path, outside)
            os.close(self._fds.pop("eyespan.toml"))
        try:
            config = load([self.root], None if inside else outside)
        except (BadConfig, ReadError) as error:
            if not str(error):
                raise
            return type(error).__name__
        try:
            policy = config.policy()
        except ValueError:
            return "no policy"
        if inside:
            if policy.rule_against("a/.env") is None or policy.rule_against(".ssh/id_rsa") is None:
                raise Broken("a file in the workspace removed a built-in rule")
            if any(not os.path.realpath(root).startswith(self.root) for root in config.roots):
                raise Broken(f"a file in the workspace names the roots {config.roots}")
        for name in ("a/b/c/d.txt", "é/" * 50 + "x", "a" * 300, ".", "\udcff"):
            policy.rule_against(name)
        try:
            Workspace(self.root).tool("forge", **config.settings.get("forge", {}))
        except (ValueError, TypeError):
            return "no tool"
        return "accepted"


class Callers(FileTarget):
    """The table of callers of the HTTP server, and the options of `eyespan serve`."""

    name = "callers"
    invariant = "Callers or options, or Usage with a message; nothing else is raised."
    how = damage.TEXT
    WORDS = (
        *("--http", "127.0.0.1:8000", "[::1]:0", "0.0.0.0:80", "--dialect", "native", "--allow-remote", "--no-token"),
        *("--rate=5", "--workers", "0", "99999999999999999999", "--timeout", "nan", "1e999", "-1", "--tokens"),
        *("--structured", "--allow-host", "--allow-origin=http://x", "--audit", "a", "--audit-required"),
        "--oauth-issuer",
        "--http=:",
    )

    def seeds(self) -> list[bytes]:
        digest = "ab" * 32
        table = f'[one]\nsha256 = "{digest}"\nroots = ["a"]\ndialects = ["native"]\nrate = 5\n[two]\ntoken_file = "x"\n'
        return [table.encode(), "\n".join(("--http", "127.0.0.1:80", "--rate", "7")).encode(), b"--timeout\n2.5"]

    def mutate(self, dice, data, other):
        if data.startswith(b"-") and dice.random() < 0.8:
            words = data.split(b"\n")
            words.insert(dice.randrange(len(words) + 1), dice.choice(self.WORDS).encode())
            return b"\n".join(words[: dice.randrange(len(words)) + 1])
        return super().mutate(dice, data, other)

    def check(self, data: bytes) -> str:
        from eyespan.cli.options import UsageError
        from eyespan.cli.serve import parse_words
        from eyespan.extras.http.auth.callers import read_callers
        from eyespan.server.serve_options import InvalidOptions

        try:
            if data.startswith(b"-"):
                parse_words(data.decode("utf-8", "surrogateescape").split("\n"))
                return "options"
            path = self.write(data, "callers.toml")
            return f"{min(3, len(read_callers(path)))} callers"
        except (UsageError, InvalidOptions) as error:
            return "usage" if str(error) else "usage without a message"


class Wire(Target):
    """JSON as the stdio server reads and writes it."""

    name = "wire"
    invariant = "The same values as the json module, or a refusal; every value is written as one line of valid UTF-8."
    how = damage.TEXT

    def seeds(self) -> list[bytes]:
        values = ({"jsonrpc": "2.0", "id": 1, "params": {"a": [1, -2.5, None, True, "é\ud800"]}}, "x" * 5000, [[[]]], 0)
        return [damage.dumps(value) for value in values]

    def check(self, data: bytes) -> str:
        from eyespan.server import json_messages

        try:
            wanted = json.loads(data.decode("utf-8"), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            wanted = error
        try:
            value = json_messages.loads(data)
        except json_messages.Malformed:
            if isinstance(wanted, Exception) or data[:3] == b"\xef\xbb\xbf":
                return "malformed"
            raise Broken("json reads it, json_lines does not") from None
        if isinstance(wanted, RecursionError):
            return "deep"
        if isinstance(wanted, Exception):
            raise Broken(f"json_lines reads it, json does not: {wanted}")
        line = b"".join(json_messages.dumps(value))
        line.decode("utf-8")
        if b"\n" in line:
            raise Broken("more than one line")
        # JSON can represent neither a lone surrogate nor 1e999.
        if (
            "\\ud" not in line.decode("utf-8")
            and "Infinity" not in json.dumps(wanted)
            and json.dumps(json.loads(line)) != json.dumps(wanted)
        ):
            raise Broken(f"{line[:200]!r} instead of {json.dumps(wanted)[:200]!r}")
        return type(value).__name__


def _no_constant(name):
    raise ValueError(name)


NO_JSON = (b"NaN", b"Infinity")


class Stdio(JsonTarget):
    """Lines of the stdio server, from its input to its output."""

    name = "stdio"
    invariant = (
        "The server reads to the end and returns; every line of output is one JSON-RPC message in valid UTF-8; each "
        "request that is unique and not cancelled is answered once; no answer is an internal error."
    )
    words = (*PATHS, "tools/call", "tools/list", "ping", "initialize", "resources/read", "completion/complete", "2.0")
    keys = (
        *KEYS,
        *("jsonrpc", "method", "params", "_meta", "progressToken", "requestId", "protocolVersion", "uri", "ref"),
    )

    def seeds(self) -> list[bytes]:
        def request(number, method, params):
            return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        talk = [
            request(1, "initialize", hello),
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            request(2, "tools/list", {}),
            request("three", "tools/call", {"name": "read", "arguments": {"files": ["a.py"]}}),
            request(4, "resources/templates/list", {}),
            request(5, "resources/read", {"uri": "file://{root}/a.py"}),
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 3}},
            [request(6, "ping", {}), request(7, "tools/call", {"name": "read", "arguments": {"path": "long.txt"}})],
        ]
        modern = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
        other = [request(1, "server/discover", {"_meta": modern}), request(2, "tools/list", {"_meta": modern})]
        complete = {
            "ref": {"type": "ref/resource", "uri": "file:///{path}"},
            "argument": {"name": "path", "value": "a"},
        }
        return [damage.dumps(talk), damage.dumps(other), damage.dumps([request(9, "completion/complete", complete)])]

    def open(self) -> None:
        from eyespan.server.service import Service

        super().open()
        self.service = Service(self.workspace, ("native", "forge"))

    def check(self, data: bytes) -> str:
        from eyespan.server.stdio import StdioServer

        value = damage.loads(data)
        if isinstance(value, list):
            lines = [damage.dumps(placed(item, self.root)) for item in value]
        else:
            lines = [data.replace(b"\n", b" ")]
        fd_in, fd_out = os.memfd_create("in"), os.memfd_create("out")
        try:
            os.write(fd_in, b"\n".join(lines))
            os.lseek(fd_in, 0, os.SEEK_SET)
            code = StdioServer(self.service, fd_in, fd_out).run()
            out = os.pread(fd_out, 100_000_000, 0)
        finally:
            os.close(fd_in)
            os.close(fd_out)
        self.complaints.raise_any()
        if code != 0:
            raise Broken(f"returned {code}")
        answers = []
        for line in out.decode("utf-8").split("\n")[:-1]:
            message = json.loads(line)
            answers += message if isinstance(message, list) else [message]
        for answer in answers:
            if answer.get("jsonrpc") != "2.0" or ("id" not in answer and "method" not in answer):
                raise Broken(f"no JSON-RPC message: {answer!r}"[:500])
            if answer.get("error", {}).get("code") == -32603:
                raise Broken(f"an internal error: {answer!r}"[:500])
        self._check_count(value, answers)
        return f"{min(len(answers), 9)} answers"

    def _check_count(self, value, answers) -> None:
        """Raise Broken unless every request with a unique id has one answer."""
        written = damage.dumps(value)
        # NaN and Infinity are not JSON: such a line is refused without the id of its request.
        if not isinstance(value, list) or any(word in written for word in (b"notifications/cancelled", *NO_JSON)):
            return
        messages = [message for message in value if isinstance(message, dict)]
        messages += [
            message for each in value if isinstance(each, list) for message in each if isinstance(message, dict)
        ]
        used = [message["id"] for message in messages if isinstance(message.get("id"), (int, float))]
        asked = [
            m["id"] for m in value if isinstance(m, dict) and m.get("jsonrpc") == "2.0" and type(m.get("id")) is int
        ]
        for number in {n for n in asked if used.count(n) == 1}:
            if sum(answer.get("id") == number and type(answer.get("id")) is int for answer in answers) != 1:
                raise Broken(f"request {number} is not answered once")


MAX_COMPARED_BYTES = 8192
"""Longer inputs may exceed the limit of headers at another byte, depending on how they arrive."""


class Gate(Target):
    """The bytes of an HTTP connection: the parser, the checks and the answers."""

    name = "gate"
    invariant = (
        "Nothing raised, every answer has a status, and the answers do not depend on how the bytes arrive; a request "
        "passes only with one allowed Host, no Origin or an allowed one, the right token, the method of its path, and "
        "with a body only as JSON of one length."
    )
    how = damage.TEXT
    TOKEN = "a-token-for-the-tests-0123456789"
    OWN = frozenset((b"127.0.0.1:8000", b"localhost:8000", b"[::1]:8000"))

    def unavailable(self) -> str:
        try:
            import httptools  # noqa: F401  (checks that it is installed)
        except ImportError:
            return "the extra `http` is not installed"
        return ""

    def seeds(self) -> list[bytes]:
        head = (
            f"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1:8000\r\nauthorization: Bearer {self.TOKEN}\r\n"
            "content-type: application/json\r\norigin: http://127.0.0.1:8000\r\ncontent-length: 2\r\n\r\n{}"
        )
        chunked = head.replace("content-length: 2", "transfer-encoding: chunked")[:-2] + "2\r\n{}\r\n0\r\n\r\n"
        return [
            head.encode(),
            (head + head).encode(),
            chunked.encode(),
            head.replace("origin: http://127.0.0.1:8000\r\n", "").replace("/mcp", "/metrics").encode(),
            b"GET /healthz HTTP/1.1\r\nhost: localhost:8000\r\n\r\n",
            b"GET /.well-known/oauth-protected-resource HTTP/1.1\r\nhost: localhost:8000\r\nupgrade: x\r\n\r\n",
            head.replace("/mcp", "/view/api/call").encode(),
            (head.replace("POST /mcp", "GET /view/api/names?path=a") + head).encode(),
            b"".join(b"GET /view%s HTTP/1.1\r\nhost: localhost:8000\r\n\r\n" % end for end in (b"", b"/", b"/page.js")),
        ]

    def open(self) -> None:
        from hashlib import sha256

        from eyespan.extras.http.auth import Caller, Tokens
        from eyespan.extras.http.auth.rate import SharedSlots
        from eyespan.extras.http.connection import Connection
        from eyespan.extras.http.exchange import Exchange
        from eyespan.extras.http.http_options import HttpOptions
        from eyespan.extras.http.http_server import HttpServer
        from eyespan.extras.http.http_worker import WorkerSetup
        from eyespan.extras.http.log import Log
        from eyespan.extras.http.metrics import Metrics
        from eyespan.extras.http.notify import Notifier
        from eyespan.extras.http.page.served import PageFiles

        class Silent(Log):
            def write(self, event, message, **facts):
                """Write nothing."""

        services: Any = None
        listener: Any = None
        setup = WorkerSetup(
            services=services,
            authenticator=Tokens({sha256(self.TOKEN.encode()).digest(): Caller("one")}),
            options=HttpOptions(http=("127.0.0.1", 8000), view=True),
            listener=listener,
            port=8000,
            is_passed=False,
            metrics=Metrics(),
            slots=SharedSlots(),
            log=Silent(),
            capacity=10,
            page=PageFiles(),
            notifier=Notifier({}),
        )
        self.loop = asyncio.new_event_loop()
        self.server = HttpServer(self.loop, setup)
        # Rate limits are per minute and caller; this loop sends thousands of requests in a minute.
        self.server.admission.check_rate = lambda caller, **_: None  # type: ignore[method-assign]
        self.server.admission._failures = _Unlimited()  # type: ignore[assignment]
        passed = self.passed = []

        class Watched(Exchange):
            def _answer_message(self):
                passed.append(self.incoming)
                self._send(202, b"", [])

            _answer_page = _answer_message

        self.connect = lambda: Connection(self.server, Watched)

    def close(self) -> None:
        self.loop.close()

    def check(self, data: bytes) -> str:
        at = dice_of(data).randrange(len(data) + 1)
        statuses = self._statuses([data[:at], data[at:]])
        if len(data) < MAX_COMPARED_BYTES and statuses != (whole := self._statuses([data])):
            raise Broken(f"in two pieces (at {at}): {statuses}, in one: {whole}")
        return b" ".join(statuses).decode() or "nothing"

    def _statuses(self, pieces: list[bytes]) -> list[bytes]:
        """Return the statuses of the answers on a connection that receives these pieces."""
        self.passed.clear()
        transport = _Transport()
        made = self.connect()
        made.connection_made(transport)
        for piece in pieces:
            if not transport.is_closed and piece:
                made.receive(piece)
            for _ in range(len(self.passed) + 2):
                self.loop.run_until_complete(asyncio.sleep(0))
        made.connection_lost(None)
        if self.server.inbox.held_bytes:
            raise Broken(f"{self.server.inbox.held_bytes} bytes of requests are held after the connection")
        statuses = [part.split(b" ", 1)[0] for part in b"".join(transport.sent).split(b"HTTP/1.1 ")[1:]]
        for incoming in self.passed:
            if not self._may_pass(incoming):
                raise Broken(f"passed: {incoming.method!r} {incoming.target!r} {incoming.headers!r}")
        if len(self.passed) > statuses.count(b"202"):
            raise Broken(f"{len(self.passed)} requests passed, answers: {statuses}")
        return statuses

    def _may_pass(self, incoming) -> bool:
        def values(name):
            return [value.lower() for value in incoming.headers.get(name, ())]

        token = incoming.headers.get(b"authorization", ())
        kind, _, given = token[0].partition(b" ") if len(token) == 1 else (b"", b"", b"")
        path = incoming.target.partition(b"?")[0]
        is_data = path in (b"/view/api/state", b"/view/api/names", b"/view/api/activity")
        return (
            (path in (b"/mcp", b"/view/api/call") or is_data)
            and incoming.method == (b"GET" if is_data else b"POST")
            and len(values(b"host")) == 1
            and values(b"host")[0] in self.OWN
            and all(value in {b"http://" + host for host in self.OWN} for value in values(b"origin"))
            and len(values(b"origin")) < 2
            and len(values(b"content-length")) + len(values(b"transfer-encoding")) < 2
            and kind.lower() == b"bearer"
            and given.strip() == self.TOKEN.encode()
            and (is_data or values(b"content-type")[0].startswith(b"application/json"))
        )


class _Transport(asyncio.Transport):
    """A transport that stores what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []
        self.is_closed = False

    def get_extra_info(self, name, default=None):
        return ("127.0.0.1", 1) if name == "peername" else default

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def write(self, data):
        self.sent.append(bytes(data))

    def is_closing(self):
        return self.is_closed

    def close(self):
        self.is_closed = True

    abort = close

    def can_write_eof(self):
        return True

    def write_eof(self):
        pass

    def pause_reading(self):
        pass

    resume_reading = pause_reading


class _Unlimited:
    """A rate limit that never refuses."""

    def wait_seconds(self, *_: object) -> float:
        return 0.0


class Answers(Target):
    """Answers that a compromised decoder may send from the worker."""

    name = "answers"
    invariant = "Facts and blobs whose lengths add up, or Unreadable; nothing else is raised."
    how = damage.TEXT

    def seeds(self) -> list[bytes]:
        from eyespan.worker.protocol import pack

        heads = (
            {"facts": {"width": 3}, "layers": {}},
            {"error": "unreadable", "kind": "x", "reason": "y"},
            {"error": 1},
        )
        return [pack(head, blobs) + b"".join(blobs) for head in heads for blobs in ([], [b"abc", b""])]

    def mutate(self, dice, data, other):
        data = super().mutate(dice, data, other)
        if dice.random() < 0.7:  # with a matching length, so that the damage gets past it
            end = data.rfind(b"}") + 1
            data = max(0, end - 4).to_bytes(4, "big") + data[4:]
        return data

    def check(self, data: bytes) -> str:
        from eyespan.errors import ReadError, Unreadable
        from eyespan.worker import protocol

        try:
            head, blobs = protocol.parse(bytearray(data), "asked", "image")
        except Unreadable:
            return "unreadable"
        if sum(map(len, blobs)) > len(data):
            raise Broken("more bytes than were sent")
        if "error" in head:
            error = protocol.error_from(head, "asked", "image")
            if not isinstance(error, ReadError) or not str(error):
                raise Broken(f"not a ReadError with a message: {error!r}")
            return error.code
        return "facts"


TARGETS = (Config(), Callers(), Wire(), Stdio(), Gate(), Answers())
