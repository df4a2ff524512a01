"""A workspace with one file, and a tool that answers with every kind of block there is."""

from __future__ import annotations

import pytest

from eyespan import DocumentContent, ImageContent, Reply, TextContent, Tool, ToolSpec, Workspace
from eyespan.dialects.base import FileDialect
from eyespan.model import ReadRequest, ReplyError

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)
"""One red pixel."""
PNG_BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
PDF, PDF_BASE64 = b"%PDF-1.4", "JVBERi0xLjQ="


class Album(FileDialect):
    """Answers any path it can read with a text, a picture and a PDF."""

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
