"""Count the tokens of the same reading tasks in each dialect and in the formats of other tools.

    pip install bpe-openai        # carries the o200k vocabulary; nothing is downloaded
    python bench/tokens.py        # prints the tables, writes bench/tokens.json

The corpus is the standard library of the Python that runs this. A task is counted as a model pays for it: the arguments
it writes and the answer it reads. Eyespan's dialects are called; the other formats are written out here as the tools
are documented: separators, padding, wrappers and notices, not their code.

Each tool finds a symbol in its own way. A tool that reads by symbol names it. Any other tool first searches for the
line of the definition (one `grep -n`, with its call and its hit counted) and then reads `WINDOW` lines from there, as
agents do, because it does not know the end of the symbol. If the whole file is cheaper, it reads that.

There are three leagues, because answers differ in content. Formats with line numbers are compared with native. Bare
formats, which contain only the text, are compared with native with `numbers=5`, which still contains path, lines, hash
and every fifth number. So are readers of symbols, which need a language server. No format can save 40 % of the same
text, so the goal there is to cost no more.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import bpe_openai

from eyespan import Workspace
from eyespan.outline import find, outline_here

ROOT = Path(os.__file__).parent
WINDOW = 60
GOAL = 0.6
"""Relative to the best other format, on the symbol and trace tasks."""

_ENCODING = bpe_openai.get_encoding("o200k_base")


def cost(text: str) -> int:
    return len(_ENCODING.encode_ordinary(text))


def arguments(**values: object) -> str:
    return json.dumps(values, ensure_ascii=False)


# --- the tasks -----------------------------------------------------------------------------------------------------

WHOLE = ["json/decoder.py", "textwrap.py", "csv.py"]
RANGES = [
    ("argparse.py", [(1180, 1199), (1450, 1474), (2000, 2014)]),
    ("subprocess.py", [(100, 119), (400, 429), (1000, 1019)]),
]
SYMBOLS = [
    ("argparse.py", "ArgumentParser.parse_known_args"),
    ("json/encoder.py", "JSONEncoder.iterencode"),
    ("logging/__init__.py", "Logger._log"),
    ("http/client.py", "HTTPConnection.connect"),
]
TRACE = [
    ("urllib/request.py", "urlopen"),
    ("urllib/request.py", "OpenerDirector.open"),
    ("http/client.py", "HTTPConnection.request"),
    ("socket.py", "create_connection"),
    ("ssl.py", "SSLContext.wrap_socket"),
    ("email/parser.py", "BytesParser.parse"),
]


def lines_of(name: str) -> list[str]:
    text = (ROOT / name).read_text("utf-8")
    return text.split("\n")[:-1] if text.endswith("\n") else text.split("\n")


def place_of(name: str, symbol: str) -> tuple[int, int]:
    found = find(outline_here((ROOT / name).read_bytes(), name), symbol)
    return found[0].first, found[0].last


# --- other formats -------------------------------------------------------------------------------------------------


class Format:
    """The format of one tool: a call for each window, unless it accepts several."""

    def __init__(self, name, number, wrap="{body}", part="", absolute=True, numbered=True, key="file_path"):
        self.name, self.number, self.wrap, self.part = name, number, wrap, part
        self.absolute, self.key = absolute, key
        self.league = "numbered" if numbered else "bare"

    def path(self, name: str) -> str:
        return str(ROOT / name) if self.absolute else name

    def read(self, name: str, first: int = 1, last: int | None = None) -> int:
        """Return the tokens of one call and its answer."""
        lines = lines_of(name)
        total = len(lines)
        last = min(total, last or total)
        body = "\n".join([self.number(n, line) for n, line in enumerate(lines[first - 1 : last], first)])
        whole = first == 1 and last == total
        notice = (
            "" if whole else self.part.format(first=first, last=last, total=total, next=last + 1, left=total - last)
        )
        answer = self.wrap.format(body=body + notice, path=self.path(name), total=total)
        asked = (
            {self.key: self.path(name)}
            if whole
            else {self.key: self.path(name), "offset": first, "limit": last - first + 1}
        )
        return cost(arguments(**asked)) + cost(answer)

    def grep(self, name: str, symbol: str) -> int:
        """Return the tokens of a search for a definition: `grep -n`."""
        last = symbol.rpartition(".")[2]
        line = place_of(name, symbol)[0]
        text = lines_of(name)
        hit = next(n for n in range(line, line + 30) if f"def {last}" in text[n - 1])
        return cost(arguments(pattern=f"def {last}\\b", path=self.path(name))) + cost(f"{hit}:{text[hit - 1]}")

    def symbol(self, name: str, symbol: str) -> int:
        first, _ = place_of(name, symbol)
        return min(self.grep(name, symbol) + self.read(name, first, first + WINDOW - 1), self.read(name))


class Ranged(Format):
    """A format with several ranges of a file in one call."""

    def ranges(self, name, spans):
        body = "\n".join(
            "\n".join([self.number(n, line) for n, line in enumerate(lines_of(name)[a - 1 : b], a)]) for a, b in spans
        )
        selector = f"{self.path(name)}:{','.join(f'{a}-{b}' for a, b in spans)}"
        return cost(arguments(path=selector)) + cost(self.wrap.format(body=body, path=self.path(name), total=0))


class WholeOnly(Format):
    """A format that returns only whole files."""

    def symbol(self, name, symbol):
        return self.read(name)


class BySymbol(Format):
    """The format of a language server's symbol reader: the body as a JSON string, with name and place."""

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.league = "symbol"

    def symbol(self, name, symbol):
        first, last = place_of(name, symbol)
        body = "\n".join(lines_of(name)[first - 1 : last])
        path = symbol.replace(".", "/")
        answer = json.dumps(
            [{"name_path": path, "kind": "Method", "relative_path": name,
              "body_location": {"start_line": first - 1, "end_line": last - 1}, "body": body}]
        )  # fmt: skip
        return cost(arguments(name_path=path, relative_path=name, include_body=True)) + cost(answer)


