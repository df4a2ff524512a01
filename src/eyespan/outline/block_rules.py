"""The ways in which languages write definitions and end them: a table with a row per language, for `blocks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ends = Literal["braces", "words", "indentation", "parentheses", "dot", "next"]

_STRING = r'"(?:\\.|[^"\\\n])*"?'
_INTERPOLATED = r'"(?:\\.|\#\{(?:[^{}"\n]|"(?:\\.|[^"\\\n])*"|\{[^{}\n]*\})*\}|[^"\\\n])*"?'
_QUOTED = r"'(?:\\.|[^'\\\n])*'?"
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"


@dataclass(frozen=True, slots=True)
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
            (r"^[ \t]*(?P<name>[\w.]+|[`\"'][^`\"'\n]+[`\"'])\s*<<?-\s*(?:function\b|\\\()", "function"),
            (r"^(?P<name>[\w.]+|[`\"'][^`\"'\n]+[`\"'])\s*=\s*(?:function\b|\\\()", "function"),
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
                r"^(?!return\b|else\b|if\b|for\b|while\b|switch\b|typedef\b)(?:[A-Za-z_]\w*(?:<[^;{}()]*>)?[ \t*]+)+"
                r"(?P<name>[A-Za-z_]\w*)\s*\((?=[^;{}]*\)[\s\w]*\{)",
                "function",
            ),
            (
                r"^(?!return\b|else\b|typedef\b)(?:[A-Za-z_]\w*(?:<[^;{}()]{0,200}>)?[ \t*]+)+"
                r"(?P<name>(?![A-Z0-9_]+\b)[A-Za-z_]\w*)[ \t]*\((?=[^;{}]{0,2000}\)[^;{}=]{0,500};)",
                "function",
            ),
            (r"^typedef\b[^;{}]*?\([ \t]*[\^*][ \t]*(?P<name>[A-Za-z_]\w*)[ \t]*\)", "type"),
            (rf"^(?:typedef\s+)?(?:struct|union)\s+{_NAME}\s*\{{", "struct"),
            (rf"^(?:typedef\s+)?enum\s+{_NAME}\s*(?::\s*\w+\s*)?\{{", "enum"),
            (
                r"^typedef\b[^;{}()]*[\s*>](?P<name>(?!(?:NS|API|CF|SWIFT)_)[A-Za-z_]\w*)[ \t]*"
                r"(?=(?:(?:NS|API|CF|SWIFT)_\w+[ \t]*(?:\([^;{}]*\))?[ \t]*)*;)",
                "type",
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
                r"|[+-]'\w+\s+)?(?P<name>[a-z_][\w']*)(?=\s*(?:\+?=|:|\n|$))",
                "type",
            ),
            (r"^[ \t]*(?:module(?:\s+type|\s+rec)?|and)\s+(?P<name>[A-Z][\w']*)", "namespace"),
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
