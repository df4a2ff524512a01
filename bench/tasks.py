"""Count the tokens and calls of reading tasks that are derived from the commits of repositories.

    pip install bpe-openai                      # carries the o200k vocabulary; nothing is downloaded
    python bench/tasks.py REPOSITORY...         # working copies or bare repositories; needs git

A task is what somebody reads before a commit: the functions that the commit changed, four at most, and places that call
them, two for each of the first two. It is derived without looking at any tool: the changed functions are those around
the changed lines in the commit's own version, as far as they still exist in the newest one, which is read. Tests and
commits of more than four files are left out.

Each tool is counted as a model pays for it: the arguments it writes and the answers it reads, in o200k tokens. The
search for the callers is the same for all tools and counted for all. Native reads everything in one call: functions by
name, callers by the function around the line (`file:line::`) or, for comparison, in windows of 41 lines. Other tools do
not know where a function is, so each function costs a search for its definition, and windows of 60 lines from there
until its end; callers are windows of 41 lines. Codex reads functions in its indentation mode, with `max_levels` 1.
Cline reads the callers and the first window of each function in one call. The filesystem tools know no first line, so a
window is the head of the file up to its end.
"""

from __future__ import annotations

import argparse
import collections
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bpe_openai

from eyespan import Workspace
from eyespan.outline import find, outline_here

SUFFIXES = (
    *(".py", ".go", ".rs", ".ts", ".js", ".c", ".cc", ".java"),
    *(".rb", ".php", ".kt", ".scala", ".swift", ".cs", ".lua"),
)
COMMITS = 300
WINDOW = 60
AROUND = 20
BUDGET = 20_000

_ENCODING = bpe_openai.get_encoding("o200k_base")


def cost(text: str) -> int:
    return len(_ENCODING.encode_ordinary(text))


