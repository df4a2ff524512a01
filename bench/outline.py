"""Compare outlines with references: recall, precision and exact end lines, for each language.

    python bench/outline.py REPOSITORY...                 every language that the repositories contain
    python bench/outline.py REPOSITORY... --language c    one language
    python bench/outline.py REPOSITORY... --write         write outline.json and OUTLINE.md beside this file

The references are Python's own parser for Python, the TypeScript compiler for JavaScript and TypeScript, and
universal-ctags for all others. The compiler is looked for below --typescript (a directory with node_modules), and
languages without their reference are left out and named. For Dart, Scala, Swift and Zig, which no reference knows,
regular expressions count the lines that define something; they give no ends.

raw recall      definitions of the reference that the outline contains, by name and line
raw precision   functions, methods and types of the outline that the reference contains
raw ends        definitions with the reference's last line, of those that both contain and that the reference ends
recall, precision, ends
                the same after the corrections for known errors of the references (FORMS, CONFIRMING, `_closes`)
left out        definitions of the reference that the corrections leave out, because their line defines nothing
accepted        symbols that the reference lacks, and that the form of their line confirms
unnoted         wrong last lines, after the corrections, that the outline does not mark as doubtful
extents         symbols of languages with braces whose extents were compared with the tokens of Pygments
unbalanced      extents whose braces do not match by these tokens, or that overlap another one in part, without a note

The corrections were written while reading the differences on the repositories of OUTLINE.md. They favour the outline,
so the raw figures and a run on other repositories (OUTLINE-HELD-OUT.md) are the ones to compare with.

Files are chosen by a fixed seed from all repositories in turn. The outlines are made in this process, without the
sandbox: give it repositories that you trust. --differences FILE lists everything that differs.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from eyespan import __version__
from eyespan.outline import language_of, outline_here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eyespan.outline import Symbol

HERE = Path(__file__).resolve().parent
MIN_BYTES, MAX_BYTES = 200, 600_000
NEAR_LINES = 3
"""A reference may name another line of the same definition: that of its type, its attribute or its name."""
CTAGS = {
    # language: (name for ctags, kinds that count for recall)
    "asciidoc": ("Asciidoc", "chapter section subsection subsubsection l4subsection l5subsection"),
    "bash": ("Sh", "function"),
    "c": ("C", "macro function enum struct typedef union"),
    "cmake": ("CMake", "function macro target"),
    "cpp": ("C++", "macro function enum struct typedef union class namespace"),
    "csharp": ("C#", "class enum interface method namespace struct"),
    "elixir": ("Elixir", "module function macro callback protocol"),
    "go": ("Go", "func type struct interface methodSpec talias"),
    "haskell": ("Haskell", "function type"),
    "java": ("Java", "annotation class enum interface method"),
    "julia": ("Julia", "function macro module struct"),
    "kotlin": ("Kotlin", "class interface method object typealias"),
    "lua": ("Lua", "function"),
    "make": ("Make", "target"),
    "markdown": ("Markdown", "chapter section subsection subsubsection l4subsection l5subsection"),
    "matlab": ("MatLab", "function class"),
    "objc": ("ObjectiveC", "interface implementation protocol method class function"),
    "ocaml": ("OCaml", "module type function class"),
    "perl": ("Perl", "subroutine package"),
    "php": ("PHP", "class function interface trait"),
    "powershell": ("PowerShell", "function class"),
    "protobuf": ("Protobuf", "message enum service rpc"),
    "r": ("R", "function"),
    "rst": ("ReStructuredText", "chapter section subsection subsubsection"),
    "ruby": ("Ruby", "class method module singletonMethod"),
    "rust": ("Rust", "module struct interface implementation function enum typedef macro method"),
    "sql": ("SQL", "table procedure function view trigger index type"),
    "zsh": ("Sh", "function"),
    "tex": ("Tex", "part chapter section subsection subsubsection"),
}
NO_ENDS = frozenset(("markdown", "asciidoc", "rst", "make", "tex"))
"""Languages whose reference ends a definition at the next one, with the blank lines between."""
_MODIFIERS = (
    r"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|private|internal|fileprivate|open|static|class|override|final|mutating|"
    r"nonmutating|prefix|postfix|package|nonisolated|consuming|borrowing|required|convenience|indirect|protected|implicit|"
    r"lazy|inline|abstract|sealed|case|(?:private|protected)\[\w+\])\s+)*"
)
PATTERNS = {
    "swift": (
        _MODIFIERS + r"func\s+(\w+|[-+*/=<>!&|^~%]+)\s*[<(]",
        _MODIFIERS + r"(?:class|struct|enum|protocol|extension|actor)\s+([\w.]+)",
        _MODIFIERS + r"(init)[?!]?\s*[<(]",
        _MODIFIERS + r"(subscript|deinit)\b",
    ),
    "scala": (
        _MODIFIERS + r"def\s+(`[^`]+`|\w+|[^\s\w(\[:]+)\s*[\[(:=]?",
        _MODIFIERS + r"(?:class|trait|object)\s+(\w+)",
    ),
    "zig": (r"^\s*(?:(?:pub|export|extern|inline|noinline)\s+(?:\"\w+\"\s+)?)*fn\s+(\w+)",),
    "dart": (
        r"^(?:(?:abstract|base|final|sealed|interface|mixin)\s+)*(?:class|mixin|enum|extension(?: type)?)\s+(\w+)",
        r"^(?:  )?(?:(?:external|static)\s+)*(?:void|int|bool|String|Future<[\w<>?]*>|Uri|double|num)\??\s+"
        r"(?:get\s+)?(?!Function\b)(\w+)\s*(?:\(|=>|\{)",
    ),
}
FORMS = {
    # A line that defines NAME has one of these forms. ctags takes other lines for definitions (calls, lambdas,
    # strings), and overlooks some of these (items in macros, bodies of one expression, files with newer syntax).
    "bash": r"(?:function\s+)?NAME\s*(?:\(\)|\{|$)",
    "c": r"^(?!\s*(?:return|else)\b)(?:.*?[\s*(,]|)NAME(?:[\s,;){\[]|\s*\(|$)",
    "csharp": r"(?:class|struct|interface|enum|record|namespace|delegate|operator)\s(?:.*\W)?NAME\b|"
    r"^(?!.*\b(?:throw|return|new|await)\b\s+NAME)(?:.*[\w>\])?]\s+)NAME(?:<[^>]*>)?\s*\(|~NAME\(|\bNAME\(.*\)\s*(?::|\{|$)",
    "go": r"\b(?:func|type)\b.*\bNAME\b|^\s*NAME\(",
    "java": r"\b(?:class|interface|enum|record)\s+NAME\b|"
    r"^(?!.*\b(?:return|new|throw)\s+NAME)(?:.*[\w>\]]\s+|\s*)NAME\s*(?:\(|\{)",
    "kotlin": r"\b(?:fun|class|interface|object|typealias|constructor)\b.*NAME|companion object",
    "lua": r"^(?!.*[\"'].*NAME\s*=)(?:.*function\s+.*NAME\b|.*\bNAME\s*=\s*function\b|.*\[.?NAME.?\]\s*=\s*function)",
    "make": r"^(?![ \t%])(?![^:]*:\s*(?:override\s+|export\s+)?\w+\s*[:+?]?=)[^\t#=:]*NAME.*:|"
    r"^\s*(?:export\s+|override\s+)*define\s+NAME",
    "markdown": r"^(?:\s{0,3}#{1,6}\s|(?!```).*NAME)",
    "php": r"\b(?:function|class|interface|trait|enum|namespace)\s+&?\s*NAME\b",
    "ruby": r"\b(?:def|class|module)\b.*NAME",
    "rust": r"\b(?:fn|struct|enum|trait|impl|mod|union|type)\b.*NAME|macro_rules!\s*NAME",
}
FORMS |= {
    "asciidoc": r"^=+\s",
    "cmake": r"(?i)\b(?:function|macro|add_\w+|option|project)\s*\(.*NAME",
    "elixir": r"\b(?:def\w*|test|describe|@\w+)\b.*NAME",
    "haskell": r"^(?:instance|class)\b|^(?:data|newtype|type)\b[^={]*NAME|^NAME|^\(",
    "julia": r"\b(?:function|macro|module|struct|type)\b.*NAME|\bNAME(?:\{.*\})?\(",
    "objc": r"^[-+]|^@|NAME",
    "ocaml": r"^\s*(?:(?:let|and|val|external|module|type|class|method|exception|rec|nonrec|virtual)\s+)+"
    r"(?:'\w+ |\( )?NAME",
    "rst": r"^\.\. |NAME",
    "powershell": r"(?i)\b(?:function|filter|class|enum|workflow)\s+(?:\w+:)?NAME|\]\s*NAME\s*\(",
    "r": r"^\s*[`\"']?NAME[`\"']?\s*(?:<<?-|=)\s*(?:function|R6|set)|^set\w+\(",
}
CONFIRMING = {
    "protobuf": r"extend\s+NAME\b",  # a block that adds fields to a message of another file
    # The forms above also match uses of a name in these languages, so only these lines confirm a symbol.
    **dict.fromkeys(("c", "cpp"), r"^[A-Z][A-Z0-9_]*\s*\("),
    "objc": r"^[-+]|^@|^typedef\b.*\bNAME\b|^static\b.*\bNAME\s*\(",
    "rst": r"^\.\. ",
    "markdown": r"^\s{0,3}#{1,6}\s",
    "julia": r"\b(?:function|macro|module|struct|type)\b.*NAME",
}
CLAUSES = frozenset(("haskell", "elixir", "objc", "ocaml"))
"""Languages whose reference lists every clause of a function."""
FORMS |= {"cpp": FORMS["c"], "zsh": FORMS["bash"]}
KEYWORDS = frozenset(
    re.findall(
        r"\S+",
        "if for while switch try catch return new else do void int char",
    )
)
_NO_CODE = re.compile(r'/\*.*?\*/|"""[\s\S]*?"""', re.DOTALL)
_QUOTED = re.compile(r"\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|@'\r?\n[\s\S]*?\n\s*'@|@\"\n[\s\S]*?\n\s*\"@")
COUNTED_KINDS = frozenset(("field", "constant", "key", "test"))
"""Kinds of symbols that references often leave out; they do not count for precision."""


BODIES = frozenset(("function", "method", "class", "struct", "interface", "enum", "trait", "impl", "namespace"))
LEXERS = {
    # The name for Pygments of each language whose blocks are braces, without those that a compiler compares.
    **{
        one: one
        for one in ("c", "cpp", "csharp", "dart", "go", "groovy", "java", "kotlin", "perl", "php", "powershell")
    },
    **{one: one for one in ("protobuf", "r", "rust", "scala", "swift", "zig")},
    "objc": "objective-c",
    "hcl": "terraform",
    "graphql": "graphql",
}


class Tag(NamedTuple):
    """A definition by a reference."""

    name: str
    line: int
    last: int | None
    counts: bool
    """False: it only confirms a symbol, and does not count for recall."""


Tags = dict[str, list[Tag]]


# --- references -------------------------------------------------------------------------------------------------------


def by_ctags(paths: Sequence[str], language: str) -> Tags | None:
    """Return the definitions by universal-ctags; None if it is not installed."""
    spelled, kinds = CTAGS[language]
    wanted = frozenset(kinds.split())
    command = ["ctags", "--output-format=json", "--fields=+neKSsZ", "--sort=no", f"--language-force={spelled}"]
    command += [f"--kinds-{spelled}=*", "-f", "-", "-L", "-"]
    try:
        done = subprocess.run(command, input="\n".join(paths).encode(), capture_output=True, check=False)
    except OSError:
        return None
    tags: Tags = {path: [] for path in paths}
    for line in done.stdout.decode("utf-8", "replace").split("\n"):
        try:
            tag = json.loads(line)
        except ValueError:
            continue
        if tag.get("_type") != "tag" or tag["path"] not in tags or tag["name"].startswith(("__anon", "anonymous")):
            continue
        name = tag["name"].strip("`\"'" if language == "r" else "")
        if language == "cpp":
            name = re.sub(r"\boperator (?=\W)", "operator", name)  # ctags writes `operator ==` for `operator==`
        tags[tag["path"]].append(Tag(name, tag["line"], tag.get("end"), tag["kind"] in wanted))
    return tags


def is_confirmed(language: str, name: str, line: str) -> bool:
    """Return True if a line that the reference does not list surely defines this name."""
    form = CONFIRMING.get(language)
    if form is not None:
        return re.search(form.replace("NAME", re.escape(name)), line) is not None
    return language in FORMS and has_form(language, name, line)


def has_form(language: str, name: str, line: str) -> bool:
    """Return True if a line has the form of a definition of this name."""
    if (
        name in KEYWORDS
        or name in ("family", "instance", "deriving", "class", "open", "()", "infix", "infixl", "infixr", "nonrec")
        or (language in ("bash", "zsh") and not re.fullmatch(r"[\w.-]+", name))
    ):
        return False
    if language == "rust" and re.search(r"^\s*(?:unsafe\s+)?impl\b.*\bfor\s+[^\w&]|^\s*impl\b.*\bdyn\b", line):
        return False  # an implementation for a tuple, a slice or `!`
    if language in ("c", "cpp") and name.isupper() and re.match(rf"{re.escape(name)}\s*\(", line):
        return False  # a macro that begins a function, which has the name of an argument
    if language == "objc" and re.fullmatch(r"(?:NS|API|CF)_[A-Z_]+", name):
        return False  # an attribute
    form = FORMS.get(language)
    return form is None or re.search(form.replace("NAME", re.escape(name)), line) is not None


def by_ast(paths: Sequence[str], _: str) -> Tags:
    """Return the definitions by Python's own parser."""
    tags: Tags = {}
    for path in paths:
        try:
            tree = ast.parse(Path(path).read_bytes())
        except (SyntaxError, ValueError):
            continue
        defining = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        tags[path] = [
            Tag(node.name, node.lineno, node.end_lineno, True) for node in ast.walk(tree) if isinstance(node, defining)
        ]
    return tags


