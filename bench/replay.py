"""Replay the reads of stored agent runs through the dialects, and count tokens and calls.

    pip install bpe-openai                       # the o200k vocabulary; without it tokens are estimated
    python bench/replay.py RUNS REPOSITORY...    # RUNS: *.traj.json of mini-swe-agent, *.traj of SWE-agent and CodeR;
                                                 # the tasks' git directories

A run is a list of shell commands with their output. The commit that a run started from is found by its patch: the
parent of the commit that replaces the patched blob. A command counts as a read if its output equals the lines of that
commit (`cat`, `head`, `sed -n`, also through `nl` or `cat -n`; the window of `open`, `goto`, `scroll_down`), so nothing
depends on what a model would do. Each read is made again in every dialect, one tool for each run, and costs its
arguments and its answer.

A pair is a search for a definition (`grep -n "def name" file`, `search_file name`) followed by a read of that file.
`native` answers it by `file::name`. If the lines that were read of the definition are folded away, the call that opens
the gaps counts, too.
Nothing of a run is written anywhere.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from eyespan import Reply, Tool, Workspace, tokens
from eyespan.dialects import dialect_names, forms
from eyespan.outline import find, outline_here

_COMMAND = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)
_OUTPUT = re.compile(r"<output>\n?(.*?)</output>", re.DOTALL)
_READ = re.compile(
    r"(?:(?:nl -ba|cat -n|cat) (?P<piped>[\w./-]+) \| )?"
    r"(?:sed -n ['\"](?P<first>\d+),(?P<last>\d+)p['\"]|head (?:-n ?|-)(?P<head>\d+)|(?P<cat>cat|nl -ba|cat -n))"
    r"(?: (?P<path>[\w./-]+))?"
)
_SEARCH = re.compile(r"grep (?:-\w+ )*-?n?\w* ?['\"]?\^?\s*(?:def|class) (?P<name>\w+)[^|;&]*? (?P<path>[\w./-]+)")
_NUMBER = re.compile(r"^ *\d+\t")
_WINDOW = re.compile(r"\[File: /[^/\s]+/(?P<path>\S+) \(\d+ lines total\)\]\n(?P<lines>.*)", re.DOTALL)
_SEARCH_COMMAND = re.compile(r"(?:search_file|search_dir|grep -\w+) [\"']?(?:def |class )?(?P<name>\w+)")


@dataclass(frozen=True)
class Read:
    """Lines of a file that a run read; `search` is the definition that it searched for before, and what it found."""

    path: str
    first: int
    last: int
    is_whole: bool
    search: tuple[str, str] | None = None


@dataclass(frozen=True)
class Run:
    """The reads of one run, and the text of the files at its commit."""

    name: str
    reads: tuple[Read, ...]
    files: dict[str, str]


# --- runs ------------------------------------------------------------------------------------------------------------


def load_run(path: Path, repositories: dict[str, Path]) -> Run | None:
    """Return the reads of a stored run; None if its commit is not in any of the repositories."""
    stored = json.loads(path.read_text("utf-8"))
    name = path.name.partition(".")[0]
    repository = repositories.get(name.partition("__")[2].rpartition("-")[0])
    if repository is None:
        return None
    commit = base_commit(repository, stored["info"].get("submission") or "")
    if commit is None:
        return None
    files: dict[str, str] = {}
    reads: list[Read] = []
    before: tuple[str, str, str] | None = None
    if "trajectory" in stored:
        steps = [(step["action"].strip(), step["observation"]) for step in stored["trajectory"]]
        reader, searches = window_of, _SEARCH_COMMAND
    else:
        steps, reader, searches = list(commands(stored["messages"])), read_of, _SEARCH
    for command, output in steps:
        found = reader(command, output, lambda path: text_at(repository, commit, path))
        search = searches.match(command)
        if found is not None:
            read, files[read.path] = found
            if before is not None and before[0] in (read.path, ""):
                read = replace(read, search=before[1:])
            reads.append(read)
            before = None
        elif search is not None:
            before = (plain(search.groupdict().get("path", "")), search["name"], output)
    return Run(name, tuple(reads), files) if reads else None


def commands(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the commands of a run with their output."""
    for message, answer in pairwise(messages):
        if message["role"] == "assistant" and answer["role"] == "user":
            command = _COMMAND.search(str(message["content"]))
            output = _OUTPUT.search(str(answer["content"]))
            if command and output:
                yield command[1].strip(), output[1]


