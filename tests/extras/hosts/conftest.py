"""A workspace with one file, and a tool that answers with every kind of block."""

from __future__ import annotations

import pytest

from eyespan import DocumentContent, ImageContent, Reply, TextContent, Tool, ToolSpec, Workspace
from eyespan.dialects.base import FileDialect
from eyespan.model import ReadRequest, ReplyError

from .samples import PDF, PNG


class Album(FileDialect):
    """Answers any readable path with a text, an image and a PDF."""

    name = "album"

    def _spec(self):
        schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        return ToolSpec("look", "Shows a file.", schema, ("Look",))

    def parse(self, arguments, admit):
        return arguments["path"]

    def plan(self, args):
        return ReadRequest(args)

    def render(self, args, document):
        return Reply((TextContent("seen"), ImageContent(PNG, "image/png"), DocumentContent(PDF, "application/pdf")))

    def render_error(self, error):
        return ReplyError(error.code, f"not seen: {error}")


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "hello.txt").write_text("hello\nworld\n")
    with Workspace(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def album(workspace):
    return Tool(Album(), workspace.engine)
