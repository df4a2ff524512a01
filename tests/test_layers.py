"""The layout of the package: imports point down, nothing forms a cycle, few modules open files or start processes,
a name means one thing, and each part has a budget of lines.

Only imports at run time count, at the top of a module or inside a function; imports for type checkers do not.
"""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

import eyespan

PACKAGE = Path(eyespan.__file__).parent

LAYERS = (
    "errors caches regex tokens plugins _native",
    "model memory context source",
    "escape suggest selectors policy signatures",
    "guard sandbox binary_types",
    "lines kinds",
    "sources",
    "outline",
    "worker",
    "decoders",
    "readers",
    "opened engine",
    "dialects",
    "tool workspace config recorder",
    "server",
    "cli",
    "__main__",
    "extras hosts",
)
"""From the bottom to the top. A module imports from its own layer and from those below. `eyespan` itself, which exports
the public names lazily, belongs to no layer."""

MODULE_CYCLES: list[list[str]] = [
    ["eyespan.lines.detect", "eyespan.lines.encodings"],
]
"""Cycles of modules inside one package."""

OPENING_FILES = {
    "extras/bulk/ray.py": "the manifest of an export, in the directory that the caller named",
    "extras/bulk/export.py": "the result that a person named, and the one before it",
    "extras/operations/attack.py": "files that the attack makes in a private directory",
    "extras/hosts/setup_command.py": "the configuration of the host that a person named",
    "extras/hosts/transcripts.py": "the transcripts that a person named",
    "cli/detach.py": "the null device, in place of a closed stream",
    "cli/standard_input.py": "a private copy of standard input",
    "extras/bulk/worker.py": "its own pipe, and the null device in place of standard output",
    "extras/http/page/view_command.py": "the browser of the user",
    "decoders/image.py": "an image, from the descriptor of the job",
    "extras/documents/shared/embedded_images.py": "the first bytes of an image in a package, in memory",
    "sandbox/interpreter.py": "the header of the interpreter's own program",
    "sandbox/landlock.py": "the paths of Landlock rules, opened with O_PATH and never read",
    "server/audit.py": "the audit log that the host named",
    "extras/http/auth/rate.py": "memory shared by the worker processes, not a file",
    "extras/http/auth/callers.py": "the server's own token and the host's list of tokens",
    "extras/http/read_ring.py": "memory shared by the worker processes, not a file",
    "extras/http/metrics.py": "memory shared by the worker processes, not a file",
    "extras/http/reload.py": "memory shared by the worker processes, not a file",
    "extras/http/listener_attack.py": "the token of a server that `eyespan doctor --attack` starts",
    "extras/http/tls.py": "the certificate and key that the host named",
    "server/line_stream.py": "the null device, in place of standard input and output",
    "server/sandboxing.py": "the size of this process, in /proc",
    "worker/job.py": "the descriptor of the job",
    "extras/http/page/activity.py": "the audit log that a person named",
}
"""The modules outside guard/ that open files, none of which belongs to a workspace, each with its reason."""

STARTING_PROCESSES = {
    "extras/bulk/worker.py": "processes that read files, each with a workspace of its own",
    "cli/detach.py": "the command continues in a child while a hung mount holds this process",
    "extras/hosts/setup_command.py": "the server, once, as the host will start it",
    "extras/remote/connector.py": "the process that connects to the stores of a server",
    "extras/http/reload.py": "the process that reads changed tokens outside of the sandbox",
    "extras/http/listener_attack.py": "servers that `eyespan doctor --attack` attacks",
    "extras/http/supervisor.py": "the worker processes of the HTTP server",
    "extras/operations/probe.py": "a child enters a sandbox for `eyespan doctor`",
    "extras/operations/attack.py": "a program that no sandbox may start",
}
"""The modules outside worker/ that start processes, each with its reason."""

