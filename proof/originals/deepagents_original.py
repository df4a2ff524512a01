"""Call the `read_file` tool of Deep Agents, in its own environment: one JSON object per line in, one answer out."""

from __future__ import annotations

import json
import sys
from types import SimpleNamespace

from deepagents.backends.filesystem import FilesystemBackend
from deepagents.middleware.filesystem import FilesystemMiddleware


def main() -> None:
    tools: dict[str, object] = {}
    for line in sys.stdin:
        request = json.loads(line)
        root = request["root"]
        if root not in tools:
            made = FilesystemMiddleware(backend=FilesystemBackend(root_dir=root, virtual_mode=True)).tools
            tools[root] = next(one for one in made if one.name == "read_file")
        tool = tools[root]
        try:
            arguments = tool.args_schema(**request["arguments"]).model_dump()
            message = tool.func(**arguments, runtime=SimpleNamespace(tool_call_id="1"))
            answer = {"failed": message.status == "error", "content": message.content}
        except Exception as error:
            answer = {"failed": True, "content": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


main()
