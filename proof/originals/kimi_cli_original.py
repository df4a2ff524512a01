"""Call the `ReadFile` tool of Kimi CLI, in its own environment: one JSON object per line in, one answer out."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from types import SimpleNamespace

from kaos.path import KaosPath
from kimi_cli.tools.file.read import Params, ReadFile


def main() -> None:
    loop = asyncio.new_event_loop()
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["root"])
        built_in = SimpleNamespace(KIMI_WORK_DIR=KaosPath(request["root"]))
        tool = ReadFile(SimpleNamespace(builtin_args=built_in, additional_dirs=[]))
        try:
            result = loop.run_until_complete(tool(Params(**request["arguments"])))
            answer = {"failed": result.is_error, "message": result.message, "output": result.output}
        except Exception as error:
            answer = {"failed": True, "message": f"Invalid arguments: {error}", "output": ""}
        print(json.dumps(answer), flush=True)


main()