class Repository:
    """The newest files of a repository, and its commits."""

    def __init__(self, source: Path, place: Path) -> None:
        self.name = next(part for part in reversed(source.parts) if part not in ("repo", ".git")).rpartition("+")[2]
        self._git = ["git", "-C", str(source)]
        self.root = place / self.name
        self.root.mkdir()
        self._write_sources()

    def _write_sources(self) -> None:
        """Write the source files of the newest commit; a partial clone may lack some."""
        rows = [row.split("\t", 1) for row in self.git("ls-tree", "-r", "-z", "HEAD").split("\0") if row]
        files = [(meta.split()[2], path) for meta, path in rows if path.endswith(SUFFIXES) and " blob " in meta]
        wanted = "".join(f"{oid}\n" for oid, _ in files).encode()
        batch = subprocess.run(
            [*self._git, "cat-file", "--batch"], input=wanted, capture_output=True, check=False
        ).stdout
        at = 0
        for _, path in files:
            end = batch.index(b"\n", at)
            words = batch[at:end].split()
            at = end + 1
            if words[1:2] != [b"blob"]:
                continue
            size = int(words[2])
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(batch[at : at + size])
            at += size + 1

    def git(self, *words: str) -> str:
        done = subprocess.run([*self._git, *words], capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")

    def functions(self, path: str, data: bytes):
        outline = outline_here(data, path)
        return outline, [symbol for symbol in outline.symbols if symbol.kind in ("function", "method")]

    def tasks(self, count: int):
        """Yield the commit, the functions and the callers of each task."""
        found = 0
        for commit in self.git("log", "--no-merges", f"-n{COMMITS}", "--format=%H", "--diff-filter=M").split():
            task = self._task(commit)
            if task is not None:
                yield commit[:9], *task
                found += 1
                if found == count:
                    return

    def _task(self, commit: str):
        changed = collections.defaultdict(list)
        path = ""
        for line in self.git("show", "-U0", "--format=", "--no-renames", commit).split("\n"):
            if line.startswith("+++ "):
                path = line.removeprefix("+++ b/")
            hunk = re.match(r"@@ -\S+ \+(\d+)", line)
            if hunk and path.endswith(SUFFIXES) and "test" not in path.lower():
                changed[path].append(int(hunk[1]))
        if not 1 <= len(changed) <= 4:
            return None
        functions = {}
        for path, lines in changed.items():
            now = self.root / path
            if not now.is_file():
                continue
            _, before = self.functions(path, self.git("show", f"{commit}:{path}").encode())
            outline, _ = self.functions(path, now.read_bytes())
            for line in lines:
                around = [symbol for symbol in before if symbol.first <= line <= symbol.last]
                name = max(around, key=lambda symbol: symbol.depth).qualified if around else ""
                same = find(outline, name) if name else []
                if len(same) == 1 and same[0].qualified == name:
                    functions[path, name] = same[0]
        chosen = list(functions.items())[:4]
        callers = [place for (path, _), symbol in chosen[:2] for place in self._callers(path, symbol)[:2]]
        return (chosen, callers) if chosen and callers else None

    def _callers(self, path: str, symbol):
        suffix = Path(path).suffix
        words = ["grep", "-nE", rf"\b{re.escape(symbol.name)}[[:space:]]*\(", "HEAD", "--", f"*{suffix}"]
        found = []
        for line in self.git(*words).split("\n"):
            hit = re.match(r"HEAD:(.*?):(\d+):(.*)", line)
            if hit is None or re.search(r"\b(def|func|fn|function|fun|class)\b", hit[3]):
                continue
            if hit[1] != path or not symbol.first <= int(hit[2]) <= symbol.last:
                found.append((hit[1], int(hit[2]), hit[3]))
        return found if len(found) < 200 else []


class Counter:
    """Calls tools and counts."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._workspace = Workspace(root)
        self._tools = {}

    def call(self, dialect: str, arguments, **settings) -> int:
        key = (dialect, *settings.items())
        if key not in self._tools:
            tools = self._workspace.toolset(dialect, **settings)
            self._tools[key] = tools.named(TOOLS[dialect]) if dialect in TOOLS else tools[0]
        reply = self._tools[key].call(arguments)
        return cost(json.dumps(arguments)) + cost(reply.text)

    def window(self, dialect: str, path: str, first: int, count: int) -> int:
        return self.call(dialect, WINDOWS[dialect](path, str(self._root / path), first, count))


TOOLS = {"filesystem": "read_text_file"}
"""The tool of a dialect that has several, unless it is the first."""
WINDOWS = {
    "forge": lambda path, absolute, first, count: {"path": path, "start_line": first, "limit": count},
    "workspace": lambda path, absolute, first, count: {"path": path, "start_line": first, "max_lines": count},
    "claude": lambda path, absolute, first, count: {"file_path": absolute, "offset": first - 1, "limit": count},
    "codex": lambda path, absolute, first, count: {"file_path": absolute, "offset": first, "limit": count},
    "filesystem": lambda path, absolute, first, count: {"path": absolute, "head": first + count - 1},
    "text-editor": lambda path, absolute, first, count: {
        "command": "view",
        "path": absolute,
        "view_range": [first, first + count - 1],
    },
    "gemini": lambda path, absolute, first, count: {
        "file_path": path,
        "start_line": first,
        "end_line": first + count - 1,
    },
    "kimi": lambda path, absolute, first, count: {"path": path, "line_offset": first, "n_lines": count},
    "opencode": lambda path, absolute, first, count: {"filePath": absolute, "offset": first, "limit": count},
    "cline": lambda path, absolute, first, count: {"files": [_cline_file(absolute, first, count)]},
    "deepagents": lambda path, absolute, first, count: {"file_path": path, "offset": first - 1, "limit": count},
}
"""The arguments of a read of `count` lines from `first` on, by dialect; a dialect without a row is not measured."""


def _cline_file(absolute: str, first: int, count: int):
    return {"path": absolute, "start_line": first, "end_line": first + count - 1}


def native(counter: Counter, functions, callers, form: str) -> tuple[int, int]:
    names = [f"{path}::{name}" for path, name in (key for key, _ in functions)]
    if form == "windows":
        places = [f"{path}:{max(1, line - AROUND)}-{line + AROUND}" for path, line, _ in callers]
    else:
        places = [f"{path}:{line}::" for path, line, _ in callers]
    numbers = 5 if form == "numbers=5" else 1
    return counter.call("native", {"files": [*names, *places], "budget": BUDGET}, numbers=numbers), 1


def other(counter: Counter, root: Path, dialect: str, functions, callers) -> tuple[int, int]:
    spent = calls = 0
    for (path, _), symbol in functions:
        text = (root / path).read_text("utf-8", "replace").split("\n")
        spent += cost(json.dumps({"pattern": symbol.name, "path": path}))
        spent += cost(f"{symbol.line}:{text[symbol.line - 1]}")
        calls += 1
        if dialect == "codex":
            block = {"anchor_line": symbol.line, "max_levels": 1, "include_header": True}
            asked = {"file_path": str(root / path), "offset": symbol.line, "mode": "indentation", "indentation": block}
            spent += counter.call(dialect, asked)
            calls += 1
            continue
        begin = symbol.line + (WINDOW if dialect == "cline" else 0)
        for first in range(begin, symbol.last + 1, WINDOW):
            spent += counter.window(dialect, path, first, WINDOW)
            calls += 1
    places = [(path, max(1, line - AROUND), 2 * AROUND + 1) for path, line, _ in callers]
    if dialect == "cline":
        places = [*[(path, symbol.line, WINDOW) for (path, _), symbol in functions], *places]
        files = [_cline_file(str(root / path), first, count) for path, first, count in places]
        return spent + counter.call(dialect, {"files": files}), calls + 1
    for path, first, count in places:
        spent += counter.window(dialect, path, first, count)
        calls += 1
    return spent, calls


def measure(repository: Repository, count: int):
    """Yield (commit, {tool: (tokens, calls)}) for each task."""
    counter = Counter(repository.root)
    for commit, functions, callers in repository.tasks(count):
        search = sum(cost(json.dumps({"pattern": rf"{symbol.name}\(", "path": "."})) for _, symbol in functions[:2])
        search += sum(cost(f"{path}:{line}:{text}") for path, line, text in callers)
        row = {
            "native": native(counter, functions, callers, "around"),
            "native, windows": native(counter, functions, callers, "windows"),
            "native, numbers=5": native(counter, functions, callers, "numbers=5"),
        }
        for dialect in WINDOWS:
            row[dialect] = other(counter, repository.root, dialect, functions, callers)
        yield commit, {tool: (spent + search, calls) for tool, (spent, calls) in row.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="REPOSITORY")
    parser.add_argument("--tasks", type=int, default=4, help="tasks from each repository (4)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    rows = []
    for source in options.repositories:
        with tempfile.TemporaryDirectory() as place:
            repository = Repository(source, Path(place))
            for commit, row in measure(repository, options.tasks):
                rows.append({"repository": repository.name, "commit": commit, "tools": row})
    if not rows:
        print("no commit of these repositories makes a task")
        return 1
    names = sorted({row["repository"] for row in rows})
    print(f"{len(rows)} tasks from {len(names)} repositories: {', '.join(names)}")
    print(f"\n{'':20}{'tokens':>10}{'of native':>11}{'median':>9}{'calls':>7}")
    whole = sum(row["tools"]["native"][0] for row in rows)
    for tool in rows[0]["tools"]:
        spent = sum(row["tools"][tool][0] for row in rows)
        calls = sum(row["tools"][tool][1] for row in rows)
        median = statistics.median([row["tools"][tool][0] / row["tools"]["native"][0] for row in rows])
        print(f"{tool:20}{spent:>10,}{spent / whole:>11.2f}{median:>9.2f}{calls:>7}")
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