TYPESCRIPT = r"""
const ts = require("typescript"), fs = require("fs"), K = ts.SyntaxKind;
const isFunction = (n) => n && (n.kind == K.ArrowFunction || n.kind == K.FunctionExpression);
for (const f of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const kind = f.endsWith(".tsx") ? ts.ScriptKind.TSX : /\.[mc]?ts$/.test(f) ? ts.ScriptKind.TS : ts.ScriptKind.JSX;
  const sf = ts.createSourceFile(f, fs.readFileSync(f, "utf8"), ts.ScriptTarget.Latest, true, kind);
  if (sf.parseDiagnostics.length) continue;
  const line = (p) => sf.getLineAndCharacterOfPosition(p).line + 1;
  const put = (name, n, at, counts = true) => console.log(JSON.stringify(
    { path: f, name, line: line(at.getStart(sf)), end: line(n.getEnd()), counts }));
  console.log(JSON.stringify({ path: f }));
  const walk = (n) => {
    const name = n.name && n.name.getText ? n.name.getText(sf) : null;
    switch (n.kind) {
      case K.FunctionDeclaration: case K.ClassDeclaration: case K.InterfaceDeclaration: case K.TypeAliasDeclaration:
      case K.EnumDeclaration: case K.ModuleDeclaration: case K.MethodDeclaration: case K.GetAccessor:
      case K.SetAccessor: case K.MethodSignature: case K.ClassExpression: case K.FunctionExpression:
        if (name) put(name, n, n.name); else put("default", n, n, false);
        break;
      case K.Constructor: put("constructor", n, n); break;
      case K.PropertyDeclaration: case K.PropertyAssignment: case K.VariableDeclaration: {
        let i = n.initializer;
        const wrappers = [K.ParenthesizedExpression, K.AsExpression, K.SatisfiesExpression];
        while (i && wrappers.includes(i.kind)) i = i.expression;
        if (name) put(name, n, n.name, !!(isFunction(i) || (i && i.kind == K.ClassExpression)));
        break; }
      case K.BinaryExpression:
        if (n.operatorToken.kind == K.EqualsToken && isFunction(n.right)) {
          const left = n.left.getText(sf);
          put(left.split(".").pop(), n, n.left, false);
        }
        break;
    }
    ts.forEachChild(n, walk);
  };
  walk(sf);
}
"""


