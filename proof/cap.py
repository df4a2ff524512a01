"""Check that no answer of a server is over the cap of hosts: `python -m proof cap`.

Makes 60 files of 1 KB to 1 GB in ten forms, one after the other, and reads each by `eyespan serve` in every dialect:
the file alone, all lines of one up to 1 MB in one call, and on from where a shortened answer says. Counts each answer
as hosts do. Prints the longest answers; the exit status is 1 if one is over the cap, or if a call that an answer names
is refused. Needs 1 GB of disk and some ten minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from eyespan import ImageContent, Reply, TextContent, Workspace
from eyespan.dialects import dialect_names
from eyespan.dialects.base import host_tokens
from eyespan.dialects.forms import arguments_of, path_field
from eyespan.server.serve_options import ServeOptions
from tests.server.clients import StdioServer

CAP = ServeOptions().max_answer_tokens
SIZES = (1_000, 30_000, 300_000, 5_000_000, 100_000_000, 1_000_000_000)
MOST_WHOLE = 1_000_000
"""The size of a file whose lines are all asked for in one call."""
FORMS = {
    "short.txt": "{0}\n",
    "plain.txt": "{0} The quick brown fox jumps over the lazy dog, again and again, until it is late.\n",
    "server.log": "2026-11-18T09:00:00.{0:06d}Z ERROR [worker-{0}] GET /api/v1/items/{0} 500 0x{0:08x} failed: reset\n",
    "rows.csv": '{0},"Müller, {0}",2026-11-18,{0}.25,true,,"x"\n',
    "records.json": '{{"id": {0}, "name": "item {0}", "tags": ["a", "b"], "nested": {{"depth": [1, [2, [3]]]}}}}\n',
    "code.py": 'def function_{0}(a, b=None):\n    """Return {0}."""\n    return [a, b, {0}]\n\n\n',
    "minified.js": "var a{0}=function(b,c){{return b+c*{0}}};",
    "chinese.txt": "第{0}行：读取工具必须把答案控制在主机的限制之内，否则对话就会溢出。\n",
    "emoji.md": "## 🚀 {0} 👩‍👩‍👧‍👦\n\n- 🎉🎉🎉 `{0}` **ﷺ** \u200b\u202e\n\n",
    "blank.txt": "x" + " " * 700 + "\n",
}
"""The name of each file, and one piece of its text."""
NEXT = re.compile(r" Read on with (\{.*\})\.$", re.DOTALL)


def write_file(path: Path, piece: str, size_bytes: int) -> None:
    """Write pieces with running numbers; a large file repeats a block of them."""
    block, numbers = bytearray(), count(1)
    while len(block) < min(size_bytes, 1_000_000):
        block += piece.format(next(numbers)).encode("utf-8")
    with open(path, "wb") as file:
        while file.tell() < size_bytes:
            file.write(block[: max(1, size_bytes - file.tell())])


def read(server: StdioServer, name: str, calls: list[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Make the calls, and the call that each answer names. Yield the tokens of each answer, and its error."""
    for arguments in calls:
        result = server.call(name, **arguments)
        yield tokens_of(result), ""
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        if texts and (match := NEXT.search(texts[-1])):
            following = server.call(name, **json.loads(match[1]))
            yield tokens_of(following), following["content"][0]["text"] if following.get("isError") else ""


def tokens_of(result: Any) -> int:
    blocks = [
        TextContent(block["text"])
        if block["type"] == "text"
        else ImageContent(b64decode(block["data"]), block["mimeType"])
        for block in result["content"]
    ]
    return host_tokens(Reply(tuple(blocks)))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m proof cap", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--min-bytes", type=int, default=0, help="leave smaller files out")
    options = parser.parse_args(argv)
    longest = dict.fromkeys(dialect_names(), (0, ""))
    answers = failures = 0
    with tempfile.TemporaryDirectory() as directory, Workspace(directory) as workspace:
        tools = {name: workspace.toolset(name)[0] for name in longest}
        servers = {name: StdioServer("--dialect", name, "--timeout", "300", root=Path(directory)) for name in longest}
        for size_bytes in [size for size in SIZES if size >= options.min_bytes]:
            for file, piece in FORMS.items():
                path = Path(directory, file)
                write_file(path, piece, size_bytes)
                for name, tool in tools.items():
                    if path_field(tool.spec.input_schema) is None:
                        continue
                    plain = arguments_of(tool.dialect, file, directory)
                    whole = arguments_of(tool.dialect, file, directory, first=1, last=10**9)
                    wide = {**plain, "budget": 100_000} if "budget" in tool.dialect.settings else whole
                    calls = [plain, whole, wide] if size_bytes <= MOST_WHOLE else [plain]
                    for tokens, error in read(servers[name], tool.spec.name, calls):
                        answers += 1
                        where = f"{file}, {size_bytes:,} bytes"
                        longest[name] = max(longest[name], (tokens, where))
                        if tokens > CAP or error:
                            failures += 1
                            print(f"FAILED: {name}: {where}: {error or f'{tokens:,} tokens'}", flush=True)
                path.unlink()
                print(f"{file}, {size_bytes:,} bytes: {answers:,} answers so far", flush=True)
        for server in servers.values():
            server.close()
    print(f"{answers:,} answers, {failures} failures, a cap of {CAP:,} tokens. The longest of each dialect:")
    for name, (tokens, where) in longest.items():
        print(f"  {name:<20}{tokens:>7,}  {where}")
    return 1 if failures or not answers else 0
