"""Workers of eyespan itself and of the floors in Python: `python own.py NAME DIRECTORY`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from common import Reader, serve

NAME, DIRECTORY = sys.argv[1], sys.argv[2]
NO_SCAN_LIMIT = 1 << 60


class Codex(Reader):
    """The library in a dialect; each request goes to the dialect that offers it, as in a host."""

    def __init__(self):
        from eyespan import Workspace

        self.workspace = Workspace(DIRECTORY)
        self.tool = self.workspace.tool("codex")
        # The default stops a scan for lines at 2 MB.
        self.forge = self.workspace.tool("forge", max_scan_bytes=NO_SCAN_LIMIT)

    def window(self, path, start, count):
        return _text(self.tool.call({"file_path": path, "offset": start, "limit": count}))

    def tail(self, path, count):
        return _text(self.forge.call({"path": path, "tail": count}))

    def count(self, path):
        reply = self.forge.call({"path": path, "tail": 1})
        _text(reply)
        return str(reply.structured["total_lines"])


class Claude(Codex):
    def __init__(self):
        super().__init__()
        self.tool = self.workspace.tool("claude")

    def window(self, path, start, count):
        return _text(self.tool.call({"file_path": path, "offset": start - 1, "limit": count}))


class Forge(Codex):
    def window(self, path, start, count):
        return _text(self.forge.call({"path": path, "start_line": start, "limit": count}))


class Batches(Reader):
    """Many files in calls of 100 targets each."""

    def __init__(self):
        from eyespan import Workspace

        self.tool = Workspace(DIRECTORY).tool("native", budget=200_000)

    def many(self, paths):
        return [_text(self.tool.call({"files": paths[at : at + 100]})) for at in range(0, len(paths), 100)]


class Naive(Reader):
    """The few lines of Python that number a file."""

    def many(self, paths):
        found = []
        for path in paths:
            with open(path, encoding="utf-8") as file:
                found.append("".join([f"L{number}: {line}" for number, line in enumerate(file, 1)]))
        return found


class Engine(Codex):
    """The engine without a dialect: lines without numbers, long ones cut to 2,000 characters."""

    def __init__(self):
        super().__init__()
        from eyespan.model import NO_TOTAL, Limits, Lines, ReadRequest, Tail

        self.request, self.lines, self.last = ReadRequest, Lines, Tail
        self.how = {"limits": Limits(max_line_bytes=8004, max_line_chars=2000), "total": NO_TOTAL}

    def window(self, path, start, count):
        return self._read(self.request(path, self.lines(start, count), **self.how))

    def tail(self, path, count):
        return self._read(self.request(path, self.last(count, numbered=False), **self.how))

    def _read(self, request):
        return self.workspace.engine.read(request).parts[0].data.decode("utf-8", "replace")


class Floor(Reader):
    """The bare calls: open and read a file, number its lines in C; the offsets of the lines are known beforehand."""

    style = {"lead": "L", "mark": ": ", "max_bytes": 500}

    def __init__(self):
        from eyespan._native import BACKEND, number

        if BACKEND != "c":
            raise RuntimeError("the accelerator is not built")
        self.number = number
        self.places = {}

    def window(self, path, start, count):
        if start == 1:
            with open(path, "rb") as file:
                return self.number(file.read(), 1, **self.style)
        first, last = self.places.get((path, start, count)) or self._find(path, start, count)
        fd = os.open(path, os.O_RDONLY)
        try:
            return self.number(os.pread(fd, last - first, first), start, **self.style)
        finally:
            os.close(fd)

    def _find(self, path, start, count):
        first, feeds = 0, start - 1
        with open(path, "rb", buffering=0) as file:
            while True:
                block = file.read(1 << 20)
                here = block.count(b"\n")
                if here >= feeds:
                    break
                feeds -= here
                first += len(block)
            at = 0
            for _ in range(feeds):
                at = block.index(b"\n", at) + 1
            first += at
            file.seek(first)
            length = sum(map(len, file.read(count * 200).splitlines(keepends=True)[:count]))
        self.places[path, start, count] = first, first + length
        return first, first + length

    def tail(self, path, count):
        """The last 64 KiB, unchanged."""
        fd = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(fd).st_size
            text = os.pread(fd, 65536, max(0, size - 65536)).decode()
        finally:
            os.close(fd)
        return "\n".join(text.split("\n")[-count - 1 :])


class ClaudeFloor(Floor):
    style = {"width": 6, "mark": "\t", "max_chars": 2000}


class ForgeFloor(Floor):
    style = {"width": 4, "mark": "\t", "keep_ends": True}


class LineFloor(Floor):
    """The first 8 KB of a file: as much as one answer shows of an endless line."""

    def window(self, path, start, count):
        fd = os.open(path, os.O_RDONLY)
        try:
            return os.pread(fd, 8004, 0).decode()[:2000]
        finally:
            os.close(fd)


class Structured(Reader):
    """The library where more than lines is read: outlines, maps, searches, records, a server, a remote root."""

    def __init__(self):
        from eyespan import Workspace

        self.workspace = Workspace(DIRECTORY)
        self.tool = self.workspace.tool("native", budget=200_000)
        self._url = self._far = None

    def native(self, request):
        return _text(self.tool.call({"files": request["path"]}))

    def outline(self, request):
        return _text(self.tool.call({"files": request["path"], "outline": True}))

    map = outline

    def search(self, request):
        return _text(self.tool.call({"files": f"{request['path']}?searched_word"}))

    def records(self, request):
        return [record.text for record in self.workspace.read_many(request["paths"], workers=1)]

    def http(self, request):
        if self._url is None:
            self._url = _serve()
        arguments = {"file_path": request["path"], "offset": 1, "limit": 2000}
        call = {"name": "read_file", "arguments": arguments}
        reply = json.loads(_post(self._url, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}))
        return reply["result"]["content"][0]["text"]

    def remote(self, request):
        from eyespan import Workspace

        if self._far is None:
            self._far = Workspace(f"http://127.0.0.1:{_store()}").tool("workspace")
        name = os.path.basename(request["path"])
        pieces, start = [], 1
        while start is not None:
            found = self._far.call({"path": name, "start_line": start, "max_lines": 500})
            _text(found)
            pieces.append(found.structured["content"])
            start = found.structured["next_start_line"]
        return "\n".join(pieces)


class StructuredFloor(Floor):
    """The same bytes without eyespan: read and numbered in C, parsed by Python's own parser, sent by a bare server."""

    def __init__(self):
        super().__init__()
        self._connection = None

    def native(self, request):
        return self.window(request["path"], 1, 0)

    def outline(self, request):
        import ast

        with open(request["path"], "rb") as file:
            tree = ast.parse(file.read())
        return "\n".join([node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)])

    def map(self, request):
        return "\n".join([name for name, data in _files_below(request["path"]) if data])

    def search(self, request):
        return "\n".join([name for name, data in _files_below(request["path"]) if b"searched_word" in data])

    def records(self, request):
        found = []
        for path in request["paths"]:
            with open(path, "rb") as file:
                found.append(file.read().decode())
        return found

    def remote(self, request):
        import http.client

        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", _store())
        self._connection.request("GET", "/" + os.path.basename(request["path"]))
        return self._connection.getresponse().read().decode()

    http = remote


