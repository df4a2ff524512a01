"""The memory of answers: a call pays for what it makes of a text, whatever the characters are."""

from __future__ import annotations

import gc
import json
import tracemalloc
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyespan import Workspace, _native
from eyespan.context import CallContext
from eyespan.dialects import rendering
from eyespan.dialects.rendering import FEW_BYTES, GUTTER_CHARS, charge_text, text_width
from eyespan.errors import TooMuchMemory
from eyespan.memory import FREE_BYTES
from eyespan.model import TextPart
from eyespan.server import json_messages

SIZE = 500_000
TEXTS = {
    "quotes": b'"' * SIZE,
    "controls": b"\x01" * SIZE,
    "wide quotes": "\U0001f600".encode() + b'"' * SIZE,
    "wide controls": b"\x01" * SIZE + "\U0001f600".encode(),
    "wide lines": "\U0001f600".encode() + b"abc\\\n" * (SIZE // 40),
    "two bytes": "\u4e00".encode() + b"a" * SIZE,
}
UNCOUNTED_BYTES = 2_000_000
"""Modules, caches and texts too small to be counted, beside what every call may take."""


def calls(path, name):
    yield "native", "read", {"files": name, "budget": 200_000}
    yield "codex", "read_file", {"file_path": path, "limit": 100_000}
    yield "workspace", "read_file", {"path": name, "max_lines": 500}
    yield "claude", "Read", {"file_path": path}
    yield "filesystem", "read_text_file", {"path": path}
    yield "filesystem", "read_multiple_files", {"paths": [path] * 4}
    yield "text-editor", "str_replace_based_edit_tool", {"command": "view", "path": path}
    yield "gemini", "read_file", {"file_path": path}
    yield "kimi", "Read", {"path": path}
    yield "opencode", "read", {"filePath": path}
    yield "cline", "read_files", {"files": [{"path": path}] * 4}
    yield "deepagents", "read_file", {"file_path": path, "limit": 100_000}


class Counting(CallContext):
    """A context that notes the most that its call was charged for."""

    most_bytes = 0

    def charge(self, size_bytes):
        super().charge(size_bytes)
        self.most_bytes = max(self.most_bytes, self.memory.charged_bytes)


def most_memory(tool, arguments):
    """Return the memory that a call and its JSON took, and what was charged for them."""
    gc.collect()
    context = Counting()
    context.memory.is_held = True
    tracemalloc.start()
    try:
        reply = tool.call(arguments, context=context)
        result = {"content": [{"text": block.text} for block in reply.content], "structured": reply.structured}
        try:
            context.charge(json_messages.large_bytes(result))
        except TooMuchMemory:
            pass  # a server sends this error instead
        else:
            assert json_messages.dumps(result)
        return tracemalloc.get_traced_memory()[1], context.most_bytes
    finally:
        tracemalloc.stop()
        context.memory.release()


@pytest.mark.parametrize("dialect", ["gemini", "kimi", "opencode", "cline"])
@pytest.mark.parametrize("line", ["\U0001f600".encode() + b"x" * 7990 + b"\r\n", b"\xff" * 7999 + b"\n"])
def test_long_lines_are_shortened_one_at_a_time(tmp_path, dialect, line):
    """The text of all of them takes up to four times the memory of their bytes, and its lines as much again."""
    (tmp_path / "a.txt").write_bytes(line * (4 * SIZE // 8000))
    workspace = Workspace(str(tmp_path))
    given = {name: arguments for name, _, arguments in calls(str(tmp_path / "a.txt"), "a.txt")}
    tool = workspace.toolset(dialect)[0]
    tool.call(given[dialect])  # loads modules

    taken, _ = most_memory(tool, given[dialect])

    assert taken < 4 * 4 * SIZE


@pytest.mark.parametrize("name", TEXTS)
def test_a_call_takes_no_more_than_it_pays_for(tmp_path, name):
    file = f"{name.replace(' ', '-')}.txt"
    (tmp_path / file).write_bytes(TEXTS[name])
    (tmp_path / "small.txt").write_bytes(TEXTS[name][:5000] + TEXTS[name][-5000:])
    workspace = Workspace(str(tmp_path))
    unpaid = {}
    for dialect, tool_name, arguments in calls(str(tmp_path / "small.txt"), "small.txt"):
        workspace.toolset(dialect).named(tool_name).call(arguments)  # loads modules
    for dialect, tool_name, arguments in calls(str(tmp_path / file), file):
        tool = workspace.toolset(dialect).named(tool_name)
        taken, charged = most_memory(tool, arguments)
        if taken > charged + FREE_BYTES + UNCOUNTED_BYTES:
            unpaid[f"{dialect} {tool_name}"] = (taken, charged)

    assert unpaid == {}


@pytest.mark.parametrize("arguments", [{}, {"outline": True}, {"budget": 200_000}])
def test_names_and_cells_with_a_wide_character_are_paid_for(tmp_path, arguments):
    (tmp_path / "names").mkdir()
    for number in range(200):
        (tmp_path / "names" / f'\U0001f600"\x01{number}{"q" * 200}').touch()
    cell = {"cell_type": "code", "source": "\U0001f600" + '"' * 20_000, "outputs": []}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell] * 15, "metadata": {}, "nbformat": 4}))
    tool = Workspace(str(tmp_path)).tool("native")
    for name in ("names", "a.ipynb"):
        tool.call({"files": name, **arguments})
        taken, charged = most_memory(tool, {"files": name, **arguments})

        assert taken <= charged + FREE_BYTES + UNCOUNTED_BYTES


