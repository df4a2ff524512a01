# ruff: noqa: E501 (a text that another program prints is one line)
"""What other programs and people write to name a place in a file: a table, one row for each form.

A row has a pattern, which is searched in one line of a pasted text, and examples, which are its test and its
documentation (docs/reference/pasted.md). The order of the rows has no meaning. Where several match, `matches` sorts them by
`Rank`, then the longest match first, then the leftmost.

Pure: a row yields the targets that a match may name, and the caller takes the first whose file exists. Every pattern
takes time linear in the line: quantifiers are bounded or possessive, and a path starts only where a word starts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from urllib.parse import unquote

from eyespan.extras.pasted.loose import loose_ranges, number, sorted_lines
from eyespan.extras.pasted.path_spellings import MAX_NAMES, SCHEME, shorter, strip
from eyespan.model import Lines, Tail
from eyespan.selectors import Cells, Pages, Piece, Place, Ranges, SymbolPiece, Target, readings

MAX_MATCHES = 8
"""The matches of one row in one line."""
MAX_WORDS_BEFORE = 3
"""The words before a path that may belong to it, because its name has blanks."""


class Rank(IntEnum):
    """How sure a form is, the surest first."""

    BESIDE = 1
    """A path with the part of the file next to it."""
    APART = 2
    """The part of a file whose path stands elsewhere in the line; the nearest path is tried first."""
    FILE = 3
    """A path alone."""
    NAME = 4
    """The name of a test, a class or a module. It is looked for only if the text is one line."""


@dataclass(frozen=True, slots=True)
class PastedForm:
    """One form of text."""

    name: str
    rank: Rank
    pattern: re.Pattern[str]
    examples: tuple[tuple[str, str], ...]
    """Texts, each with the selectors that it is read as."""
    targets: Callable[[re.Match[str]], Iterable[Target]]


def matches(line: str, *, has_names: bool) -> list[tuple[PastedForm, re.Match[str]]]:
    """Return the rows that match a line, the surest first. `has_names`: also the names of tests, classes, modules."""
    pairs = [
        (row, match)
        for row in ROWS
        if has_names or row.rank is not Rank.NAME
        for match in islice(row.pattern.finditer(line), MAX_MATCHES)
    ]
    pairs.sort(key=lambda one: (one[0].rank, one[1].start() - one[1].end(), one[1].start(), one[0].name))
    return pairs


def paths_in(line: str) -> list[tuple[int, str]]:
    """Return the words of a line that look like paths, each with its place."""
    paths = [(match.start(), match["path"] or match["quoted"]) for match in _PATH.finditer(line)]
    return [(at, path) for at, path in paths if re.search(r"[/\\]|\.[^\W\d]", path)]


# --- targets -------------------------------------------------------------------------------------------------------


def _piece(match: re.Match[str]) -> Piece | None:
    """Return the part of a file that the groups of a match name."""
    groups = match.groupdict("")
    column = groups.get("column")
    if groups.get("symbol"):
        return SymbolPiece(groups["symbol"].rstrip(",;:)"))
    if groups.get("tail"):
        return Ranges((Tail(number(groups["tail"])),))
    if groups.get("lines"):
        ranges = loose_ranges(groups["lines"])
        if column and ranges is not None and isinstance(ranges[0], Lines) and ranges[0].count == 1:
            return Ranges((Place(ranges[0].first, number(column)),))
        return None if ranges is None else Ranges(ranges)
    if not (groups.get("line") or groups.get("last")):
        return None
    line = number(groups.get("line") or "1")
    if groups.get("last"):
        return Ranges((sorted_lines(line, number(groups["last"])),))
    if groups.get("count"):
        return Ranges((Lines(line, number(groups["count"])),))
    return Ranges((Place(line, number(column)) if column else Lines(line, 1),))


def _beside(match: re.Match[str]) -> Iterator[Target]:
    """Yield the place of a path, which may begin some words before the match."""
    piece = _piece(match)
    if piece is None:
        return
    if match["path"] is None:
        yield Target(match["quoted"], piece)
        return
    if "quoted" not in match.re.groupindex:
        yield Target(match["path"], piece)
        return
    words = match.string[: match.start("path")].split(" ")[-MAX_WORDS_BEFORE - 1 :]
    for at in range(len(words) if words[-1] == "" else 0):
        if words[at]:
            yield Target(" ".join([*words[at:-1], match["path"]]), piece)
    yield Target(match["path"], piece)


def _apart(match: re.Match[str]) -> Iterator[Target]:
    """Yield the place in the file of every path of the line, the nearest first."""
    piece = _piece(match)
    if piece is not None:
        others = [(at, path) for at, path in paths_in(match.string) if not match.start() <= at < match.end()]
        for _, path in sorted(others, key=lambda one: abs(one[0] - match.start())):
            yield Target(path, piece)


def _file(match: re.Match[str]) -> Iterator[Target]:
    yield Target(strip(match["path"]))


def _selector(match: re.Match[str]) -> Iterator[Target]:
    yield from readings(strip(match[0]))


def _in_archive(match: re.Match[str]) -> Iterator[Target]:
    yield from [target for target in readings(f"{match['path']}!/{match['member']}") if target.member]


def _in_document(match: re.Match[str]) -> Iterator[Target]:
    kind = Cells if match["path"].endswith("ipynb") else Pages
    for one in loose_ranges(match["lines"]) or ():
        if isinstance(one, Lines):
            yield Target(match["path"], kind(one.first, None if one.count is None else one.first + one.count - 1))


def _at_revision(match: re.Match[str]) -> Iterator[Target]:
    yield Target(match["path"], _piece(match), revision=match["revision"])


def _hosted(match: re.Match[str]) -> Iterator[Target]:
    """Yield the file of a code host: that of the commit, if the URL has its hash, or the file as it is."""
    path, lines = unquote(match["path"]).replace(":", "/"), (match["lines"] or "").replace(":", "-")
    ranges = loose_ranges(lines) if lines else None
    piece = None if ranges is None else Ranges(ranges)
    revision, _, rest = path.partition("/")
    if re.fullmatch("[0-9a-f]{7,40}", revision):
        yield Target(rest, piece, revision=revision)
    for ending in shorter(path, is_foreign=True):
        yield Target(ending, piece)


def _coverage(match: re.Match[str]) -> Iterator[Target]:
    ranges = loose_ranges(re.sub(r"->(?:-?\d{1,9}|exit)", "", match["lines"]))
    yield Target(match["path"], None if ranges is None else Ranges(ranges))


def _first_of(match: re.Match[str]) -> Iterator[Target]:
    """Yield the lines that `head` and `tail` select together."""
    start, most, first, last = [int(match[name] or 0) for name in ("start", "most", "first", "last")]
    ranges: Lines | Tail = Lines(max(1, start), min(first, most or first) or None)
    if last:
        ranges = Lines(max(1, most - last + 1), min(most, last)) if most else Tail(last)
    for _, path in paths_in(match[0]):
        yield Target(path, Ranges((ranges,)))


def _searched(match: re.Match[str]) -> Iterator[Target]:
    """Yield what a command searches, with its pattern as an expression."""
    options, pattern = match["options"], match["quoted"] or match["word"]
    letters = "".join(re.findall(r"(?<!\S)-(\w+)", options))
    if "F" in letters or match["program"] == "fgrep":
        pattern = re.escape(pattern)
    elif match["program"] == "grep" and not re.search("[EP]", letters):
        pattern = re.sub(r"\\?[|+?(){}]", lambda sign: sign[0][1:] if len(sign[0]) > 1 else f"\\{sign[0]}", pattern)
    pattern = rf"\b(?:{pattern})\b" if "w" in letters else pattern
    yield Target(strip(match["path"] or "."), pattern=f"(?i){pattern}" if "i" in letters else pattern)


def _changed(match: re.Match[str]) -> Iterator[Target]:
    yield Target(match["path"], revision=match["revision"] if ".." in match["revision"] else f"{match['revision']}..")


def _pointer(match: re.Match[str]) -> Iterator[Target]:
    yield Target(match["path"], SymbolPiece(match["symbol"].strip("/").replace("/", ".")))


def _titles(match: re.Match[str]) -> Iterator[Target]:
    yield Target(match["path"], SymbolPiece(re.sub(r"\s>\s", ".", match["symbol"].strip())))


def _anchor(match: re.Match[str]) -> Iterator[Target]:
    for name in dict.fromkeys([match["symbol"], match["symbol"].replace("-", " ")]):
        yield Target(match["path"], SymbolPiece(name))


def _test(match: re.Match[str]) -> Iterator[Target]:
    yield Target(match["path"], SymbolPiece(match["symbol"].rstrip(",;:)") + (match["parameters"] or "")))
    yield Target(match["path"], _piece(match))


def _record(match: re.Match[str]) -> Iterator[Target]:
    """Yield the place of a record with a path and a line under their names: JSON, XML, `key=value`, a call."""
    positions = [number(line) + (line != "0") for line in _POSITION.findall(match.string)]
    if positions:  # of a language server, which counts from 0
        yield Target(match["path"], Ranges((sorted_lines(positions[0], positions[-1]),)))
        return
    values: dict[str, str] = {}
    for field in _FIELD.finditer(match.string):
        values.setdefault(re.sub("[_-]|number|num|no$", "", field[1].lower()), field[2])

    def value(*names: str) -> int:
        return next((number(values[name]) for name in names if values.get(name, "").isdecimal()), 0)

    first = value("line", "startline", "beginline", "linestart") or (value("offset") if "limit" in values else 0)
    last, column = value("endline", "lastline", "lineend"), value("column", "col", "startcolumn", "startcol")
    lines = values.get("lines") or values.get("viewrange")
    ranges = loose_ranges(lines.replace(",", "-")) if lines else None
    if ranges is None and first:
        count = last - first + 1 if last > first else value("limit")
        ranges = (Lines(first, count) if count else Place(first, column) if column else Lines(first, 1),)
    if ranges is not None:
        yield Target(match["path"], Ranges(ranges))


def _frame(match: re.Match[str]) -> Iterator[Target]:
    """Yield the file of a class from its package, for a frame such as `at a.b.C.run(C.java:42)`."""
    packages = [name for name in match["package"].split(".") if name[:1].islower()]
    yield Target("/".join([*packages, match["file"]]), _piece(match))


def _rust_test(match: re.Match[str]) -> Iterator[Target]:
    names = match["names"].split("::")
    for count in range(len(names) - 1, 0, -1):
        for base in dict.fromkeys(["/".join(names[:count]), "/".join(names[1:count])]):
            for path in (f"src/{base}.rs", f"src/{base}/mod.rs", f"tests/{base}.rs") if base else ():
                yield Target(path, SymbolPiece("::".join(names[count:])))
    for path in ("src/lib.rs", "src/main.rs"):
        yield Target(path, SymbolPiece("::".join(names)))


def _dotted(match: re.Match[str]) -> Iterator[Target]:
    """Yield the files of a dotted name: `tests.test_a.TestA.test_b`, `org.acme.AppTest#adds`, `AppTest.adds:12`."""
    groups = match.groupdict()
    names = match["names"].replace("#", ".").split(".")
    if groups.get("test") and names[-1] != match["test"]:
        names.append(match["test"])
    for count in range(min(len(names), MAX_NAMES), 0, -1):
        piece = SymbolPiece(".".join(names[count:])) if count < len(names) else None
        for suffix in (".py", "/__init__.py", ".java", ".kt", ".scala", ".cs", ".rb", ".ts", ".js"):
            yield Target("/".join(names[:count]) + suffix, _piece(match) or piece)


# --- patterns ------------------------------------------------------------------------------------------------------

CHAR = r"[^\s\"'`“”‘’«»()\[\]{}<>|,;:*?#=]"
BARE = (
    rf"(?:(?<!{CHAR})(?!(?<=:)//|[0-9]{{1,20}}(?!{CHAR}))|(?<=@)(?={SCHEME}))"
    rf"(?P<path>(?:{SCHEME})?(?:[A-Za-z]:(?=[\\/]))?(?:{CHAR}++|(?<=/)[\[(]{{1,2}}[^\s\[\]()/]{{1,60}}[\])]{{1,2}}){{1,16}})"
)
PATH = rf"(?:{BARE}(?:\*\*)?|[\"'`“‘«](?P<quoted>[^\"'`“”‘’«»\n]{{1,500}})[\"'`”’»])"
REST = r"(?P<path>.{1,1000})$"
N = "[0-9]{1,15}"
M = "0{0,3}[1-9][0-9]{0,8}"
LINE, COLUMN, LAST = f"(?P<line>{N})", f"(?P<column>{N})", f"(?P<last>{N})"
WORD = r"(?:[Ll]ines?|LINES?|[Ll]n|Zeile|ligne|línea|riga|linha|строка|行)"
DASH = r"(?:-{1,2}>|=>|→|\.\.\.?=?|[-‐-―−…~]|\s(?:to|through)\s(?=[0-9]))"
ITEM = rf"[Ll]?{N}(?:[Cc][0-9]{{1,6}})?"
RANGE = rf"{ITEM}(?:{DASH}(?:{ITEM}|(?:end|eof|EOF|last|\$)(?!\w))|\+{N}|[-+](?=$|[\s\"'`)\]>]))?"
LINES = rf"(?P<lines>{RANGE}(?:,{RANGE}){{0,32}})"
SPOKEN = rf"(?P<lines>{ITEM}(?:\s?(?:{DASH}|[,;&]|to\s|through\s|and\s)\s?(?:{ITEM}|end)){{1,32}})"
END = r"(?!\w|[-+~:.][0-9]|[-+~]{1,3}$)(?![\s0-9.,:;+>~∞*$-]{0,40}[0-9+>~∞*$][\s.,:;)-]{0,8}$)"
"""What follows is neither a part of the number nor the rest of a range that went wrong."""
THEN_COLUMN = rf"(?:,?\s?(?:and\s|at\s)?(?:[Cc]ol(?:umn)?|char(?:acter)?|pos(?:ition)?)[\s:=.]{{0,2}}{COLUMN})?"
ARCHIVE = r"(?:zip|jar|war|ear|apk|whl|egg|tar|tgz|tbz2|txz|tar\.(?:gz|bz2|xz|zst))"

_PATH = re.compile(rf"{PATH}(?!:[0-9+:-]|:[^\s:]{{1,500}}\s*$)")
"""A path without a part of the file after it: what names a part that the file lacks does not mean the whole file."""
_POSITION = re.compile(r"\{\s?[\"']line[\"']\s?:\s?([0-9]{1,9})\s?,\s?[\"']character[\"']\s?:")
_FIELD = re.compile(
    r"(?:^|[\s\"'{,;<(\[?&])((?:start|begin|end|last)?_?(?:line|column|col|limit|offset)s?_?(?:number|no|num|start|end)?|view_?range)[\"']?"
    r"\s?[:=,>]\s?[\"'\[]?([0-9][0-9-]{0,30}(?:,\s?[0-9]{1,9}(?=\s?\]))?)",
    re.IGNORECASE,
)
PATH_KEY = (
    r"(?i:(?:^|[\s\"'{,;<(\[?&])(?:source|abs|absolute|relative)?_?(?:file|path|file_?name|file_?path|uri|name)[\"']?\s?[:=,>]\s?)"
    r"(?:\{\s?[\"']text[\"']\s?:\s?)?[\"']?(?P<path>[^\s\"',;<>|&]{1,500}[./][^\s\"',;<>|&]{1,200})"
)
HOSTED = (
    r"(?:https?://|(?<!\S)(?=[\w-]{1,60}\.\w))[^\s/]{1,100}/(?:[^\s/]{1,100}/){0,6}?"
    r"(?:blob|raw|blame|edit|tree|src|browse|\+|(?<=://raw\.githubusercontent\.com/)[^\s/]{1,100}/[^\s/]{1,100})/"
    r"(?P<path>[^\s/#?;\"'`<>)\]]{1,300}/[^\s#?;\"'`<>)\]]{1,1000}|[^\s/#?;\"'`<>)\]]{1,300}:[^\s#?;\"'`<>)\]]{1,1000})"
    rf"(?:\?(?!L[0-9])[^\s#\"'`<>)\]]{{0,500}})?(?:(?:#(?:L|lines-|n)?|\?L|;l=)(?P<lines>{RANGE}(?::{N})?))?"
)


def _row(
    name: str,
    rank: Rank,
    pattern: str,
    *examples: tuple[str, str],
    targets: Callable[[re.Match[str]], Iterable[Target]] | None = None,
) -> PastedForm:
    usual = {Rank.BESIDE: _beside, Rank.APART: _apart, Rank.FILE: _file}
    return PastedForm(name, rank, re.compile(pattern), examples, targets or usual[rank])


# fmt: off
ROWS: tuple[PastedForm, ...] = (
    _row("a selector in quotes, brackets, Markdown", Rank.BESIDE, r"^.*\S.*$",
        ('"a.py:10-20"', "a.py:10-20"), ("`a.py:7`", "a.py:7"), ("“a.py:7”", "a.py:7"), ("(a.py:7)", "a.py:7"), ("<a.py>", "a.py"),
        ("**a.py:7**", "a.py:7"), ("- a.py:7", "a.py:7"), ("a.py:7,", "a.py:7"), ("@a.py", "a.py"), ("├── a.py", "a.py"),
        ("a/src/a.c", "src/a.c"), ("src\\a.c:3", "src/a.c:3"), ("C:\\work\\src\\a.c", "src/a.c"), ("/mnt/c/work/src/a.c:3", "src/a.c:3"),
        ("\\\\server\\share\\src\\a.c", "src/a.c"), ("~/src/a.c", "src/a.c"), ("$HOME/src/a.c:3", "src/a.c:3"),
        ("/elsewhere/src/a.c:3", "src/a.c:3"), ("//src:a.c", "src/a.c"), targets=_selector),
    _row("path:line", Rank.BESIDE, rf"{PATH}::?{LINES}{END}{THEN_COLUMN}",
        ("a.py:7:x = 'line'", "a.py:7"), ("a.py:3: error: Incompatible types [assignment]", "a.py:3"), ("src/a.c:3:in `f'", "src/a.c:3"),
        ("In file included from src/a.c:3,", "src/a.c:3"), ("see [a](a.py:7) for it", "a.py:7"), ("make: *** [src/a.c:3: all] Error 1", "src/a.c:3"),
        ("At C:\\work\\src\\a.c:3 char:5", "src/a.c:3:5"), ("2024-01-02 12:30:45,123 ERROR src/a.c:3 message", "src/a.c:3"),
        ("a.py:L3-L9", "a.py:3-9"), ("a.py:3..9", "a.py:3-9"), ("a.py:3–9", "a.py:3-9"), ("a.py:3-end", "a.py:3-"), ("a.py:9-3", "a.py:3-9")),
    _row("path:line:column", Rank.BESIDE, rf"{PATH}:L?{LINE}[:.]{COLUMN}(?:-[0-9]{{1,9}}(?=[:\s]|$))?(?!\w|[-:.,]?[0-9])",
        ("src/a.c:12:8: warning: unused variable 'x' [-Wunused-variable]", "src/a.c:12:8"), ("../src/a.c:12:8: error: expected ';'", "src/a.c:12:8"),
        ("  --> src/a.c:3:7", "src/a.c:3:7"), ("src/a.c:3:7 - error TS2304: Cannot find name 'x'.", "src/a.c:3:7"),
        ("src/a.c:3:5-9: error:", "src/a.c:3:5"), ("    at f (src/a.c:3:7)", "src/a.c:3:7"), ("a.py:7:3:x = 'line'", "a.py:7:3"),
        ("thread 'main' panicked at src/a.c:3:7:", "src/a.c:3:7"), ("    #0 0x4f2a in main /build/src/a.c:3:7", "src/a.c:3:7"),
        ("    at async Object.f (file:///C:/work/src/a.c:3:7)", "src/a.c:3:7"), ("f@http://localhost:3000/src/a.c?t=1699:3:7", "src/a.c:3:7"),
        ("vscode://file/C:/work/src/a.c:3:7", "src/a.c:3:7"), ("webpack-internal:///./src/a.c:3:7", "src/a.c:3:7")),
    _row("path:line:column-line:column", Rank.BESIDE, rf"{PATH}:{LINE}[:.]{N}-{LAST}[:.]{N}(?!\w)",
        ("a.py:3:5-9:2", "a.py:3-9")),
    _row("path: line:", Rank.BESIDE, rf"{PATH}: {LINE}(?=:)",
        ("src/a.c: 3: foo: not found", "src/a.c:3")),
    _row("path:lines in words", Rank.BESIDE, rf"{PATH}\s?:\s?(?:{WORD}\s)?{SPOKEN}\s?[)\].]?$",
        ("a.py:3 - 9", "a.py:3-9"), ("a.py:3 to 9", "a.py:3-9"), ("a.py:3-9, 12-14", "a.py:3-9,12-14")),
    _row("path(line)", Rank.BESIDE, rf"{PATH}(?:\(|:\s?[(\[]){LINE}[)\]]",
        ("1>C:\\work\\src\\a.c(3): error C2065: 'x': undeclared identifier", "src/a.c:3"), ("#0 src/a.c(3): f()", "src/a.c:3")),
    _row("path(line,column)", Rank.BESIDE, rf"{PATH}:?\s?[(\[]\s?{LINE}(?:,|:(?!\s?[0-9]{{1,15}}\]))\s?{COLUMN}\s?[)\]]",
        ("src/a.c(3,7): error TS2304: Cannot find name 'x'.", "src/a.c:3:7"), ("e: src/a.c: (3, 7): Unresolved reference", "src/a.c:3:7"),
        ("[ERROR] /build/src/a.c:[3,7] cannot find symbol", "src/a.c:3:7"), ("RollupError: src/a.c (3:7): Expected ';'", "src/a.c:3:7")),
    _row("path(line,column)-(line,column)", Rank.BESIDE, rf"{PATH}:?\({LINE},{N}(?:\)-\(|[,-]){LAST},{N}\)",
        ("src/a.c:(3,5)-(9,7): error:", "src/a.c:3-9"), ("src/a.c(3,5,9,7): error FS0039", "src/a.c:3-9")),
    _row("path (lines 3-9)", Rank.BESIDE, rf"{PATH}:?\s?[(\[]\s?(?:{WORD}[\s.:]{{0,2}}|(?=L|{N}{DASH}{N})){LINES}{THEN_COLUMN}(?:\sof\s{N})?\s?[)\]]",
        ("a.py (lines 3-9)", "a.py:3-9"), ("a.py (lines 3 to 9)", "a.py:3-9"), ("a.py[3-9]", "a.py:3-9"), ("src/a.c [lines 10-20 of 120]", "src/a.c:10-20"),
        ("Error: src/a.c (Line: 12, Col: 9): Unexpected value", "src/a.c:12:9")),
    _row("path#L3", Rank.BESIDE, rf"{PATH}(?:#(?:L|l|lines?[-=]|n|:L)?|\?L){LINES}(?::{COLUMN})?{END}",
        ("a.py#L3-L9", "a.py:3-9"), ("my notes.txt#L2", "my notes.txt:2"), ("@src/a.c#L3-9", "src/a.c:3-9"), ("[the file](src/a.c#L3)", "src/a.c:3"), ("file:///C:/work/src/a.c#L3", "src/a.c:3")),
    _row("path line 3", Rank.BESIDE, rf"{PATH}(?:[,:;]?\s{{1,4}}(?:(?:on|at|in|around|from|@|-|·|—)\s)?|:\s?)(?:{WORD}[\s:#.=]{{0,2}}|L){LINES}(?!\w){THEN_COLUMN}",
        ('File "a.py", line 3, in f', "a.py:3"), ("died at src/a.c line 3.", "src/a.c:3"), ("died at my notes.txt line 2.", "my notes.txt:2"), ("a.py: line 3, col 7, Error - Missing semicolon.", "a.py:3:7"),
        ("PHP Fatal error:  Uncaught Error in src/a.c on line 3", "src/a.c:3"), ("   at A.F() in C:\\work\\src\\a.c:line 42", "src/a.c:42"),
        ("src/a.c: line 3: foo: command not found", "src/a.c:3"), ("a.py lines 3-9", "a.py:3-9"), ("a.py:lines 3-9", "a.py:3-9")),
    _row("path|line col 7|", Rank.BESIDE, rf"{PATH}\|{LINE}(?:\scol\s{COLUMN})?\|",
        ("a.py|3 col 7| error", "a.py:3:7")),
    _row("path line:column-column", Rank.BESIDE, rf"{PATH}\s{LINE}:{COLUMN}(?:-[0-9]{{1,9}}(?=\s|$)|(?=\s\s))",
        ("ERROR in ./src/a.c 3:7-12", "./src/a.c:3:7"), ("  src/a.c 3:7  root stylesheet", "src/a.c:3:7")),
    _row("path 3-9", Rank.BESIDE, rf"^\s*{PATH}(?:\s?[:,;|@→]\s?|\s){LINES}(?::{COLUMN})?\s*$",
        ("a.py 3-9", "a.py:3-9"), ("src/a.c, 3", "src/a.c:3"), ("src/a.c @ 42", "src/a.c:42")),
    _row("path-line-text", Rank.BESIDE, rf"^(?P<path>\S{{1,300}}?\.\w{{1,8}})(?P<sign>[-=]){LINE}(?P=sign)",
        ("a.py-7-x = 'line'", "a.py:7")),
    _row("path,line,", Rank.BESIDE, rf"{PATH},\s?[\"']?{LINE}(?=[\"']?\s?[,)])",
        ("('a.py', 3, 'f')", "a.py:3"), ("src/a.c,3,unused variable", "src/a.c:3")),
    _row("path:function:line", Rank.BESIDE, rf"{PATH}:[^\W\d][\w.<>$]{{0,100}}:{LINE}(?![\w:])",
        ("2024-01-02 | ERROR | a.py:run:7 - failed", "a.py:7")),
    _row("frame of Java", Rank.BESIDE, rf"(?<![\w$.])(?P<package>(?:[\w$]{{1,60}}\.){{1,12}})[\w$<>]{{1,100}}\((?P<file>[\w$-]{{1,100}}\.\w{{1,8}}):{LINE}\)",
        ("    at src.App.run(a.c:42)", "src/a.c:42"), targets=_frame),
    _row("path at a revision", Rank.BESIDE, rf"(?<!{CHAR})(?=[^:]{{0,100}}[A-Za-z])(?P<revision>(?:[\w~^@{{}}-]|(?<=[0-9])\.(?=[0-9])|(?<=origin)/){{2,100}}):(?![0-9:/]){BARE}(?::{LINE}(?=:|$))?",
        ("HEAD:src/a.py", "src/a.py@HEAD"), ("HEAD~3:src/a.py:7:version 1", "src/a.py@HEAD~3:7"), targets=_at_revision),
    _row("URL of a code host", Rank.BESIDE, HOSTED,
        ("https://github.com/owner/repo/blob/main/src/a.c#L3-L9", "src/a.c:3-9"), ("github.com/owner/repo/blob/main/src/a.c#L3", "src/a.c:3"),
        ("https://github.com/owner/repo/blob/some/branch/src/a.c?plain=1#L3C5-L9C7", "src/a.c:3-9"),
        ("https://raw.githubusercontent.com/owner/repo/main/src/a.c", "src/a.c"), ("https://gitlab.com/group/sub/repo/-/blob/main/src/a.c#L3-9", "src/a.c:3-9"),
        ("https://bitbucket.org/owner/repo/src/main/src/a.c#lines-3:9", "src/a.c:3-9"), ("https://codeberg.org/owner/repo/src/branch/main/src/a.c#L3", "src/a.c:3"),
        ("https://sourcegraph.com/github.com/owner/repo/-/blob/src/a.c?L3-9", "src/a.c:3-9"),
        ("https://cs.example.com/group/repo/+/main:src/a.c;l=27-30?q=x", "src/a.c:27-30"), targets=_hosted),
    _row("pages of a PDF, cells of a notebook", Rank.BESIDE,
        rf"{BARE}(?:(?<=\.pdf)[\s:#,(]{{1,3}}(?:pages?|pp?\.?)?|(?<=\.ipynb)[\s:#,(]{{1,3}}(?:cells?)?)[\s=:.-]{{0,2}}(?P<lines>{RANGE})",
        ("doc.pdf:3-5", "doc.pdf:p3-5"), ("doc.pdf page 7", "doc.pdf:p7"), ("doc.pdf#page=7", "doc.pdf:p7"), ("nb.ipynb cell 2", "nb.ipynb:c2"),
        targets=_in_document),
    _row("member of an archive", Rank.BESIDE, rf"^\s*(?:jar:|zip:)?(?P<path>\S{{1,500}}?\.{ARCHIVE})(?::{{1,2}}|!/?|[#/])(?P<member>[^\s/:!#]\S{{0,500}})",
        ("logs.zip/app/today.log:7", "logs.zip!/app/today.log:7"), ("logs.zip:app/today.log", "logs.zip!/app/today.log"), targets=_in_archive),
    _row("id of a test", Rank.BESIDE, rf"{BARE}::(?P<symbol>[^\s\[\"'`]{{1,300}})(?P<parameters>\[[^\n]{{0,300}}?\](?=\s|$))?",
        ("FAILED lib.py::Class::method - AssertionError: x", "lib.py::Class::method"),
        ("lib.py::Class::method[a-1] PASSED [ 10%]", "lib.py::Class::method[a-1]"), targets=_test),
    _row("path#name", Rank.BESIDE, rf"{BARE}#(?P<symbol>[^\W\d][^\s#;,\"'`)\]]{{0,200}})",
        ("lib.py#Class.method", "lib.py::Class.method"), ("guide.md#after", "guide.md::after"), targets=_anchor),
    _row("path#/pointer", Rank.BESIDE, rf"{BARE}#(?P<symbol>/[^\s;,\"'`)\]]{{1,200}})",
        ("lib.py#/Class/method", "lib.py::Class.method"), targets=_pointer),
    _row("path > title > title", Rank.BESIDE, rf"{BARE}\s>\s(?P<symbol>[^>\n]{{1,200}}(?:\s>\s[^>\n]{{1,200}}){{0,6}})$",
        ("FAIL lib.py > Class > method", "lib.py::Class.method"), targets=_titles),
    _row("link of Markdown with blanks", Rank.BESIDE, rf"\]\(<(?P<path>[^<>#\n]{{1,500}})#L{LINES}>\)",
        ("[it](<my notes.txt#L2>)", "my notes.txt:2")),
    _row("first line of a code block", Rank.BESIDE, rf"^\s*`{{3,8}}(?:\w{{1,20}}\s)?{LINE}:{LAST}:{BARE}",
        ("```3:9:src/a.c", "src/a.c:3-9")),
    _row("table of coverage", Rank.BESIDE, rf"^\s*{BARE}(?:\s+(?:[0-9]{{1,9}}\s+){{2,4}}[0-9.]{{1,6}}%\s+|\s*\|(?:\s*[0-9.]{{1,6}}\s*\|){{2,4}}\s*)(?P<lines>[0-9][0-9, >exit.-]{{0,200}})\s*\|?\s*$",
        ("a.py      120     12    90%   3-9, 14", "a.py:3-9,14"), (" a.py  |   85.71 |      100 |      75 |   85.71 | 12-14,20", "a.py:12-14,20"),
        targets=_coverage),
    _row("git blame", Rank.BESIDE, rf"^\^?[0-9a-f]{{7,40}}\s+{BARE}\s+\([^)]{{1,200}}\s{LINE}\)",
        ("abc1234d src/a.c (Some Name 2024-01-01 12:00:00 +0100 42) text", "src/a.c:42")),
    _row("record", Rank.BESIDE, PATH_KEY,
        ('{"file": "a.py", "line": 3, "column": 7}', "a.py:3:7"), ("::error file=a.py,line=4,endLine=9,title=Lint::Unused", "a.py:4-9"),
        ('{"uri": "src/a.c"}, "region": {"startLine": 17, "startColumn": 5}', "src/a.c:17:5"),
        ('{"uri": "file:///src/a.c", "range": {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 1}}}', "src/a.c:3-5"),
        ('{"type":"match","data":{"path":{"text":"src/a.c"},"line_number":17}}', "src/a.c:17"),
        ('{"file_path": "a.py", "offset": 10, "limit": 5}', "a.py:10-14"), ('<file path="src/a.c" lines="10-20">', "src/a.c:10-20"),
        ('read_file(path="a.py", start_line=10, end_line=20)', "a.py:10-20"), ('{"path": "src/a.c", "view_range": [12, 20]}', "src/a.c:12-20"),
        ("<path>src/a.c</path><start_line>12</start_line><end_line>20</end_line>", "src/a.c:12-20"),
        ("https://dev.azure.com/o/p/_git/r?path=/src/a.c&version=GBmain&line=3&lineEnd=9", "src/a.c:3-9"), targets=_record),
    _row("call", Rank.BESIDE, r"^\s{0,8}\w{1,60}\([\"']?(?P<path>[^\s\"',;<>|()=]{1,500}[./][^\s\"',;<>|()]{1,200})",
        ("Read(a.py, offset=10, limit=5)", "a.py:10-14"), targets=_record),
    _row("line 3, and a path elsewhere", Rank.APART, rf"(?<!\w)(?:{WORD}[\s:.]{{1,2}}|L(?=[0-9])){LINES}(?!\w){THEN_COLUMN}",
        ("line 7 of a.py", "a.py:7"), ("src/a.c in f at line 3", "src/a.c:3"), ("src/a.c: parse error at line 3, column 7", "src/a.c:3:7")),
    _row("first 5 lines, and a path elsewhere", Rank.APART, rf"(?i)(?<!\w)(?:(?:first|top)\s{LAST}|last\s(?P<tail>{N}))\slines?(?!\w)",
        ("the first 5 lines of a.py", "a.py:1-5"), ("a.py last 5 lines", "a.py:-5")),
    _row("function, and a path elsewhere", Rank.NAME, r"(?<!\w)(?:function|method|class)\s[`'\"]?(?P<symbol>[^\W\d][\w.:]{0,200})",
        ("the method Class.method in lib.py", "lib.py::Class.method"), targets=_apart),
    _row("(line:column), and a path elsewhere", Rank.APART, rf"\({LINE}:{COLUMN}\)\s*$|(?<=Cannot parse: )(?P<lines>{N}:{N})(?=:)",
        ("[error] src/a.c: SyntaxError: Declaration expected. (3:7)", "src/a.c:3:7"), ("error: cannot format a.py: Cannot parse: 3:7: x = ", "a.py:3:7")),
    _row("path in function:line", Rank.APART, rf"\sin\s[\w.<>$]{{1,100}}:{LINE}\s*$",
        ("  src/a.c in run:42", "src/a.c:42")),
    _row("sed -n", Rank.APART, rf"(?:^|\s|['\"]){LINE}(?:,{LAST})?p['\"]?(?:\s|$)",
        ("sed -n '3,9p' a.py", "a.py:3-9"), ("nl -ba src/a.c | sed -n '3,9p'", "src/a.c:3-9")),
    _row("head, tail", Rank.APART, rf"(?:\bhead\s+(?:-n\s*|-){LAST}|^(?:\$\s)?tail\s+(?:-n\s*|-)(?P<tail>{N}))\s(?!.*\|)",
        ("head -n 5 a.py", "a.py:1-5"), ("tail -5 a.py", "a.py:-5")),
    _row("head and tail in a pipe", Rank.BESIDE,
        rf"^(?:\$\s)?(?:(?:(?:cat|nl|bat)|head\s+(?:-n\s*|-)(?P<most>{M}))\s[^|]{{1,500}}(?=\|)|tail\s+(?:-n\s*)?\+(?P<start>{M})\s[^|]{{1,500}})"
        rf"(?:\|\s*(?:head\s+(?:-n\s*|-)(?P<first>{M})|tail\s+(?:-n\s*|-)(?P<last>{M})))?\s*$",
        ("cat a.py | head -5", "a.py:1-5"), ("head -20 a.py | tail -n 5", "a.py:16-20"), ("tail -n +10 a.py | head -5", "a.py:10-14"),
        ("tail -n +10 a.py", "a.py:10-"), ("nl -ba a.py | tail -5", "a.py:-5"), targets=_first_of),
    _row("grep", Rank.BESIDE,
        r"^(?:\$\s)?(?P<program>[ef]?grep|rg|ag|ack)(?P<options>(?:\s+-[ABCm]\s?[0-9]{1,4}|\s+-[A-DF-Za-z-][^\s\"']{0,60})*)"
        r"\s+(?:[\"'](?P<quoted>[^\"'\n]{1,300})[\"']|(?P<word>[^\s\"'-]\S{0,300}))(?:\s+(?P<path>[^\s|;&<>-][^\s|;&<>]{0,500}))?\s*$",
        ("grep -n 'line' a.py", "a.py?line"), ('grep -rn "int \\(x\\|y\\);" src/', "src/?int (x|y);"),
        ("rg -i 'LINE|y' a.py", "a.py?(?i)LINE|y"), ("fgrep -w int src/a.c", "src/a.c?\\b(?:int)\\b"),
        targets=_searched),
    _row("git diff", Rank.BESIDE, r"^(?:\$\s)?git\sdiff\s(?P<revision>[\w~^@{}./-]{1,100})\s(?:--\s)?(?P<path>\S{1,500})$",
        ("git diff HEAD~3 -- src/a.py", "src/a.py@HEAD~3.."), targets=_changed),
    _row("option of an editor, a pager or git", Rank.APART, rf"(?:^|\s)(?:\+(?![0-9]{{1,15}},?\s?[-/−][0-9])|-[lnrL]\s?|--(?:line|line-range|range|lines|goto-line|line-number)[\s=]){LINE}(?:[:,-](?:\+(?P<count>{N})|{LAST}))?(?=[\s:])",
        ("vim +3 a.py", "a.py:3"), ("idea --line 42 src/a.c", "src/a.c:42"), ("bat --line-range 10:20 a.py", "a.py:10-20"),
        ("git blame -L10,+5 -- src/a.c", "src/a.c:10-14"), ("git log -L 10,20:src/a.c", "src/a.c:10-20")),
    _row("header of a diff", Rank.FILE, r"^(?:\+\+\+|---|rename to|copy to|diff --git .{1,500}(?= b/)) (?P<path>[^\t]{1,1000})(?:\t.*)?$",
        ("+++ b/src/a.c", "src/a.c"), ("+++ b/my notes.txt", "my notes.txt"), ("diff --git a/Makefile b/Makefile", "Makefile")),
    _row("git status", Rank.FILE, rf"^\s*(?:(?:modified|new file|deleted|renamed|both modified|typechange|copied):|[MADRCUT?!]{{1,2}}[0-9]{{0,3}}(?=\s))\s+(?:[^\t]{{1,500}}(?: -> |\t))?{REST}",
        ("modified:   src/a.c", "src/a.c"), (" M Makefile", "Makefile"), ("R087\tsrc/old.c\tsrc/a.c", "src/a.c")),
    _row("git diff --stat", Rank.FILE, r"^\s*(?:\S{1,500} => )?(?P<path>\S{1,500})\s+\|\s+(?:[0-9]|Bin\s)",
        (" src/a.c | 12 ++--", "src/a.c"), (" Makefile | 2 +-", "Makefile")),
    _row("ls -l", Rank.FILE, rf"^[bcdlps-][rwxsStT-]{{9}}[+.@]?\s.{{1,200}}?\s(?:[0-9]{{1,2}}:[0-9]{{2}}|[0-9]{{4}})\s{REST}",
        ("-rw-r--r-- 1 me us 123 Jan  1 12:00 my notes.txt", "my notes.txt")),
    _row("cat", Rank.FILE, rf"^(?:[$%>]\s)?(?:cat|less|more|head|tail|vim|vi|nano|emacs|code|open|edit|read|view|show|bat|nl)\s(?:-\S+\s)*{REST}",
        ("cat Makefile", "Makefile")),
    _row("id of RSpec", Rank.FILE, rf"{BARE}\[[0-9:,]{{1,60}}\]",
        ("rspec './src/a.c[1:2:3]' # runs", "./src/a.c")),
    _row("path name", Rank.NAME, rf"^\s*(?=\S{{0,500}}\.\w){BARE}\s(?P<symbol>[^\W\d][\w.]{{0,200}})\s*$",
        ("lib.py Class.method", "lib.py::Class.method"), targets=_beside),
    _row("test of cargo", Rank.NAME, r"(?:^|\s)(?P<names>(?:\w{1,100}::){1,12}\w{1,100})(?=\s|$)",
        ("test net::tests::opens ... FAILED", "src/net.rs::tests::opens"), targets=_rust_test),
    _row("test of unittest", Rank.NAME, r"(?P<test>\w{1,200}) \((?P<names>(?:\w{1,100}\.){1,12}\w{1,100})\)",
        ("method (lib.Class) ... FAIL", "lib.py::Class.method"), targets=_dotted),
    _row("dotted name", Rank.NAME, r"(?:^|\s)(?P<names>(?:[^\W\d]\w{0,100}\.){2,12}\w{1,100}(?:#\w{1,100})?)(?=[\s:(\[]|$)",
        ("lib.Class.method", "lib.py::Class.method"), targets=_dotted),
    _row("class and line", Rank.NAME, rf"(?:^|\s)(?P<names>[A-Z]\w{{1,100}})(?:[.>$-]{{1,2}}\w{{1,100}}){{1,3}}:{LINE}(?=\s|$)",
        ("[ERROR]   AppTest.adds:12 expected: <1> but was: <2>", "AppTest.java:12"), targets=_dotted),
)
# fmt: on
