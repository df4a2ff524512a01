"""What a file is made of: its symbols, headings or keys, each with the lines it stands on.

`outline(data, name)` looks at a file's bytes and name and gives symbols in file order. How they were found is told:

    ast           Python, by its own parser
    tree-sitter   other languages, by their grammars (extra `outline`), parsed in the jailed worker
    shape         by the file's own shape: headings, keys, tables; for source code without a grammar, or too broken for
                  one, by indentation and braces, which can be wrong
    regex         by lines that look like definitions: make targets, build stages, SQL statements

`find` looks a symbol up by the name a person would write, `nearest` helps after a miss, `render` lists an outline in
few tokens. Nothing here opens a file, and nothing raises: a file that cannot be understood has an empty outline that is
not `complete`. Lines count from 1, ends are inclusive, and a line ends at a line feed and nowhere else.
"""

from __future__ import annotations

from eyespan.outline.model import Outline, Symbol
from eyespan.outline.names import find, nearest
from eyespan.outline.render import render

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from eyespan.context import CallContext

    Decode = Callable[[str, bytes, Mapping[str, Any], CallContext], tuple[dict[str, Any], list[bytes]]]

__all__ = ["MAX_BYTES", "Outline", "Symbol", "find", "language_of", "nearest", "outline", "render"]

MAX_BYTES = 2 * 1024 * 1024
"""More than this is not looked at: the outline is of the part before, cut at a line end."""

_BY_SUFFIX = {
    "python": ".py .pyi .pyw .pyx",
    "markdown": ".md .markdown .mdx .qmd .rmd",
    "json": ".json .jsonc .json5 .geojson .webmanifest .code-workspace",
    "yaml": ".yaml .yml .clang-format .clang-tidy",
    "toml": ".toml",
    "ini": ".ini .cfg .conf .properties .editorconfig .desktop .service .timer .socket .gitconfig",
    "make": ".mk .mak .make",
    "dockerfile": ".dockerfile .containerfile",
    "sql": ".sql .ddl",
    "css": ".css .scss .less",
    "javascript": ".js .mjs .cjs .jsx",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "c": ".c",
    "cpp": ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .h .ipp .inl .cu .cuh .ino",
    "csharp": ".cs .csx",
    "ruby": ".rb .rake .gemspec .ru",
    "php": ".php .phtml",
    "bash": ".sh .bash .zsh .ksh .bats",
    "kotlin": ".kt .kts",
    "scala": ".scala .sc",
    "swift": ".swift",
    "lua": ".lua",
}
_BY_NAME = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "java",
    "pipfile": "toml",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "sconstruct": "python",
    "sconscript": "python",
    "wscript": "python",
    ".bashrc": "bash",
    ".profile": "bash",
    ".gitconfig": "ini",
    ".editorconfig": "ini",
}
_BY_INTERPRETER = ("python", "bash", "zsh", "ksh", "ruby", "php", "lua", "node", "deno", "bun")
_MODULES = {
    "python": "python",
    "markdown": "markdown",
    "json": "data",
    "yaml": "data",
    "toml": "data",
    "ini": "data",
    "make": "lists",
    "dockerfile": "lists",
    "sql": "lists",
    "css": "lists",
}
"""The room that knows each language; all others are source code of `source`."""

_suffixes: dict[str, str] = {}


def language_of(name: str, head: bytes = b"") -> str:
    """The language of a file by its name, or by its first line (`#!`); "" where neither tells."""
    if not _suffixes:
        for language, suffixes in _BY_SUFFIX.items():
            _suffixes.update(dict.fromkeys(suffixes.split(), language))
    base = name.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if base in _BY_NAME:
        return _BY_NAME[base]
    if base.startswith(("dockerfile.", "containerfile.", "makefile.")):
        return _BY_NAME[base.split(".")[0]]
    dot = base.rfind(".")
    if dot >= 0 and base[dot:] in _suffixes:
        return _suffixes[base[dot:]]
    if head.startswith(b"#!"):
        words = head[2:200].split(b"\n", 1)[0].decode("ascii", "replace").replace("/", " ").split()
        for word in words[::-1]:
            for program in _BY_INTERPRETER:
                if word.startswith(program):
                    return {"zsh": "bash", "ksh": "bash", "node": "javascript", "deno": "typescript"}.get(
                        program, "javascript" if program == "bun" else program
                    )
            if word in ("sh", "dash", "ash"):
                return "bash"
    return ""


def outline(data: bytes, name: str, *, decode: Decode | None = None, context: CallContext | None = None) -> Outline:
    """Return the symbols of a file.

    Grammars are C code and the source is untrusted: `decode` runs them in the sandboxed worker (`Opened.decode_bytes`).
    Without it they run in this process, for source that the caller trusts.

    Raises: Cancelled, TimedOut, and only where `context` says so.
    """
    if context is not None:
        context.check()
    whole = len(data) <= MAX_BYTES
    if not whole:
        cut = data.rfind(b"\n", 0, MAX_BYTES) + 1
        data = data[: cut or MAX_BYTES]
    language = language_of(name, data[:200])
    if not language:
        return Outline((), "shape", "", complete=False)
    room = _MODULES.get(language)
    if room is None:
        from eyespan.outline.source import look

        found = look(data, language, decode, context)
    else:
        from importlib import import_module

        found = import_module(f"eyespan.outline.{room}").look(data, language)
        if context is not None:
            context.check()  # half a second or so for 2 MB made for the purpose; nothing in it can wait
    stem = name.replace("\\", "/").rsplit("/", 1)[-1].partition(".")[0]
    return Outline(found.symbols, found.how, language, found.complete and whole, stem, found.hint)