def by_compiler(paths: Sequence[str], directory: str) -> Tags | None:
    """Return the definitions by the TypeScript compiler; None without node or the compiler."""
    try:
        done = subprocess.run(
            ["node", "-e", TYPESCRIPT],
            input="\n".join(paths).encode(),
            capture_output=True,
            check=False,
            cwd=directory,
        )
    except OSError:
        return None
    if done.returncode:
        return None
    tags: Tags = {}
    for line in done.stdout.decode().split("\n"):
        if line:
            tag = json.loads(line)
            found = tags.setdefault(tag["path"], [])
            if "name" in tag:
                found.append(Tag(_unquoted(tag["name"]), tag["line"], tag["end"], tag["counts"]))
    return tags


def _unquoted(name: str) -> str:
    return name[1:-1] if name[:1] in "\"'" and len(name) > 2 else name


def by_patterns(paths: Sequence[str], language: str) -> Tags:
    """Return the lines that look like definitions."""
    tags: Tags = {}
    for path in paths:
        text = Path(path).read_text("utf-8", "replace")
        text = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        tags[path] = []
        for number, line in enumerate(text.split("\n"), 1):
            if line.lstrip().startswith(("//", "*")):
                continue
            match = next((found for one in PATTERNS[language] if (found := re.match(one, line))), None)
            if match:
                tags[path].append(Tag(match[1].rpartition(".")[2] or match[1], number, None, True))
    return tags


