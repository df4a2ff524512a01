"""Outline languages by lines that look like definitions, each to the end of its block: a table with a row per language.

Strings and comments are blanked out first, so nothing in them is a definition or a bracket. A block ends with the
bracket that closes it, with its `end`, or before the next line that is not indented deeper, by the language. A
definition whose block is never closed carries the line where it begins, because its end is then a guess. The time is
proportional to the length of the text.
"""

from __future__ import annotations

import re

from eyespan.outline.merge import nested
from eyespan.outline.model import Definition, build_outline
from eyespan.outline.text import LineNumbers, comment_start, decode_text, squeeze
from eyespan.record import record, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from eyespan.outline.model import Outline

    Ends = Literal["braces", "words", "indentation", "parentheses", "dot", "next"]

SIGNATURE_CHARS = 160
HEADER_CHARS = 3000
"""The text after the name of a definition that is searched for its body."""
_STRING = r'"(?:\\.|[^"\\\n])*"?'
_INTERPOLATED = r'"(?:\\.|\#\{(?:[^{}"\n]|"(?:\\.|[^"\\\n])*"|\{[^{}\n]*\})*\}|[^"\\\n])*"?'
_QUOTED = r"'(?:\\.|[^'\\\n])*'?"
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"


@record
class Rules:
    """The way in which a language writes definitions."""

    definitions: tuple[tuple[str, str], ...]
    """Patterns of the start of a definition at the start of a line, with the groups `name` and perhaps `owner`, and the
    kind of each."""
    ends: Ends
    skipped: str
    """A pattern of strings and comments."""
    comments: tuple[str, ...]
    openers: str = ""
    """With `words`: a pattern of the words that open a block."""
    closers: str = r"\bend\b"
    is_case_sensitive: bool = True
    has_semicolons: bool = True
    """With `braces`: a semicolon ends a definition without a body; otherwise a line end does."""


_TYPES = frozenset(("class", "struct", "interface", "enum", "trait", "impl"))
_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_QNAME = r"(?P<name>[A-Za-z_$][\w$.]*)"
_INDENT = r"^[ \t]*"

