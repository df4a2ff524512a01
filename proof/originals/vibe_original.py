"""Call the `read_file` tool of Mistral Vibe, in its own environment: one JSON object per line in, one answer out."""

from __future__ import annotations

import asyncio
import json
import os
import sys

from vibe.core.tools.builtins.read_file import ReadFile, ReadFileArgs, ReadFileConfig, ReadFileState
from vibe.utils import io


async def call(tool: ReadFile, arguments: dict[str, object]) -> str:
    async for item in tool.run(ReadFileArgs(**arguments)):
        found = item
    # As the program's loop writes a result for the model.
    return "\n".join([f"{name}: {value}" for name, value in found.model_dump(mode="json").items()])


def main() -> None:
    os.chdir(sys.argv[1])
    tool = ReadFile(config_getter=ReadFileConfig, state=ReadFileState())
    loop = asyncio.new_event_loop()
    decode, found = io.decode_safe, ["utf-8"]

    def decode_safe(raw: bytes, **options: bool) -> io.ReadSafeResult:
        result = decode(raw, **options)
        found[0] = result.encoding
        return result

    io.decode_safe = decode_safe
    for line in sys.stdin:
        try:
            answer = {"failed": False, "text": loop.run_until_complete(call(tool, json.loads(line)))}
        except Exception as error:
            answer = {"failed": True, "text": f"<tool_error>read_file failed: {error}</tool_error>"}
        answer["encoding"] = found[0]
        print(json.dumps(answer), flush=True)


main()