def reference(paths: Sequence[str], language: str, typescript: str) -> tuple[str, Tags | None]:
    """Return the name of the reference of a language, and its definitions; None if it is missing."""
    if language == "python":
        return "ast", by_ast(paths, language)
    if language in ("javascript", "typescript", "tsx"):
        return "TypeScript compiler", by_compiler([str(Path(path).resolve()) for path in paths], typescript)
    if language in PATTERNS:
        return "patterns", by_patterns(paths, language)
    if language in CTAGS:
        return "universal-ctags", by_ctags(paths, language)
    return "", None


# --- comparison -------------------------------------------------------------------------------------------------------


class Counts:
    """The figures of one language."""

    def __init__(self) -> None:
        self.files = self.doubtful_files = 0
        self.tags = self.hits = 0
        self.raw_tags = self.raw_hits = self.raw_confirmed = self.raw_exact = 0
        self.symbols = self.confirmed = 0
        self.ended = self.exact = self.unnoted = 0
        self.checked = self.unbalanced = 0
        self.seconds = 0.0
        self.differences: list[list[object]] = []

    def add(self, path: str, language: str, tags: list[Tag], has_ends: bool) -> None:
        """Compare the outline of one file."""
        data = Path(path).read_bytes()
        started = time.process_time()
        found = outline_here(data, path)
        self.seconds += time.process_time() - started
        text = data.decode("utf-8", "replace")
        if language in ("elixir", "powershell"):  # ctags reads the examples in documentation and strings
            text = _QUOTED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
        lines = text.split("\n")
        self.files += 1
        self.doubtful_files += not found.is_complete
        self._check_extents(path, language, text, found.symbols)
        symbols = collections.defaultdict(list)
        for symbol in found.symbols:
            symbols[symbol.name].append(symbol)
            if last_name(symbol.name) != symbol.name:
                symbols[last_name(symbol.name)].append(symbol)
        known = collections.defaultdict(list)
        for tag in tags:
            known[last_name(tag.name)].append(tag)
            if not tag.counts:
                continue
            written = lines[tag.line - 1] if tag.line <= len(lines) else ""
            near = [one for one in symbols[last_name(tag.name)] if abs(one.line - tag.line) <= NEAR_LINES]
            if language in CLAUSES:
                near += [one for one in symbols[last_name(tag.name)] if one.first <= tag.line <= one.last]
            near += [one for one in symbols[tag.name] if tag.name != last_name(tag.name)]
            near = [one for one in near if abs(one.line - tag.line) <= NEAR_LINES or language in CLAUSES]
            self.raw_tags += 1
            self.raw_hits += any(abs(one.line - tag.line) <= NEAR_LINES for one in near)
            if not near and not has_form(language, last_name(tag.name), written):
                continue
            self.tags += 1
            if not near:
                self.differences.append(["missed", path, tag.line, tag.name])
                continue
            self.hits += 1
            if tag.last is None or not has_ends:
                continue
            self.ended += 1
            self.raw_exact += any(one.last == tag.last for one in near)
            if any(one.last == tag.last or _closes(lines, one.line, one.last, tag.last) for one in near):
                self.exact += 1
            else:
                closest = min([abs(one.line - tag.line) for one in near])
                is_noted = all(one.doubt for one in near if abs(one.line - tag.line) == closest)
                self.unnoted += not is_noted
                self.differences.append(["end", path, tag.line, tag.name, tag.last, near[0].last, is_noted])
        for symbol in found.symbols if language not in PATTERNS else ():
            if symbol.kind in COUNTED_KINDS:
                continue
            self.symbols += 1
            is_known = any(abs(tag.line - symbol.line) <= NEAR_LINES for tag in known[last_name(symbol.name)])
            self.raw_confirmed += is_known
            if is_known or is_confirmed(language, symbol.name, lines[symbol.line - 1]):
                self.confirmed += 1
            else:
                self.differences.append(["extra", path, symbol.line, symbol.name, symbol.kind])

    def _check_extents(self, path: str, language: str, text: str, symbols: Sequence[Symbol]) -> None:
        """Count the extents whose brackets do not balance by the tokens of Pygments, or that overlap others."""
        balance = Balance.of(text, language)
        before = None
        for symbol in symbols:
            is_wrong = before is not None and before.last >= symbol.first and before.last < symbol.last
            while_inside = before is not None and before.last >= symbol.last
            before = before if while_inside else symbol
            if balance is not None and symbol.kind in (BODIES if language != "objc" else ("function", "method")):
                self.checked += 1
                is_wrong = is_wrong or not balance.is_closed(symbol)
            if is_wrong and not symbol.doubt:
                self.unbalanced += 1
                self.differences.append(["extent", path, symbol.line, symbol.name, symbol.first, symbol.last])

    def row(self, language: str, name: str) -> dict[str, object]:
        """Return the figures as a row of the table."""

        def ratio(part: int, whole: int) -> float | None:
            return round(part / whole, 4) if whole else None

        return {
            "language": language,
            "reference": name,
            "files": self.files,
            "definitions": self.raw_tags,
            "raw recall": ratio(self.raw_hits, self.raw_tags),
            "raw precision": ratio(self.raw_confirmed, self.symbols),
            "raw ends": ratio(self.raw_exact, self.ended),
            "left out": self.raw_tags - self.tags,
            "accepted": self.confirmed - self.raw_confirmed,
            "recall": ratio(self.hits, self.tags),
            "precision": ratio(self.confirmed, self.symbols),
            "ends": ratio(self.exact, self.ended),
            "unnoted": self.unnoted,
            "extents": self.checked or None,
            "unbalanced": self.unbalanced,
            "broken": self.doubtful_files,
            "ms_per_file": round(1000 * self.seconds / max(1, self.files), 1),
        }


