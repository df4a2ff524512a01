"""One door: outside the guard nothing in the package opens a file by its name."""

from __future__ import annotations

import ast
from pathlib import Path

import eyespan

PACKAGE = Path(eyespan.__file__).parent

ELSEWHERE = {
    "cli/__init__.py": "the null device, in place of a pipe that was closed",
    "lines/cache.py": "the index cache in the user's cache folder",
    "decoders/ooxml.py": "a member of an archive that the guard has opened",
    "server/audit.py": "the audit log that the host named",
    "server/auth.py": "the server's own token and the host's list of tokens",
    "sandbox/interpreter.py": "the header of the interpreter's own program",
    "server/http/metrics.py": "memory shared by the workers, not a file",
    "server/stdio.py": "the null device, in place of standard input and output",
    "server/summary.py": "the audit log that a person named",
    "sandbox/landlock.py": "the paths of Landlock rules, opened with O_PATH and never read",
    "decoders/image.py": "a picture from the descriptor that was handed over",
    "worker/job.py": "the descriptor that was handed over",
}
"""Modules that open files which are none of the workspace's (logs, tokens, configuration), each with its reason."""

OPENERS = {
    "open",
    "os.open",
    "os.fdopen",
    "os.popen",
    "io.open",
    "io.open_code",
    "io.FileIO",
    "codecs.open",
    "gzip.open",
    "bz2.open",
    "lzma.open",
    "tarfile.open",
    "shelve.open",
    "mmap.mmap",
    "linecache.getline",
    "linecache.getlines",
    "fileinput.input",
}
METHODS = {"read_text", "read_bytes", "open"}
"""Of a `Path`; the guard opens files, the engine and a call's table of files ask it to."""


def openings(source: str) -> list[str]:
    """What opens files in a module, one `line: call` each."""
    tree = ast.parse(source)
    renamed = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            renamed.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Import):
            renamed.update({alias.asname: alias.name for alias in node.names if alias.asname})
    # A class that has a method of that name calls its own, whose body is looked at as well.
    own = {f"self.{node.name}" for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name in METHODS}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) in own:
            continue
        name = ast.unparse(node.func)
        first, dot, rest = name.partition(".")
        full = renamed.get(first, first) + dot + rest
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if full in OPENERS or (
            method in METHODS and not full.lower().endswith(("guard.open", "engine.open", "files.open"))
        ):
            found.append(f"{node.lineno}: {full}")
    return found


def test_only_the_guard_opens_files():
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("guard/") or name in ELSEWHERE:
            continue
        calls = openings(path.read_text(encoding="utf-8"))
        if calls:
            found[name] = calls

    assert found == {}


def test_every_exception_is_one():
    unneeded = [n for n in ELSEWHERE if not (PACKAGE / n).is_file() or not openings((PACKAGE / n).read_text("utf-8"))]

    assert unneeded == []


def test_the_search_finds_what_it_looks_for():
    source = """
import os, io as i
from os import open as o
from pathlib import Path
open("x")
os.open("x", 0)
i.open("x")
o("x", 0)
Path("x").open()
(Path("x") / "y").read_bytes()
self.root.read_text()
self.guard.open("x")
"""
    assert [int(call.split(":")[0]) for call in openings(source)] == [5, 6, 7, 8, 9, 10, 11]
