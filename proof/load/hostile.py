"""The requests of a hostile client; each has one documented answer, and any other raises Wrong."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from proof.load.answers import Reset, Wrong, require_equal
from proof.load.client import Client

METHOD_NOT_FOUND = -32601


async def _require_status(client: Client, allowed: set[int], body: bytes = b"{}", **how: Any) -> None:
    connection = client.connection.another()
    try:
        status, _, _ = await connection.request(body, **how)
    finally:
        await connection.close()
    if status not in allowed:
        raise Wrong(f"status {status}, wanted {sorted(allowed)}")


async def bad_json(client: Client) -> None:
    await _require_status(client, {400}, b'{"jsonrpc": "2.0", "id": 1, "method": ')


async def wrong_token(client: Client) -> None:
    await _require_status(client, {401, 429}, Authorization="Bearer " + "x" * 43)


async def no_token(client: Client) -> None:
    await _require_status(client, {401, 429}, Authorization=None)


async def evil_host(client: Client) -> None:
    await _require_status(client, {421}, Host="127.0.0.1:1@evil.example")


async def evil_origin(client: Client) -> None:
    await _require_status(client, {403}, Origin="http://evil.example")


async def huge_body(client: Client) -> None:
    with contextlib.suppress(Reset):  # The server may refuse while the body is sent; then the answer can be lost.
        await _require_status(client, {413}, b" " * (1 << 21))


async def wrong_type(client: Client) -> None:
    await _require_status(client, {415}, Content_Type="text/plain")


async def other_method(client: Client) -> None:
    await _require_status(client, {405}, method="DELETE")


async def other_path(client: Client) -> None:
    await _require_status(client, {404}, path="/admin")


async def half_headers(client: Client) -> None:
    await client.connection.drop_after(b"POST /mcp HTTP/1.1\r\nHost: 127", client.dice.random())


async def half_body(client: Client) -> None:
    start = b"POST /mcp HTTP/1.1\r\n" + client.connection.headers(5000) + b'\r\n{"jsonrpc": "2.0", '
    await client.connection.drop_after(start, client.dice.random())


async def cancelled(client: Client) -> None:
    call = {"name": "codex_read_file", "arguments": {"file_path": f"{client.root}/endless.txt", "offset": 2}}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()
    start = b"POST /mcp HTTP/1.1\r\n" + client.connection.headers(len(body)) + b"\r\n"
    # Mostly early: the server reads at full speed until then.
    await client.connection.drop_after(start + body, client.dice.random() ** 4)


async def unknown_method(client: Client) -> None:
    answer = await client.ask("files/delete", {}, "hostile")
    require_equal(answer.get("error", {}).get("code"), METHOD_NOT_FOUND, "unknown method")


async def _require_refusal(client: Client, path: str) -> None:
    result = await client.call("claude_Read", {"file_path": path}, "hostile")
    require_equal(result.get("isError"), True, path)
    if "root:" in json.dumps(result):
        raise Wrong(f"{path} was read")


async def outside(client: Client) -> None:
    paths = ["/etc/passwd", f"{client.root}/../../etc/passwd", f"{client.root}/out"]
    await _require_refusal(client, client.dice.choice(paths))


async def denied(client: Client) -> None:
    await _require_refusal(client, f"{client.root}/.env")


async def pipe(client: Client) -> None:
    await _require_refusal(client, f"{client.root}/pipe")


async def bomb(client: Client) -> None:
    await _require_refusal(client, f"{client.root}/bomb.png")


REQUESTS = (
    *(bad_json, wrong_token, no_token, evil_host, evil_origin, huge_body, wrong_type, other_method, other_path),
    *(half_headers, half_body, cancelled, unknown_method, outside, denied, pipe, bomb),
)