RULES: dict[str, Rules] = {
    "hcl": Rules(
        definitions=((rf"{_INDENT}(?P<hcl>[A-Za-z_][\w-]*(?:[ \t]+(?:\"[^\"\n]*\"|[\w.-]+))*)[ \t]*\{{", "block"),),
        ends="braces",
        skipped=rf"<<-?(\w+)\n.*?^[ \t]*\1\b|{_SLASHES}|{_HASH}|{_STRING}",
        comments=("#", "//"),
        has_semicolons=False,
    ),
    "nginx": Rules(
        definitions=((r"^[ \t]*(?P<block>[A-Za-z_][\w]*[^;{}\n]*?)[ \t]*\{", "block"),),
        ends="braces",
        skipped=rf"{_HASH}|{_STRING}|{_QUOTED}",
        comments=("#",),
        has_semicolons=False,
    ),
    "protobuf": Rules(
        definitions=(
            (rf"{_INDENT}message\s+{_NAME}", "struct"),
            (rf"{_INDENT}enum\s+{_NAME}", "enum"),
            (rf"{_INDENT}service\s+{_NAME}", "interface"),
            (rf"{_INDENT}rpc\s+{_NAME}", "method"),
            (rf"{_INDENT}extend\s+{_QNAME}", "impl"),
            (rf"{_INDENT}oneof\s+{_NAME}", "field"),
        ),
        ends="braces",
        skipped=rf"{_SLASHES}|{_STRING}|{_QUOTED}",
        comments=("//", "/*", " *"),
    ),
    "graphql": Rules(
        definitions=(
            (rf"^(?:extend\s+)?(?:type|input|schema)\s+{_NAME}", "struct"),
            (rf"^(?:extend\s+)?interface\s+{_NAME}", "interface"),
            (rf"^(?:extend\s+)?(?:enum|union)\s+{_NAME}", "enum"),
            (rf"^(?:extend\s+)?scalar\s+{_NAME}", "type"),
            (rf"^directive\s+@{_NAME}", "macro"),
            (rf"^(?:query|mutation|subscription|fragment)\s+{_NAME}", "function"),
            (rf"^[ \t]+{_NAME}[ \t]*(?:\([^)]*\))?[ \t]*:", "field"),
        ),
        ends="braces",
        skipped=rf'"""(?:\\.|[^\\])*?"""|{_STRING}|{_HASH}',
        comments=("#", '"'),
        has_semicolons=False,
    ),
    "zig": Rules(
        definitions=(
            (rf"{_INDENT}(?:pub\s+)?(?:(?:export|extern|inline|noinline)\s+(?:\"\w+\"\s+)?)*fn\s+{_NAME}", "function"),
            (rf"{_INDENT}(?:pub\s+)?const\s+{_NAME}\s*=\s*(?:extern\s+|packed\s+)?(?:struct|union|opaque)\b", "struct"),
            (rf"{_INDENT}(?:pub\s+)?const\s+{_NAME}\s*=\s*(?:extern\s+|packed\s+)?(?:enum|error)\b", "enum"),
            (rf"^(?:pub\s+)?(?:const|var)\s+{_NAME}\b", "constant"),
            (rf"{_INDENT}test\s+(?P<name>\"[^\"\n]*\"|\w+)", "function"),
        ),
        ends="braces",
        skipped=rf"//[^\n]*|\\\\[^\n]*|{_STRING}|{_QUOTED}",
        comments=("//",),
    ),
    "dart": Rules(
        definitions=(
            (rf"{_INDENT}(?:(?:abstract|base|final|sealed|interface|mixin)\s+)*class\s+{_NAME}", "class"),
            (rf"{_INDENT}(?:base\s+)?mixin\s+{_NAME}", "trait"),
            (rf"{_INDENT}extension(?:\s+type)?\s+{_NAME}", "impl"),
            (rf"{_INDENT}enum\s+{_NAME}", "enum"),
            (rf"{_INDENT}typedef\s+{_NAME}", "type"),
            (
                rf"{_INDENT}(?!return\b|else\b|new\b|throw\b|await\b|if\b|for\b|while\b|switch\b|catch\b|assert\b"
                rf"|case\b)"
                rf"(?:@\w+\s+)*(?:(?:external|static|final|const|factory|covariant|late)\s+)*"
                rf"(?:[\w$.]+(?:<[^;{{}}()=]*>)?\??\s+)?(?:get\s+|set\s+|operator\s*)?(?P<name>[A-Za-z_$][\w$.]*"
                rf"|[=<>+*/~%^&|\[\]-]+)"
                rf"\s*(?:<[^;{{}}()=]*>)?\((?=[^;]*?\)\s*(?:async\*?|sync\*)?\s*(?:\{{|=>|:))",
                "method",
            ),
            (rf"{_INDENT}(?:static\s+)?[\w$.]+(?:<[^;{{}}()=]*>)?\??\s+get\s+{_NAME}\s*(?:\{{|=>)", "method"),
        ),
        ends="braces",
        skipped=rf"r?'''(?:\\.|[^\\])*?'''|r?\"\"\"(?:\\.|[^\\])*?\"\"\"|{_SLASHES}|{_STRING}|{_QUOTED}",
        comments=("//", "/*", " *", "@"),
    ),
    "groovy": Rules(
        definitions=(
            (
                rf"{_INDENT}(?:(?:public|private|protected|static|final|abstract)\s+)*(?:class|trait|record)\s+{_NAME}",
                "class",
            ),
            (rf"{_INDENT}(?:(?:public|private|protected|static)\s+)*interface\s+{_NAME}", "interface"),
            (rf"{_INDENT}(?:(?:public|private|protected|static)\s+)*enum\s+{_NAME}", "enum"),
            (rf"{_INDENT}task\s+{_NAME}", "target"),
            (
                rf"{_INDENT}(?!return\b|else\b|new\b|throw\b|assert\b)(?:@\w+(?:\([^)]*\))?\s+)*"
                rf"(?:(?:public|private|protected|static|final|synchronized|abstract)\s+)*"
                rf"(?:def|void|[A-Za-z_][\w.]*(?:<[^;{{}}()=]*>)?(?:\[\])?)\s+(?P<name>[A-Za-z_]\w*"
                rf"|\"[^\"\n]*\")\s*\((?=[^;{{}}=]*\)[^;=]*?\{{)",
                "method",
            ),
            (rf"{_INDENT}tasks\.(?:register|create|named)\(\s*['\"](?P<name>[\w.:-]+)['\"]", "target"),
            (r"^(?!if\b|for\b|while\b|switch\b|try\b|else\b)(?P<name>[a-zA-Z_][\w.]*)[ \t]*\{", "block"),
        ),
        ends="braces",
        skipped=rf"'''(?:\\.|[^\\])*?'''|\"\"\"(?:\\.|[^\\])*?\"\"\"|{_SLASHES}|{_STRING}|{_QUOTED}",
        comments=("//", "/*", " *", "@"),
        has_semicolons=False,
    ),
    "perl": Rules(
        definitions=(
            (rf"{_INDENT}sub\s+(?P<name>[\w:']+)", "function"),
            (r"^[ \t]*package\s+(?P<name>[\w:]+)(?=[^;{}]*\{)", "namespace"),
            (r"^[ \t]*package\s+(?P<name>[\w:]+)[^;{}]*;", "section"),
        ),
        ends="braces",
        skipped=rf"^=[a-zA-Z].*?(?:^=cut[^\n]*|\Z)|^__(?:END|DATA)__\n.*|(?<![$\\@%&]){_HASH}|{_STRING}|{_QUOTED}"
        r"|\b(?:qw|qq|q)\s*(?:\([^)]*\)|\{[^{}]*\}|/[^/]*/|\[[^\]]*\])",
        comments=("#",),
    ),
    "powershell": Rules(
        definitions=(
            (rf"{_INDENT}(?:function|filter|workflow|configuration)\s+(?:\w+:)?(?P<name>[\w-]+)", "function"),
            (rf"{_INDENT}class\s+{_NAME}", "class"),
            (rf"{_INDENT}enum\s+{_NAME}", "enum"),
            (
                rf"{_INDENT}(?:(?:static|hidden)\s+)*(?:\[[\w.\[\], ]+\]\s*)(?:(?:static"
                rf"|hidden)\s+)*{_NAME}\s*\((?=[^;{{}}=]*\)\s*(?::[^{{]*)?\{{)",
                "method",
            ),
        ),
        ends="braces",
        skipped=r"<\#.*?(?:\#>|\Z)|@\"\n.*?\n\"@|@'\n.*?\n'@|\#[^\n]*|\"(?:`.|\"\"|[^\"`])*\"?|'(?:''|[^'])*'?",
        comments=("#",),
        is_case_sensitive=False,
        has_semicolons=False,
    ),
    "r": Rules(
        definitions=(
            (r"^[ \t]*(?P<name>[\w.]+|`[^`\n]+`)\s*<<?-\s*(?:function\b|\\\()", "function"),
            (r"^(?P<name>[\w.]+|`[^`\n]+`)\s*=\s*(?:function\b|\\\()", "function"),
            (r"^[ \t]*(?P<name>[\w.]+)\s*(?:<<?-|=)\s*(?:R6::)?(?:R6Class|setRefClass|setClass)\(", "class"),
            (r"^[ \t]*(?:setClass|setRefClass)\(\s*[\"'](?P<name>[\w.]+)", "class"),
            (r"^[ \t]*(?:setGeneric|setMethod|setValidity)\(\s*[\"'](?P<name>[^\"'\n]+)", "method"),
        ),
        ends="braces",
        skipped=rf"{_HASH}|{_STRING}|{_QUOTED}",
        comments=("#",),
        has_semicolons=False,
    ),
    "tcl": Rules(
        definitions=(
            (r"^[ \t]*(?:::)?(?:proc|::tcl::proc)\s+(?P<name>[^\s{}]+)", "function"),
            (r"^[ \t]*namespace\s+eval\s+(?P<name>[^\s{}]+)", "namespace"),
            (r"^[ \t]*(?:oo::class\s+create|itcl::class|snit::type|snit::widget)\s+(?P<name>[^\s{}]+)", "class"),
            (r"^[ \t]*(?:method|typemethod|classmethod)\s+(?P<name>[^\s{}]+)", "method"),
            (r"^[ \t]*constructor\s+(?P<name>\w+)\s+\{", "method"),
            (r"^[ \t]*(?P<name>constructor|destructor)\b", "method"),
            (r"^[ \t]*test\s+(?P<name>\"[^\"\n]*\"|\{[^{}\n]*\}|[^\s{}\"]+)", "function"),
        ),
        ends="braces",
        skipped=r"\\[{}\"\\]|^[ \t]*\#(?:\\.|[^\n\\])*|(?<=;)[ \t]*\#[^\n]*",
        comments=("#",),
        has_semicolons=False,
    ),
    "objc": Rules(
        definitions=(
            (rf"^@interface\s+{_NAME}", "class"),
            (rf"^@implementation\s+{_NAME}", "impl"),
            (rf"^@protocol\s+{_NAME}(?!\s*[;,])", "interface"),
            (r"^[-+][ \t]*(?:\([^;{}]*?\))?[ \t]*(?P<objc>[\w]+[^;{}]*)", "method"),
            (rf"^typedef\s+(?:NS_ENUM|NS_OPTIONS|NS_CLOSED_ENUM)\s*\([^,()]+,\s*{_NAME}", "enum"),
            (
                r"^(?!return\b|else\b|if\b|for\b|while\b|switch\b|typedef\b)(?:[A-Za-z_][\w]*[ \t*]+)+"
                r"(?P<name>[A-Za-z_]\w*)\s*\((?=[^;{}]*\)\s*\{)",
                "function",
            ),
            (r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)", "macro"),
        ),
        ends="braces",
        skipped=rf"{_SLASHES}|@?{_STRING}|{_QUOTED}",
        comments=("//", "/*", " *"),
    ),
    "elixir": Rules(
        definitions=(
            (r"^[ \t]*defmodule\s+(?P<name>[\w.]+)", "namespace"),
            (r"^[ \t]*defprotocol\s+(?P<name>[\w.]+)", "interface"),
            (r"^[ \t]*defimpl\s+(?P<name>[\w.]+)", "impl"),
            (r"^[ \t]*(?:defp?|defguardp?|defdelegate|defn|defnp)\s+(?P<name>[\w?!]+|[^\s\w(]+(?=\())", "function"),
            (r"^[ \t]*defmacrop?\s+(?P<name>[\w?!]+)", "macro"),
            (r"^[ \t]*(?:test|describe)\s+\"(?P<name>[^\"\n]+)\"", "function"),
            (r"^[ \t]*@(?:callback|macrocallback)\s+(?P<name>[\w?!]+)", "method"),
            (r"^[ \t]*@(?:type|typep|opaque)\s+(?P<name>\w+)", "type"),
        ),
        ends="words",
        skipped=rf'~[a-zA-Z]?"""(?:\\.|[^\\])*?"""|"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|(?<!\w)\?\\?.'
        rf"|{_INTERPOLATED}|{_QUOTED}|{_HASH}"
        r"|~[a-zA-Z](?:/(?:\\.|[^/\\\n])*/|\((?:\\.|[^)\\\n])*\)|\|(?:\\.|[^|\\\n])*\||\[(?:\\.|[^\]\\\n])*\])",
        comments=("#", "@doc", "@spec", "@impl"),
        openers=r"(?<![\w:.@])(?:do|fn)\b(?!:)",
        closers=r"(?<![\w:.@])end\b(?!:)",
    ),
    "julia": Rules(
        definitions=(
            (r"^[ \t]*(?:[\w.]*@\w+\s+)*function\s+(?P<name>[\w.!]+|\([^)\n]*\)|[^\s\w(]+)", "function"),
            (r"^[ \t]*(?:@\w+\s+)*macro\s+(?P<name>[\w!]+)", "macro"),
            (r"^[ \t]*(?:@\w+\s+)*(?:bare)?module\s+(?P<name>\w+)", "namespace"),
            (r"^[ \t]*(?:@\w+\s+)*(?:mutable\s+)?struct\s+(?P<name>\w+)", "struct"),
            (r"^[ \t]*(?:abstract|primitive)\s+type\s+(?P<name>\w+)", "type"),
            (
                r"^[ \t]*(?:[\w.]*@\w+\s+)*(?P<name>[A-Za-z_][\w.!]*)(?:\{[^}\n]*\})?\((?:[^()]|\((?:[^()]"
                r"|\([^()]*\))*\)){0,800}\)"
                r"(?:[ \t]*::[^=\n]+)?(?:[ \t]*where[ \t]+[^=\n]+)?[ \t]*=(?![=>])",
                "function",
            ),
        ),
        ends="words",
        skipped=rf'"""(?:\\.|[^\\])*?"""|{_STRING}|(?<![\w\])\'}}])\'(?:\\.[^\'\n]*|[^\'\\\n])\'|\#=.*?=\#|{_HASH}',
        comments=("#", '"'),
        openers=r"(?<![\w:.@])(?:function|macro|module|baremodule|struct|begin|let|if|for|while|try|quote|do"
        r"|type)\b(?!\s*=)",
        closers=r"(?<![\w:.@])end\b",
    ),
    "matlab": Rules(
        definitions=(
            (r"^[ \t]*function\s+(?:[^=\n(]*=\s*)?(?P<name>[A-Za-z][\w.]*)", "function"),
            (r"^[ \t]*classdef\s+(?:\([^)]*\)\s*)?(?P<name>\w+)", "class"),
            (r"^%%[ \t]+(?P<name>[^\n]+)", "section"),
        ),
        ends="words",
        skipped=r"^[ \t]*%\{[ \t]*\n.*?^[ \t]*%\}[ \t]*$|%(?!%)[^\n]*|\"(?:\"\"|[^\"\n])*\"?|(?<![\w\])}'.])'(?:''"
        r"|[^'\n])*'?",
        comments=("%",),
        openers=r"(?<![\w.])(?:function|classdef|methods|properties|events|enumeration|if|for|while|switch|try"
        r"|parfor|spmd|arguments)\b(?!\s*\()",
        closers=r"(?<![\w.(,:+*/-])\bend\b(?!\s*[):,+*/-])",
    ),
    "nim": Rules(
        definitions=(
            (r"^[ \t]*(?:proc|func|method|iterator|template|macro|converter)\s+(?P<name>\w+|`[^`\n]+`)", "function"),
            (
                r"^(?:type\s+|[ \t]+)(?P<name>[A-Z]\w*)\*?(?:\[[^\]\n]*\])?[ \t]*(?:\{[^}\n]*\})?[ \t]*=\s*(?:ref\s+"
                r"|ptr\s+|distinct\s+)*"
                r"(?:object|enum|tuple|concept|\w)",
                "type",
            ),
        ),
        ends="indentation",
        skipped=rf'"""(?:.)*?"""|\#\[.*?\]\#|{_HASH}|{_STRING}',
        comments=("#",),
    ),
    "haskell": Rules(
        definitions=(
            (r"^(?:data|newtype)(?:\s+(?:family|instance))?\s+(?:[^=\n]*=>\s*)?(?P<name>[A-Z][\w']*)", "struct"),
            (r"^class\s+(?:[^\n]*=>\s*)?(?P<name>[A-Z][\w']*)", "interface"),
            (r"^instance\s+(?:[^\n]*=>\s*)?(?P<name>[A-Z][\w'.]*\s+[^\n]*?)\s*(?:where|$)", "impl"),
            (r"^type(?:\s+family|\s+instance)?\s+(?P<name>[A-Z][\w']*)", "type"),
            (
                r"^(?!(?:import|infix[lr]?|deriving|foreign|default|where|type|data|newtype|class|instance|module"
                r"|let|in|if|then|else|case|of|do)\b)"
                r"(?P<name>[a-z_][\w']*|\([^\w\s()]+\))(?=[\s,(\[\"!~@:=|])",
                "function",
            ),
        ),
        ends="next",
        skipped=rf"\{{-.*?(?:-\}}|\Z)|--[^\n>|]*(?:[^\n]*)|{_STRING}|(?<![\w'])'(?:\\[^'\n]+|[^'\\\n])'",
        comments=("--", "{-"),
    ),
    "ocaml": Rules(
        definitions=(
            (
                r"^[ \t]*(?:let(?:\s+rec)?|and|external|val)\s+(?:%\w+\s+)?(?!open\b|module\b"
                r"|exception\b)(?P<name>[a-z_][\w']*|\(\s*[^\w\s()]+\s*\))",
                "function",
            ),
            (
                r"^[ \t]*(?:type|and)(?:\s+nonrec)?\s+(?:\([^)]*\)\s*|'\w+\s+"
                r"|[+-]'\w+\s+)?(?P<name>[a-z_][\w']*)(?=\s*(?:=|:|\n|$))",
                "type",
            ),
            (r"^[ \t]*module(?:\s+type|\s+rec)?\s+(?P<name>[A-Z][\w']*)", "namespace"),
            (r"^[ \t]*exception\s+(?P<name>[A-Z][\w']*)", "type"),
            (r"^[ \t]*class(?:\s+virtual|\s+type)*\s+(?:\[[^\]]*\]\s*)?(?P<name>[a-z_][\w']*)", "class"),
            (r"^[ \t]*method(?:!|\s+virtual|\s+private)*\s+(?P<name>[a-z_][\w']*)", "method"),
        ),
        ends="indentation",
        skipped=rf"\(\*.*?(?:\*\)|\Z)|{_STRING}|(?<!\w)'(?:\\[^'\n]+|[^'\\\n])'",
        comments=("(*",),
    ),
    "erlang": Rules(
        definitions=(
            (r"^(?P<name>[a-z]\w*|'[^'\n]+')(?=\s*\()", "function"),
            (r"^-record\(\s*(?P<name>\w+)", "struct"),
            (r"^-define\(\s*(?P<name>\w+)", "macro"),
            (r"^-(?:type|opaque)\s+(?P<name>\w+)", "type"),
            (r"^-callback\s+(?P<name>\w+)", "method"),
        ),
        ends="dot",
        skipped=rf"%[^\n]*|{_STRING}|\$\\?.",
        comments=("%", "-spec", "-doc"),
    ),
    "clojure": Rules(
        definitions=(
            (
                r"^[ \t]*\((?:[\w.-]+/)?(?:defn-?|defmulti|defmethod|defmacro|deftest|definline)\s+(?:\^\S+\s+"
                r"|\^\{[^}]*\}\s+)*(?P<name>[^\s()\[\]{}\"]+)",
                "function",
            ),
            (
                r"^[ \t]*\((?:[\w.-]+/)?(?:defprotocol|definterface)\s+(?:\^\S+\s+)*(?P<name>[^\s()\[\]{}\"]+)",
                "interface",
            ),
            (
                r"^[ \t]*\((?:[\w.-]+/)?(?:defrecord|deftype|defstruct)\s+(?:\^\S+\s+)*(?P<name>[^\s()\[\]{}\"]+)",
                "struct",
            ),
            (r"^\(ns\s+(?:\^\S+\s+|\^\{[^}]*\}\s+)*(?P<name>[^\s()\[\]{}\"]+)", "namespace"),
            (
                r"^\((?:[\w.-]+/)?def[\w-]*\s+(?:\^\S+\s+|\^\{[^}]*\}\s+)*(?P<name>[^\s()\[\]{}\":][^\s()\[\]{}\"]*)",
                "constant",
            ),
        ),
        ends="parentheses",
        skipped=r';[^\n]*|"(?:\\.|[^"\\])*"?|\\(?:[a-z]+|.)',
        comments=(";",),
    ),
    "cmake": Rules(
        definitions=(
            (r"^[ \t]*function\s*\(\s*(?P<name>[^\s()]+)", "function"),
            (r"^[ \t]*macro\s*\(\s*(?P<name>[^\s()]+)", "macro"),
            (r"^[ \t]*add_(?:executable|library|custom_target)\s*\(\s*(?P<name>[^\s()]+)", "target"),
            (r"^[ \t]*(?:add_test\s*\(\s*NAME|option\s*\()\s*(?P<name>[^\s()]+)", "constant"),
            (r"^[ \t]*project\s*\(\s*(?P<name>[^\s()]+)", "section"),
        ),
        ends="parentheses",
        skipped=r"\#\[(=*)\[.*?\]\1\]|\#[^\n]*|\"(?:\\.|[^\"\\])*\"?",
        comments=("#",),
        openers=r"(?im)^[ \t]*(?:function|macro)\s*\(",
        closers=r"(?im)^[ \t]*end(?:function|macro)\s*\(",
        is_case_sensitive=False,
    ),
}