CUT = "\n\n[Showing lines {first}-{last} of {total}. Use offset={next} to continue.]"
FORMATS = [
    Format("number and tab", lambda n, s: f"{n}\t{s}"),
    Format("padded number and tab", lambda n, s: f"{n:>6}\t{s}"),
    Format("number, arrow, padded", lambda n, s: f"{n:>6}→{s}"),
    Format("N: text in tags", lambda n, s: f"{n}: {s}",
           "<path>{path}</path>\n<type>file</type>\n<content>\n{body}\n</content>",
           "\n\n(Showing lines {first}-{last} of {total}. Use offset={next} to continue.)", key="filePath"),
    Format("padded N | text", lambda n, s: f"{n:>4} | {s}", "{body}",
           "\n[Lines {first}-{last} of {total} shown]", absolute=False, key="path"),
    Format("padded N|text in tags", lambda n, s: f"{n:>6}|{s}", "<file>\n{body}\n</file>",
           "\n(File has more lines. Use 'offset' parameter to read beyond line {last})"),
    Format("cat -n with a lead", lambda n, s: f"{n:>6}\t{s}",
           "Here's the result of running `cat -n` on {path}:\n{body}\n", key="path"),
    Ranged("N:text under a tag, ranges", lambda n, s: f"{n}:{s}", "[{path}#A1B2]\n{body}", absolute=False, key="path"),
    Format("bare, notice above when cut", lambda n, s: s, "{body}",
           "\n\nIMPORTANT: The file content has been truncated. Status: Showing lines {first}-{last} of {total} total "
           "lines. Action: To read more of the file, use start_line: {next}.", absolute=False, numbered=False),
    Format("bare, notice below when cut", lambda n, s: s, "{body}",
           "\n\n[{left} more lines in file. Use offset={next} to continue.]",
           absolute=False, numbered=False, key="path"),
    WholeOnly("bare, whole files only", lambda n, s: s, "{body}", "", absolute=False, numbered=False, key="path"),
    BySymbol("symbol body as JSON", lambda n, s: s, "{body}", CUT, absolute=False, numbered=False, key="relative_path"),
]  # fmt: skip


def others(task):
    """Return the tokens of a task in every other format."""
    for form in FORMATS:
        yield form.name, form.league, task(form)


def ranged(form, name, spans):
    if isinstance(form, Ranged):
        return form.ranges(name, spans)
    if form.name == "bare, whole files only":
        return form.read(name)
    return sum(form.read(name, a, b) for a, b in spans)


# --- eyespan's dialects --------------------------------------------------------------------------------------------


def call(tool, **asked):
    reply = tool.call(asked)
    assert not reply.is_error, reply.text
    return cost(arguments(**asked)) + cost(reply.text), reply


