"""The ways in which languages write definitions and end them: a table with a row per language, for `blocks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ends = Literal["braces", "parentheses"]

_STRING = r'"(?:\\.|[^"\\\n])*"?'
_QUOTED = r"'(?:\\.|[^'\\\n])*'?"
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"\#[^\n]*"


@dataclass(frozen=True, slots=True)
class BlockRules:
    """The way in which a language writes definitions."""

    definitions: tuple[tuple[str, str], ...]
    """Patterns of the start of a definition at the start of a line, with the groups `name` and perhaps `owner`, and the
    kind of each."""
    ends: Ends
    skipped: str
    """A pattern of strings and comments."""
    comments: tuple[str, ...]
    words: str = ""
    """With `parentheses`: a pattern of the calls that open a block, and of those that close it as its group `close`."""
    is_case_sensitive: bool = True
    has_semicolons: bool = True
    """With `braces`: a semicolon ends a definition without a body; otherwise a line end does."""


_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_QNAME = r"(?P<name>[A-Za-z_$][\w$.]*)"
_INDENT = r"^[ \t]*"

RULES: dict[str, BlockRules] = {
    "hcl": BlockRules(
        definitions=((rf"{_INDENT}(?P<hcl>[A-Za-z_][\w-]*(?:[ \t]+(?:\"[^\"\n]*\"|[\w.-]+))*)[ \t]*\{{", "block"),),
        ends="braces",
        skipped=rf"<<-?(\w+)\n.*?^[ \t]*\1\b|{_SLASHES}|{_HASH}|{_STRING}",
        comments=("#", "//"),
        has_semicolons=False,
    ),
    "protobuf": BlockRules(
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
    "graphql": BlockRules(
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
    "groovy": BlockRules(
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
    "powershell": BlockRules(
        definitions=(
            (rf"{_INDENT}(?:function|filter|workflow|configuration)\s+(?:\w+:)?(?P<name>[\w-]+)", "function"),
            (rf"{_INDENT}(?:Describe|Context|It)\s+(?P<name>\"[^\"\n]+\"|'[^'\n]+')", "test"),
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
    "zsh": BlockRules(
        definitions=(
            (rf"{_INDENT}function[ \t]+(?P<name>[\w:.@+-]+)(?=[ \t]*(?:\(\)|\{{|$))", "function"),
            (rf"{_INDENT}(?P<name>[\w:.@+-]+)[ \t]*\(\)", "function"),
        ),
        ends="braces",
        skipped=rf"\\.|(?<![\w$]){_HASH}|{_STRING}|{_QUOTED}",
        comments=("#",),
        has_semicolons=False,
    ),
    "r": BlockRules(
        definitions=(
            (r"^[ \t]*(?P<name>[\w.]+|[`\"'][^`\"'\n]+[`\"'])\s*<<?-\s*(?:function\b|\\\()", "function"),
            (r"^(?P<name>[\w.]+|[`\"'][^`\"'\n]+[`\"'])\s*=\s*(?:function\b|\\\()", "function"),
            (r"^[ \t]*(?P<name>[\w.]+)\s*(?:<<?-|=)\s*(?:R6::)?(?:R6Class|setRefClass|setClass)\(", "class"),
            (r"^[ \t]*(?:setClass|setRefClass)\(\s*[\"'](?P<name>[\w.]+)", "class"),
            (r"^[ \t]*(?:setGeneric|setMethod|setValidity)\(\s*[\"'](?P<name>[^\"'\n]+)", "method"),
            (r"^[ \t]*(?:describe|it|test_that)\(\s*[\"'](?P<name>[^\"'\n]+)", "test"),
        ),
        ends="braces",
        skipped=rf"{_HASH}|{_STRING}|{_QUOTED}",
        comments=("#",),
        has_semicolons=False,
    ),
    "objc": BlockRules(
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
    "cmake": BlockRules(
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
        words=r"(?im)^[ \t]*(?:(?P<close>end(?:function|macro))|function|macro)\s*\(",
        is_case_sensitive=False,
    ),
}