PARSING = {
    "extras/http/page/activity.py": "a line of the audit log that a person named",
    "extras/bulk/export.py": "a line of an earlier result",
    "extras/bulk/worker.py": "values that the other end of its pipe has pickled",
    "extras/bulk/ray.py": "tables that it makes of records",
    "extras/operations/attack.py": "an archive of denied names, which it makes",
    "cli/call.py": "the arguments on the command line",
    "cli/options.py": "the values of --set",
    "config.py": "eyespan.toml, whose size, keys and numbers are checked before",
    "dialects/native/arguments.py": "the arguments of a call",
    "extras/remote/credentials.py": "the credentials of the host, and answers of the services that give them",
    "extras/remote/name_pages.py": "pages of names, within limits",
    "extras/remote/signing.py": "the time of a request, which it writes",
    "extras/http/http_server.py": "the time of an answer, which it writes",
    "extras/remote/store.py": "the time in a header of a web server",
    "extras/hosts/calls.py": "the arguments of a call",
    "extras/hosts/config_text.py": "the configuration of the host that a person named",
    "extras/hosts/transcripts.py": "a transcript that a person named, of bounded records",
    "lines/detect.py": "a sample of at most 64 KB, for the encoding",
    "outline/python.py": "a scanner, which only the worker imports",
    "extras/http/auth/oauth.py": "the answer of the issuer that the host named",
    "extras/http/auth/callers.py": "the host's list of tokens",
    "server/json_messages.py": "messages of a client, of bounded size",
    "extras/operations/probe.py": "the response of a child of this process",
    "sources/streams.py": "decompression, in steps of bounded size",
    "tokens.py": "weights that come with the package",
    "worker/job.py": "a job of the main process, inside the decoding process",
    "worker/protocol.py": "responses of the worker, of bounded size and number of values",
}
"""The modules outside decoders/ that parse anything, each with its reason."""

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
PATH_METHODS = {"read_text", "read_bytes", "open"}
OPEN_METHODS = ("guard.open", "engine.open", "files.open")
STARTERS = (
    *("os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.spawn", "os.system", "os.popen", "os.startfile"),
    *("subprocess.", "multiprocessing.", "pty.", "asyncio.create_subprocess", "concurrent.futures.ProcessPool"),
)
"""Starts of the names of functions that start processes."""
PARSERS = (
    *("json.load", "json.JSONDecoder", "json.decoder.", "_json.", "tomllib.", "csv.reader", "csv.DictReader", "_csv."),
    *("ast.parse", "ast.literal_eval", "tokenize.", "codeop.", "xml.", "html.parser.", "email.", "mailbox."),
    *("plistlib.", "configparser.", "yaml.", "pickle.load", "pickle.Unpickler", "marshal.load", "sqlite3."),
    *("zipfile.", "tarfile.", "gzip.", "zlib.decompress", "bz2.", "lzma.", "zstandard.", "compression.zstd."),
    *("chardet.", "PIL.", "pypdfium2.", "pyarrow.", "tree_sitter", "openpyxl.", "docx.", "pptx."),
)
"""Starts of the names of functions that parse."""
PARSING_BUILTINS = {"compile", "eval", "exec"}


BUDGETS = {
    "core": (20_000, 20_000),
    "documents": (6_253, 6_253),
    "languages": (2_673, 2_673),
    "families": (2_260, 2_260),
    "http": (3_647, 3_200),
    "remote": (1_353, 1_200),
    "bulk and hosts": (2_743, 1_500),
    "git": (885, 885),
    "pasted": (1_068, 1_068),
    "operations": (462, 462),
    "resources": (268, 268),
    "archives": (419, 419),
    "edits": (124, 124),
}
"""The most lines of code of each part, without comments and docstrings, and the goal beside it. A new ability names the
lines that it replaces, or goes to an extra; a limit above its goal only falls."""

SAME_MODULES = {
    "arguments": "the arguments of calls: of all dialects, and of `native`",
    "cache": "the cache of its package",
    "call": "one call: of `native`, and the command",
    "image": "the reader and the decoder of one kind",
    "model": "the value types: of the core, and of outlines",
    "notebook": "the reader and the decoder of one kind",
    "pdf": "the reader and the decoder of one kind",
    "plugin": "the rows of an extra",
    "reader": "the reader of lines, and those of two families of documents",
    "rows": "lines of a text with their numbers",
    "text": "the text of a file: its reader, and its use by `native`",
    "walk": "the walk through directories: of the guard, and of bulk reading",
    "workspace": "the workspace, and the dialect of that name",
}
"""Names that occur twice in one meaning, each with it."""


# --- imports ----------------------------------------------------------------------------------------------------------


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
tree_of = functools.lru_cache(maxsize=1)(ast.parse)
"""The trees of all modules at once would take 100 MB."""


def full_name(node: ast.expr) -> str:
    """Return an expression as it is written; `ast.unparse` takes a hundred times as long for names and attributes."""
    if isinstance(node, ast.Name):
        return node.id
    return f"{full_name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ast.unparse(node)


