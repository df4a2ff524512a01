"""The MCP server: the protocol, and its transport over standard input and output.

    serve_options  the settings of a server
    mcp_names      codes, revisions and keys of MCP; `RpcError`
    service        the tools of one caller; knows no transport
    session        one connection: the revision in use, results of requests
    stdio          the server for one host, on the standard library alone
    threads        the threads of that server
    messages       JSON-RPC messages, the same over every transport
    progress       notifications of long reads, the same over every transport
    audit          the log: one line per call
    audit_trail    the lines of one service
    sandboxing     the sandbox that the process enters at its start
    json_messages  JSON without the json module

The transport over HTTP is an extra (`eyespan.extras.http`). Neither uses the official SDK, whose import takes half a
second and 60 MB. Its client judges both in the tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from eyespan import plugins
from eyespan.escape import in_plain_words
from eyespan.server.serve_options import InvalidOptions, ServeOptions
from eyespan.workspace import Workspace

WorkspaceFactory = Callable[[Sequence[str] | None], Workspace]
"""Opens the workspace of these roots, or with None that of the command line. Raises OSError, ValueError."""

__all__ = ["InvalidOptions", "ServeOptions", "serve"]


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serve until the host closes the connection or a signal ends the process. Returns the exit status."""
    try:
        code: int = plugins.load(options.transport)(workspace_factory, options)
    except (InvalidOptions, OSError, ValueError, TypeError) as error:
        sys.stderr.write(f"eyespan serve: {in_plain_words(error)}\n")
        return 2 if isinstance(error, InvalidOptions) else 1
    return code