def _files_below(path):
    for name in sorted(os.listdir(path)):
        with open(os.path.join(path, name), "rb") as file:
            yield name, file.read()


def _child(argv):
    """Start a process that ends with this one, whose standard input it reads or whose session it shares."""
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _store():
    store = os.path.join(os.path.dirname(os.path.abspath(__file__)), "store.py")
    return int(_child([sys.executable, store, DIRECTORY]).stdout.readline())


def _serve():
    """Start `eyespan serve --http` and return a kept connection to it."""
    import atexit
    import http.client
    import socket
    import time

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    argv = [sys.executable, "-m", "eyespan", "--root", DIRECTORY, "serve", "--dialect", "codex", "--no-token"]
    server = _child([*argv, "--http", f"127.0.0.1:{port}", "--rate", "1000000000"])
    atexit.register(server.kill)
    for _ in range(200):
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.connect()
        except OSError:
            time.sleep(0.05)
        else:
            return connection
    raise RuntimeError("the server does not start")


def _post(connection, message):
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    connection.request("POST", "/mcp", json.dumps(message), headers)
    return connection.getresponse().read()


def _text(reply):
    if reply.is_error:
        raise RuntimeError(reply.text[:200])
    return reply.text


READERS = {
    "codex": Codex,
    "claude": Claude,
    "forge": Forge,
    "engine": Engine,
    "batches": Batches,
    "naive": Naive,
    "structured": Structured,
    "floor-structured": StructuredFloor,
    "floor-codex": Floor,
    "floor-claude": ClaudeFloor,
    "floor-forge": ForgeFloor,
    "floor-line": LineFloor,
}

if __name__ == "__main__":  # the processes of bulk reading import this module
    serve(READERS[NAME])