class Balance:
    """The braces of a text by the tokens of Pygments: those in strings and comments do not count."""

    def __init__(self, text: str, language: str) -> None:
        from pygments.lexers import get_lexer_by_name
        from pygments.token import Comment, String

        self._lines = text.split("\n")
        self._braces: dict[int, list[tuple[int, int]]] = {}
        """By line: the column of each brace, and 1 or -1."""
        line = column = 0
        for kind, value in get_lexer_by_name(LEXERS[language], stripnl=False, ensurenl=False).get_tokens(text):
            is_code = kind not in Comment and (kind not in String or kind in String.Interpol)
            for char in value:
                if char == "\n":
                    line, column = line + 1, 0
                    continue
                if is_code and char in "{}":
                    self._braces.setdefault(line + 1, []).append((column, 1 if char == "{" else -1))
                column += 1
        self.is_whole = sum([one for several in self._braces.values() for _, one in several]) == 0

    @staticmethod
    def of(text: str, language: str) -> Balance | None:
        """Return the braces of a text; None without Pygments, or if they do not match by its tokens either."""
        if language not in LEXERS:
            return None
        try:
            found = Balance(text.replace("\r\n", "\n"), language)
        except ImportError:
            return None
        return found if found.is_whole else None

    def is_closed(self, symbol: Symbol) -> bool:
        """Return True if the braces of a symbol match, and close once on its last line."""
        start = max(0, self._lines[symbol.line - 1].find(symbol.name))
        if any(column < start for column, _ in self._braces.get(symbol.line, ())):
            return True  # several definitions on one line
        depth = opened = closed = 0
        for number in range(symbol.line, symbol.last + 1):
            for _, step in self._braces.get(number, ()):
                if not depth and step < 0:
                    return number == symbol.last  # the brace of what is around it
                if not depth:
                    if closed and number > closed:
                        return False  # another block after the first one
                    opened = number
                depth += step
                if not depth and number > opened:
                    closed = number
        return depth == 0