def ours(workspace):
    """Return the tokens of every task in each dialect: {task: {dialect: tokens}}."""
    native = {"native": workspace.tool("native"), "native, numbers=5": workspace.tool("native", numbers=5)}
    found = {"whole file": {}, "three ranges": {}, "one method": {}, "trace of six": {}}
    for name, tool in native.items():
        found["whole file"][name] = sum(call(tool, files=[f], budget=20_000)[0] for f in WHOLE)
        found["three ranges"][name] = sum(
            call(tool, files=[f"{f}:{','.join(f'{a}-{b}' for a, b in spans)}"])[0] for f, spans in RANGES
        )
        found["one method"][name] = sum(call(tool, files=[f"{f}::{s}"])[0] for f, s in SYMBOLS)
        found["trace of six"][name] = call(tool, files=[f"{f}::{s}" for f, s in TRACE])[0]
    for name, key, window in (
        ("codex", "file_path", lambda a, b: {"offset": a, "limit": b - a + 1}),
        ("claude", "file_path", lambda a, b: {"offset": a - 1, "limit": b - a + 1}),
        ("forge", "path", lambda a, b: {"start_line": a, "end_line": b}),
        ("workspace", "path", lambda a, b: {"start_line": a, "max_lines": b - a + 1}),
    ):
        tool = workspace.tool(name)
        absolute = name in ("codex", "claude")

        def read(file, first=1, last=None, tool=tool, key=key, window=window, absolute=absolute):
            last = last or len(lines_of(file))
            spent = 0
            while first <= last:  # seed 001 gives 500 lines at most
                until = min(last, first + 499) if key == "path" and tool.dialect.name == "workspace" else last
                asked = {key: str(ROOT / file) if absolute else file, **window(first, until)}
                spent += call(tool, **asked)[0]
                first = until + 1
            return spent

        def symbol(file, name, read=read):
            first, _ = place_of(file, name)
            grep = FORMATS[0].grep(file, name)
            return grep + read(file, first, min(len(lines_of(file)), first + WINDOW - 1))

        found["whole file"][name] = sum(read(f) for f in WHOLE)
        found["three ranges"][name] = sum(read(f, a, b) for f, spans in RANGES for a, b in spans)
        found["one method"][name] = sum(symbol(f, s) for f, s in SYMBOLS)
        found["trace of six"][name] = sum(symbol(f, s) for f, s in TRACE)
    return found


def bare(names):
    return sum(cost((ROOT / name).read_text("utf-8")) for name in names)


def main() -> int:
    with Workspace(ROOT) as workspace:
        result = ours(workspace)
    tasks = {
        "whole file": lambda form: sum(form.read(f) for f in WHOLE),
        "three ranges": lambda form: sum(ranged(form, f, spans) for f, spans in RANGES),
        "one method": lambda form: sum(form.symbol(f, s) for f, s in SYMBOLS),
        "trace of six": lambda form: sum(form.symbol(f, s) for f, s in TRACE),
    }
    table = {}
    print(f"Python {sys.version.split()[0]}, o200k; tokens of arguments and answers together.")
    print(f"The bare text of the whole files is {bare(WHOLE):,}.\n")
    print(f"{'':34}" + "".join(f"{task:>14}" for task in tasks))
    rows = {}
    for task, run in tasks.items():
        for name, league, spent in others(run):
            rows.setdefault((name, league), {})[task] = spent
    for name in result["whole file"]:
        print(f"{name:34}" + "".join(f"{result[task][name]:>14,}" for task in tasks))
    print()
    for (name, _), row in rows.items():
        print(f"{name:34}" + "".join(f"{row[task]:>14,}" for task in tasks))
    print()
    for league, mine in (("numbered", "native"), ("bare", "native, numbers=5"), ("symbol", "native, numbers=5")):
        print(f"{mine}, of the best {league} format")
        for task in tasks:
            by_symbol = task in ("one method", "trace of six")
            if league == "symbol" and not by_symbol:
                continue
            name, spent = min([(n, row[task]) for (n, of), row in rows.items() if of == league], key=lambda x: x[1])
            ratio = result[task][mine] / spent
            goal = GOAL if by_symbol and league != "symbol" else 1.0
            table[f"{task}, {league}"] = {
                "native": result[task][mine],
                "best_other": spent,
                "format": name,
                "ratio": round(ratio, 3),
                "goal": goal,
                "met": ratio <= goal,
            }
            print(f"  {task:14} {ratio:6.1%} of {name} (goal {goal:.0%}){'' if ratio <= goal else ' MISSED'}")
    report = {
        "python": sys.version.split()[0],
        "vocabulary": "o200k_base",
        "window_lines": WINDOW,
        "bare_whole_files": bare(WHOLE),
        "dialects": result,
        "other_formats": {name: row for (name, _), row in rows.items()},
        "goals": table,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(report, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