def scan(data: bytes, language: str) -> Outline:
    """Return the definitions of a file in one of the languages of the table."""
    text = decode_text(data).replace("\r\n", "\n")
    definitions, is_balanced = _Scanner(text, language, RULES[language]).run()
    found = nested(definitions)
    if language == "ocaml":
        found = nested([one for one in found if not _is_local(one, found)])
    for index, one in enumerate(found):
        is_inside = one.parent >= 0 and found[one.parent].kind in _TYPES
        if one.kind in ("function", "method") and (one.kind == "method") != is_inside and language not in ("elixir",):
            found[index] = replace(one, kind="method" if is_inside else "function")
    return build_outline(found, "shape", is_complete=is_balanced)


def _is_local(one: Definition, found: list[Definition]) -> bool:
    """Return True for a definition in the body of a function."""
    return one.kind == "function" and one.parent >= 0 and found[one.parent].kind == "function"


class _Scanner:
    """One text and its blocks."""

    def __init__(self, text: str, language: str, rules: Rules) -> None:
        flags = re.DOTALL | re.MULTILINE
        self._text = text
        self._language = language
        self._rules = rules
        self._masked = re.compile(rules.skipped, flags).sub(_blanked, text)
        self._lines = text.split("\n")
        self._numbers = LineNumbers(text)
        self._flags = re.MULTILINE | (0 if rules.is_case_sensitive else re.IGNORECASE)
        self._is_balanced = True
        self._closing: dict[int, list[int]] | None = None
        """The lines that start with a closing brace, by column."""

    def run(self) -> tuple[list[Definition], bool]:
        """Return the definitions in file order, and True if every block was closed."""
        found = list(self._matches())
        ends = self._ends(found)
        definitions: list[Definition] = []
        floor = 0
        for (match, kind), (last, doubt) in zip(found, ends, strict=True):
            name, owner = self._name(match)
            if not name:
                continue
            line = self._numbers.at(match.start("name") if match.groupdict().get("name") else self._start(match))
            if (
                definitions
                and self._language == "erlang"
                and definitions[-1].name == name
                and line <= definitions[-1].last
            ):
                continue  # another clause of the same function
            first = comment_start(self._lines, line, min(floor, line - 1), self._rules.comments)
            start = self._start(match)
            signature = squeeze(self._text[start : self._text.find("\n", match.end()) % (len(self._text) + 1)])
            definitions.append(
                Definition(
                    name=name,
                    kind=kind,
                    line=line,
                    first=first,
                    last=max(last, line),
                    signature=_short_signature(signature),
                    owner=owner,
                    doubt=doubt,
                )
            )
            floor = line
        return definitions, self._is_balanced

    @staticmethod
    def _start(match: re.Match[str]) -> int:
        """Return the first character of a definition that is not a blank."""
        return match.start() + len(match[0]) - len(match[0].lstrip())

    def _matches(self) -> Iterator[tuple[re.Match[str], str]]:
        """Return the starts of definitions in file order, one for each line, by the first pattern that matches."""
        found: dict[int, tuple[int, re.Match[str], str]] = {}
        for order, (pattern, kind) in enumerate(self._rules.definitions):
            for match in re.compile(pattern, self._flags).finditer(self._text):
                start = self._start(match)
                if self._masked[start : start + 1].strip() == "" and self._text[start] != '"':
                    continue  # in a comment or a string
                place = self._numbers.at(start)
                if place not in found or order < found[place][0]:
                    found[place] = (order, match, kind)
        if self._language in ("haskell", "erlang", "elixir"):
            return iter(_grouped([found[at][1:] for at in sorted(found)], self._language))
        return iter([found[at][1:] for at in sorted(found)])

    def _name(self, match: re.Match[str]) -> tuple[str, str]:
        """Return the name of a definition and what it belongs to."""
        groups = match.groupdict()
        if groups.get("hcl"):
            labels = re.findall(r'"([^"\n]*)"|([\w.-]+)', groups["hcl"])
            words = [quoted or plain for quoted, plain in labels]
            return words[-1], ".".join(words[:-1])
        if groups.get("block"):
            return " ".join(groups["block"].split()), ""
        if groups.get("objc"):
            parts = re.findall(r"(\w+)\s*:", groups["objc"].split(";")[0])
            return "".join([f"{part}:" for part in parts]) or groups["objc"].split()[0], ""
        name = groups.get("name") or ""
        if len(name) > 2 and name[0] in "\"`'{(" and name[-1] in "\"`'})":
            name = name[1:-1].strip()
        if self._language == "perl":
            owner, _, name = name.replace("'", "::").rpartition("::")
            return name, owner.replace("::", ".")
        if self._language == "tcl":
            owner, _, name = name.strip(":").rpartition("::")
            return name, owner.replace("::", ".")
        if self._language in ("julia", "dart") and "." in name:
            owner, _, name = name.rpartition(".")
            return name, owner
        return " ".join(name.split()), ""

    # --- ends ------------------------------------------------------------------------------------------------------

    def _ends(self, found: list[tuple[re.Match[str], str]]) -> list[tuple[int, int]]:
        """Return the last line of each definition, and the line of doubt."""
        ways: dict[str, Callable[[list[tuple[re.Match[str], str]]], list[tuple[int, int]]]] = {
            "braces": self._by_braces,
            "parentheses": self._by_parentheses,
            "words": self._by_words,
            "indentation": self._by_indentation,
            "next": self._by_indentation,
            "dot": self._by_dots,
        }
        return ways[self._rules.ends](found)

    def _pairs(self, pattern: str, closing: str) -> dict[int, int]:
        """Return the offset that closes each opening one."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        for piece in re.finditer(pattern, self._masked):
            if piece[0] in closing:
                if stack:
                    pairs[stack.pop()] = piece.start()
                else:
                    self._is_balanced = False
            else:
                stack.append(piece.start())
        if stack:
            self._is_balanced = False
        return pairs

    def _by_braces(self, found: list[tuple[re.Match[str], str]]) -> list[tuple[int, int]]:
        pairs = self._pairs(r"[{}]", "}")
        ends = []
        for index, (match, kind) in enumerate(found):
            line = self._numbers.at(match.end())
            if kind == "section":
                ends.append((self._before_next(found, index), 0))
                continue
            if self._language == "objc" and kind in ("class", "impl", "interface"):
                end = self._masked.find("\n@end", match.end())
                ends.append((self._numbers.at(end + 1) if end >= 0 else line, 0 if end >= 0 else line))
                continue
            body = self._body(match, pairs)
            if body is None:
                ends.append((line, 0))
            elif self._masked[body] != "{":
                ends.append((self._numbers.at(body), 0))
            elif self._is_balanced:
                ends.append((self._numbers.at(pairs[body]), 0))
            else:
                ends.append(self._aligned_end(line, self._numbers.at(pairs[body]) if body in pairs else 0))
        return ends

    def _aligned_end(self, line: int, paired: int) -> tuple[int, int]:
        """Return the end of a block in a text whose braces do not match: the next closing brace in the same column.

        It is doubtful unless the braces themselves give the same line.
        """
        if self._closing is None:
            self._closing = {}
            for number, text in enumerate(self._lines, 1):
                if text.lstrip().startswith("}"):
                    self._closing.setdefault(len(text) - len(text.lstrip()), []).append(number)
        start = self._lines[line - 1]
        aligned = next(_from(self._closing.get(len(start) - len(start.lstrip()), []), line + 1), 0)
        if paired == line or aligned == paired:
            return paired or line, 0 if paired else line
        return aligned or paired or line, line

    def _body(self, match: re.Match[str], pairs: dict[int, int]) -> int | None:
        """Return the offset of the brace that opens the body of a definition, or of what ends one without a body."""
        text, rules = self._masked, self._rules
        at = match.end()
        if text[at - 1] == "{":
            return at - 1
        depth = text.count("(", match.start(), at) - text.count(")", match.start(), at)
        stop = min(len(text), at + HEADER_CHARS)
        while at < stop:
            char = text[at]
            if char in "([":
                depth += 1
            elif char in ")]":
                depth -= 1
                if depth < 0:
                    return None
            elif char == "{":
                if self._language == "tcl":
                    # The parameters are a group of their own before the body.
                    following = re.compile(r"[ \t]*\{").match(text, pairs.get(at, len(text)) + 1)
                    return following.end() - 1 if following is not None else at
                if depth == 0 or self._language in ("r", "groovy", "dart"):
                    return at if depth == 0 or self._language == "r" else None if self._language == "dart" else at
            elif char == ";" and depth <= 0 and rules.has_semicolons:
                return at
            elif char == "\n" and depth <= 0 and not rules.has_semicolons:
                after = re.compile(r"\s*").match(text, at)
                following_at = after.end() if after else at
                if text[following_at : following_at + 1] != "{":
                    return at if text[match.end() : at].strip() else None
            at += 1
        return None

    def _by_parentheses(self, found: list[tuple[re.Match[str], str]]) -> list[tuple[int, int]]:
        pattern = r"[()\[\]{}]" if self._language == "clojure" else r"[()]"
        pairs = self._pairs(pattern, ")]}")
        blocks = self._word_pairs() if self._rules.openers else {}
        ends = []
        for match, _ in found:
            opening = self._masked.find("(", match.start())
            line = self._numbers.at(match.end())
            if opening in blocks:
                ends.append((self._numbers.at(blocks[opening]), 0))
            elif opening in pairs:
                ends.append((self._numbers.at(pairs[opening]), 0))
            else:
                ends.append((line, line))
        return ends

    def _word_pairs(self) -> dict[int, int]:
        """Return the offset of the word that closes each block, by the offset at which the match of its opener ends."""
        pairs: dict[int, int] = {}
        stack: list[int] = []
        pattern = re.compile(
            f"(?P<close>{_without_flags(self._rules.closers)})|{_without_flags(self._rules.openers)}", self._flags
        )
        for piece in pattern.finditer(self._masked):
            if piece["close"] is None:
                stack.append(piece.end() - 1)
            elif stack:
                pairs[stack.pop()] = piece.start()
        return pairs

    def _by_words(self, found: list[tuple[re.Match[str], str]]) -> list[tuple[int, int]]:
        masked, rules = self._masked, self._rules
        pattern = re.compile(f"(?P<close>{rules.closers})|(?P<open>{rules.openers})|[\\[\\]()]", self._flags)
        closing: dict[int, int] = {}  # the start of an opener, and the offset of its end
        opens: list[int] = []
        stack: list[int] = []
        depth = 0
        is_balanced = True
        for piece in pattern.finditer(masked):
            if piece[0] in "[(":
                depth += 1
            elif piece[0] in "])":
                depth = max(0, depth - 1)
            elif piece["close"] is not None:
                if depth and self._language in ("julia", "matlab"):
                    continue  # the last index of an array
                if stack:
                    closing[stack.pop()] = piece.start()
                else:
                    is_balanced = False
            elif not depth or self._language == "elixir":
                stack.append(piece.start())
                opens.append(piece.start())
        is_balanced = is_balanced and not stack
        has_bare_functions = self._language == "matlab" and bool(stack)
        self._is_balanced = is_balanced or has_bare_functions
        ends = []
        for index, (match, kind) in enumerate(found):
            line = self._numbers.at(match.end())
            start = self._start(match)
            if kind == "section" or (has_bare_functions and kind == "function"):
                ends.append((self._before_next(found, index), 0))
                continue
            if self._language == "elixir":
                opener = self._do_after(match, opens)
            else:
                opener = next((at for at in _from(opens, start) if at < match.end()), None)
            if opener is None:
                ends.append((self._statement_end(match), 0))
            elif opener in closing:
                ends.append((self._numbers.at(closing[opener]), 0 if is_balanced else line))
            else:
                ends.append((line, line))
        return ends

    def _do_after(self, match: re.Match[str], opens: list[int]) -> int | None:
        """Return the `do` of a definition, which may follow on another line; None for one with `do:` or without."""
        for at in _from(opens, match.end()):
            if at - match.end() > HEADER_CHARS or not self._masked.startswith("do", at):
                return None
            between = self._masked[match.end() : at]
            if re.search(r"\bdo:|\n[ \t]*(?:def|@|end\b)|\n[ \t]*\n", between):
                return None
            return at
        return None

    def _statement_end(self, match: re.Match[str]) -> int:
        """Return the last line of a definition without a block: brackets and deeper indentation continue it."""
        line = self._numbers.at(match.end())
        start = self._lines[line - 1]
        indent = len(start) - len(start.lstrip())
        last = line
        while last < len(self._lines):
            following = self._lines[last]
            if not following.strip() or len(following) - len(following.lstrip()) <= indent:
                break
            last += 1
        return last

    def _by_indentation(self, found: list[tuple[re.Match[str], str]]) -> list[tuple[int, int]]:
        """Return the last line before the next one that is not indented deeper, without blank lines and comments."""
        masked = self._masked.split("\n")
        columns = [len(line) - len(line.lstrip()) if line.strip() else -1 for line in masked]
        following = _next_not_deeper(columns)
        starts = {self._numbers.at(self._start(match)) for match, _ in found}
        ends = []
        for index, (match, kind) in enumerate(found):
            line = self._numbers.at(self._start(match))
            if kind == "section":
                ends.append((self._before_next(found, index), 0))
                continue
            at = line - 1
            while True:
                at = following[at]
                if at >= len(masked) or self._rules.ends != "next" or at + 1 in starts:
                    is_closing = at < len(masked) and masked[at].strip() in ("end", "end;;", ";;", ")", "}", "]")
                    if not is_closing or columns[at] < columns[line - 1]:
                        break
                elif columns[at] <= 0 and not self._continues(masked[at], match):
                    break
            last = at
            while last > line and columns[last - 1] < 0:
                last -= 1
            ends.append((last, 0))
        return ends

    def _continues(self, line: str, match: re.Match[str]) -> bool:
        """Return True if a line at the margin belongs to a definition of Haskell: an equation of the same name."""
        name = match.groupdict().get("name") or ""
        return line.startswith((name + " ", name + "(", "|", "=", "where"))

    def _by_dots(self, found: list[tuple[re.Match[str], str]]) -> list[tuple[int, int]]:
        stops = [piece.start() for piece in re.finditer(r"\.(?=\s|\Z)", self._masked)]
        ends = []
        for match, _ in found:
            stop = next(iter(_from(stops, match.end())), None)
            line = self._numbers.at(match.end())
            ends.append((self._numbers.at(stop), 0) if stop is not None else (line, line))
        return ends

    def _before_next(self, found: list[tuple[re.Match[str], str]], index: int) -> int:
        """Return the last line with text before the next definition of the same kind, or of the file."""
        kind = found[index][1]
        following = next((match.start() for match, other in found[index + 1 :] if other == kind), len(self._text))
        last = self._numbers.at(max(0, following - 1)) if following < len(self._text) else self._numbers.last
        while last > 1 and not self._lines[last - 1].strip():
            last -= 1
        return last


def _blanked(found: re.Match[str]) -> str:
    """Return blanks for a comment or a string; its first and last characters stay if they are quotes."""
    text = found[0]
    blanks = re.sub(r"[^\n]", " ", text)
    return f'"{blanks[1:-1]}"' if text[0] in "\"'" and len(text) > 1 and "\n" not in (text[0], text[-1]) else blanks


def _grouped(found: list[tuple[re.Match[str], str]], language: str) -> list[tuple[re.Match[str], str]]:
    """Return definitions without those that continue the one before: clauses and equations of one function."""
    result: list[tuple[re.Match[str], str]] = []
    for match, kind in found:
        if (
            result
            and kind == "function" == result[-1][1]
            and match["name"] == result[-1][0]["name"]
            and language == "haskell"
        ):
            continue
        result.append((match, kind))
    return result


def _from(offsets: list[int], start: int) -> Iterator[int]:
    """Yield the offsets from `start` on."""
    from bisect import bisect_left

    for index in range(bisect_left(offsets, start), len(offsets)):
        yield offsets[index]


def _next_not_deeper(columns: list[int]) -> list[int]:
    """Return for each line the index of the next one that is indented as much or less."""
    following = [len(columns)] * len(columns)
    stack: list[int] = []
    for at, column in enumerate(columns):
        if column < 0:
            continue
        while stack and columns[stack[-1]] >= column:
            following[stack.pop()] = at
        stack.append(at)
    for at in range(len(columns) - 2, -1, -1):
        if columns[at] < 0:
            following[at] = following[at + 1]
    return following


def _without_flags(pattern: str) -> str:
    return pattern.removeprefix("(?im)")


def _short_signature(text: str) -> str:
    text = text.rstrip("{ ").removesuffix(" do").rstrip(" =:")
    return text if len(text) <= SIGNATURE_CHARS else text[: SIGNATURE_CHARS - 1] + "…"
