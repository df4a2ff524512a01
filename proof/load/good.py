"""The requests of a well-behaved client; each compares its answer with the disk and raises Wrong if they differ."""

from __future__ import annotations

import base64

from proof.load.answers import DIALECTS, Wrong, check_window, require_equal, text_of
from proof.load.client import Client
from proof.load.tree import PDF_PAGES, page_text

FILL_LINES, FILL_CALLS = 3000, 100
"""Together more lines than `versions.MAX_LINES`, for each worker."""


async def fill_up(client: Client) -> None:
    """Read a large window with the tool that remembers what it showed.

    Its memory is bounded, so the warm-up fills it: what the server holds at rest does not grow afterwards.
    """
    name = client.dice.choice([name for name, lines in client.texts.items() if len(lines) > FILL_LINES])
    first = client.dice.randrange(1, len(client.texts[name]) - FILL_LINES)
    arguments = {"files": f"{name}:{first}+{FILL_LINES}", "budget": 200_000}
    text_of(await client.call("native_read", arguments, "fill"))


async def codex(client: Client) -> None:
    name, lines, first, count = client.choose_window()
    arguments = {"file_path": f"{client.root}/{name}", "offset": first, "limit": count}
    check_window("codex", lines, first, count, await client.call("codex_read_file", arguments, "text"))


async def claude(client: Client) -> None:
    name, lines, first, count = client.choose_window()
    arguments = {"file_path": f"{client.root}/{name}", "offset": first - 1, "limit": count}
    check_window("claude", lines, first, count, await client.call("claude_Read", arguments, "text"))


async def workspace(client: Client) -> None:
    name, lines, first, count = client.choose_window()
    arguments = {"path": name, "start_line": first, "max_lines": count}
    check_window("workspace", lines, first, count, await client.call("workspace_read_file", arguments, "text"))


async def forge(client: Client) -> None:
    name, lines, first, count = client.choose_window()
    arguments = {"path": name, "start_line": first, "end_line": min(len(lines), first + count - 1)}
    check_window("forge", lines, first, count, await client.call("forge_read_file", arguments, "text"))


async def native(client: Client) -> None:
    name, lines, first, count = client.choose_window()
    arguments = {"files": f"{name}:{first}+{count}", "budget": 200_000}
    check_window("native", lines, first, count, await client.call("native_read", arguments, "text"))


async def resource(client: Client) -> None:
    name, lines, first, count = client.choose_window()
    uri = f"file:///{name}?start={first}&limit={count}"
    answer = await client.ask("resources/read", {"uri": uri}, "text")
    shown = "".join([f"{line}\n" for line in lines[first - 1 : first - 1 + count]])
    require_equal(answer["result"]["contents"][0]["text"], shown, "resource")


async def continuation(client: Client) -> None:
    name = client.dice.choice([name for name, lines in client.texts.items() if len(lines) <= 3000])
    found, start = [], 1
    while start is not None:
        arguments = {"path": name, "start_line": start, "max_lines": 500}
        result = await client.call("workspace_read_file", arguments, "text")
        text_of(result)
        found.append(result["structuredContent"]["content"].rstrip("\n"))
        start = result["structuredContent"]["next_start_line"]
    require_equal("\n".join(found), "\n".join(client.texts[name]), f"{name}, all of it")


async def image(client: Client) -> None:
    name = client.dice.choice(list(client.blobs))
    result = await client.call("claude_Read", {"file_path": f"{client.root}/{name}"}, "image")
    shown = [base64.b64decode(block["data"]) for block in result["content"] if block["type"] == "image"]
    require_equal(shown, [client.blobs[name]], name)


async def blob(client: Client) -> None:
    name = client.dice.choice(list(client.blobs))
    answer = await client.ask("resources/read", {"uri": f"file:///{name}"}, "image")
    require_equal(base64.b64decode(answer["result"]["contents"][0]["blob"]), client.blobs[name], name)


async def document(client: Client) -> None:
    page = client.dice.randrange(1, PDF_PAGES + 1)
    result = await client.call("native_read", {"files": f"book.pdf:p{page}"}, "document")
    if page_text(page) not in text_of(result):
        raise Wrong(f"page {page}: {str(result)[:200]}")


async def listing(client: Client) -> None:
    answer = await client.ask("tools/list", {}, "listing")
    require_equal(len(answer["result"]["tools"]), len(DIALECTS), "tools")


FILL = (fill_up, document, image)
REQUESTS = (
    *(codex, claude, workspace, forge, native, resource) * 5,
    *(image, blob, blob, document, listing, continuation),
)
"""A random choice from this list is the next request, so what is repeated comes more often."""
