"""A workspace with one file, and a tool that answers with every kind of block."""

from __future__ import annotations

import pytest

from eyespan import DocumentContent, ImageContent, Reply, TextContent, Tool, Workspace
from eyespan.dialects.arguments import Field
from eyespan.dialects.table import TableDialect

from .samples import PDF, PNG


class Album(TableDialect):
    """Answers any readable path with a text, an image and a PDF."""

    name = "album"
    tool = "look"
    aliases = ("Look",)
    description = "Shows a file."
    fields = (Field("path", "string", required=True),)
    error_texts = {"any": "not seen: {reason}"}

    def show_text(self, call, opened, path):
        return Reply((TextContent("seen"), ImageContent(PNG, "image/png"), DocumentContent(PDF, "application/pdf")))


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "hello.txt").write_text("hello\nworld\n")
    with Workspace(tmp_path) as workspace:
        yield workspace


@pytest.fixture
def album(workspace):
    return Tool(Album(), workspace.engine)
