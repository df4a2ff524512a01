"""Notebooks: every cell with its outputs in order, as pieces for the reader to put together.

Reads nbformat 4 and its predecessors with worksheets; sources and texts may be strings or lists of strings. Size, depth
and the number of values are measured on the bytes before they are parsed, which bounds time and memory. Images are
returned as they are stored; the reader has each of them decoded by a job of its own, so that one image cannot spoil the
rest.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import contextlib
import io
import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, BinaryIO

from eyespan.decoders.files import read_up_to, unreadable
from eyespan.errors import Unreadable
from eyespan.outline import scan
from eyespan.signatures import api_image_type
from eyespan.worker.protocol import without_strings

OUTLINED = ("heading", "class", "function", "method")
"""The kinds of symbols in the outline of a notebook."""
MAX_DEPTH = 100
"""A notebook has about ten levels, with its metadata rarely twice as many."""
MAX_VALUES = 2_000_000
"""The size alone does not bound the memory: an empty list takes 2 bytes in the file and 64 in memory."""
MAX_PIECES = 50_000
MAX_LONG_CHARS = 1_000_000
"""An output of which so much is shown is not longer with the selector of its cell."""
MORE_TEXT_BYTES = 1 << 20
"""The text of outputs and notes, in addition to the source of the cells."""

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


def decode(file: BinaryIO, params: Mapping[str, Any]) -> tuple[dict[str, Any], list[bytes]]:
    """Return the selected cells: facts, and one blob of text followed by the images.

    `pieces` lists the parts in order. A number is a note of so many bytes of the text. Three numbers are an image: the
    bytes of the note for an image that exceeds the limits, its estimated size, and the bytes of the note that replaces
    an invalid image, 0 for one with a blob. `too_large` stands alone, for cells that exceed the limits.

    Raises: Unreadable, if it is not a notebook or too large.
    """
    max_bytes = params["max_bytes"]
    data = read_up_to(file, max_bytes + 1)
    if len(data) > max_bytes:
        raise too_large(len(data), max_bytes)
    notebook = Notebook(parse_json(data), params["asked"])
    del data
    cells = _CellWriter(notebook, params)
    try:
        cells.write(params["first"], params["last"], is_outline=params.get("outline", False))
    except _TooLarge:
        return {"too_large": True}, []
    facts = {
        "pieces": cells.pieces,
        "total_cells": len(notebook.cells),
        "cells_returned": cells.count,
        "language": notebook.language,
        "truncated": cells.is_truncated or cells.count < len(notebook.cells),
    }
    return facts, [bytes(cells.text), *cells.images]


def rehearse() -> None:
    """Import what parsing, its errors and images load on first use."""
    image = {"output_type": "display_data", "data": {"image/png": "eA=="}}
    sample = {"cells": [{"source": "a \ud800", "outputs": [image]}, {"cell_type": "markdown"}]}
    params: dict[str, Any] = {"max_images_bytes": 1, "first": 1, "last": 2, "asked": "a b"}
    params |= dict.fromkeys(("max_bytes", "max_window_bytes", "max_output_chars", "max_outputs_chars"), 10_000)
    for is_outline in (False, True):
        decode(io.BytesIO(json.dumps(sample).encode()), params | {"outline": is_outline})
    for broken in (b"{", b"\xff", b"9" * 5000):
        with contextlib.suppress(Unreadable):
            parse_json(broken)


class _TooLarge(Exception):
    """The cells exceed the limits of one answer."""


def too_large(size: int, max_bytes: int) -> Unreadable:
    """Return the error for a notebook of so many bytes."""
    advice = "clear its outputs, or inspect it with jq"
    return unreadable(f"{size} bytes exceed the limit of {max_bytes} for notebooks; {advice}")


# --- JSON -------------------------------------------------------------------------------------------------------------

_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text, after its depth and number of values have been checked on its bytes.

    Raises: Unreadable.
    """
    bare = without_strings(data)
    brackets = bare.translate(None, _NOT_BRACKETS)
    if bare.count(b",") + len(brackets) // 2 > MAX_VALUES:
        raise unreadable(f"more than {MAX_VALUES} values")
    depth = 0
    for bracket in brackets:
        if bracket in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise unreadable(f"JSON nested more than {MAX_DEPTH} levels deep")
        else:
            depth -= 1
    try:
        return json.loads(data.removeprefix(codecs.BOM_UTF8).decode("utf-8"))
    except UnicodeDecodeError:
        raise unreadable("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise unreadable(f"invalid JSON ({error.msg}, line {error.lineno} column {error.colno})") from None
    except (ValueError, RecursionError):  # a number with thousands of digits
        raise unreadable("invalid JSON") from None


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
            raise unreadable("JSON without a list of cells")
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


def _cell_source(cell: Mapping[str, Any], kind: str) -> str:
    source = without_surrogates(joined(cell.get("source", cell.get("input"))))
    if kind == "heading" and isinstance(cell.get("level"), int):  # before nbformat 4
        return f"{'#' * max(1, min(6, cell['level']))} {source}"
    return source


class _CellWriter:
    """One pass over the selected cells, within the limits of one answer."""

    def __init__(self, notebook: Notebook, params: Mapping[str, Any]) -> None:
        self.count = 0
        """The number of cells written."""
        self.is_truncated = False
        self.pieces: list[int | list[int]] = []
        self.text = bytearray()
        self.images: list[bytes] = []
        self._notebook = notebook
        self._source_bytes_left: int = params["max_window_bytes"]
        self._max_text_bytes: int = (
            params["max_window_bytes"] + MORE_TEXT_BYTES + 4 * max(0, params["max_outputs_chars"] - 100_000)
        )
        self._max_output_chars: int = params["max_output_chars"]
        self._chars_left: int = params["max_outputs_chars"]
        self._max_images_bytes: int = params["max_images_bytes"]
        self._selector: str = params.get("selector", "")
        self._is_markdown: bool = params.get("markdown", False)
        self._cell_number = 0

    def write(self, first: int, last: int | None, *, is_outline: bool = False) -> None:
        """Write the pieces of cells `first` to `last`, or their outline. Raises: _TooLarge."""
        for index, (path, cell) in enumerate(self._notebook.cells):
            if first <= index + 1 and (last is None or index + 1 <= last):
                self.count += 1
                self._cell_number = index + 1
                if is_outline:
                    self._outline(index, _as_dict(cell))
                else:
                    self._cell(index, path, cell)

    def _outline(self, index: int, cell: Mapping[str, Any]) -> None:
        """Write the headings or definitions of a cell, each after the selector of the cell."""
        kind = _as_word(cell.get("cell_type")) or "code"
        if kind == "code" and self._language(cell) != "python":
            return
        text = _cell_source(cell, kind).encode("utf-8", "surrogatepass")
        language = "python" if kind == "code" else "markdown"
        for symbol in scan(text, language).symbols if kind != "raw" else ():
            if symbol.kind in OUTLINED:
                self._note(f"c{index + 1} {'  ' * symbol.depth}{symbol.signature}\n")

    def _note(self, text: str) -> int:
        """Add a note and return its size. Raises: _TooLarge."""
        data = text.encode("utf-8", "surrogatepass")  # the name of the file may hold surrogates
        self.text += data
        if len(self.text) > self._max_text_bytes or len(self.pieces) >= MAX_PIECES:
            raise _TooLarge
        self.pieces.append(len(data))
        return len(data)

    def _cell(self, index: int, path: str, cell: Any) -> None:
        if not isinstance(cell, dict):
            self._note(f"[cell {index + 1} is damaged: not an object]")
            return
        kind = _as_word(cell.get("cell_type")) or "code"
        name = cell.get("id")
        name = name if isinstance(name, str) and _CELL_ID.fullmatch(name) else f"cell-{index}"
        source = _cell_source(cell, kind)
        self._source_bytes_left -= 4 * len(source)
        if self._source_bytes_left < 0:
            raise _TooLarge
        language = self._language(cell)
        if self._is_markdown:
            self._note(_fenced(source, language) if kind == "code" else f"{source}\n")
        else:
            tag = "" if language == "python" else f"<language>{language}</language>"
            tag = tag if kind == "code" else f"<cell_type>{kind}</cell_type>"
            self._note(f'<cell id="{name}">{tag}{source}</cell id="{name}">')
        for title, forms in _as_dict(cell.get("attachments")).items():
            self._images(_as_dict(forms), f"{path}.attachments[{json.dumps(without_surrogates(title))}]")
        outputs = cell.get("outputs")
        for i, output in enumerate(outputs if isinstance(outputs, list) else ()):
            self._output(_as_dict(output), f"{path}.outputs[{i}]")

    def _language(self, cell: Mapping[str, Any]) -> str:
        editor = _as_dict(_as_dict(cell.get("metadata")).get("vscode"))
        language = _as_word(editor.get("languageId")) or _as_word(cell.get("language")) or self._notebook.language
        return "python" if language.lower() in ("python", "ipython", "python3") else language

    # --- outputs ---

    def _output(self, output: Mapping[str, Any], path: str) -> None:
        kind = output.get("output_type")
        if kind == "stream":
            self._add_text(joined(output.get("text")), f"{path}.text")
        elif kind in ("error", "pyerr"):
            name, value = joined(output.get("ename")), joined(output.get("evalue"))
            trace = output.get("traceback")
            lines = [joined(line) for line in trace] if isinstance(trace, list) else [joined(trace)]
            self._add_text("\n".join([f"{name}: {value}", *filter(None, lines)]), f"{path}.traceback")
        else:
            data = output.get("data")
            forms = {OLD_TYPES[k]: v for k, v in output.items() if k in OLD_TYPES}
            if isinstance(data, dict):
                self._forms(data, f"{path}.data")
            elif forms or kind in ("display_data", "execute_result", "pyout"):
                self._forms(forms, path)
            else:
                name = without_surrogates(str(kind))[:100]
                self._note(f"[output of the unknown type {name} not shown; see: {self._notebook.command(path)}]")

    def _forms(self, forms: Mapping[str, Any], path: str) -> None:
        """Write one output of several media types: the plain text and the images, or else the most readable text."""
        has_images = any(name in forms for name in IMAGE_TYPES)
        best = next((name for name in TEXT_TYPES if name in forms), None)
        if best == "text/plain" or (best is not None and not has_images):
            value = forms[best]
            text = joined(value) if isinstance(value, (str, list)) else json.dumps(value, ensure_ascii=False)
            self._add_text(text, _form_path(path, best))
        self._images(forms, path)
        if best is None and not has_images and forms:
            names = ", ".join(without_surrogates(str(name))[:100] for name in list(forms)[:5])
            self._note(f"[output not shown: {names}; see: {self._notebook.command(path)}]")

    def _add_text(self, text: str, path: str) -> None:
        text = without_surrogates(_ESCAPES.sub("", text)).removesuffix("\n")
        if not text:
            return
        most = min(self._max_output_chars, self._chars_left)
        if len(text) <= most:
            self._chars_left -= len(text)
            self._note(_fenced(text) if self._is_markdown else text)
            return
        self.is_truncated = True
        if self._selector and most < MAX_LONG_CHARS:
            command = f"{self._selector}:c{self._cell_number}"
        else:
            command = self._notebook.command(path)
        if most < min(self._max_output_chars, len(text)) and most < 200:
            self._note(f"[output of {len(text)} characters left out; see: {command}]")
            return
        self._chars_left -= most
        shown = _fenced(text[:most]) if self._is_markdown else f"{text[:most]}\n"
        self._note(f"{shown}[output cut: {most} of {len(text)} characters shown; see the rest: {command}]")

    # --- images ---

    def _images(self, forms: Mapping[str, Any], path: str) -> None:
        for name in IMAGE_TYPES:
            if name in forms:
                self._image(joined(forms[name]), _form_path(path, name))

    def _image(self, encoded: str, path: str) -> None:
        """Write an image, or a note if there is none: an invalid image would make the whole conversation fail."""
        size = len(encoded) * 3 // 4
        left_out = f"[image of {size} bytes left out; see: {self._notebook.command(path)}]"
        if size > self._max_images_bytes:
            self.is_truncated = True
            self._note(left_out)
            return
        data, reason = b"", ""
        try:
            data = base64.b64decode(re.sub(r"\s+", "", encoded), validate=True)
        except (binascii.Error, ValueError):
            reason = "[image left out: invalid base64]"
        if not reason and api_image_type(data) is None:
            reason = "[image left out: not a PNG, JPEG, GIF or WebP image]"
        sizes = [self._note(left_out), size, self._note(reason)]
        del self.pieces[-2:]
        self.pieces.append(sizes)
        if not reason:
            self.images.append(data)


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


def _fenced(text: str, language: str = "") -> str:
    """Return a block of code in Markdown. Its fence is longer than every run of backticks in the text."""
    fence = "`" * max([3, *[len(run) + 1 for run in re.findall("`+", text)]])
    return f"{fence}{language}\n{text}\n{fence}\n"


def _form_path(path: str, name: str) -> str:
    """Return the jq path of one media type of an output. Before nbformat 4 it is that of the whole output."""
    return path if re.search(r"\.outputs\[\d+\]$", path) else f"{path}[{json.dumps(name)}]"


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _as_word(value: Any) -> str:
    """Return the name of a language or a cell type; "" for anything else."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