def _closes(lines: Sequence[str], line: int, last: int, other: int) -> bool:
    """Return True if `last` closes the definition on `line` by its indentation, and `other` does not.

    ctags counts braces in strings and lambdas, and is then some lines off.
    """

    def is_closing(number: int) -> bool:
        start, end = lines[line - 1], lines[number - 1]
        indent = len(start) - len(start.lstrip())
        return len(end) - len(end.lstrip()) == indent and end.lstrip().startswith(("}", "end"))

    return 0 < other <= len(lines) and is_closing(last) and (last < other or not is_closing(other))


def last_name(name: str) -> str:
    """Return a name without the names before it."""
    if re.fullmatch(r"[\w.:]+", name) is None or name.startswith("."):
        return name
    return re.split(r"::|[.:](?=\w)", name)[-1] or name


def chosen_files(repositories: Iterable[str], per_language: int) -> dict[str, list[str]]:
    """Return the files of each language, from all repositories in turn."""
    lists: dict[str, list[list[str]]] = {}
    for repository in repositories:
        here: dict[str, list[str]] = {}
        for path in sorted(Path(repository).rglob("*")):
            if path.is_symlink() or not path.is_file() or not MIN_BYTES <= path.stat().st_size <= MAX_BYTES:
                continue
            language = language_of(path.name, path.read_bytes() if path.suffix in (".h", ".m") else b"")
            if language and (language != "json"):
                here.setdefault(language, []).append(str(path))
        for language, paths in here.items():
            random.Random(1).shuffle(paths)
            lists.setdefault(language, []).append(paths)
    return {language: list(_in_turn(several, per_language)) for language, several in sorted(lists.items())}


