"""Outlines: the symbols, headings or keys of a file, each with its lines.

`outline(data, name, decode=...)` has the worker parse a file and returns its symbols in file order, with the method by
which they were found:

    ast           Python, by its own parser
    tree-sitter   other languages, by their grammars (extra `outline`)
    shape         by the file's own structure: headings, keys, tables; for languages whose grammar has no wheel, by
                  brackets and indentation
    regex         by lines that look like definitions: make targets, build stages, SQL statements

`find` looks up a symbol by the name that a person would write, `nearest` suggests similar names, `render` lists an
outline in few tokens. Nothing here opens a file or raises an error about its contents: a file that cannot be parsed has
an empty outline that is not complete. Lines count from 1, ends are inclusive, and only a line feed ends a line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from eyespan.context import DEADLINE_SECONDS, CallContext
from eyespan.outline.model import Outline, Symbol
from eyespan.outline.names import Found, find, look_up, nearest, unique_names
from eyespan.outline.render import render

Decode = Callable[[str, bytes, Mapping[str, Any], CallContext], tuple[dict[str, Any], list[bytes]]]

__all__ = [
    "LANGUAGES",
    "MAX_BYTES",
    "Found",
    "Outline",
    "Symbol",
    "find",
    "language_in",
    "language_of",
    "look_up",
    "nearest",
    "outline",
    "outline_here",
    "render",
    "scan",
    "unique_names",
]

MAX_BYTES = 2 * 1024 * 1024
"""Only this much of a file is parsed, up to a line end."""
OUTLINE_SECONDS = 0.8 * DEADLINE_SECONDS
"""The time for one outline, with the start of the worker; 2 MB of ordinary source take half a second."""

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
    "bash": ".sh .bash .ksh .bats",
    "zsh": ".zsh .zsh-theme",
    "kotlin": ".kt .kts",
    "scala": ".scala .sc",
    "swift": ".swift",
    "lua": ".lua",
    "hcl": ".tf .tfvars .hcl .nomad",
    "protobuf": ".proto",
    "graphql": ".graphql .gql .graphqls",
    "html": ".html .htm .xhtml .jinja .jinja2 .j2 .hbs .ejs .erb",
    "vue": ".vue",
    "svelte": ".svelte .astro",
    "xml": ".xml .xsd .xsl .xslt .wsdl .plist .csproj .vbproj .fsproj .props .targets .xaml .svg .rss .atom .pom",
    "rst": ".rst .rest",
    "asciidoc": ".adoc .asciidoc .asc",
    "tex": ".tex .ltx .sty .cls .dtx",
    "haskell": ".hs .hs-boot .hsc",
    "elixir": ".ex .exs",
    "erlang": ".erl .hrl .escript",
    "clojure": ".clj .cljs .cljc .edn .bb",
    "ocaml": ".ml .mli",
    "dart": ".dart",
    "julia": ".jl",
    "perl": ".pl .pm .t .psgi",
    "tcl": ".tcl .tm .exp",
    "groovy": ".groovy .gradle .gvy .jenkinsfile",
    "powershell": ".ps1 .psm1 .psd1",
    "cmake": ".cmake",
    "starlark": ".bzl .star .bazel",
    "objc": ".m .mm",
    "matlab": ".matlab",
    "r": ".r",
    "zig": ".zig .zon",
    "nim": ".nim .nims .nimble",
    "nginx": ".nginx .nginxconf",
}
_BY_NAME = {
    "makefile": "make",
    "gnumakefile": "make",
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "vagrantfile": "ruby",
    "jenkinsfile": "groovy",
    "cmakelists.txt": "cmake",
    "build": "starlark",
    "workspace": "starlark",
    "tiltfile": "starlark",
    "nginx.conf": "nginx",
    "rebar.config": "erlang",
    "cpanfile": "perl",
    "pipfile": "toml",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "sconstruct": "python",
    "sconscript": "python",
    "wscript": "python",
    ".bashrc": "bash",
    ".profile": "bash",
    ".zshrc": "zsh",
    ".gitconfig": "ini",
    ".editorconfig": "ini",
}
_BY_INTERPRETER = {
    "python": "python",
    "bash": "bash",
    "zsh": "zsh",
    "ksh": "bash",
    "ruby": "ruby",
    "php": "php",
    "lua": "lua",
    "node": "javascript",
    "deno": "typescript",
    "bun": "javascript",
    "perl": "perl",
    "tclsh": "tcl",
    "Rscript": "r",
    "julia": "julia",
    "elixir": "elixir",
    "escript": "erlang",
    "groovy": "groovy",
    "pwsh": "powershell",
}
_SHELLS = ("sh", "dash", "ash")
_OBJECTIVE_C = (b"@interface ", b"@protocol ", b"@class ", b"@import ", b"#import ", b"NS_ASSUME_NONNULL_BEGIN")
_CPP = (b"namespace ", b"template ", b"template<", b"class ", b"    class ", b"    template", b"using ")
_SCANNERS = {
    "python": "python",
    "markdown": "markdown",
    "json": "json_keys",
    "yaml": "yaml_keys",
    "toml": "sections",
    "ini": "sections",
    "make": "patterns",
    "dockerfile": "patterns",
    "sql": "patterns",
    "css": "patterns",
    "html": "markup",
    "vue": "markup",
    "svelte": "markup",
    "xml": "markup",
    "rst": "titles",
    "asciidoc": "titles",
    "tex": "titles",
    "starlark": "starlark",
    **dict.fromkeys(
        (
            *("hcl", "protobuf", "graphql", "erlang", "clojure", "tcl", "groovy", "powershell", "cmake", "objc"),
            *("r", "nim", "nginx", "zsh"),
        ),
        "blocks",
    ),
}
"""The module whose `scan(data, language)` outlines each language; `grammars` outlines all others."""

_suffixes: dict[str, str] = {}


def language_of(name: str, first_bytes: bytes = b"") -> str:
    """Return the language of a file by its name, or by its first line (`#!`); "" if it is unknown."""
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
        if base[dot:] == ".m" and first_bytes.lstrip().startswith((b"%", b"function", b"classdef", b"clear", b"clc")):
            return "matlab"
        return _suffixes[base[dot:]]
    return _language_of_script(first_bytes) if first_bytes.startswith(b"#!") else ""


def language_in(name: str, data: bytes) -> str:
    """Return the language of a file by its name and its text: a header (`.h`) may be one of Objective-C."""
    language = language_of(name, data[:200])
    if language == "cpp" and name.lower().endswith(".h") and any(b"\n" + word in data for word in _OBJECTIVE_C):
        # A header of C++ may contain some Objective-C under a condition.
        return language if any(b"\n" + word in data for word in _CPP) else "objc"
    return language


def _language_of_script(first_bytes: bytes) -> str:
    """Return the language of the last interpreter that the first line names, or ""."""
    line = first_bytes[2:200].split(b"\n", 1)[0].decode("ascii", "replace")
    for word in reversed(line.replace("/", " ").split()):
        for interpreter, language in _BY_INTERPRETER.items():
            if word.startswith(interpreter):
                return language
        if word in _SHELLS:
            return "bash"
    return ""


def outline(
    data: bytes,
    name: str,
    *,
    decode: Decode,
    context: CallContext | None = None,
    deadline_seconds: float = OUTLINE_SECONDS,
    is_courtesy: bool = False,
) -> Outline:
    """Return the symbols of a file, parsed in the sandboxed worker through `decode` (`Opened.decode_bytes`).

    Parsers are not safe with hostile source: it can crash them, or make them take much time and memory. In the worker
    that costs only the outline. A courtesy outline, which the caller did not ask for, is then empty and has the reason
    as its hint.

    Raises: Cancelled, TimedOut, if `context` demands it; SystemFailure; Missing, if the grammar is not installed;
        Unreadable, if the parser failed.
    """
    from eyespan.outline.isolated import outline_in_worker

    if context is not None:
        context.check()
    part, is_whole = parsed_part(data)
    language = language_in(name, part)
    if not language:
        return Outline(symbols=(), how="shape", language="", is_complete=False)
    found = outline_in_worker(part, language, decode, context, deadline_seconds, is_courtesy=is_courtesy)
    return named(found, name, language, is_whole)


def outline_here(data: bytes, name: str) -> Outline:
    """Return the symbols of a file, parsed in this process, for source that the caller trusts. Raises: Missing."""
    part, is_whole = parsed_part(data)
    language = language_in(name, part)
    if not language:
        return Outline(symbols=(), how="shape", language="", is_complete=False)
    return named(scan(part, language), name, language, is_whole)


def scan(data: bytes, language: str) -> Outline:
    """Return the symbols of source in this language, parsed in this process. Raises: Missing."""
    scanner = import_module(f"eyespan.outline.{_SCANNERS.get(language, 'grammars')}")
    found: Outline = scanner.scan(data, language)
    return found


def parsed_part(data: bytes) -> tuple[bytes, bool]:
    """Return the part of a file that is parsed, up to a line end, and True if that is all of it."""
    if len(data) <= MAX_BYTES:
        return data, True
    line_end = data.rfind(b"\n", 0, MAX_BYTES) + 1
    return data[: line_end or MAX_BYTES], False


def named(found: Outline, name: str, language: str, is_whole: bool) -> Outline:
    """Return the outline of a file with this name."""
    return replace(
        found,
        language=language,
        is_complete=found.is_complete and is_whole,
        module=name.replace("\\", "/").rsplit("/", 1)[-1].partition(".")[0],
    )


LANGUAGES = tuple(_BY_SUFFIX)