def plain(path: str) -> str:
    return path.removeprefix("/testbed/").removeprefix("./")


def read_of(command: str, output: str, text_of: Callable[[str], str | None]) -> tuple[Read, str] | None:
    """Return what a command read and the text of the file, if its output equals these lines."""
    match = _READ.fullmatch(command)
    if match is None or not (match["piped"] or match["path"]) or (match["piped"] and match["path"]):
        return None
    path = plain(match["piped"] or match["path"])
    text = text_of(path)
    if text is None:
        return None
    lines = text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")
    first = int(match["first"] or 1)
    last = min(len(lines), int(match["last"] or match["head"] or len(lines)))
    shown = [_NUMBER.sub("", line) if "nl" in command or "-n " in command else line for line in output.split("\n")]
    if first > last or [line.rstrip() for line in shown[:-1]] != [line.rstrip() for line in lines[first - 1 : last]]:
        return None
    return Read(path, first, last, is_whole=bool(match["cat"])), text


def window_of(command: str, output: str, text_of: Callable[[str], str | None]) -> tuple[Read, str] | None:
    """Return the window that a command of SWE-agent showed and the text of the file, if it equals these lines."""
    window = _WINDOW.search(output)
    text = text_of(window["path"]) if window and command.startswith(("open ", "goto ", "scroll_")) else None
    if window is None or text is None:
        return None
    lines = text.split("\n")
    shown = [(int(number), line) for number, line in re.findall(r"^(\d+):(.*)$", window["lines"], re.MULTILINE)]
    if not shown or any(n > len(lines) or lines[n - 1].rstrip() != line.rstrip() for n, line in shown):
        return None
    return Read(window["path"], shown[0][0], shown[-1][0], is_whole=False), text


def base_commit(repository: Path, patch: str) -> str | None:
    """Return the parent of the commit that replaces a blob of the patch."""
    for path, blob in re.findall(r"^diff --git a/\S+ b/(\S+)\n(?:.*\n)??index ([0-9a-f]{7,})\.\.", patch, re.MULTILINE):
        parent = ""
        for line in git(repository, "log", "--format=%P", "--raw", "--abbrev=40", "--", path).split("\n"):
            if line.startswith(":"):
                if line.split()[2].startswith(blob) and parent:
                    return parent
            elif line:
                parent = line.split()[0]
    return None


@cache
def text_at(repository: Path, commit: str, path: str) -> str | None:
    try:
        return git(repository, "show", f"{commit}:{path}")
    except (subprocess.CalledProcessError, UnicodeDecodeError):
        return None


def git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8")


# --- costs -----------------------------------------------------------------------------------------------------------


def make_counter() -> Callable[[str], int]:
    try:
        import bpe_openai
    except ImportError:
        return tokens.estimate
    encode = bpe_openai.get_encoding("o200k_base").encode_ordinary
    return lambda text: len(encode(text))


COUNT = make_counter()


class Cost:
    """The tokens and calls of some reads."""

    def __init__(self) -> None:
        self.tokens = self.calls = 0

    def call(self, tool: Tool, arguments: dict[str, Any]) -> Reply:
        reply = tool.call(arguments)
        self.tokens += COUNT(json.dumps(arguments)) + COUNT(reply.text)
        self.calls += 1
        return reply


def read_lines(cost: Cost, tool: Tool, read: Read, root: str) -> None:
    """Read the same lines in a dialect; `native` reads on if they exceed its budget."""
    first, last = (None, None) if read.is_whole else (read.first, read.last)
    reply = cost.call(tool, forms.arguments_of(tool.dialect, read.path, root, first=first, last=last))
    while tool.dialect.name == "native" and not read.is_whole and (reply.structured or {}).get("left_out"):
        reply = cost.call(tool, {"files": reply.structured["left_out"]})


