"""Generated logs, dumps and data: corpora that need not be committed.

`GENERATED` maps a name to a function that returns the text. The numbers come from a generator in this module, so that
they are the same with every version of Python.
"""

from __future__ import annotations

import base64
import json


class Dice:
    """A small linear congruential generator (the constants of MMIX)."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n

    def pick(self, options: tuple[str, ...]) -> str:
        return options[self.below(len(options))]

    def data(self, n: int) -> bytes:
        return bytes(self.below(256) for _ in range(n))


_PATHS = ("/", "/api/v1/users", "/static/js/main.3f2a.js", "/login", "/images/logo.png", "/api/v1/orders/8841/items")
_AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
    "curl/8.5.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148",
)
_HOSTS = ("harbour", "web-01", "db-primary", "cache2")
_SAYINGS = (
    "Accepted publickey for deploy from {ip} port {n} ssh2: ED25519 SHA256:{b64}",
    "Failed password for invalid user admin from {ip} port {n} ssh2",
    "pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)",
    "Started Daily apt download activities.",
    "Out of memory: Killed process {n} (java) total-vm:{n}kB, anon-rss:{n}kB, file-rss:0kB",
    "[UFW BLOCK] IN=eth0 OUT= MAC={hex} SRC={ip} DST={ip} LEN=60 TTL=52 ID={n} DF PROTO=TCP",
)
_MODULES = ("app.orders", "app.payments.gateway", "worker.queue", "http.client", "storage.s3")
_EVENTS = (
    "request finished",
    "retrying after timeout",
    "cache miss",
    "user logged in",
    "connection reset by peer",
    "job took longer than expected",
)


def _ip(dice: Dice) -> str:
    return ".".join(str(dice.below(256)) for _ in range(4))


def _clock(dice: Dice) -> str:
    return f"{dice.below(24):02}:{dice.below(60):02}:{dice.below(60):02}"


def nginx(lines: int = 160) -> str:
    dice, out = Dice(1), []
    for _ in range(lines):
        out.append(
            f"{_ip(dice)} - - [{dice.below(28) + 1:02}/Nov/2026:{_clock(dice)} +0000] "
            f'"{dice.pick(("GET", "POST", "PUT"))} {dice.pick(_PATHS)} HTTP/1.1" '
            f'{dice.pick(("200", "304", "404", "502"))} {dice.below(90000)} "-" "{dice.pick(_AGENTS)}"\n'
        )
    return "".join(out)


def syslog(lines: int = 200) -> str:
    dice, out = Dice(2), []
    for _ in range(lines):
        said = dice.pick(_SAYINGS).format(
            ip=_ip(dice),
            n=dice.below(99999),
            b64=base64.b64encode(dice.data(32)).decode().rstrip("="),
            hex=dice.data(8).hex(":"),
        )
        service = dice.pick(("sshd", "kernel", "systemd", "CRON"))
        out.append(
            f"Nov {dice.below(28) + 1:2} {_clock(dice)} {dice.pick(_HOSTS)} {service}[{dice.below(9999)}]: {said}\n"
        )
    return "".join(out)


def json_lines(lines: int = 140) -> str:
    dice, out = Dice(3), []
    for _ in range(lines):
        row = {
            "ts": f"2026-11-{dice.below(28) + 1:02}T{_clock(dice)}.{dice.below(1000):03}Z",
            "level": dice.pick(("info", "warning", "error", "debug")),
            "logger": dice.pick(_MODULES),
            "message": dice.pick(_EVENTS),
            "trace_id": dice.data(16).hex(),
            "duration_ms": dice.below(5000) / 10,
            "user": {"id": dice.below(100000), "plan": dice.pick(("free", "pro", "team"))},
            "ok": dice.below(2) == 0,
        }
        out.append(json.dumps(row) + "\n")
    return "".join(out)


def application(lines: int = 200) -> str:
    dice, out = Dice(4), []
    for _ in range(lines):
        level = dice.pick(("INFO", "WARNING", "ERROR", "DEBUG"))
        out.append(
            f"2026-11-{dice.below(28) + 1:02} {_clock(dice)},{dice.below(1000):03} {level:8} {dice.pick(_MODULES)} "
            f"[worker-{dice.below(16)}] {dice.pick(_EVENTS)} order_id={dice.below(10**6)} took={dice.below(900)}ms\n"
        )
    return "".join(out)


def tracebacks(count: int = 40) -> str:
    dice, out = Dice(5), []
    frames = (
        ("/usr/lib/python3.11/http/client.py", "getresponse", "response.begin()"),
        ("/srv/app/orders/views.py", "create_order", "payment = gateway.charge(order, timeout=self.timeout)"),
        ("/srv/app/payments/gateway.py", "charge", "raise PaymentDeclined(response.status, response.reason)"),
        ("/usr/lib/python3.11/asyncio/base_events.py", "run_until_complete", "return future.result()"),
        ("/srv/app/storage/s3.py", "_put", "self._client.put_object(Bucket=bucket, Key=key, Body=body)"),
    )
    errors = (
        "TimeoutError: timed out",
        "KeyError: 'customer_id'",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
    )
    for _ in range(count):
        out.append("Traceback (most recent call last):\n")
        for _ in range(3 + dice.below(4)):
            path, name, code = frames[dice.below(len(frames))]
            out.append(f'  File "{path}", line {dice.below(2000)}, in {name}\n    {code}\n')
        out.append(dice.pick(errors) + "\n\n")
    return "".join(out)


def hex_dump(rows: int = 160) -> str:
    dice, out = Dice(6), []
    for row in range(rows):
        data = dice.data(16)
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
        out.append(f"{row * 16:08x}  {data[:8].hex(' ')}  {data[8:].hex(' ')}  |{shown}|\n")
    return "".join(out)


def base64_text(rows: int = 120) -> str:
    return base64.encodebytes(Dice(7).data(57 * rows)).decode()


def checksums(rows: int = 100) -> str:
    dice = Dice(8)
    return "".join(f"{dice.data(32).hex()}  dist/{dice.pick(_HOSTS)}-{dice.below(100)}.tar.gz\n" for _ in range(rows))


def table(rows: int = 200) -> str:
    dice, out = Dice(9), ["id,name,country,amount,currency,created_at\n"]
    names = ("Ada Byron", "Jan de Vries", "Maria Rossi", "Li Wei", "John Smith")
    for row in range(rows):
        out.append(
            f"{10000 + row},{dice.pick(names)},{dice.pick(('NL', 'IT', 'CN', 'GB'))},"
            f"{dice.below(10**6) / 100:.2f},EUR,2026-{dice.below(12) + 1:02}-{dice.below(28) + 1:02} {_clock(dice)}\n"
        )
    return "".join(out)


def build_log(lines: int = 160) -> str:
    dice, out = Dice(10), []
    parts = ("parser", "lexer", "codegen", "runtime", "driver")
    for n in range(lines):
        part = dice.pick(parts)
        out.append(
            (
                f"[{n}/{lines}] Building CXX object src/{part}/CMakeFiles/{part}.dir/{part}_{dice.below(20)}.cc.o\n",
                f"src/{part}/{part}.cc:{dice.below(900)}:{dice.below(80)}: warning: unused variable 'result'\n",
                f"   Compiling {part}-core v0.{dice.below(30)}.{dice.below(9)} (/build/{part})\n",
                f"npm warn deprecated {part}@{dice.below(9)}.{dice.below(20)}.1: no longer maintained\n",
            )[dice.below(4)]
        )
    return "".join(out)


GENERATED = {
    "nginx": nginx,
    "syslog": syslog,
    "json_lines": json_lines,
    "application": application,
    "tracebacks": tracebacks,
    "hex_dump": hex_dump,
    "base64": base64_text,
    "checksums": checksums,
    "table": table,
    "build_log": build_log,
}