def unit(module: str) -> str:
    """Return the package or the top-level module that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def runtime_imports(module: str, source: str) -> set[str]:
    """Return the modules of eyespan that a module imports at run time."""
    found = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and full_name(node.test).endswith("TYPE_CHECKING"):
            for child in node.orelse:
                visit(child)
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}: a relative import"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                found.add(name if name in MODULES else node.module or "")
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(tree_of(source))
    return {name for name in found if name in MODULES and name != module}


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    found = {}
    for name, path in MODULES.items():
        source = path.read_text("utf-8")
        found[name] = runtime_imports(name, source)
        calls(source), own_methods(source), code_lines(source)  # for tests below, while there is a tree
    return found


def test_every_package_and_module_has_a_layer():
    assert {unit(module) for module in MODULES} - {"eyespan"} == set(" ".join(LAYERS).split())


def test_imports_point_down(imports):
    rank = {name: number for number, layer in enumerate(LAYERS) for name in layer.split()}
    upward = {
        f"{module} -> {other}"
        for module, others in imports.items()
        for other in others
        if "eyespan" not in (module, other) and rank[unit(module)] < rank[unit(other)]
    }

    assert upward == set()


def test_no_extra_imports_another(imports):
    def extra(module: str) -> str:
        return module.split(".")[2] if module.startswith("eyespan.extras.") else ""

    between = {
        f"{module} -> {other}"
        for module, others in imports.items()
        for other in others
        if extra(module) and extra(other) and extra(module) != extra(other)
    }

    assert between == set()


def test_packages_form_no_cycle(imports):
    between: dict[str, set[str]] = {unit(module): set() for module in MODULES}
    for module, others in imports.items():
        between[unit(module)] |= {unit(other) for other in others} - {unit(module), "eyespan"}

    assert cycles(between) == []


def test_modules_form_no_cycle(imports):
    """The package `eyespan` itself is left out: every module imports it, and it imports the public names lazily."""
    assert cycles({module: others - {"eyespan"} for module, others in imports.items()}) == MODULE_CYCLES


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of nodes that reach each other."""
    reached = {node: reachable(graph, node) for node in graph}
    groups = {tuple(sorted(other for other in seen if node in reached[other])) for node, seen in reached.items()}
    return sorted(list(group) for group in groups if group)


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    pending = list(graph[start])
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending += graph[node]
    return seen


def test_the_search_finds_imports_at_the_top_and_in_functions_but_not_for_types():
    source = """
from eyespan import guard, policy
import eyespan.lines.reader
if TYPE_CHECKING:
    from eyespan.server import stdio
else:
    from eyespan import tokens
def f():
    from eyespan.worker.client import Worker
"""
    assert runtime_imports("eyespan.x", source) == {
        *("eyespan.guard", "eyespan.policy", "eyespan.lines.reader", "eyespan.tokens", "eyespan.worker.client"),
    }
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]


# --- files and processes ----------------------------------------------------------------------------------------------


@functools.cache
def calls(source: str) -> list[tuple[int, str, str]]:
    """Return the line, the full name of the function and the last part of it as written, for every call."""
    tree = tree_of(source)
    renamed = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            renamed.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
        elif isinstance(node, ast.Import):
            renamed.update({alias.asname: alias.name for alias in node.names if alias.asname})
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            first, dot, rest = full_name(node.func).partition(".")
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            found.append((node.lineno, renamed.get(first, first) + dot + rest, method))
    return found


@functools.cache
def own_methods(source: str) -> set[str]:
    """Return the functions that a module defines, as calls of methods: `self.name`."""
    return {f"self.{node.name}" for node in ast.walk(tree_of(source)) if isinstance(node, ast.FunctionDef)}


def openings(source: str) -> list[str]:
    """Return the calls that open files, as "line: function"."""
    # A class with a method of such a name calls its own, and the body of that method is searched as well. The guard
    # opens files; the engine, and the files of one call of `native`, have methods that lead to it.
    own = own_methods(source)
    return [
        f"{line}: {name}"
        for line, name, method in calls(source)
        if name in OPENERS or (method in PATH_METHODS and name not in own and not name.lower().endswith(OPEN_METHODS))
    ]


def process_starts(source: str) -> list[str]:
    """Return the calls that start processes, as "line: function"."""
    return [f"{line}: {name}" for line, name, _ in calls(source) if name.startswith(STARTERS)]


def parses(source: str) -> list[str]:
    """Return the calls that parse something, as "line: function"."""
    return [
        f"{line}: {name}" for line, name, _ in calls(source) if name in PARSING_BUILTINS or name.startswith(PARSERS)
    ]


@pytest.mark.parametrize(
    ("search", "allowed", "packages"),
    [
        (openings, OPENING_FILES, ("guard/", "extras/remote/")),
        (process_starts, STARTING_PROCESSES, ("worker/",)),
        (parses, PARSING, ("decoders/", "extras/documents/", "extras/languages/")),
    ],
    ids=["files", "processes", "parsers"],
)
def test_only_few_packages_and_the_listed_modules(search, allowed, packages):
    found = {}
    for path in MODULES.values():
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(packages) and (calls := search(path.read_text("utf-8"))):
            found[name] = calls

    assert {name: calls for name, calls in found.items() if name not in allowed} == {}
    assert sorted(allowed.keys() - found.keys()) == [], "exceptions that are not needed"


def test_the_search_finds_every_way_to_open_a_file():
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


