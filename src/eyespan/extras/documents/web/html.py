"""Web pages as Markdown: headings, lists, tables, links and code. Scripts and styles are left out."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_whole, unreadable
from eyespan.errors import Missing
from eyespan.extras.documents.shared import markdown_pieces

try:
    from selectolax.lexbor import LexborHTMLParser
except ImportError:  # reported by `convert`
    LexborHTMLParser = None  # type: ignore[assignment,misc]  # there is no such class then


MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 20_000
"""The deepest nesting of elements. The parser's time grows with its square: a second at this depth."""
_SKIPPED = frozenset(
    ("script", "style", "head", "noscript", "template", "svg", "iframe", "object", "select", "button", "-comment")
)
# fmt: off
_BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "div", "dl", "dt",
    "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "html", "li", "main", "nav", "p",
    "section", "summary",
))
# fmt: on
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9-]*)[^<>]*?(/?)>")
# fmt: off
_FLAT = frozenset((
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "optgroup", "option",
    "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
))
# fmt: on
"""Elements that are empty, or that many pages never close because the next of their kind ends them."""
_SPACE = re.compile(r"[ \t\r\n\f]+")

# In the sandbox no codec can be imported, so those that pages and mails use are loaded before.
# fmt: off
CODECS = (
    "utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-7", "ascii", "latin-1", "cp1250", "cp1251", "cp1252", "cp1253",
    "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5", "iso8859-6",
    "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-13", "iso8859-15", "koi8-r", "koi8-u", "cp437", "cp850", "cp852",
    "cp866", "cp874", "mac-roman", "shift_jis", "cp932", "euc_jp", "iso2022_jp", "gb2312", "gbk", "gb18030", "hz",
    "big5", "big5hkscs", "euc_kr", "cp949", "iso2022_kr",
)
# fmt: on
for _name in CODECS:
    codecs.lookup(_name)


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Convert the page to Markdown. Raises: Missing, Unreadable."""
    title, blocks = convert(decode_text(read_whole(file, MAX_BYTES)))
    facts = {"title": title} if title else {}
    return facts, [markdown_pieces.finish(blocks)]


def decode_text(data: bytes, charset: str | None = None) -> str:
    """Decode a page by its BOM, else by `charset`, else by the encoding it declares, else as UTF-8 or cp1252."""
    for bom, name in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(bom):
            return data[len(bom) :].decode(name, "replace")
    match = _CHARSET.search(data[:2048])
    for encoding in (charset, match[1].decode("ascii") if match else None):
        if encoding:
            try:
                if codecs.lookup(encoding).name != "utf-8":
                    return data.decode(encoding, "replace")
            except (LookupError, ValueError):
                continue
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8" if match else "cp1252", "replace")


def convert(html: str) -> tuple[str, list[str]]:
    """Return the title and the blocks of a page. Raises: Missing, Unreadable."""
    if LexborHTMLParser is None:
        raise Missing("", what="reading web pages", install="pip install 'eyespan[docs]'")
    _check_depth(html)
    tree = LexborHTMLParser(html)
    element = tree.css_first("head title")
    title = _SPACE.sub(" ", element.text()).strip() if element is not None else ""
    writer = _Writer()
    if tree.body is not None:
        _walk(tree.body, writer)
    writer.close_block()
    return title, writer.blocks


def _check_depth(html: str) -> None:
    """Refuse a page whose elements are nested so deeply that parsing it would take minutes. Raises: Unreadable."""
    if html.count("<") <= MAX_DEPTH:
        return
    depth = 0
    for tag in _TAG.finditer(html):
        closing, name, empty = tag.groups()
        if empty or name.lower() in _FLAT:
            continue
        depth = max(0, depth - 1) if closing else depth + 1
        if depth > MAX_DEPTH:
            reason = f"its elements are nested more than {MAX_DEPTH} levels deep; read it as text to see its source"
            raise unreadable(reason)


def _walk(root: Any, writer: _Writer) -> None:
    """Visit every node in order, without recursion, because a page may be nested deeply."""
    node, end = root, root.mem_id  # comparing nodes themselves compares their contents, which is slow
    while True:
        entered = writer.enter(node)
        child = node.child if entered else None
        if child is not None:
            node = child
            continue
        while True:
            if entered:
                writer.leave(node)
            if node.mem_id == end:
                return
            following = node.next
            if following is not None:
                node = following
                break
            node, entered = node.parent, True


class _Writer:
    """Collects the text of visited nodes in blocks."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._line: list[str] = []
        self._pre = 0
        self._heading = 0
        self._quotes = 0
        self._lists: list[int] = []
        """The next number of each open list; 0 for a list with bullets."""
        self._item: str | None = None
        self._links: list[tuple[int, str]] = []
        self._tables: list[list[list[str]]] = []
        self._outside: list[tuple[list[str], list[tuple[int, str]]]] = []
        """For each open table, the line and the links around it."""

    def enter(self, node: Any) -> bool:
        """Start a node; return False if its children are left out."""
        tag = node.tag
        if tag == "-text":
            self._put_text(node.text(deep=False))
            return False
        if tag in _SKIPPED:
            return False
        if tag in _HEADINGS:
            self.close_block()
            self._heading = _HEADINGS[tag]
        elif tag == "br":
            self._line.append("\n")
        elif tag == "hr":
            self.close_block()
            self._put("---")
        elif tag == "pre":
            self.close_block()
            self._pre += 1
        elif tag == "code" and not self._pre:
            self._line.append("`")
        elif tag == "a":
            self._links.append((len(self._line), node.attributes.get("href") or ""))
        elif tag == "img":
            self._add_image(node.attributes)
        elif tag in ("ul", "ol"):
            self.close_block()
            start = str(node.attributes.get("start") or "1")
            self._lists.append((int(start) if start.isdecimal() else 1) if tag == "ol" else 0)
        elif tag == "li":
            self.close_block()
            self._item = "-"
            if self._lists and self._lists[-1]:
                self._item = f"{self._lists[-1]}."
                self._lists[-1] += 1
        elif tag == "table":
            self.close_block()
            self._tables.append([])
            self._outside.append((self._line, self._links))
            self._line, self._links = [], []
        elif tag == "tr" and self._tables:
            self._tables[-1].append([])
        elif tag in ("td", "th") and self._in_row():
            self._line, self._links = [], []
        elif tag in _BLOCKS:
            self.close_block()
            self._quotes += tag == "blockquote"
        return True

    def leave(self, node: Any) -> None:
        """End a node, after its children."""
        tag = node.tag
        if tag == "a" and self._links:
            at, target = self._links.pop()
            text = "".join(self._line[at:])
            if text.strip() and target and not target.lower().startswith(("javascript:", "#", "data:")):
                self._line[at:] = [f"[{text.strip()}]({target})"]
        elif tag == "code" and not self._pre:
            self._line.append("`")
        elif tag == "pre":
            text = "".join(self._line).strip("\n")
            self._line, self._pre = [], self._pre - 1
            if text.strip() and not self._tables:
                self._put(f"```\n{text}\n```")
            elif text.strip():
                self._line += [text, "\n"]
        elif tag in ("td", "th") and self._in_row():
            self._tables[-1][-1].append("".join(self._line))
            self._line, self._links = [], []
        elif tag == "caption" and self._tables:  # shown before its table
            if text := "".join(self._line).strip():
                self._outside[-1][0].extend((text, "\n"))
            self._line, self._links = [], []
        elif tag == "table":
            rows = [row for row in self._tables.pop() if any(cell.strip() for cell in row)]
            self._line, self._links = self._outside.pop()
            if self._tables:  # a table in a cell: its text, a line for each row
                self._line += [" ".join(filter(None, map(str.strip, row))) + "\n" for row in rows]
            else:
                self.close_block()
                self._put(markdown_pieces.table(rows))
        elif tag in ("ul", "ol"):
            self.close_block()
            self._lists.pop()
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.close_block()
            self._quotes -= tag == "blockquote"
            if tag == "li":
                self._item = None

    def _put_text(self, text: str) -> None:
        if self._pre:
            self._line.append(text)
            return
        text = _SPACE.sub(" ", text)
        if text.startswith(" ") and (not self._line or self._line[-1].endswith((" ", "\n"))):
            text = text[1:]
        if text:
            self._line.append(text)

    def _in_row(self) -> bool:
        """Return True if there is a row for a cell; formulas have cells without rows."""
        return bool(self._tables and self._tables[-1])

    def _add_image(self, attributes: Mapping[str, str | None]) -> None:
        alt, source = _SPACE.sub(" ", attributes.get("alt") or "").strip(), attributes.get("src") or ""
        if source.startswith("data:") or len(source) > 500:
            source = ""
        if alt or source:
            self._line.append(f"![{alt}]({source})" if source else f"![{alt}]")

    def close_block(self) -> None:
        """Turn the collected text into a block, or into a line of a cell."""
        if self._tables:
            if self._line and not self._line[-1].endswith("\n"):
                self._line.append("\n")
            return
        text = "\n".join([line.strip() for line in "".join(self._line).split("\n")]).strip()
        self._line, self._links = [], []
        heading, self._heading = self._heading, 0
        if not text:
            return
        if heading:
            self._put("#" * heading + " " + text.replace("\n", " "))
        elif self._lists:
            depth = min(len(self._lists), 20) - 1
            label, self._item = self._item, None
            # A second paragraph of an item has no label and is indented like the first.
            self._put(
                markdown_pieces.ListItem(
                    markdown_pieces.indented(text, label, depth) if label else "  " * (depth + 1) + text
                )
            )
        else:
            self._put(text)

    def _put(self, block: str) -> None:
        if self._quotes > 0:
            prefix = "> " * min(self._quotes, 20)
            quoted = "\n".join([prefix + line for line in block.split("\n")])
            block = markdown_pieces.ListItem(quoted) if isinstance(block, markdown_pieces.ListItem) else quoted
        self.blocks.append(block)