def replay(runs: list[Run]) -> None:
    """Print the tokens and calls of all reads by dialect."""
    more = {"native, numbers=5": {"numbers": 5}, "native, remember": {"remember": True}}
    costs = {label: Cost() for label in (*more, *dialect_names())}
    for run in runs:
        with tempfile.TemporaryDirectory() as directory:
            write_files(run, directory)
            with Workspace(directory) as workspace:
                for label, cost in costs.items():
                    tool = workspace.toolset(label.partition(",")[0], **more.get(label, {}))[0]
                    for one in run.reads:
                        read_lines(cost, tool, one, directory)
    print(f"{sum(len(run.reads) for run in runs)} reads of {len(runs)} runs; tokens of arguments and answers, calls")
    for label, cost in sorted(costs.items(), key=lambda one: one[1].tokens):
        print(f"{label:20} {cost.tokens:>10,} {cost.tokens / costs['native'].tokens:6.2f} {cost.calls:>6}")


def write_files(run: Run, directory: str) -> None:
    for path, text in run.files.items():
        (Path(directory) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(directory) / path).write_text(text, encoding="utf-8", newline="")


def replay_pairs(runs: list[Run], is_verbose: bool) -> None:
    """Print what searches with the read after them cost, and what `file::name` costs instead."""
    totals: dict[str, Counter[str]] = {"class": Counter(), "function": Counter()}
    for run in runs:
        with tempfile.TemporaryDirectory() as directory:
            write_files(run, directory)
            with Workspace(directory) as workspace:
                native, claude = workspace.tool("native"), workspace.tool("claude")
                for read in run.reads:
                    if read.search is None:
                        continue
                    name, output = read.search
                    symbols = find(outline_here(run.files[read.path].encode(), read.path), name)
                    wanted = {line for one in symbols for line in range(one.first, one.last + 1)}
                    wanted &= set(range(read.first, read.last + 1))
                    if not wanted:
                        continue
                    total = totals["class" if symbols[0].kind == "class" else "function"]
                    windows, named = Cost(), Cost()
                    windows.tokens += COUNT(json.dumps({"pattern": f"def {name}", "path": read.path})) + COUNT(output)
                    read_lines(windows, claude, read, directory)
                    reply = named.call(native, {"files": f"{read.path}::{name}"})
                    seen = lines_of(reply.text)
                    has_all = wanted <= seen
                    if not has_all:
                        missing = sorted(wanted - seen)
                        named.call(native, {"files": f"{read.path}:{missing[0]}-{missing[-1]}"})
                    total.update(pairs=1, windows=windows.tokens, native=named.tokens, whole=has_all, lines=len(wanted))
                    total["cheaper"] += named.tokens <= windows.tokens
                    if is_verbose:
                        print(
                            f"{run.name} {read.path}::{name} read {read.first}-{read.last} symbol "
                            f"{symbols[0].first}-{symbols[0].last}: {windows.tokens} -> {named.tokens}"
                            f"{'' if has_all else ' second call'}"
                        )
    for kind, total in totals.items():
        if total["pairs"]:
            print(
                f"{kind}: {total['pairs']} pairs, search and window {total['windows']:,}, ::name {total['native']:,} "
                f"({total['native'] / total['windows']:.2f}), cheaper {total['cheaper']}, "
                f"without a second call {total['whole'] / total['pairs']:.0%}"
            )


def lines_of(answer: str) -> set[int]:
    """Return the numbers of the lines that an answer of native shows."""
    return {int(match[1]) for match in re.finditer(r"^(\d+)\t", answer, re.MULTILINE)}


def main(arguments: list[str]) -> None:
    is_verbose = "-v" in arguments
    where, *repositories = [Path(argument) for argument in arguments if argument != "-v"]
    by_name = {path.parent.name.rpartition("+")[2] if path.name == "repo" else path.name: path for path in repositories}
    found = [load_run(path, by_name) for path in sorted([*where.rglob("*.traj.json"), *where.rglob("*.traj")])]
    runs = [run for run in found if run is not None]
    replay_pairs(runs, is_verbose)
    if not is_verbose:
        replay(runs)


if __name__ == "__main__":
    main(sys.argv[1:])