def test_the_search_finds_every_way_to_start_a_process():
    source = """
import os, subprocess as s
from subprocess import Popen
s.run(["x"])
Popen(["x"])
os.fork()
os.execv("x", [])
os.getpid()
"""
    assert [int(call.split(":")[0]) for call in process_starts(source)] == [4, 5, 6, 7]


def test_the_search_finds_every_way_to_parse():
    source = """
import json, zlib, re
from json import loads as read
from csv import reader
json.loads("x")
read("x")
reader([])
compile("x", "x", "exec")
def f():
    from lzma import LZMADecompressor
    LZMADecompressor()
zlib.decompressobj()
re.compile("x")
json.dumps(1)
"""
    assert sorted(int(call.split(":")[0]) for call in parses(source)) == [5, 6, 7, 8, 11, 12]


def test_only_the_worker_scans_source_for_outlines():
    """Scanners are imported by name, so imports do not show who uses them."""
    scanning = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES.values()
        for _, name, _ in calls(path.read_text("utf-8"))
        if name.endswith(("outline.scan", "outline_here"))
    }

    assert {name for name in scanning if not name.startswith(("decoders/", "outline/", "extras/languages/"))} == set()


PARSED_ELSEWHERE = ("decoders", "worker", "extras/operations/probe.py")
"""Modules whose JSON comes from eyespan itself, or is parsed in the decoding process."""


def _unguarded_json(tree: ast.AST) -> list[int]:
    """Return the lines that parse JSON where no handler expects a RecursionError."""
    found: list[int] = []

    def visit(node: ast.AST, is_guarded: bool) -> None:
        is_call = isinstance(node, ast.Call) and full_name(node.func) in ("json.loads", "json.load")
        if is_call and not is_guarded:
            found.append(node.lineno)
        for field, value in ast.iter_fields(node):
            inside = is_guarded
            if isinstance(node, ast.Try) and field == "body":
                inside = any("RecursionError" in ast.unparse(handler) for handler in node.handlers)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, inside)

    visit(tree, False)
    return found


def test_json_that_is_nested_too_deeply_is_expected_wherever_it_is_parsed():
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text("utf-8") for path in MODULES.values()}
    found = {
        name: _unguarded_json(tree_of(source))
        for name, source in sources.items()
        if "json.load" in source and not name.startswith(PARSED_ELSEWHERE)
    }

    assert len(found) > 5
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_the_search_finds_json_without_a_handler():
    text = "try:\n json.loads(a)\nexcept (ValueError, RecursionError):\n json.loads(b)\n"

    assert _unguarded_json(ast.parse(text)) == [4]


# --- names and sizes --------------------------------------------------------------------------------------------------


def repeated(names: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that occur in several places, with them."""
    places: dict[str, list[str]] = {}
    for name, place in names:
        places.setdefault(name, []).append(place)
    return {name: each for name, each in places.items() if len(each) > 1}


def test_a_class_has_a_name_of_its_own():
    names = [
        (name, module)
        for module, path in MODULES.items()
        for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE)
    ]

    assert repeated(names) == {}


def test_a_module_has_a_name_of_its_own():
    names = [(path.stem, module) for module, path in MODULES.items() if path.stem != "__init__"]

    assert {name: places for name, places in repeated(names).items() if name not in SAME_MODULES} == {}
    assert sorted(SAME_MODULES.keys() - repeated(names).keys()) == [], "exceptions that are not needed"


def part_of(module: str) -> str:
    """Return the part of the package that a module belongs to, as BUDGETS names it."""
    names = module.split(".")
    if names[1:2] != ["extras"] or len(names) < 3:
        return "core"
    return "bulk and hosts" if names[2] in ("bulk", "hosts") else names[2]


@functools.cache
def code_lines(source: str) -> int:
    """Return the number of lines without empty ones, comments and docstrings."""
    text_lines: set[int] = set()
    for node in ast.walk(tree_of(source)):
        for child in getattr(node, "body", None) or () if not isinstance(node, (ast.Lambda, ast.IfExp)) else ():
            value = child.value if isinstance(child, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                text_lines.update(range(child.lineno, (child.end_lineno or 0) + 1))
    lines = enumerate(source.split("\n"), 1)
    return sum(1 for number, line in lines if number not in text_lines and line.strip() and line.strip()[0] != "#")


def test_every_part_stays_within_its_budget(imports):
    sizes = dict.fromkeys(BUDGETS, 0)
    for module, path in [(module, MODULES[module]) for module in imports]:
        sizes[part_of(module)] += code_lines(path.read_text("utf-8"))

    assert {part: size for part, size in sizes.items() if size > BUDGETS[part][0]} == {}
    assert [part for part, (limit, goal) in BUDGETS.items() if limit < goal] == []


def test_comments_and_docstrings_are_no_lines_of_code():
    source = '''"""A module."""\n\n# note\nclass A:\n    """A class."""\n\n    x = 1\n    """A field."""\n'''

    assert code_lines(source) == 2
