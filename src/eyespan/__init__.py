"""eyespan: one hardened, fast engine that reads files for AI agents, in the tool dialect that a model already knows.

from eyespan import Workspace

tool = Workspace(".").tool("codex")
reply = tool.call({"file_path": "/work/app.py", "limit": 20})
print(reply.text)
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from eyespan.context import CallContext
    from eyespan.errors import ReadError
    from eyespan.extras.bulk.record import Record
    from eyespan.extras.edits.contract import check_edit
    from eyespan.model import DocumentContent, ImageContent, Reply, ReplyError, TextContent, ToolSpec
    from eyespan.policy import Policy
    from eyespan.tool import Tool
    from eyespan.workspace import Workspace

__version__ = "0.2.0"

__all__ = [
    "CallContext",
    "DocumentContent",
    "ImageContent",
    "Policy",
    "ReadError",
    "Record",
    "Reply",
    "ReplyError",
    "TextContent",
    "Tool",
    "ToolSpec",
    "Workspace",
    "__version__",
    "check_edit",
]

_MODULES = {
    "CallContext": "eyespan.context",
    "Policy": "eyespan.policy",
    "ReadError": "eyespan.errors",
    "Record": "eyespan.extras.bulk.record",
    "Tool": "eyespan.tool",
    "Workspace": "eyespan.workspace",
    "check_edit": "eyespan.extras.edits.contract",
}


def __getattr__(name: str) -> object:
    """Import a public name on first use, so that the command line starts without those it does not need."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, "eyespan.model")
    __import__(module)
    value = getattr(sys.modules[module], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
