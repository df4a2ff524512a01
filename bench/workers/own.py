"""Workers of eyespan itself and of a few lines of Python: `python own.py NAME DIRECTORY`."""

from __future__ import annotations

import ast
import os
import sys

from common import NotOfferedError, Reader, serve

NAME, DIRECTORY = sys.argv[1], sys.argv[2]
NO_SCAN_LIMIT = 1 << 60
"""The dialect `forge` stops a scan for lines at 2 MB by default."""


class Eyespan(Reader):
    """The library; each request goes to the dialect that offers it, as in a host."""

    def __init__(self):
        from eyespan import Workspace

        self.workspace = Workspace(DIRECTORY)
        self.codex = self.workspace.tool("codex")
        self.claude = self.workspace.tool("claude")  # shows 2,000 characters of a line, codex 500 bytes
        self.forge = self.workspace.tool("forge", max_scan_bytes=NO_SCAN_LIMIT)
        self.native = self.workspace.tool("native", budget=200_000)

    def window(self, path, start, count):
        if count == 1:
            return _text(self.claude.call({"file_path": path, "offset": start - 1, "limit": count}))
        return _text(self.codex.call({"file_path": path, "offset": start, "limit": count}))

    def tail(self, path, count):
        return _text(self.forge.call({"path": path, "tail": count}))

    def outline(self, request):
        return _text(self.native.call({"files": request["path"], "outline": True}))

    def search(self, request):
        return _text(self.native.call({"files": f"{request['path']}?searched_word"}))

    def records(self, request):
        return [record.text for record in self.workspace.read_many(request["paths"], workers=1)]


class Batches(Eyespan):
    """Many files in native calls of 100 targets each."""

    def many(self, paths):
        return [_text(self.native.call({"files": paths[at : at + 100]})) for at in range(0, len(paths), 100)]


class FewLines(Reader):
    """What a few lines of Python do: number a file, list functions, look for a word, read many files."""

    def window(self, path, start, count):
        if start != 1:
            raise NotOfferedError
        with open(path, encoding="utf-8") as file:
            return "".join([f"L{number}: {line}" for number, line in enumerate(file, 1)])

    def outline(self, request):
        tree = ast.parse(_bytes(request["path"]))
        return "\n".join([node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)])

    def search(self, request):
        directory = request["path"]
        found = [name for name in os.listdir(directory) if b"searched_word" in _bytes(os.path.join(directory, name))]
        return "\n".join(sorted(found))

    def records(self, request):
        return [_bytes(path).decode() for path in request["paths"]]


def _bytes(path):
    with open(path, "rb") as file:
        return file.read()


def _text(reply):
    if reply.is_error:
        raise RuntimeError(reply.text[:200])
    return reply.text


READERS = {"eyespan": Eyespan, "batches": Batches, "few-lines": FewLines}

if __name__ == "__main__":  # the processes of bulk reading import this module
    serve(READERS[NAME])
