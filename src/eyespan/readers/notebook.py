"""Read Jupyter notebooks: every cell with its outputs in order, as a person would see them.

A cell is `<cell id="ID">source</cell id="ID">`, followed by its outputs: text as text, images as images in their place.
Reads nbformat 4 and its predecessors with worksheets; sources and texts may be strings or lists of strings. Size, depth
and the number of values are measured on the bytes before they are parsed, which bounds the memory. For any file the
result is valid UTF-8, and images are decoded and checked like image files.
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
"""A notebook has about ten levels, with its metadata rarely twice as many."""
MAX_VALUES = 2_000_000
"""The size alone does not bound the memory: an empty list takes 2 bytes in the file and 64 in memory."""
MAX_OUTPUT_CHARS = 10_000
"""The limit for one output."""
MAX_OUTPUTS_CHARS = 100_000
"""The limit for all outputs in one answer; about 25,000 tokens."""
MAX_IMAGES = 20
MAX_IMAGES_BYTES = 15 * MIB

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
TEXT_TYPES = ("text/plain", "text/markdown", "text/latex", "text/html", "application/json", "image/svg+xml")
"""The media types of text, the most readable first."""
OLD_TYPES = {
    "text": "text/plain",
    "html": "text/html",
    "latex": "text/latex",
    "svg": "image/svg+xml",
    "json": "application/json",
    "png": "image/png",
    "jpeg": "image/jpeg",
}
"""The media types of the keys that outputs had before nbformat 4."""


def read(opened: Opened, selection: Selection, context: CallContext) -> Document:
    """Return the selected cells of a notebook.

    Facts: `total_cells`, `cells_returned`, `language`, `truncated`.

    Raises: Unreadable, if it is not a notebook or too large; WindowTooLarge, if the source of the cells is too large.
    """
    notebook = Notebook(parse_json(read_all(opened.source, context)), opened.source.asked)
    options = opened.request.options.notebook
    cells = _CellReader(notebook, opened, context)
    parts = tuple(cells.read(options.first, sys.maxsize if options.last is None else options.last))
    facts = {
        "total_cells": len(notebook.cells),
        "cells_returned": cells.count,
        "language": notebook.language,
        "truncated": cells.is_truncated or cells.count < len(notebook.cells),
    }
    return opened.document(parts, facts)


def read_all(source: Source, context: CallContext) -> bytes:
    """Return all bytes of a source. Raises: Unreadable, if they exceed `MAX_BYTES`."""
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
    advice = "clear its outputs, or inspect it with jq"
    return _unreadable(f"{size} bytes exceed the limit of {MAX_BYTES} for notebooks; {advice}")


def _unreadable(reason: str) -> Unreadable:
    return Unreadable("", kind="notebook", reason=reason)


# --- JSON -------------------------------------------------------------------------------------------------------------

# An unclosed string reaches to the end, so that no input makes the search start over at every quote.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text, after its depth and number of values have been checked on its bytes.

    Raises: Unreadable.
    """
    bare = _STRING.sub(b"", data)
    brackets = bare.translate(None, _NOT_BRACKETS)
    if bare.count(b",") + len(brackets) // 2 > MAX_VALUES:
        raise _unreadable(f"more than {MAX_VALUES} values")
    depth = 0
    for bracket in brackets:
        if bracket in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise _unreadable(f"JSON nested more than {MAX_DEPTH} levels deep")
        else:
            depth -= 1
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _unreadable("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise _unreadable(f"invalid JSON ({error.msg}, line {error.lineno} column {error.colno})") from None
    except (ValueError, RecursionError):  # a number with thousands of digits
        raise _unreadable("invalid JSON") from None


class Notebook:
    """A notebook of any version: its cells, the place of each in the JSON, and its language."""

    def __init__(self, tree: Any, asked: str) -> None:
        self.asked = asked
        self.cells: list[tuple[str, Any]] = []
        """The jq path of each cell, and the cell."""
        cells = tree.get("cells") if isinstance(tree, dict) else None
        sheets = tree.get("worksheets") if isinstance(tree, dict) else None
        if isinstance(cells, list):
            self.cells = [(f".cells[{i}]", cell) for i, cell in enumerate(cells)]
        elif isinstance(sheets, list):
            for i, sheet in enumerate(sheets):
                cells = sheet.get("cells") if isinstance(sheet, dict) else None
                if isinstance(cells, list):
                    self.cells += [(f".worksheets[{i}].cells[{j}]", cell) for j, cell in enumerate(cells)]
        else:
            raise _unreadable("JSON without a list of cells")
        metadata = _as_dict(tree.get("metadata"))
        info, kernel = _as_dict(metadata.get("language_info")), _as_dict(metadata.get("kernelspec"))
        self.language = _as_word(info.get("name")) or _as_word(kernel.get("language")) or "python"

    def command(self, path: str) -> str:
        """Return the command that prints the value at a jq path, for what is left out."""
        return f"jq -r {shlex.quote(path)} {shlex.quote(self.asked)}"


# --- cells ------------------------------------------------------------------------------------------------------------

_CELL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WORD = re.compile(r"[\w+#. -]{1,40}")
# CSI, OSC (ended by BEL or ST, or cut off), and the escapes of two or three characters.
_ESCAPES = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?")
_SURROGATES = re.compile("[\ud800-\udfff]")


class _CellReader:
    """One pass over the selected cells, within the limits of one answer."""

    def __init__(self, notebook: Notebook, opened: Opened, context: CallContext) -> None:
        self.count = 0
        """The number of cells read."""
        self.is_truncated = False
        self._notebook = notebook
        self._opened = opened
        self._context = context
        self._source_bytes_left = opened.request.limits.max_window_bytes
        self._chars_left = MAX_OUTPUTS_CHARS
        self._images_left = MAX_IMAGES
        self._image_bytes_left = MAX_IMAGES_BYTES

    def read(self, first: int, last: int) -> Iterator[Part]:
        """Yield the parts of cells `first` to `last`."""
        for index, (path, cell) in enumerate(self._notebook.cells):
            if first <= index + 1 <= last:
                self.count += 1
                self._context.advance(self.count, len(self._notebook.cells))
                yield from self._cell(index, path, cell)

    def _cell(self, index: int, path: str, cell: Any) -> Iterator[Part]:
        if not isinstance(cell, dict):
            yield NotePart(f"[cell {index + 1} is damaged: not an object]")
            return
        kind = _as_word(cell.get("cell_type")) or "code"
        name = cell.get("id")
        name = name if isinstance(name, str) and _CELL_ID.fullmatch(name) else f"cell-{index}"
        source = without_surrogates(joined(cell.get("source", cell.get("input"))))
        if kind == "heading" and isinstance(cell.get("level"), int):  # before nbformat 4
            source = "#" * max(1, min(6, cell["level"])) + " " + source
        self._source_bytes_left -= 4 * len(source)
        if self._source_bytes_left < 0:
            raise WindowTooLarge("", limit_bytes=self._opened.request.limits.max_window_bytes)
        tag = f"<cell_type>{kind}</cell_type>" if kind != "code" else self._language_tag(cell)
        yield NotePart(f'<cell id="{name}">{tag}{source}</cell id="{name}">')
        for title, forms in _as_dict(cell.get("attachments")).items():
            yield from self._images(_as_dict(forms), f"{path}.attachments[{json.dumps(without_surrogates(title))}]")
        outputs = cell.get("outputs")
        for i, output in enumerate(outputs if isinstance(outputs, list) else ()):
            yield from self._output(_as_dict(output), f"{path}.outputs[{i}]")

    def _language_tag(self, cell: Mapping[str, Any]) -> str:
        editor = _as_dict(_as_dict(cell.get("metadata")).get("vscode"))
        language = _as_word(editor.get("languageId")) or _as_word(cell.get("language")) or self._notebook.language
        return "" if language.lower() in ("python", "ipython", "python3") else f"<language>{language}</language>"

    # --- outputs ---

    def _output(self, output: Mapping[str, Any], path: str) -> Iterator[Part]:
        kind = output.get("output_type")
        if kind == "stream":
            yield from self._text(joined(output.get("text")), f"{path}.text")
        elif kind in ("error", "pyerr"):
            name, value = joined(output.get("ename")), joined(output.get("evalue"))
            trace = output.get("traceback")
            lines = [joined(line) for line in trace] if isinstance(trace, list) else [joined(trace)]
            yield from self._text("\n".join([f"{name}: {value}", *filter(None, lines)]), f"{path}.traceback")
        else:
            data = output.get("data")
            if isinstance(data, dict):
                yield from self._forms(data, f"{path}.data")
            else:
                yield from self._forms({OLD_TYPES[k]: v for k, v in output.items() if k in OLD_TYPES}, path)

    def _forms(self, forms: Mapping[str, Any], path: str) -> Iterator[Part]:
        """Yield one output of several media types: the plain text and the images, or else the most readable text."""
        has_images = any(name in forms for name in IMAGE_TYPES)
        best = next((name for name in TEXT_TYPES if name in forms), None)
        if best == "text/plain" or (best is not None and not has_images):
            value = forms[best]
            text = joined(value) if isinstance(value, (str, list)) else json.dumps(value, ensure_ascii=False)
            yield from self._text(text, _form_path(path, best))
        yield from self._images(forms, path)
        if best is None and not has_images and forms:
            names = ", ".join(without_surrogates(str(name))[:100] for name in list(forms)[:5])
            yield NotePart(f"[output not shown: {names}; see: {self._notebook.command(path)}]")

    def _text(self, text: str, path: str) -> Iterator[Part]:
        text = without_surrogates(_ESCAPES.sub("", text)).removesuffix("\n")
        if not text:
            return
        most = min(MAX_OUTPUT_CHARS, self._chars_left)
        if len(text) <= most:
            self._chars_left -= len(text)
            yield NotePart(text)
            return
        self.is_truncated = True
        command = self._notebook.command(path)
        if most < min(MAX_OUTPUT_CHARS, len(text)) and most < 200:
            yield NotePart(f"[output of {len(text)} characters left out; see: {command}]")
            return
        self._chars_left -= most
        yield NotePart(f"{text[:most]}\n[output cut: {most} of {len(text)} characters shown; see the rest: {command}]")

    # --- images ---

    def _images(self, forms: Mapping[str, Any], path: str) -> Iterator[Part]:
        for name in IMAGE_TYPES:
            if name in forms:
                yield from self._image(joined(forms[name]), _form_path(path, name))

    def _image(self, encoded: str, path: str) -> Iterator[Part]:
        """Yield an image, or a note if there is none: an invalid image would make the whole conversation fail."""
        size = len(encoded) * 3 // 4
        if self._images_left <= 0 or size > self._image_bytes_left:
            self.is_truncated = True
            yield NotePart(f"[image of {size} bytes left out; see: {self._notebook.command(path)}]")
            return
        try:
            data = base64.b64decode(re.sub(r"\s+", "", encoded), validate=True)
        except (binascii.Error, ValueError):
            yield NotePart("[image left out: invalid base64]")
            return
        if kinds.api_image_type(data) is None:
            yield NotePart("[image left out: not a PNG, JPEG, GIF or WebP image]")
            return
        try:
            parts = self._decoded_image(data)
        except Cancelled:
            raise
        except ReadError as error:
            self._context.check()  # raises if the deadline of the whole call has passed
            if isinstance(error, TimedOut):
                self._images_left = 0  # the next one may take as long
            yield NotePart(f"[image left out: {error}]")
            return
        for part in parts:
            if isinstance(part, ImagePart):
                self._images_left -= 1
                self._image_bytes_left -= len(part.data)
        yield from parts

    def _decoded_image(self, data: bytes) -> tuple[Part, ...]:
        """Return an image of the notebook, treated like an image file. Raises: ReadError."""
        from eyespan.readers import image

        opened, context = self._opened, self._context
        parts, _ = image.read_parts(
            first_bytes=data,
            asked=self._notebook.asked,
            options=opened.request.options.image,
            decode=lambda params: opened.decode_bytes("image", data, params, context),
        )
        return parts


# --- values of any type -----------------------------------------------------------------------------------------------


def joined(value: Any) -> str:
    """Return a text that may be stored as a list of pieces; "" for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join([piece for piece in value if isinstance(piece, str)])
    return ""


def without_surrogates(text: str) -> str:
    """Return the text with U+FFFD for halves of surrogate pairs, which JSON can spell and UTF-8 cannot."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def _form_path(path: str, name: str) -> str:
    """Return the jq path of one media type of an output. Before nbformat 4 it is that of the whole output."""
    return path if re.search(r"\.outputs\[\d+\]$", path) else f"{path}[{json.dumps(name)}]"


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_word(value: Any) -> str:
    """Return the name of a language or a cell type; "" for anything else."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
