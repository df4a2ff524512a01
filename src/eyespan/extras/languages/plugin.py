"""The rows of this extra: outliners of programming languages and other texts, their colours, and maps of
directories.
"""

from __future__ import annotations

from typing import Any

from eyespan.outline.registry import Outliner

DEPENDENCIES = {"tree_sitter": ("outline", "outlines of source code, except Python")}
LANGUAGE_TASKS = {"highlight": "eyespan.extras.languages.lexers"}
"""Modules with a decoder `decode_LANGUAGE` for each language, by the task that it is part of."""
STYLES = "eyespan.extras.languages.highlight:styled_lines"
COLORS = "eyespan.extras.languages.highlight:colored_lines"
MAPS = "eyespan.extras.languages.map_items:plan_map"

_OBJECTIVE_C = (b"@interface ", b"@protocol ", b"@class ", b"@import ", b"#import ", b"NS_ASSUME_NONNULL_BEGIN")
_CPP = (b"namespace ", b"template ", b"template<", b"class ", b"    class ", b"    template", b"using ")
_MATLAB = (b"%", b"function", b"classdef", b"clear", b"clc")


def _language_of_header(name: str, data: bytes) -> str:
    """Return the language of a header (`.h`): a header of C++ may contain some Objective-C under a condition."""
    is_objc = name.endswith(".h") and any(b"\n" + word in data for word in _OBJECTIVE_C)
    return "objc" if is_objc and not any(b"\n" + word in data for word in _CPP) else "cpp"


def _language_of_m(name: str, data: bytes) -> str:
    return "matlab" if name.endswith(".m") and data[:200].lstrip().startswith(_MATLAB) else "objc"


def _row(
    language: str, module: str, suffixes: str, *, names: str = "", interpreters: str = "", **fields: Any
) -> Outliner:
    function = f"eyespan.extras.languages.{module}:scan"
    return Outliner(
        language,
        function,
        tuple(suffixes.split()),
        file_names=tuple(names.split()),
        interpreters=tuple(interpreters.split()),
        **fields,
    )


OUTLINERS = (
    _row("json", "json_keys", ".json .jsonc .json5 .geojson .webmanifest .code-workspace"),
    _row("yaml", "yaml_keys", ".yaml .yml .clang-format .clang-tidy"),
    _row("toml", "sections", ".toml", names="pipfile cargo.lock poetry.lock uv.lock"),
    _row(
        "ini",
        "sections",
        ".ini .cfg .conf .properties .editorconfig .desktop .service .timer .socket .gitconfig",
        names=".gitconfig .editorconfig",
    ),
    _row("make", "patterns", ".mk .mak .make", names="makefile gnumakefile makefile.*"),
    _row(
        "dockerfile",
        "patterns",
        ".dockerfile .containerfile",
        names="dockerfile containerfile dockerfile.* containerfile.*",
    ),
    _row("sql", "patterns", ".sql .ddl"),
    _row("css", "patterns", ".css .scss .less"),
    _row("javascript", "grammars", ".js .mjs .cjs .jsx", interpreters="node bun nodejs"),
    _row("typescript", "grammars", ".ts .mts .cts", interpreters="deno"),
    _row("tsx", "grammars", ".tsx"),
    _row("go", "grammars", ".go"),
    _row("rust", "grammars", ".rs"),
    _row("java", "grammars", ".java"),
    _row("c", "grammars", ".c"),
    _row(
        "cpp",
        "grammars",
        ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .h .ipp .inl .cu .cuh .ino",
        by_text=_language_of_header,
    ),
    _row("csharp", "grammars", ".cs .csx"),
    _row("ruby", "grammars", ".rb .rake .gemspec .ru", names="rakefile gemfile vagrantfile", interpreters="ruby"),
    _row("php", "grammars", ".php .phtml", interpreters="php"),
    _row("bash", "grammars", ".sh .bash .ksh .bats", names=".bashrc .profile", interpreters="bash ksh sh dash ash"),
    _row("zsh", "blocks", ".zsh .zsh-theme", names=".zshrc", interpreters="zsh"),
    _row("kotlin", "grammars", ".kt .kts"),
    _row("scala", "grammars", ".scala .sc"),
    _row("swift", "grammars", ".swift"),
    _row("lua", "grammars", ".lua", interpreters="lua"),
    _row("hcl", "blocks", ".tf .tfvars .hcl .nomad"),
    _row("protobuf", "blocks", ".proto"),
    _row("graphql", "blocks", ".graphql .gql .graphqls"),
    _row("html", "markup", ".html .htm .xhtml .jinja .jinja2 .j2 .hbs .ejs .erb"),
    _row("vue", "markup", ".vue"),
    _row("svelte", "markup", ".svelte .astro"),
    _row(
        "xml",
        "markup",
        ".xml .xsd .xsl .xslt .wsdl .plist .csproj .vbproj .fsproj .props .targets .xaml .svg .rss .atom .pom",
    ),
    _row("rst", "titles", ".rst .rest"),
    _row("asciidoc", "titles", ".adoc .asciidoc .asc"),
    _row("tex", "titles", ".tex .ltx .sty .cls .dtx"),
    _row("haskell", "grammars", ".hs .hs-boot .hsc"),
    _row("elixir", "grammars", ".ex .exs", interpreters="elixir"),
    _row("ocaml", "grammars", ".ml .mli"),
    _row("dart", "grammars", ".dart"),
    _row("julia", "grammars", ".jl", interpreters="julia"),
    _row("perl", "grammars", ".pl .pm .t .psgi", names="cpanfile", interpreters="perl"),
    _row("groovy", "blocks", ".groovy .gradle .gvy .jenkinsfile", names="jenkinsfile", interpreters="groovy"),
    _row("powershell", "blocks", ".ps1 .psm1 .psd1", interpreters="pwsh"),
    _row("cmake", "blocks", ".cmake", names="cmakelists.txt"),
    Outliner("starlark", "eyespan.outline.python:scan", (".bzl", ".star"), file_names=("tiltfile",)),
    _row("objc", "blocks", ".m .mm", by_text=_language_of_m),
    _row("matlab", "grammars", ".matlab"),
    _row("r", "blocks", ".r", interpreters="rscript"),
    _row("zig", "grammars", ".zig .zon"),
)
