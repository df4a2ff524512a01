"""Workers of eyespan itself and of the floors in Python: `python own.py NAME DIRECTORY`."""

from __future__ import annotations

import os
import sys

from common import Reader, serve

NAME, FOLDER = sys.argv[1], sys.argv[2]
NO_SCAN_LIMIT = 1 << 60


class Codex(Reader):
    """The library in a dialect; each request goes to the dialect that offers it, as in a host."""

    def __init__(self):
        from eyespan import Workspace

        self.workspace = Workspace(FOLDER)
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


def _text(reply):
    if reply.is_error:
        raise RuntimeError(reply.text[:200])
    return reply.text


READERS = {
    "codex": Codex,
    "claude": Claude,
    "forge": Forge,
    "engine": Engine,
    "floor-codex": Floor,
    "floor-claude": ClaudeFloor,
    "floor-forge": ForgeFloor,
    "floor-line": LineFloor,
}

serve(READERS[NAME])
