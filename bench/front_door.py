"""Measure the share of pasted texts and wrong paths that `native` understands, on repositories of your choice.

    python bench/front_door.py REPOSITORY...                 a table per class, of all repositories together
    python bench/front_door.py REPOSITORY... --files 200     more files
    python bench/front_door.py REPOSITORY... --failures      list each text that was not understood

Files and lines are chosen by a fixed seed. Each text is one call.

pasted texts   read: the answer shows the line of the file that the text names
wrong paths    read: the answer shows the file that was meant, with a note; named: it is among the suggestions
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from eyespan import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eyespan.tool import Tool

MAX_BYTES = 300_000
LEAST_LINES = 12
FORMS = {
    "compilers": [
        "{path}:{line}:{column}: error: expected ';' before 'x'",
        "{path}:{line}:{column}: warning: unused variable 'x' [-Wunused-variable]",
        "error[E0425]: cannot find value `x`\n --> {path}:{line}:{column}\n  |\n{line} |     x\n",
        "{path}({line},{column}): error TS2304: Cannot find name 'x'.",
        "{path}:{line}:{column} - error TS2304: Cannot find name 'x'.",
        "{path}:{line}: error: cannot find symbol",
        "[ERROR] /build/{path}:[{line},{column}] cannot find symbol",
        "{path}({line}): error C2065: 'x': undeclared identifier",
        "{windows}({line},{column}): error CS0103: The name 'x' does not exist",
        "{path}:{line}:{column}: undefined: x",
        "{path}:{line}:{column}: error: cannot find 'x' in scope",
        "{path}:{line}:{column}: error:\n    • Variable not in scope: x",
        "{path}:({line},{column})-({last},3): error: parse error",
        "e: {path}: ({line}, {column}): Unresolved reference: x",
        "In file included from {path}:{line},\n                 from x:1:",
    ],
    "linters": [
        "{path}:{line}: error: Incompatible types in assignment  [assignment]",
        "{path}:{line}:{column}: F401 [*] `os` imported but unused",
        "{path}:{line}:{column}: C0114: Missing module docstring (missing-module-docstring)",
        "{path}\n  {line}:{column}  error  Missing semicolon  semi\n\n1 problem",
        "{path}: line {line}, col {column}, Error - Missing semicolon. (semi)",
        "In {path} line {line}:",
        "::error file={path},line={line},col={column}::message",
        "{path}|{line} col {column}| error: x",
    ],
    "tracebacks": [
        'File "{path}", line {line}, in f',
        'Traceback (most recent call last):\n  File "{path}", line {line}, in f\n    x()\nNameError: x',
        "    at f ({path}:{line}:{column})",
        "    at async Object.f (file:///app/{path}:{line}:{column})",
        "    at /app/{path}:{line}:{column}",
        "\tat {package}.C.run({name}:{line})",
        "main.f(0x1)\n\t/go/src/{path}:{line} +0x1d",
        "{path}:{line}:in `f': undefined method (NoMethodError)",
        "#0 {path}({line}): f()",
        "PHP Fatal error:  Uncaught Error: x in /var/www/{path}:{line}",
        "PHP Warning:  x in /var/www/{path} on line {line}",
        "   at A.F() in C:\\work\\{windows}:line {line}",
        "thread 'main' panicked at {path}:{line}:{column}:\nx",
        "thread 'main' panicked at 'x', {path}:{line}:{column}",
        "    #0 0x4f2a in main /build/{path}:{line}:{column}",
        "f@http://localhost:3000/{path}:{line}:{column}",
        "x at {path} line {line}.",
    ],
    "search": [
        "{path}:{line}:{text}",
        "{path}:{line}:{column}:{text}",
        "{path}-{line}-{text}",
        "{path}\n{line}:{text}",
    ],
    "diffs": [
        "a/{path}",
        "b/{path}",
        "+++ b/{path}",
        "--- a/{path}\t2024-01-01",
        "diff --git a/{path} b/{path}",
        "--- a/{path}\n+++ b/{path}\n@@ -{line},3 +{line},3 @@ f\n x",
        " M {path}",
        "modified:   {path}",
    ],
    "URLs": [
        "https://github.com/o/r/blob/main/{path}#L{line}",
        "https://github.com/o/r/blob/some/branch/{path}#L{line}-L{last}",
        "https://raw.githubusercontent.com/o/r/main/{path}",
        "https://gitlab.com/g/s/r/-/blob/main/{path}#L{line}-{last}",
        "https://bitbucket.org/o/r/src/main/{path}#lines-{line}:{last}",
        "file://{absolute}",
        "file://{absolute}#L{line}",
        "vscode://file{absolute}:{line}:{column}",
    ],
    "ranges": [
        "{path}#L{line}",
        "{path}#L{line}-L{last}",
        "{path}:L{line}",
        "{path}:L{line}-L{last}",
        "{path}:{line}..{last}",
        "{path}:{line} - {last}",
        "{path}:{line}-{last}, {last}",
        "{path}:{line}\u2013{last}",
        "{path}:{line}\u2014{last}",
        "{path}:{line} to {last}",
        "{path}:{line}-end",
        "{path}:{line}-$",
        "{path}:0-{line}",
        "{path}:{last}-{line}",
        "{path}:lines {line}-{last}",
        "{path} line {line}",
        "{path}, lines {line}-{last}",
        "{path} (line {line})",
    ],
    "decorations": [
        '"{path}"',
        "'{path}:{line}'",
        "`{path}`",
        "`{path}:{line}-{last}`",
        "\u201c{path}\u201d",
        "[the file]({path})",
        "[the file]({path}#L{line})",
        "@{path}",
        " {path}",
        "{path} ",
        "{path}\n",
        "{path}:",
        "({path}:{line})",
        "- {path}",
        "**{path}**",
    ],
    "other systems": [
        "{windows}",
        "{windows}:{line}",
        "C:\\work\\{windows}",
        "C:\\work\\{windows}:{line}:{column}",
        "C:/work/{path}",
        "/c/work/{path}:{line}",
        "~/{path}",
        "$HOME/{path}:{line}",
        "/{path}",
    ],
}


# --- pasted texts ----------------------------------------------------------------------------------------------------


def is_read(tool: Tool, form: str, fields: dict[str, object]) -> bool:
    """Return True if the answer to a pasted text shows the line of the file that it names."""
    reply = tool.call({"files": [form.format(**fields)]})
    if reply.is_error or reply.structured is None:
        return False
    path, line = str(fields["path"]), int(str(fields["line"])) if "{line}" in form and ":0-" not in form else 1
    for part in reply.structured["parts"]:
        if part["path"].endswith(path) and "selector" in part:
            ranges = part["selector"].rpartition(":")[2].split(",")
            return any(_contains(one, line) for one in ranges)
    return False


def _contains(written: str, line: int) -> bool:
    match = re.fullmatch(r"(\d+)(?::\d+)?(-?)(\d*)", written)
    if match is None:
        return True  # the whole file
    first = int(match[1])
    last = int(match[3]) if match[3] else 10**9 if match[2] else first
    return first <= line <= last


def fields_of(root: Path, path: str, chance: random.Random) -> dict[str, object] | None:
    """Return the values for the forms: a path and a line of it; None for a file that is not fit for them."""
    try:
        data = (root / path).read_bytes()
        lines = data.decode("utf-8").split("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if len(lines) < LEAST_LINES or len(data) > MAX_BYTES or b"\0" in data:
        return None
    line = chance.randrange(2, len(lines) - 4)
    text = lines[line - 1][:200]
    return {
        "path": path,
        "windows": path.replace("/", "\\"),
        "absolute": str(root / path),
        "name": path.rpartition("/")[2],
        "package": path.rpartition("/")[0].replace("/", "."),
        "line": line,
        "last": line + 3,
        "column": min(3, len(text) + 1),
        "text": text,
    }


# --- wrong paths -----------------------------------------------------------------------------------------------------


def name_alone(path: str, _: random.Random) -> str:
    return path.rpartition("/")[2]


def first_directory_missing(path: str, _: random.Random) -> str:
    return path.partition("/")[2]


def middle_directory_missing(path: str, chance: random.Random) -> str:
    names = path.split("/")
    if len(names) > 2:
        del names[chance.randrange(1, len(names) - 1)]
    else:
        del names[0]
    return "/".join(names)


def wrong_directory(path: str, chance: random.Random) -> str:
    names = path.split("/")
    names[chance.randrange(len(names) - 1)] = chance.choice(["core", "lib", "common", "internal"])
    return "/".join(names)


def additional_directory(path: str, chance: random.Random) -> str:
    names = path.split("/")
    names.insert(chance.randrange(len(names)), chance.choice(["src", "app", "repo", "pkg"]))
    return "/".join(names)


def other_case(path: str, chance: random.Random) -> str:
    return chance.choice([path.upper(), path.title(), path.swapcase()])


def typo(path: str, chance: random.Random) -> str:
    names = path.split("/")
    at = len(names) - 1 if chance.random() < 0.5 else chance.randrange(len(names))
    name = names[at]
    place = chance.randrange(max(1, len(name) - 3))
    kind = chance.randrange(3)
    if kind == 0:
        name = name[:place] + name[place + 1 :]
    elif kind == 1:
        name = name[:place] + chance.choice("aeiorst") + name[place:]
    else:
        name = name[:place] + name[place + 1 : place + 2] + name[place : place + 1] + name[place + 2 :]
    names[at] = name or "x"
    return "/".join(names)


MISTAKES: dict[str, Callable[[str, random.Random], str]] = {
    "file name alone": name_alone,
    "first directory missing": first_directory_missing,
    "middle directory missing": middle_directory_missing,
    "wrong directory": wrong_directory,
    "additional directory": additional_directory,
    "other case": other_case,
    "typo": typo,
}


def outcome(tool: Tool, wrong: str, path: str) -> str:
    """Return "read", "named" or "missed" for a wrong path."""
    reply = tool.call({"files": [wrong]})
    if not reply.is_error and reply.structured is not None:
        return "read" if reply.structured["parts"][0]["path"] == path else "missed"
    return "named" if path in _named_paths(reply.text.replace('"', "")) else "missed"


def _named_paths(text: str) -> set[str]:
    """Return the paths after `near:`, with groups such as `above/{one,other}/name` written out."""
    found: set[str] = set()
    for written in re.findall(r"(?:[^\s,{}]|\{[^{}]*\})+", text.partition("; near: ")[2]):
        group = re.fullmatch(r"(.*)\{(.*)\}(.*)", written)
        found |= {f"{group[1]}{name}{group[3]}" for name in group[2].split(",")} if group else {written}
    return found


# --- the report ------------------------------------------------------------------------------------------------------


def files_of(root: Path) -> list[str]:
    """Return the paths of the files of a repository, without those of git."""
    found = []
    for directory, directories, names in os.walk(root):
        directories[:] = sorted(name for name in directories if name != ".git")
        found += [os.path.relpath(os.path.join(directory, name), root) for name in sorted(names)]
    return found


def measure_forms(roots: Sequence[Path], count: int, failures: list[str]) -> dict[str, tuple[int, int]]:
    """Return for each class of forms how many were read, and how many there were."""
    table = dict.fromkeys(FORMS, (0, 0))
    for root in roots:
        chance = random.Random(16)
        paths = files_of(root)
        chance.shuffle(paths)
        chosen = [fields for path in paths if "/" in path for fields in [fields_of(root, path, chance)] if fields]
        with Workspace(root) as workspace:
            tool = workspace.tool("native", budget=2000)
            for fields in chosen[:count]:
                for name, forms in FORMS.items():
                    for form in forms:
                        good = is_read(tool, form, fields)
                        read, total = table[name]
                        table[name] = (read + good, total + 1)
                        if not good:
                            failures.append(f"{root.name}: {form.format(**fields)!r}")
    return table


def measure_paths(roots: Sequence[Path], count: int, failures: list[str]) -> tuple[dict[str, dict[str, int]], float]:
    """Return the outcomes for each kind of mistake, and the median seconds of a call."""
    table = {name: {"read": 0, "named": 0, "missed": 0} for name in MISTAKES}
    seconds = []
    for root in roots:
        chance = random.Random(17)
        paths = [path for path in files_of(root) if "/" in path]
        taken = set(paths)
        chance.shuffle(paths)
        with Workspace(root) as workspace:
            tool = workspace.tool("native")
            for path in paths[:count]:
                for name, mistake in MISTAKES.items():
                    wrong = mistake(path, chance)
                    if wrong in taken or wrong == path:
                        continue
                    start = time.perf_counter()
                    result = outcome(tool, wrong, path)
                    seconds.append(time.perf_counter() - start)
                    table[name][result] += 1
                    if result == "missed":
                        failures.append(f"{root.name}: {wrong} for {path}")
    return table, sorted(seconds)[len(seconds) // 2] if seconds else 0.0


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", nargs="+", type=Path)
    parser.add_argument("--files", type=int, default=60, help="files of each repository for wrong paths")
    parser.add_argument("--pasted", type=int, default=10, help="files of each repository for pasted texts")
    parser.add_argument("--failures", action="store_true")
    options = parser.parse_args()
    roots = [root.resolve() for root in options.repository]
    failures: list[str] = []
    print(f"{'pasted texts':28} {'texts':>7} {'read':>7}")
    sums = [0, 0]
    for name, (read, total) in measure_forms(roots, options.pasted, failures).items():
        print(f"{name:28} {total:7} {read / max(1, total):7.1%}")
        sums = [sums[0] + read, sums[1] + total]
    print(f"{'all':28} {sums[1]:7} {sums[0] / max(1, sums[1]):7.1%}\n")
    table, median = measure_paths(roots, options.files, failures)
    print(f"{'wrong paths':28} {'paths':>7} {'read':>7} {'named':>7} {'missed':>7}")
    for name, results in [
        *table.items(),
        ("all", {key: sum(row[key] for row in table.values()) for key in table["typo"]}),
    ]:
        total = max(1, sum(results.values()))
        shares = " ".join([f"{results[key] / total:7.1%}" for key in ("read", "named", "missed")])
        print(f"{name:28} {total:7} {shares}")
    print(f"median {median * 1000:.0f} ms")
    if options.failures:
        print("\n".join(["", *failures]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
