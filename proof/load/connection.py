"""One HTTP/1.1 connection of a client, written by hand so that it can also be misused."""

from __future__ import annotations

import asyncio

from proof.load.answers import Reset, Wrong

ACCEPT = "application/json, text/event-stream"


class Dropped(Exception):
    """Raised if the server closed a connection that was kept open."""


class Connection:
    """A connection that is kept open from request to request."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    def another(self) -> Connection:
        """Return a new connection with the same port and token."""
        return Connection(self._port, self._token)

    def headers(self, body_bytes: int, **changed: str | None) -> bytes:
        """Return the headers of a request; `changed` replaces some of them, and None removes one."""
        lines: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self._port}",
            "Authorization": f"Bearer {self._token}",
            "Content-Type": "application/json",
            "Accept": ACCEPT,
            "MCP-Protocol-Version": "2025-11-25",
            "Content-Length": str(body_bytes),
        }
        lines |= {name.replace("_", "-"): value for name, value in changed.items()}
        return "".join([f"{name}: {value}\r\n" for name, value in lines.items() if value is not None]).encode()

    async def request(
        self, body: bytes, *, method: str = "POST", path: str = "/mcp", **changed: str | None
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer. Raises: Dropped, Wrong."""
        is_fresh = self._streams is None
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 20)
        reader, writer = self._streams
        start_line = f"{method} {path} HTTP/1.1\r\n".encode()
        try:
            writer.write(start_line + self.headers(len(body), **changed) + b"\r\n" + body)
            try:
                await writer.drain()
            except ConnectionError:
                pass  # The server may refuse before it has read all of the body; its answer can still be read.
            status, headers, data = await _read_answer(reader)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            await self.close()
            if is_fresh:
                kind = Reset if isinstance(error, ConnectionError) else Wrong
                raise kind(f"no answer: {type(error).__name__}") from None
            raise Dropped from None
        if headers.get("connection", "").lower() == "close":
            await self.close()
        return status, headers, data

    async def drop_after(self, data: bytes, seconds: float) -> None:
        """Send bytes over a separate connection and abort it without waiting for an answer."""
        _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(data)
        await writer.drain()
        await asyncio.sleep(seconds)
        writer.transport.abort()

    async def close(self) -> None:
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()


async def _read_answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Read one response. Raises: ConnectionError, IncompleteReadError."""
    first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in [line.partition(": ") for line in rest if line]}
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
    else:
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    return int(first.split()[1]), headers, body
