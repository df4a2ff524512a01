"""The client of the official SDK, which checks every message against the schema, over stdio."""

from __future__ import annotations

import asyncio

import pytest

mcp = pytest.importorskip("mcp", reason="the client of the SDK")

from mcp import Client, MCPError, StdioServerParameters  # noqa: E402  (only where the extra is installed)

from .clients import SERVE, TEMPLATE  # noqa: E402  (after the check for the extra)

MODES = ["legacy", "auto", "2026-07-28"]


def stdio(tree, *arguments):
    command, *argv = SERVE
    return StdioServerParameters(command=command, args=[*argv, "--root", str(tree), *arguments])


@pytest.mark.parametrize("mode", MODES)
def test_the_client_lists_calls_reads_and_completes(tree, mode):
    async def talk():
        async with Client(stdio(tree, "--dialect", "claude"), mode=mode) as client:
            listed = await client.list_tools()
            reply = await client.call_tool("Read", {"file_path": str(tree / "umlaut.txt")})
            templates = await client.list_resource_templates()
            contents = await client.read_resource("file:///src/app.py?start=2&limit=1")
            ref = mcp.types.ResourceTemplateReference(uri=TEMPLATE)
            found = await client.complete(ref, {"name": "path", "value": "hel"})
            resources = await client.list_resources()
            return listed, reply, templates, contents, found, resources

    listed, reply, templates, contents, found, resources = asyncio.run(talk())

    assert [tool.name for tool in listed.tools] == ["Read"]
    assert listed.tools[0].annotations.read_only_hint is True
    assert reply.content[0].text == "     1\tgrün → €"
    assert reply.is_error is False
    assert reply.structured_content is None
    assert templates.resource_templates[0].uri_template == TEMPLATE
    assert contents.contents[0].text == "line 2\n"
    assert found.completion.values == ["hello.txt"]
    assert resources.resources == []


@pytest.mark.parametrize("mode", MODES)
def test_structured_content_matches_its_schema(tree, mode):
    async def talk():
        async with Client(stdio(tree, "--dialect", "workspace"), mode=mode) as client:
            await client.list_tools()
            return await client.call_tool("read_file", {"path": "hello.txt"})

    reply = asyncio.run(talk())

    assert reply.structured_content["content"] == "hello\nworld\n"


@pytest.mark.parametrize("mode", MODES)
def test_errors_reach_the_client_as_errors(tree, mode):
    async def talk():
        async with Client(stdio(tree, "--dialect", "claude"), mode=mode) as client:
            refused = await client.call_tool("Read", {"file_path": "/etc/passwd"})
            with pytest.raises(MCPError) as unknown:
                await client.call_tool("Write", {})
            with pytest.raises(MCPError) as missing:
                await client.read_resource("file:///none.txt")
            return refused, unknown.value, missing.value

    refused, unknown, missing = asyncio.run(talk())

    assert refused.is_error is True
    assert unknown.code == -32602
    assert missing.code == (-32002 if mode == "legacy" else -32602)


@pytest.mark.parametrize("mode", MODES)
def test_cancelling_stops_the_read_and_progress_arrives(tree, mode):
    with (tree / "endless.txt").open("wb") as file:
        file.truncate(1 << 40)
    arguments = {"file_path": str(tree / "endless.txt"), "offset": 2}
    reported = asyncio.Queue()

    async def progress(done, total, message):
        reported.put_nowait((done, total))

    async def talk():
        server = stdio(tree, "--dialect", "codex", "--timeout", "3600")
        async with Client(server, mode=mode) as client:
            call = asyncio.create_task(client.call_tool("read_file", arguments, progress_callback=progress))
            seen = await reported.get()
            call.cancel()
            await asyncio.wait([call])
            return seen, await client.call_tool("read_file", {"file_path": str(tree / "hello.txt")})

    seen, reply = asyncio.run(talk())

    assert reply.content[0].text == "L1: hello\nL2: world"
    assert seen[1] == 1 << 40
