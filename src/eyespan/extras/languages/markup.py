"""Outline HTML, XML, Vue and Svelte by their elements, with the definitions in their scripts.

HTML has its titles, the elements with an `id`, and its scripts, styles and templates. XML has the elements of the first
levels, named by their `id`, `name` or `key`. Scripts are outlined as JavaScript or TypeScript, in their own lines.
"""

from __future__ import annotations

import re

from eyespan.errors import Missing
from eyespan.extras.languages import grammars
from eyespan.extras.languages.line_numbers import LineNumbers
from eyespan.outline.model import Definition, Outline, Symbol, build_outline, ended, nested, shortened
from eyespan.outline.source_text import decode_text

MAX_XML_DEPTH = 4
MAX_ELEMENTS = 20_000
NAME_CHARS = 80
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)|<!(?:[^<>\"'\[]|\"[^\"]*\"|'[^']*'|\[[^\]]*\])*>?|"
    r"<(/?)([A-Za-z_][\w:.-]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([\w:.@#-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr", "param")
)
_BLOCKS = frozenset(("script", "style", "template", "head", "body", "main", "form", "table", "nav", "header", "footer"))
_RAW = frozenset(("script", "style", "textarea", "title"))
_HEADING = re.compile(r"h[1-6]", re.IGNORECASE)
_KEYS = ("id", "name", "key", "android:name", "x:Name", "ref", "Include")


def scan(data: bytes, language: str) -> Outline:
    """Return the elements of a file, and the definitions in its scripts if their grammars are installed."""
    text = decode_text(data)
    elements = _Elements(text, language)
    definitions = elements.run()
    is_complete, hint = elements.is_balanced, ""
    for start, end, script in elements.scripts[:8]:
        try:
            inner, is_whole = _script_definitions(text, start, end, script)
        except Missing as missing:
            is_complete, hint = False, missing.install
            break
        definitions += inner
        is_complete = is_complete and is_whole
    return build_outline(nested(definitions), "shape", is_complete=is_complete, hint=hint)


def _script_definitions(text: str, start: int, end: int, language: str) -> tuple[list[Definition], bool]:
    """Return the definitions of a script, in the lines of the whole file. Raises: Missing."""
    before = text.count("\n", 0, start)
    found = grammars.scan(text[start:end].encode("utf-8", "replace"), language)
    return [_definition_of(one, before) for one in found.symbols], found.is_complete


class _Elements:
    """The elements of a text, in one pass over its tags."""

    def __init__(self, text: str, language: str) -> None:
        self._text = text
        self._language = language
        self._numbers = LineNumbers(text)
        self._definitions: list[Definition] = []
        self._open: list[tuple[str, int, int]] = []
        """The tag of each open element, the index of its definition or -1, and its first character."""
        self.scripts: list[tuple[int, int, str]] = []
        """Start, end and language of each script."""
        self.is_balanced = True

    def run(self) -> list[Definition]:
        """Return the definitions in file order."""
        at = 0
        while (tag := _TAG.search(self._text, at)) is not None:
            at = tag.end()
            if tag[2] is None:
                continue
            name = tag[2] if self._language == "xml" else tag[2].lower()
            if tag[1]:
                self._close(name, tag)
                continue
            is_empty = tag[3].endswith("/") or (self._language != "xml" and name in _VOID)
            self._start(name, tag, is_empty)
            if self._language != "xml" and name in _RAW and not is_empty:
                end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self._text, at)
                stop = end.start() if end else len(self._text)
                if name == "script":
                    self.scripts.append((at, stop, _script_language(tag[3])))
                at = stop
        if self._open and self._language == "xml":
            self.is_balanced = False
        return self._definitions

    def _start(self, name: str, tag: re.Match[str], is_empty: bool) -> None:
        line = self._numbers.at(tag.start())
        index = -1
        label = self._label(name, tag)
        if label and len(self._definitions) < MAX_ELEMENTS:
            index = len(self._definitions)
            kind = "heading" if _HEADING.fullmatch(name) else "element"
            self._definitions.append(
                Definition(
                    name=label,
                    kind=kind,
                    line=line,
                    first=line,
                    last=self._numbers.at(tag.end() - 1),
                    signature=shortened(" ".join(tag[0].split()), NAME_CHARS) if kind == "element" else label,
                )
            )
        if not is_empty:
            self._open.append((name, index, tag.end()))

    def _label(self, name: str, tag: re.Match[str]) -> str:
        """Return the name of an element that is a symbol, or ""."""
        attributes = {found[1]: found[2] or found[3] or found[4] or "" for found in _ATTRIBUTE.finditer(tag[3])}
        if self._language == "xml":
            if len(self._open) > MAX_XML_DEPTH:
                return ""
            key = next((attributes[one] for one in _KEYS if attributes.get(one)), "")
            return f"{name} {key}"[:NAME_CHARS] if key else name
        if _HEADING.fullmatch(name):
            end = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self._text, tag.end(), tag.end() + 2000)
            inner = self._text[tag.end() : end.start() if end else tag.end()]
            return shortened(" ".join(re.sub(r"<[^>]*>", "", inner).split()), NAME_CHARS)
        if attributes.get("id"):
            return f"#{attributes['id']}"[:NAME_CHARS]
        is_component = self._language in ("vue", "svelte") and not self._open
        return name if name in _BLOCKS or is_component else ""

    def _close(self, name: str, tag: re.Match[str]) -> None:
        for depth in range(len(self._open) - 1, max(-1, len(self._open) - 40), -1):
            if self._open[depth][0] == name:
                for _, index, _ in self._open[depth:]:
                    if index >= 0:
                        line = self._numbers.at(tag.end() - 1)
                        self._definitions[index] = ended(self._definitions[index], line)
                del self._open[depth:]
                return
        if self._language == "xml":
            self.is_balanced = False


def _script_language(attributes: str) -> str:
    if re.search(r"""lang\s*=\s*["']?tsx""", attributes):
        return "tsx"
    return "typescript" if re.search(r"""lang\s*=\s*["']?(?:ts|typescript)\b""", attributes) else "javascript"


def _definition_of(symbol: Symbol, lines_before: int = 0) -> Definition:
    """Return a symbol as a definition in a text with so many more lines before it."""
    return Definition(
        name=symbol.name,
        kind=symbol.kind,
        line=symbol.line + lines_before,
        first=symbol.first + lines_before,
        last=symbol.last + lines_before,
        signature=symbol.signature,
        doubt=symbol.doubt and symbol.doubt + lines_before,
    )
