"""Jupyter notebooks: every cell with its outputs in order, as a person would see them.

A cell is `<cell id="ID">source</cell id="ID">`, its outputs follow: text as text, pictures as pictures at their place.
nbformat 4 and its forerunners with worksheets; `source` and texts may be strings or lists of strings. Size, depth and
the number of values are measured on the bytes before anything is parsed, so a notebook costs no more than a fixed
amount of memory. Whatever stands in the file, what leaves is valid UTF-8, and pictures that were looked at like any
other picture.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

from eyespan import kinds
from eyespan.errors import Cancelled, ReadError, TimedOut, Unreadable, WindowTooLarge
from eyespan.model import MIB, ImagePart, NotePart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eyespan.context import CallContext
    from eyespan.model import Document, Part, Selection
    from eyespan.opened import Opened
    from eyespan.source import Source

MAX_BYTES = 32 * MIB
MAX_DEPTH = 100
"""A notebook needs about ten levels; its metadata rarely double that."""
MAX_VALUES = 2_000_000
"""An empty list takes 2 bytes in the file and 64 in memory: bytes alone are no bound."""
MAX_OUTPUT_CHARS = 10_000
"""Of one output."""
MAX_OUTPUTS_CHARS = 100_000
"""Of all outputs in one answer; about 25,000 tokens."""
MAX_PICTURES = 20
MAX_PICTURES_BYTES = 15 * MIB

PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
TEXTS = ("text/plain", "text/markdown", "text/latex", "text/html", "application/json", "image/svg+xml")
"""The forms of an output that are text, from the one that reads best to the one that reads worst."""
OLD_FORMS = {
    "text": "text/plain",
    "html": "text/html",
    "latex": "text/latex",
    "svg": "image/svg+xml",
    "json": "application/json",
    "png": "image/png",
    "jpeg": "image/jpeg",
}
"""What the keys of an output meant before nbformat 4."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """The cells of a notebook; `options["cells"]` = (first, last), from 1 and both included, picks some of them.

    Raises: Unreadable, if it is no notebook or too large for one; WindowTooLarge, if the cells hold too much source.
    """
    tree = parse(_bytes(opened.source, context))
    notebook = Notebook(tree, opened.source.asked)
    options = opened.request.options.notebook
    show = _Show(notebook, opened, context)
    parts = tuple(show.cells(options.first, sys.maxsize if options.last is None else options.last))
    facts = {
        "total_cells": len(notebook.cells),
        "cells_returned": show.shown,
        "language": notebook.language,
        "truncated": show.truncated or show.shown < len(notebook.cells),
    }
    return opened.document(parts, facts)


def _bytes(source: Source, context: CallContext) -> bytes:
    if source.size_bytes > MAX_BYTES:
        raise _too_large(source.size_bytes)
    data = bytearray()
    while block := source.read_at(len(data), MIB):
        data += block
        if len(data) > MAX_BYTES:
            raise _too_large(len(data))
        context.advance(len(data), source.size_bytes)
    return bytes(data)


def _too_large(size: int) -> Unreadable:
    reason = f"it has {size} bytes, the limit for notebooks is {MAX_BYTES}; clear its outputs, or look into it with jq"
    return unreadable(reason)


def unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind="notebook", reason=reason)


# --- JSON that may be hostile -----------------------------------------------------------------------------------------

# A string that is never closed is one string to the end, so no input makes the search start over and over.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def parse(data: bytes) -> Any:
    """The value that a JSON text stands for, once its bytes have shown that it is neither deep nor a bomb.

    Raises: Unreadable.
    """
    bare = _STRING.sub(b"", data)
    brackets = bare.translate(None, _NOT_BRACKETS)
    if bare.count(b",") + len(brackets) // 2 > MAX_VALUES:
        raise unreadable(f"it holds more than {MAX_VALUES} values")
    depth = 0
    for bracket in brackets:
        if bracket in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise unreadable(f"its JSON is nested more than {MAX_DEPTH} levels deep")
        else:
            depth -= 1
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise unreadable("it is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise unreadable(f"it is not valid JSON ({error.msg}, line {error.lineno} column {error.colno})") from None
    except (ValueError, RecursionError):  # a number with thousands of digits
        raise unreadable("it is not valid JSON") from None


class Notebook:
    """What is asked of a notebook, whatever its version: its cells, where each lies in the JSON, its language."""

    def __init__(self, tree: Any, asked: str) -> None:
        self.asked = asked
        self.cells: list[tuple[str, Any]] = []
        """Each with the jq path to it."""
        cells = tree.get("cells") if isinstance(tree, dict) else None
        sheets = tree.get("worksheets") if isinstance(tree, dict) else None
        if isinstance(cells, list):
            self.cells = [(f".cells[{i}]", cell) for i, cell in enumerate(cells)]
        elif isinstance(sheets, list):
            for i, sheet in enumerate(sheets):
                of_sheet = sheet.get("cells") if isinstance(sheet, dict) else None
                if isinstance(of_sheet, list):
                    self.cells += [(f".worksheets[{i}].cells[{j}]", cell) for j, cell in enumerate(of_sheet)]
        else:
            raise unreadable("it is JSON, but holds no list of cells")
        metadata = _dict(tree.get("metadata"))
        info, kernel = _dict(metadata.get("language_info")), _dict(metadata.get("kernelspec"))
        self.language = _word(info.get("name")) or _word(kernel.get("language")) or "python"

    def look(self, where: str) -> str:
        """The command that shows what was left out."""
        return f"jq -r {shlex.quote(where)} {shlex.quote(self.asked)}"


# --- cells as parts ---------------------------------------------------------------------------------------------------

_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WORD = re.compile(r"[\w+#. -]{1,40}")
# CSI, OSC (ended by BEL or ST, or cut off), and the escapes of two or three characters.
_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_SURROGATES = re.compile("[\ud800-\udfff]")


class _Show:
    """One pass over the cells asked for, within the limits of one answer."""

    def __init__(self, notebook: Notebook, opened: Opened, context: CallContext) -> None:
        self.shown = 0
        self.truncated = False
        self._notebook = notebook
        self._opened = opened
        self._context = context
        self._source_left = opened.request.limits.max_window_bytes
        self._chars_left = MAX_OUTPUTS_CHARS
        self._pictures_left = MAX_PICTURES
        self._picture_bytes_left = MAX_PICTURES_BYTES

    def cells(self, first: int, last: int) -> Iterator[Part]:
        for index, (where, cell) in enumerate(self._notebook.cells):
            if first <= index + 1 <= last:
                self.shown += 1
                self._context.advance(self.shown, len(self._notebook.cells))
                yield from self._cell(index, where, cell)

    def _cell(self, index: int, where: str, cell: Any) -> Iterator[Part]:
        if not isinstance(cell, dict):
            yield NotePart(f"[cell {index + 1} is damaged: it is no object]")
            return
        kind = _word(cell.get("cell_type")) or "code"
        name = cell.get("id")
        name = name if isinstance(name, str) and _CELL_ID.fullmatch(name) else f"cell-{index}"
        source = clean(joined(cell.get("source", cell.get("input"))))
        if kind == "heading" and isinstance(cell.get("level"), int):  # before nbformat 4
            source = "#" * max(1, min(6, cell["level"])) + " " + source
        self._source_left -= 4 * len(source)
        if self._source_left < 0:
            raise WindowTooLarge("", limit_bytes=self._opened.request.limits.max_window_bytes)
        mark = f"<cell_type>{kind}</cell_type>" if kind != "code" else self._language(cell)
        yield NotePart(f'<cell id="{name}">{mark}{source}</cell id="{name}">')
        attachments = _dict(cell.get("attachments"))
        for title, forms in attachments.items():
            yield from self._pictures(_dict(forms), f"{where}.attachments[{json.dumps(clean(title))}]")
        outputs = cell.get("outputs")
        for i, output in enumerate(outputs if isinstance(outputs, list) else ()):
            yield from self._output(_dict(output), f"{where}.outputs[{i}]")

    def _language(self, cell: Mapping[str, Any]) -> str:
        editor = _dict(_dict(cell.get("metadata")).get("vscode"))
        language = _word(editor.get("languageId")) or _word(cell.get("language")) or self._notebook.language
        return "" if language.lower() in ("python", "ipython", "python3") else f"<language>{language}</language>"

    # --- outputs ---

    def _output(self, output: Mapping[str, Any], where: str) -> Iterator[Part]:
        kind = output.get("output_type")
        if kind == "stream":
            yield from self._text(joined(output.get("text")), f"{where}.text")
        elif kind in ("error", "pyerr"):
            name, value = joined(output.get("ename")), joined(output.get("evalue"))
            trace = output.get("traceback")
            lines = [joined(line) for line in trace] if isinstance(trace, list) else [joined(trace)]
            yield from self._text("\n".join([f"{name}: {value}", *filter(None, lines)]), f"{where}.traceback")
        else:
            data = output.get("data")
            if isinstance(data, dict):
                yield from self._forms(data, f"{where}.data")
            else:
                yield from self._forms({OLD_FORMS[k]: v for k, v in output.items() if k in OLD_FORMS}, where)

    def _forms(self, forms: Mapping[str, Any], where: str) -> Iterator[Part]:
        """One output in its several forms: the plain text and the pictures, or else the best text there is."""
        pictures = [name for name in PICTURES if name in forms]
        best = next((name for name in TEXTS if name in forms), None)
        if best == "text/plain" or (best is not None and not pictures):
            value = forms[best]
            text = joined(value) if isinstance(value, (str, list)) else json.dumps(value, ensure_ascii=False)
            yield from self._text(text, _form(where, best))
        yield from self._pictures(forms, where)
        if best is None and not pictures and forms:
            names = ", ".join(clean(str(name))[:100] for name in list(forms)[:5])
            yield NotePart(f"[output not shown: {names}; see: {self._notebook.look(where)}]")

    def _text(self, text: str, where: str) -> Iterator[Part]:
        text = clean(_ESCAPES.sub("", text)).removesuffix("\n")
        if not text:
            return
        most = min(MAX_OUTPUT_CHARS, self._chars_left)
        if len(text) <= most:
            self._chars_left -= len(text)
            yield NotePart(text)
            return
        self.truncated = True
        look = self._notebook.look(where)
        if most < min(MAX_OUTPUT_CHARS, len(text)) and most < 200:
            yield NotePart(f"[output of {len(text)} characters left out; see: {look}]")
            return
        self._chars_left -= most
        yield NotePart(f"{text[:most]}\n[output cut: {most} of {len(text)} characters shown; see the rest: {look}]")

    # --- pictures ---

    def _pictures(self, forms: Mapping[str, Any], where: str) -> Iterator[Part]:
        for name in PICTURES:
            if name in forms:
                yield from self._picture(joined(forms[name]), _form(where, name))

    def _picture(self, encoded: str, where: str) -> Iterator[Part]:
        """The picture, or the reason why there is none: a bad one must not spoil the answer, let alone the session."""
        size = len(encoded) * 3 // 4
        if self._pictures_left <= 0 or size > self._picture_bytes_left:
            self.truncated = True
            yield NotePart(f"[picture of {size} bytes left out; see: {self._notebook.look(where)}]")
            return
        try:
            data = base64.b64decode(re.sub(r"\s+", "", encoded), validate=True)
        except (binascii.Error, ValueError):
            yield NotePart("[picture left out: its base64 is damaged]")
            return
        if kinds.api_image_type(data) is None:
            yield NotePart("[picture left out: its data is no PNG, JPEG, GIF or WebP picture]")
            return
        try:
            parts = self._decoded_image(data)
        except Cancelled:
            raise
        except ReadError as error:
            self._context.check()  # raises if the deadline of the whole call has passed
            if isinstance(error, TimedOut):
                self._pictures_left = 0  # one that took all its time is one too many
            yield NotePart(f"[picture left out: {error}]")
            return
        for part in parts:
            if isinstance(part, ImagePart):
                self._pictures_left -= 1
                self._picture_bytes_left -= len(part.data)
        yield from parts

    def _decoded_image(self, data: bytes) -> tuple[Part, ...]:
        """Return an image of the notebook, treated like an image file. Raises: ReadError."""
        from eyespan.readers import image

        opened, context = self._opened, self._context
        parts, _ = image.read_parts(
            data,
            self._notebook.asked,
            opened.request.options.image,
            lambda params: opened.decode_bytes("image", data, params, context),
        )
        return parts


# --- values that may be anything --------------------------------------------------------------------------------------


def joined(value: Any) -> str:
    """A text that may be stored as a list of its pieces; anything else is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join([piece for piece in value if isinstance(piece, str)])
    return ""


def clean(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can spell and UTF-8 cannot."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _form(where: str, name: str) -> str:
    """Where one form of an output lies; before nbformat 4 the forms had other names, so the output has to do."""
    return where if re.search(r"\.outputs\[\d+\]$", where) else f"{where}[{json.dumps(name)}]"


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _word(value: Any) -> str:
    """A name of a language or a cell type; "" if it is none."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