def _in_turn(lists: list[list[str]], most: int) -> Iterator[str]:
    taken = 0
    for index in range(max(len(one) for one in lists)):
        for one in lists:
            if index < len(one) and taken < most:
                taken += 1
                yield one[index]


# --- the report -------------------------------------------------------------------------------------------------------


def table(rows: Sequence[dict[str, object]]) -> str:
    """Return the rows as a Markdown table."""
    columns = list(rows[0])
    lines = [f"| {' | '.join(columns)} |", f"| {' | '.join(['---'] * len(columns))} |"]
    for row in rows:
        cells = [
            f"{cell:.3f}" if isinstance(cell, float) and key != "ms_per_file" else cell for key, cell in row.items()
        ]
        lines.append(f"| {' | '.join(['' if cell is None else str(cell) for cell in cells])} |")
    return "\n".join(lines)


def main() -> int:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", nargs="+")
    parser.add_argument("--language", help="only these, separated by commas")
    parser.add_argument("--files", type=int, default=150, help="files of each language")
    parser.add_argument("--typescript", default=".", help="a directory whose node_modules has the compiler")
    parser.add_argument("--differences", help="a file for everything that differs, as JSON lines")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--title", default="outline", help="the name of the files that --write makes")
    options = parser.parse_args()
    wanted = options.language.split(",") if options.language else None
    rows = []
    without = []
    differences: list[list[object]] = []
    for language, paths in chosen_files(options.repository, options.files).items():
        if wanted is not None and language not in wanted:
            continue
        name, tags = reference(paths, language, options.typescript)
        if tags is None:
            without.append(language)
            continue
        counts = Counts()
        resolved = name == "TypeScript compiler"
        for path in paths:
            path = str(Path(path).resolve()) if resolved else path
            if path in tags:
                counts.add(path, language, tags[path], language not in NO_ENDS)
        if not counts.tags:
            continue
        rows.append(counts.row(language, name))
        differences += [[language, *one] for one in counts.differences]
        print(" ".join([f"{key}={value}" for key, value in rows[-1].items()]), flush=True)
    if options.differences:
        lines = [json.dumps(one) for one in differences]
        Path(options.differences).write_text("\n".join(lines) + "\n", "utf-8")
    if without:
        print(f"no reference: {', '.join(without)}")
    if options.write and rows:
        names = sorted({Path(one).resolve().name for one in options.repository})
        report = {"version": __version__, "repositories": names, "files": options.files, "rows": rows}
        (HERE / f"{options.title}.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
        (HERE / f"{options.title.upper()}.md").write_text(text(report, table(rows)), "utf-8")
    return 0


def text(report: dict[str, object], listed: str) -> str:
    """Return the page of results."""
    repositories = report["repositories"]
    assert isinstance(repositories, list)
    return f"""# Outlines: compared with references

eyespan {report["version"]}. Made by `python bench/outline.py REPOSITORY... --write`; nothing here is written by hand.
Up to {report["files"]} files of each language, from {", ".join(repositories)}.

The raw columns take the reference as it is: definitions of the reference that the outline contains, functions,
methods and types of the outline that the reference contains, and definitions with the same last line. References err:
ctags takes calls, lambdas and examples in documentation for definitions and overlooks newer syntax. recall, precision
and ends are corrected for that: "left out" counts definitions of the reference on lines without the form of a
definition, "accepted" counts symbols that only the form of their line confirms. These corrections were written while
reading the differences on the repositories of OUTLINE.md, and they favour the outline; OUTLINE-HELD-OUT.md is one run
on repositories that were not looked at before. unnoted: wrong last lines that the outline does not mark as doubtful.
extents: symbols whose braces were counted by the tokens of Pygments. unbalanced: those whose braces do not match by
these tokens, or whose lines overlap those of another symbol in part, without a note. broken: files that the outline
does not claim to cover completely. Dart, Scala, Swift and Zig are compared with regular expressions only.

{listed}
"""


if __name__ == "__main__":
    sys.exit(main())
