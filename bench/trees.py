"""Large trees: walks, searches and maps, compared with `rg` and `git ls-files` on the same files, in one run.

    python bench/trees.py [files]

1,000,000 files take some ten minutes and 4 GB of disk, 100,000, the default, a minute. They are small, so the cost of
each counts. Each search is continued until all files are searched; the run ends with an error if it finds a file twice
or misses one. The table is printed as Markdown, in seconds of processor time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from eyespan import Workspace
from eyespan.context import CallContext

IN_DIRECTORY = 1000
WORD = "needle"


def make(root: Path, files: int) -> None:
    """Make directories of 1,000 files, ten in each directory above; one file in 1,000 has the word."""
    for first in range(0, files, IN_DIRECTORY):
        directory = root.joinpath(*f"{first // IN_DIRECTORY:03}")
        directory.mkdir(parents=True)
        for number in range(IN_DIRECTORY):
            end = f" # {WORD}" if number == IN_DIRECTORY // 2 else ""
            (directory / f"{number:03}.py").write_text(f"def f():\n    return {first + number}{end}\n")


def seconds(who: int, act: Callable[[], object]) -> float:
    """Return the processor time of an action: of this process, or of the children that it starts."""
    before = resource.getrusage(who)
    act()
    after = resource.getrusage(who)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(*command: str, directory: Path) -> float:
    options = {"cwd": directory, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    return seconds(resource.RUSAGE_CHILDREN, lambda: subprocess.run(command, **options))  # type: ignore[call-overload]


def search(workspace: Workspace, target: str) -> list[str]:
    """Return the files in which the word is found, in as many calls as it takes."""
    found: list[str] = []
    following = [f"{target}?{WORD}"]
    while following:
        reply = workspace.tool("native").call({"files": following, "budget": 100_000})
        assert reply.structured is not None, reply.text
        found += [part["path"] for part in reply.structured["parts"][0].get("parts", [])]
        following = reply.structured.get("left_out", [])
        assert all(one.startswith(f"{target}:") for one in following), following
    return found


def compare(root: Path, target: str, found: list[str]) -> list[float]:
    """Return a row of the table; add the files that the search finds to `found`."""
    own, directory = resource.RUSAGE_SELF, root / target
    with Workspace(root) as workspace:
        tool = workspace.tool("native")
        return [
            seconds(own, lambda: sum([1 for _ in workspace.engine.walk(target, CallContext(None))])),
            run("rg", "--files", "-j1", directory=directory),
            run("git", "ls-files", "-o", "--exclude-standard", directory=directory),
            seconds(own, lambda: found.extend(search(workspace, target))),
            run("rg", "-j1", "-l", WORD, directory=directory),
            *[seconds(own, lambda: tool.call({"files": target, "outline": True})) for _ in range(2)],
        ]


def main() -> None:
    files = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        make(root, files)
        run("git", "init", "-q", directory=root)
        print("| files | walk | `rg --files` | `git ls-files -o` | search | `rg -l` | map | again |")
        print("| --- |" + " ---: |" * 7)
        for depth, count in ((3, 1000), (2, 10_000), (1, 100_000), (0, 1_000_000)):
            if count > files:
                continue
            target = "/".join("0" * depth) or "."
            found: list[str] = []
            figures = compare(root, target, found)
            assert len(found) == len(set(found)) == count // IN_DIRECTORY, f"{len(found)} of {count // IN_DIRECTORY}"
            print(f"| {count:,} |" + "".join([f" {each:.2f} |" for each in figures]), flush=True)


if __name__ == "__main__":
    main()
