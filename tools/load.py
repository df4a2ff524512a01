"""The HTTP server under load: many clients, some of them hostile, every answer compared with the disk.

    python tools/load.py                                  64 clients, ten minutes: what `make soak` runs
    python tools/load.py --seconds 15 --clients 16        a short one

Starts a real `eyespan serve --http` on a tree of its own and talks to it from several processes. A well-behaved client
asks for windows of text in every dialect, follows continuations to the end of a file, and reads pictures, PDFs and
spreadsheets; five requests of a hundred are hostile: broken JSON, wrong tokens, other hosts and origins, bodies too
large, connections dropped half way, paths out of the root, pipes, bombs, endless reads that are cancelled.

Kept promises are the exit status: 0 when no byte was wrong, every refusal was the one that is documented, and at rest
after the run the server and its decoder hold no more descriptors, threads or memory than at rest after the warm-up.
One line of JSON and one table row of Markdown go to standard output; what broke goes to standard error.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

DIALECTS = ("codex", "claude", "workspace", "forge", "native")
ACCEPT = "application/json, text/event-stream"
BUSY = -32000
METHOD_NOT_FOUND = -32601
PATIENCE_SECONDS = 90.0
"""How long a client waits for anything: more than a server with a timeout of its own may ever take."""
REST_SECONDS = 15.0
"""Long enough for the server to give back what is free, which it does every ten seconds."""
GROWTH_BYTES = 16 << 20
"""What the memory of a serving process may differ by at rest: an allocator gives back what it likes."""
FILL_LINES, FILL_CALLS = 3000, 100
"""Together more lines than `versions.MAX_LINES`, for each worker."""
SHOWN = 20


# --- the tree ---------------------------------------------------------------------------------------------------------


def png(width: int, height: int, seed: int | None) -> bytes:
    """A picture of random dots, or, without a seed, of nothing: a small file however large it is."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    if seed is None:
        packer = zlib.compressobj(9)
        row = bytes(1 + (width + 7) // 8)
        body = b"".join([packer.compress(row * 64) for _ in range(height // 64)]) + packer.flush()
        head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    else:
        dice = random.Random(seed)
        body = zlib.compress(b"".join([b"\0" + dice.randbytes(3 * width) for _ in range(height)]))
        head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def pdf(pages: int) -> bytes:
    """A PDF of plain text pages."""
    kids = " ".join([f"{4 + 2 * n} 0 R" for n in range(pages)])
    parts = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {pages} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for n in range(pages):
        text = f"BT /F1 12 Tf 72 720 Td (Page {n + 1} of the harbour book) Tj ET"
        parts.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * n} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        parts.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    data, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{part}\nendobj\n".encode()
    table = "".join([f"{place:010d} 00000 n \n" for place in places])
    tail = f"xref\n0 {len(parts) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(parts) + 1} /Root 1 0 R >>\n"
    return data + f"{tail}startxref\n{len(data)}\n%%EOF\n".encode()


def grow(root: Path, seed: int) -> None:
    """Makes the tree: texts of several sizes and scripts, pictures, a PDF, and what hostile clients ask for."""
    dice = random.Random(seed)
    words = ["harbour", "mönch", "漢字", "🚢", "tide", "ëst", "\u200bnaïve", "line", "x" * 40, "Ω"]
    for number in range(40):
        count = dice.choice([3, 40, 400, 3000, 12000])
        lines = [" ".join(dice.choices(words, k=dice.randrange(1, 12))) for _ in range(count)]
        (root / f"text{number:02}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for number in range(6):
        (root / f"picture{number}.png").write_bytes(png(40 + 30 * number, 60, number))
    (root / "book.pdf").write_bytes(pdf(12))
    (root / "bomb.png").write_bytes(png(60032, 60032, None))
    (root / ".env").write_text("SECRET=1\n")
    with (root / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    os.mkfifo(root / "pipe")
    (root / "out").symlink_to("/etc/passwd")


# --- what an answer must be -------------------------------------------------------------------------------------------


class Wrong(Exception):
    """An answer that is not what the disk, or the documents, say."""


class Reset(Wrong):
    """The connection was ended and no answer seen."""


def same(got: Any, wanted: Any, what: str) -> None:
    """Raises: Wrong."""
    if got != wanted:
        raise Wrong(f"{what}: got {str(got)[:120]!r}, wanted {str(wanted)[:120]!r}")


def text_of(result: dict[str, Any]) -> str:
    if result.get("isError"):
        raise Wrong(f"an error where there is none: {str(result)[:200]}")
    return "".join([block["text"] for block in result["content"] if block["type"] == "text"])


def check_window(dialect: str, lines: list[str], first: int, count: int, result: dict[str, Any]) -> None:
    """Compares a window of text (`first` counts from 1) with the lines on disk. Raises: Wrong."""
    shown = lines[first - 1 : first - 1 + count]
    numbered = list(enumerate(shown, first))
    text = text_of(result)
    match dialect:
        case "codex":
            same(text, "\n".join([f"L{n}: {line}" for n, line in numbered]), "codex")
        case "claude":
            same(text, "\n".join([f"{n:>6}\t{line}" for n, line in numbered]), "claude")
        case "forge":
            width = len(str(first + len(shown) - 1))
            same(text.rstrip("\n"), "\n".join([f"{n:>{width}}\t{line}" for n, line in numbered]), "forge")
        case "workspace":
            same(result["structuredContent"]["content"].rstrip("\n"), "\n".join(shown), "workspace")
        case "native":
            body = text.split("\nnote: ")[0].split("\n")[1:]
            same([line.partition("\t")[2] for line in body], shown, "native")
            gutter = [line.partition("\t")[0] for line in body]
            for (n, _), number in zip(numbered, gutter, strict=True):
                same(number, str(n) if n == first or n % 5 == 0 else "", "native numbers")


# --- one client -------------------------------------------------------------------------------------------------------


class Dropped(Exception):
    """The server closed a connection that was kept open."""


class Link:
    """A connection that is kept open from request to request."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def head(self, length: int, **changed: str | None) -> bytes:
        lines: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self._port}",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": ACCEPT,
            "MCP-Protocol-Version": "2025-11-25",
            "Content-Length": str(length),
        }
        lines |= {name.replace("_", "-"): value for name, value in changed.items()}
        return "".join([f"{name}: {value}\r\n" for name, value in lines.items() if value is not None]).encode()

    async def request(
        self, body: bytes, *, method: str = "POST", path: str = "/mcp", **changed: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer. Raises: Dropped."""
        fresh = self._streams is None
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        reader, writer = self._streams
        try:
            writer.write(f"{method} {path} HTTP/1.1\r\n".encode() + self.head(len(body), **changed) + b"\r\n" + body)
            try:
                await writer.drain()
            except ConnectionError:
                pass  # refused before all of it was sent; the answer may be there all the same
            status, headers, data = await read_answer(reader)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            await self.close()
            if fresh:
                kind = Reset if isinstance(error, ConnectionError) else Wrong
                raise kind(f"no answer: {type(error).__name__}") from None
            raise Dropped from None
        if headers.get("connection", "").lower() == "close":
            await self.close()
        return status, headers, data

    async def drop_after(self, data: bytes, seconds: float) -> None:
        """Sends something over a connection of its own and hangs up without waiting for an answer."""
        _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(seconds)
        writer.transport.abort()

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Raises: ConnectionError, IncompleteReadError."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in [line.partition(": ") for line in head[1:] if line]}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return int(head[0].split()[1]), headers, body


class Client:
    """One caller with a token of its own; what it saw is in `counts`, `seconds` and `wrong`."""

    def __init__(self, number: int, plan: dict[str, Any], texts: dict[str, list[str]], blobs: dict[str, bytes]) -> None:
        self._root = plan["root"]
        self._hostile = plan["hostile"]
        self._fill = plan["fill"]
        self._dice = random.Random(f"{plan['seed']}-{number}")
        self._texts = texts
        self._blobs = blobs
        self._next = 0
        self.link = Link(plan["port"], plan["tokens"][number])
        self.counts: Counter[str] = Counter()
        self.seconds: list[tuple[str, float]] = []
        self.wrong: list[str] = []

    async def run(self, seconds: float) -> None:
        for _ in range(self._fill):
            for act in (Client._fill_up, Client._document, Client._picture):
                await self._attempt(act, "good")
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            hostile = self._dice.random() < self._hostile
            await self._attempt(self._dice.choice(HOSTILE if hostile else GOOD), "hostile" if hostile else "good")
        await self.link.close()

    async def _attempt(self, act: Any, kind: str) -> None:
        name = act.__name__.strip("_")
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await act(self)
            self.counts[f"{kind}:{name}"] += 1
        except TimeoutError:
            self._complain(name, f"no answer within {PATIENCE_SECONDS:.0f} s")
            await self.link.close()
        except Wrong as wrong:
            self._complain(name, str(wrong))
        except Exception as error:
            self._complain(name, f"{type(error).__name__}: {error}")
            await self.link.close()

    def _complain(self, name: str, text: str) -> None:
        self.counts["wrong"] += 1
        if len(self.wrong) < SHOWN:
            self.wrong.append(f"{name}: {text}")

    # --- requests ---

    async def ask(self, method: str, params: dict[str, Any], kind: str) -> dict[str, Any]:
        """The answer to a request, asked again where the server says that it is busy or the caller too fast.

        Raises: Wrong.
        """
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": params}
        body = json.dumps(message).encode()
        while True:
            start = time.perf_counter()
            try:
                status, headers, data = await self.link.request(body)
            except Dropped:
                self.counts["reconnected"] += 1
                continue
            if status == 429:
                self.counts["refused: rate"] += 1
                await asyncio.sleep(float(headers["retry-after"]))
                continue
            same(status, 200, "status")
            answer: dict[str, Any] = json.loads(data)
            same(answer.get("id"), self._next, "id")
            if answer.get("error", {}).get("code") == BUSY:
                self.counts["refused: busy"] += 1
                await asyncio.sleep(self._dice.random())
                continue
            self.seconds.append((kind, time.perf_counter() - start))
            self.counts["bytes"] += len(data)
            return answer

    async def call(self, tool: str, arguments: dict[str, Any], kind: str) -> dict[str, Any]:
        answer = await self.ask("tools/call", {"name": tool, "arguments": arguments}, kind)
        if "result" not in answer:
            raise Wrong(f"{tool}: {str(answer)[:200]}")
        result: dict[str, Any] = answer["result"]
        return result

    def _window(self) -> tuple[str, list[str], int, int]:
        name = self._dice.choice(list(self._texts))
        lines = self._texts[name]
        first = self._dice.randrange(1, len(lines) + 1)
        return name, lines, first, self._dice.randrange(1, 120)

    # --- good ones ---

    async def _fill_up(self) -> None:
        """A large window of the tool that remembers what it showed, which is bounded and had better be full at once."""
        name = self._dice.choice([name for name, lines in self._texts.items() if len(lines) > FILL_LINES])
        first = self._dice.randrange(1, len(self._texts[name]) - FILL_LINES)
        text_of(await self.call("native_read", {"files": f"{name}:{first}+{FILL_LINES}", "budget": 200_000}, "fill"))

    async def _codex(self) -> None:
        name, lines, first, count = self._window()
        arguments = {"file_path": f"{self._root}/{name}", "offset": first, "limit": count}
        check_window("codex", lines, first, count, await self.call("codex_read_file", arguments, "text"))

    async def _claude(self) -> None:
        name, lines, first, count = self._window()
        arguments = {"file_path": f"{self._root}/{name}", "offset": first - 1, "limit": count}
        check_window("claude", lines, first, count, await self.call("claude_Read", arguments, "text"))

    async def _workspace(self) -> None:
        name, lines, first, count = self._window()
        arguments = {"path": name, "start_line": first, "max_lines": count}
        check_window("workspace", lines, first, count, await self.call("workspace_read_file", arguments, "text"))

    async def _forge(self) -> None:
        name, lines, first, count = self._window()
        arguments = {"path": name, "start_line": first, "end_line": min(len(lines), first + count - 1)}
        check_window("forge", lines, first, count, await self.call("forge_read_file", arguments, "text"))

    async def _native(self) -> None:
        name, lines, first, count = self._window()
        arguments = {"files": f"{name}:{first}+{count}", "budget": 200_000}
        check_window("native", lines, first, count, await self.call("native_read", arguments, "text"))

    async def _resource(self) -> None:
        name, lines, first, count = self._window()
        uri = f"file:///{name}?start={first}&limit={count}"
        answer = await self.ask("resources/read", {"uri": uri}, "text")
        shown = "".join([f"{line}\n" for line in lines[first - 1 : first - 1 + count]])
        same(answer["result"]["contents"][0]["text"], shown, "resource")

    async def _continuation(self) -> None:
        name = self._dice.choice([name for name, lines in self._texts.items() if len(lines) <= 3000])
        found, start = [], 1
        while start is not None:
            arguments = {"path": name, "start_line": start, "max_lines": 500}
            result = await self.call("workspace_read_file", arguments, "text")
            text_of(result)
            found.append(result["structuredContent"]["content"].rstrip("\n"))
            start = result["structuredContent"]["next_start_line"]
        same("\n".join(found), "\n".join(self._texts[name]), f"{name} read through")

    async def _picture(self) -> None:
        name = self._dice.choice(list(self._blobs))
        result = await self.call("claude_Read", {"file_path": f"{self._root}/{name}"}, "picture")
        same(
            [base64.b64decode(b["data"]) for b in result["content"] if b["type"] == "image"], [self._blobs[name]], name
        )

    async def _blob(self) -> None:
        name = self._dice.choice(list(self._blobs))
        answer = await self.ask("resources/read", {"uri": f"file:///{name}"}, "picture")
        same(base64.b64decode(answer["result"]["contents"][0]["blob"]), self._blobs[name], name)

    async def _document(self) -> None:
        page = self._dice.randrange(1, 13)
        result = await self.call("native_read", {"files": f"book.pdf:p{page}"}, "document")
        if f"Page {page} of the harbour book" not in text_of(result):
            raise Wrong(f"page {page}: {str(result)[:200]}")

    async def _listing(self) -> None:
        answer = await self.ask("tools/list", {}, "listing")
        same(len(answer["result"]["tools"]), len(DIALECTS), "tools")

    # --- hostile ones: each has its one documented answer ---

    async def _turned(self, status: set[int], body: bytes = b"{}", **how: Any) -> None:
        link = Link(self.link._port, self.link._token)
        try:
            got, _, _ = await link.request(body, **how)
        finally:
            await link.close()
        if got not in status:
            raise Wrong(f"status {got}, wanted {sorted(status)}")

    async def _bad_json(self) -> None:
        await self._turned({400}, b'{"jsonrpc": "2.0", "id": 1, "method": ')

    async def _wrong_token(self) -> None:
        await self._turned({401, 429}, Authorization="Bearer " + "x" * 43)

    async def _no_token(self) -> None:
        await self._turned({401, 429}, Authorization=None)

    async def _evil_host(self) -> None:
        await self._turned({421}, Host="127.0.0.1:1@evil.example")

    async def _evil_origin(self) -> None:
        await self._turned({403}, Origin="http://evil.example")

    async def _huge_body(self) -> None:
        with contextlib.suppress(Reset):  # refused while it was being sent: then its answer may be lost on the way
            await self._turned({413}, b" " * (1 << 21))

    async def _wrong_type(self) -> None:
        await self._turned({415}, Content_Type="text/plain")

    async def _other_method(self) -> None:
        await self._turned({405}, method="DELETE")

    async def _other_path(self) -> None:
        await self._turned({404}, path="/admin")

    async def _half_headers(self) -> None:
        await self.link.drop_after(b"POST /mcp HTTP/1.1\r\nHost: 127", self._dice.random())

    async def _half_body(self) -> None:
        head = b"POST /mcp HTTP/1.1\r\n" + self.link.head(5000) + b'\r\n{"jsonrpc": "2.0", '
        await self.link.drop_after(head, self._dice.random())

    async def _cancelled(self) -> None:
        arguments = {"name": "codex_read_file", "arguments": {"file_path": f"{self._root}/endless.txt", "offset": 2}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": arguments}).encode()
        head = b"POST /mcp HTTP/1.1\r\n" + self.link.head(len(body)) + b"\r\n"
        await self.link.drop_after(head + body, self._dice.random())

    async def _unknown_method(self) -> None:
        answer = await self.ask("files/delete", {}, "hostile")
        same(answer.get("error", {}).get("code"), METHOD_NOT_FOUND, "unknown method")

    async def _refused(self, path: str) -> None:
        result = await self.call("claude_Read", {"file_path": path}, "hostile")
        same(result.get("isError"), True, path)
        if "root:" in json.dumps(result):
            raise Wrong(f"{path} was read")

    async def _outside(self) -> None:
        await self._refused(self._dice.choice(["/etc/passwd", f"{self._root}/../../etc/passwd", f"{self._root}/out"]))

    async def _denied(self) -> None:
        await self._refused(f"{self._root}/.env")

    async def _pipe(self) -> None:
        await self._refused(f"{self._root}/pipe")

    async def _bomb(self) -> None:
        await self._refused(f"{self._root}/bomb.png")


_TEXT = [Client._codex, Client._claude, Client._workspace, Client._forge, Client._native, Client._resource]
GOOD = [
    *_TEXT * 5,
    *[Client._picture, Client._blob, Client._blob, Client._document, Client._listing, Client._continuation],
]
HOSTILE = [
    Client._bad_json, Client._wrong_token, Client._no_token, Client._evil_host, Client._evil_origin, Client._huge_body,
    Client._wrong_type, Client._other_method, Client._other_path, Client._half_headers, Client._half_body,
    Client._cancelled, Client._unknown_method, Client._outside, Client._denied, Client._pipe, Client._bomb,
]  # fmt: skip


def clients(numbers: list[int], plan: dict[str, Any], seconds: float, answer: Any) -> None:
    """One process of clients."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    root = Path(plan["root"])
    texts = {path.name: path.read_bytes().decode().split("\n")[:-1] for path in sorted(root.glob("text*.txt"))}
    blobs = {path.name: path.read_bytes() for path in sorted(root.glob("picture*.png"))}
    made = [Client(number, plan, texts, blobs) for number in numbers]

    async def all_of_them() -> None:
        await asyncio.gather(*[client.run(seconds) for client in made])

    asyncio.run(all_of_them())
    counts: Counter[str] = Counter()
    for client in made:
        counts += client.counts
    answer.send((counts, [row for client in made for row in client.seconds], [w for c in made for w in c.wrong]))
    answer.close()


# --- what the server holds --------------------------------------------------------------------------------------------


def family(pid: int) -> list[int]:
    """The descendants of a process."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue  # gone
            parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        more = parents.get(todo.pop(), [])
        found += more
        todo += more
    return found


def held(pid: int) -> dict[str, int]:
    """Descriptors, threads and resident bytes of the server, and of the processes it started.

    The server is not dumpable, so that only root counts its descriptors; another user sees the size of their table.
    """
    total = Counter({"descriptors": 0, "threads": 0, "rss_bytes": 0, "children": 0, "children_rss_bytes": 0})
    for one in (pid, *family(pid)):
        try:
            status = Path(f"/proc/{one}/status").read_text()
            try:
                descriptors = len(os.listdir(f"/proc/{one}/fd"))
            except PermissionError:
                descriptors = int(re.search(r"FDSize:\s+(\d+)", status)[1])  # type: ignore[index]  # always there
        except OSError:
            continue  # a job that has ended
        rss = re.search(r"VmRSS:\s+(\d+)", status)
        size = 1024 * int(rss[1]) if rss else 0
        threads = re.search(r"Threads:\s+(\d+)", status)
        total.update(descriptors=descriptors, threads=int(threads[1]) if threads else 0)
        total.update(rss_bytes=size) if one == pid else total.update(children=1, children_rss_bytes=size)
    return dict(total)


class Server:
    """A real `eyespan serve --http` on the tree."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.tokens = [f"load-{number}-{os.urandom(16).hex()}" for number in range(options.clients)]
        callers = [
            f'[client{number}]\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\nrate = 1000000\n'
            for number, token in enumerate(self.tokens)
        ]
        (folder / "tokens.toml").write_text("\n".join(callers))
        self.root = folder / "work"
        argv = [sys.executable, "-m", "eyespan", "--root", str(self.root), "serve", "--http", "127.0.0.1:0"]
        argv += ["--tokens", str(folder / "tokens.toml"), "--workers", str(options.workers)]
        argv += ["--calls", str(options.calls), *(["--no-sandbox"] if options.no_sandbox else [])]
        for dialect in DIALECTS:
            argv += ["--dialect", dialect]
        self.log = folder / "stderr"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(argv, stderr=log, stdin=subprocess.DEVNULL)
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)/mcp.*\n", self.log.read_text())):
            if self.process.poll() is not None:
                raise SystemExit(f"the server did not start: {self.log.read_text()}")
            time.sleep(0.05)
        self.port = int(found[1])
        self.banner = found[0].strip()

    def end(self) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            return self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


def storm(
    server: Server, options: argparse.Namespace, seconds: float, seed: str, *, fill: bool = False
) -> tuple[Counter[str], list[Any], list[str], dict[str, int]]:
    """All clients for some seconds: what they counted, how long each answer took, what was wrong, and the most the
    server held meanwhile."""
    plan = {
        "root": str(server.root),
        "port": server.port,
        "tokens": server.tokens,
        "hostile": options.hostile,
        "seed": seed,
        "fill": -(-FILL_CALLS * options.workers // options.clients) if fill else 0,
    }
    context = multiprocessing.get_context("spawn")
    running = []
    for first in range(options.processes):
        here, there = context.Pipe(duplex=False)
        numbers = list(range(first, options.clients, options.processes))
        process = context.Process(target=clients, args=(numbers, plan, seconds, there))
        process.start()
        there.close()
        running.append((process, here))
    counts: Counter[str] = Counter()
    times: list[Any] = []
    wrong: list[str] = []
    most: dict[str, int] = {}
    for process, here in running:
        while not here.poll(1.0):
            now = held(server.process.pid)
            most = {name: max(most.get(name, 0), value) for name, value in now.items()}
        try:
            counted, seconds_of, complaints = here.recv()
        except EOFError:
            wrong.append("a process of clients died")
            continue
        counts += counted
        times += seconds_of
        wrong += complaints
        process.join()
    return counts, times, wrong, most


def settled(server: Server, seconds: float) -> dict[str, int]:
    """What the server holds when nobody asks for anything: the least of some looks, since endings take a moment."""
    least: dict[str, int] = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.25)
        now = held(server.process.pid)
        least = {name: min(least.get(name, value), value) for name, value in now.items()}
    return least


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def broken(first: dict[str, int], last: dict[str, int], calls: int, workers: int = 1) -> list[str]:
    """Which promises about resources do not hold, from rest after the warm-up to rest at the end."""
    found = []
    if last["descriptors"] > first["descriptors"]:
        found.append(f"descriptors grew from {first['descriptors']} to {last['descriptors']}")
    # As many threads as calls may run are kept; the warm-up need not have needed them all.
    if last["threads"] > max(first["threads"], calls + last["children"] + 4):
        found.append(f"threads grew from {first['threads']} to {last['threads']}")
    if last["children"] > first["children"]:
        found.append(f"processes grew from {first['children']} to {last['children']}")
    for name in ("rss_bytes", "children_rss_bytes"):
        if last[name] > first[name] + GROWTH_BYTES * workers:
            found.append(f"{name} grew from {first[name] >> 20} to {last[name] >> 20} MiB")
    return found


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="the HTTP server under load; every answer is compared with the disk")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--warm-up", type=float, default=None, help="seconds before anything is compared (a tenth)")
    parser.add_argument("--rest", type=float, default=REST_SECONDS, help="seconds of quiet before what is held counts")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--processes", type=int, default=4, help="processes that the clients are spread over")
    parser.add_argument("--hostile", type=float, default=0.05, help="the share of hostile requests")
    parser.add_argument("--workers", type=int, default=1, help="of the server")
    parser.add_argument("--calls", type=int, default=8, help="at once, in each worker of the server")
    parser.add_argument("--no-sandbox", action="store_true", help="to compare")
    parser.add_argument("--seed", default=None)
    options = parser.parse_args(argv)
    seed = options.seed if options.seed is not None else str(random.randrange(10**9))
    with tempfile.TemporaryDirectory(prefix="eyespan-load-") as name:
        (Path(name) / "work").mkdir()
        grow(Path(name) / "work", 7)
        server = Server(Path(name), options)
        try:
            warm_up = options.warm_up if options.warm_up is not None else max(3.0, options.seconds / 10)
            _, _, early, _ = storm(server, options, warm_up, f"{seed}-warm-up", fill=True)
            first = settled(server, options.rest)
            start = time.monotonic()
            counts, times, wrong, most = storm(server, options, options.seconds, seed)
            took = time.monotonic() - start
            last = settled(server, options.rest)
        finally:
            status = server.end()
        log = server.log.read_text()
    promises = [*early, *wrong, *broken(first, last, options.calls * options.workers, options.workers)]
    if status != 0:
        promises.append(f"the server ended with {status}")
    if "Traceback" in log or "rror:" in log:
        promises.append(f"the server complained: {log[-2000:]}")
    told = summary(options, counts, times, took, first, last, most)
    told |= {"seed": seed, "server": server.banner.partition("; ")[2], "wrong": len(promises)}
    print(json.dumps(told))
    print(
        f"| {options.clients} clients, {took:.0f} s | {told['requests']} ({told['per_second']}/s) | "
        f"{told['hostile']} | {told['text_ms']['p50']} / {told['text_ms']['p99']} ms | {len(promises)} wrong | "
        f"descriptors {first['descriptors']} -> {last['descriptors']}, threads {first['threads']} -> "
        f"{last['threads']}, memory {first['rss_bytes'] >> 20} -> {last['rss_bytes'] >> 20} MiB |"
    )
    for line in promises[:SHOWN]:
        print(f"BROKEN: {line}", file=sys.stderr)
    return 1 if promises else 0


def summary(
    options: argparse.Namespace,
    counts: Counter[str],
    times: list[tuple[str, float]],
    took: float,
    first: dict[str, int],
    last: dict[str, int],
    most: dict[str, int],
) -> dict[str, Any]:
    told: dict[str, Any] = {"clients": options.clients, "seconds": round(took, 1)}
    told["requests"] = sum(count for name, count in counts.items() if name.startswith(("good:", "hostile:")))
    told["per_second"] = round(told["requests"] / took, 1)
    told["hostile"] = sum(count for name, count in counts.items() if name.startswith("hostile:"))
    told["megabytes"] = round(counts["bytes"] / 1e6, 1)
    for kind in ("text", "picture", "document"):
        values = [seconds * 1000 for name, seconds in times if name == kind]
        told[f"{kind}_ms"] = {
            "count": len(values),
            "p50": round(percentile(values, 0.5), 1),
            "p99": round(percentile(values, 0.99), 1),
            "max": round(max(values, default=0.0), 1),
        }
    told["refused"] = {name[9:]: count for name, count in counts.items() if name.startswith("refused: ")}
    told["reconnected"] = counts["reconnected"]
    told["kinds"] = {name: count for name, count in sorted(counts.items()) if ":" in name and name[:7] != "refused"}
    told["rest_first"], told["rest_last"], told["most"] = first, last, most
    return told


if __name__ == "__main__":
    sys.exit(main())
