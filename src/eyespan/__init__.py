"""eyespan: one hardened, fast engine that reads files for AI agents, in the tool dialect a model already knows.

from eyespan import Workspace

tool = Workspace(".").tool("codex")
reply = tool.call({"file_path": "/work/app.py", "limit": 20})
print(reply.text)
"""

from __future__ import annotations

from eyespan.errors import ReadError
from eyespan.model import DocumentContent, ImageContent, Reply, ReplyError, TextContent, ToolSpec
from eyespan.policy import Policy
from eyespan.tool import Tool
from eyespan.workspace import Workspace

__version__ = "0.1.0"

__all__ = [
    "DocumentContent",
    "ImageContent",
    "Policy",
    "ReadError",
    "Reply",
    "ReplyError",
    "TextContent",
    "Tool",
    "ToolSpec",
    "Workspace",
    "__version__",
]