@pytest.mark.parametrize(
    ("text", "width"), [("", 1), ("plain", 1), ("\u00e9", 2), ("\u4e00a", 2), ("a" * 70_000 + "\U0001f600", 4)]
)
def test_the_width_of_a_text_is_that_of_its_widest_character(text, width):
    assert text_width(text.encode()) == width


def test_a_text_pays_for_its_numbers_and_its_widest_character():
    def charged(data, **more):
        context = CallContext()
        charge_text(TextPart(data=data, first_line=1, line_count=1, total_lines=1, more=False), context, **more)
        return context.memory.charged_bytes

    assert charged(bytes(FEW_BYTES)) == 0
    assert charged(bytes(100_000)) == 100_000
    assert charged(bytes(100_000), has_numbers=True) == 100_000 + 2 * GUTTER_CHARS
    assert charged(bytes(100_000) + "\U0001f600".encode()) == 4 * 100_004


@pytest.mark.parametrize("dialect", ["claude", "codex", "forge"])
@pytest.mark.parametrize(("wide", "fitting", "too_many"), [("", 30_000, 33_000), ("\U0001f600", 9_500, 12_000)])
def test_the_largest_answer_is_shown_and_a_larger_one_refused(tmp_path, dialect, wide, fitting, too_many):
    lines = (wide + "a" * (399 - len(wide.encode())) + "\n").encode()
    (tmp_path / "a.txt").write_bytes(lines * too_many)
    path = str(tmp_path / "a.txt")
    last = "end_line" if dialect == "forge" else "limit"
    given = {"path": "a.txt", "start_line": 1} if dialect == "forge" else {"file_path": path}
    settings = {"max_scan_bytes": 1 << 30} if dialect == "forge" else {}
    tool = Workspace(str(tmp_path)).tool(dialect, **settings)

    assert tool.call({**given, last: fitting}).facts["lines"] == fitting
    assert tool.call({**given, last: too_many}).is_error


@pytest.mark.parametrize("style", [None, {"mark": ": "}, {"width": 6, "keep_ends": True}, {"max_chars": 3}])
@given(st.lists(st.sampled_from(["a", "bbbb", "\r", "\n", "\r\n", "\U0001f600"]), max_size=60).map("".join))
def test_a_text_in_pieces_is_the_text_as_a_whole(style, text):
    part = TextPart(data=bytearray(text.encode()), first_line=7, line_count=1, total_lines=1, more=False)

    with mock.patch.object(rendering, "PIECE_BYTES", 4):
        made = rendering.rendered(part, style)

    assert made == ((text, 0) if style is None else _native.number(part.data, 7, **style))
