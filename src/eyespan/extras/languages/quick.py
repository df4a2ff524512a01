"""Find the names that a file defines and the names that it uses, by a quick look at its first bytes.

For maps of many files: lines that begin with a keyword of a definition, or that look like a function of C, Java or
JavaScript, at the margin or one level below it. Nothing is parsed, so this may run outside of the worker: two searches
over a bounded number of bytes, in time proportional to them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_BYTES = 64 * 1024
"""The first bytes of a file that are searched."""
MAX_NAMES = 200
"""The names of one file; generated files define thousands."""
MAX_NAME_BYTES = 200
"""Longer names are left out."""
_INDENT = rb"(?P<indent>[ \t]{0,4})"
_MODIFIERS = (
    rb"(?:(?:export|default|declare|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z ]+\))?|"
    rb"open|data|sealed|unsafe|const|inline|override|suspend|virtual|extern|partial|readonly|annotation|case|implicit|local|"
    rb"mutating|fileprivate|indirect|base|mutable)[ \t]+){0,5}"
)
_KEYWORDS = (
    rb"(?:class|interface|struct|enum(?:[ \t]+class)?|union|trait|type|func|fn|fun|function|def|module|mod|object|"
    rb"protocol|extension|record|sub|proc|message|service|rpc|actor|mixin|macro_rules!|typealias|template|macro|iterator)"
)
_NAME = rb"(?P<name>[A-Za-z_$][\w$]*(?:[.:]+[A-Za-z_]\w*)*(?:[?!](?!\.))?)"
_BY_KEYWORD = (
    rb"^" + _INDENT + _MODIFIERS + _KEYWORDS + rb"[ \t]+(?P<receiver>\([^)\n]{0,80}\)[ \t]*)?(?:self\.)?" + _NAME
)
_PYTHON = rb"^" + _INDENT + rb"(?:async[ \t]+def|def|class)[ \t]+(?P<name>[^\W\d]\w*)"
_C = (
    rb"^(?:(?:class|struct|enum|union|namespace)[ \t]+(?:[A-Z_]+[ \t]+)?(?P<type>[A-Za-z_]\w*)[^;\n*()=]*$|"
    rb"(?!return\b|else\b|if\b|for\b|while\b|switch\b|typedef\b|using\b|#)[A-Za-z_][\w \t*&:<>,]*?[ \t*&]"
    rb"(?P<name>[A-Za-z_~][\w:~]*)[ \t]*\([^;\n]*$|#[ \t]*define[ \t]+(?P<macro>\w+)\()"
)
_SCRIPT = (
    rb"^" + _INDENT + rb"(?:(?:export|default|declare|async|abstract)[ \t]+){0,4}"
    rb"(?:(?:class|interface|enum|namespace|function\*?|type)[ \t]+(?P<name>[A-Za-z_$][\w$]*)(?![\w$,]|[ \t]*,)|"
    rb"(?:[\w$]+\.)+(?P<macro>[A-Za-z_$][\w$]*)[ \t]*=[ \t]*(?:async[ \t]*)?function\b|"
    rb"(?:const|let|var)[ \t]+(?P<type>[A-Za-z_$][\w$]*)[ \t]*(?::[^=\n]+)?=[ \t]*(?:async[ \t]*)?"
    rb"(?:\(|function|\w+[ \t]*=>|class))"
)
_JAVA = (
    rb"^" + _INDENT + _MODIFIERS + rb"(?:(?:class|interface|enum|record|@interface|struct|namespace|object)[ \t]+"
    rb"(?P<name>[A-Za-z_][\w.]*)|(?!(?:return|throw|new|else|await|yield|assert|case)\b)[A-Za-z_][\w.<>\[\], ?]*[ \t]+"
    rb"(?!(?:if|for|foreach|while|switch|catch|using|lock|when|await|async)\b)(?P<type>[a-zA-Z_]\w*)[ \t]*\([^;\n=]*$)"
)
_TITLES = rb"^(?:#{1,3}[ \t]+(?P<name>\S[^\n]{0,60}))"
_PATTERNS = {
    **dict.fromkeys(("python", "starlark"), _PYTHON),
    **dict.fromkeys(("c", "cpp", "objc"), _C),
    **dict.fromkeys(("javascript", "typescript", "tsx", "vue", "svelte"), _SCRIPT),
    **dict.fromkeys(("java", "groovy", "dart"), _JAVA),
    "csharp": _JAVA.replace(b"{0,4}", b"{0,8}"),
    "markdown": _TITLES,
    "make": rb"^(?P<name>[A-Za-z_][\w.-]*)[ \t]*:(?![:=])",
    "hcl": rb"^(?:resource|module|data|variable|output)[ \t]+(?:\"[^\"\n]*\"[ \t]+)?\"(?P<name>[^\"\n]+)\"",
    "elixir": rb"^[ \t]{0,4}(?:defmodule|defp?|defmacro)[ \t]+(?P<name>[\w.?!]+)",
    "ocaml": rb"^(?:let(?:[ \t]+rec)?|and|type|module|val|external|class)[ \t]+(?P<name>[A-Za-z_][\w']*)",
    "zig": rb"^[ \t]{0,4}(?:(?:pub|export|inline|extern)[ \t]+){0,3}(?:fn[ \t]+(?P<name>\w+)|const[ \t]+"
    rb"(?P<type>\w+)[ \t]*=[ \t]*(?:(?:packed|extern)[ \t]+)?(?:struct|enum|union|opaque|error)\b)",
    "haskell": rb"^(?:(?:data|newtype|class|type)[ \t]+(?P<name>[A-Z]\w*)|(?P<type>[a-z_][\w']*)[ \t]*::)",
    **dict.fromkeys(("bash", "zsh"), rb"^(?:function[ \t]+)?(?P<name>[\w:.-]+)[ \t]*\(\)"),
    "sql": rb"(?i)^create[ \t]+(?:or[ \t]+replace[ \t]+)?(?:table|view|function|procedure|index)[ \t]+(?P<name>[\w.]+)",
    "cmake": rb"(?i)^[ \t]*(?:function|macro|add_executable|add_library)[ \t]*\([ \t]*(?P<name>[\w.-]+)",
    "r": rb"^(?P<name>[\w.]+)[ \t]*(?:<-|=)[ \t]*function",
}
NO_NAMES = frozenset(("json", "yaml", "toml", "ini", "xml", "html", "css", "rst", "asciidoc", "tex", "dockerfile"))
"""Languages whose names nothing refers to."""
_compiled: dict[str, re.Pattern[bytes]] = {}
_WORDS = bytes([byte if chr(byte).isalnum() or byte == 0x5F else 0x20 for byte in range(128)]) + bytes(range(128, 256))
MIN_WORD_BYTES = 4
MAX_WORD_BYTES = 60


def defined_names(data: bytes, language: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the names that a file defines: name, line, and True at the margin."""
    if language in NO_NAMES or not language:
        return
    pattern = _compiled.get(language)
    if pattern is None:
        pattern = _compiled[language] = re.compile(_PATTERNS.get(language, _BY_KEYWORD), re.MULTILINE)
    line, at = 1, 0
    count = 0
    for found in pattern.finditer(data):
        groups = found.groupdict()
        name = groups["name"] or groups.get("type") or groups.get("macro")
        if not name or len(name) > MAX_NAME_BYTES:
            continue
        line += data.count(b"\n", at, found.start())
        at = found.start()
        yield name.decode("utf-8", "replace"), line, not groups.get("indent") and not groups.get("receiver")
        count += 1
        if count >= MAX_NAMES:
            return


def used_words(data: bytes) -> list[bytes]:
    """Return the words of a file that are likely names: with a capital letter or an underscore in them."""
    words = set(data.translate(_WORDS).split())
    return [
        word for word in words if (not word.islower() or b"_" in word) and MIN_WORD_BYTES <= len(word) <= MAX_WORD_BYTES
    ]
