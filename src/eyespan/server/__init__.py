"""The MCP server, over standard input and output or over HTTP.

    options      the settings of a server
    protocol     codes, revisions and keys of MCP; `RpcError`
    service      tools and resources of one caller; knows no transport
    session      one connection: the revision in use, results of requests
    stdio        the server for one host, on the standard library alone
    messages     JSON-RPC messages, the same over every transport
    http/        the server for many callers, on asyncio and httptools
    auth/        tokens, OAuth, rate limits
    audit        one line per call
    preload      the modules that a server loads before the first call
    sandboxing   the sandbox that the process enters at its start
    json_lines   JSON without the json module
    log          messages on standard error
    notify       messages to systemd
    telemetry    OpenTelemetry

Neither server uses the official SDK, whose import takes half a second and 60 MB. Its client judges both in the tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from eyespan.escape import in_plain_words
from eyespan.server.http.memory import import_asyncio_without_tls
from eyespan.server.options import InvalidOptions, ServeOptions
from eyespan.workspace import Workspace

WorkspaceFactory = Callable[[Sequence[str] | None], Workspace]
"""Opens the workspace of these roots, or with None that of the command line. Raises OSError, ValueError."""

__all__ = ["InvalidOptions", "ServeOptions", "serve"]


def serve(workspace_factory: WorkspaceFactory, options: ServeOptions) -> int:
    """Serve until the host closes the connection or a signal ends the process. Returns the exit status."""
    try:
        if options.http is not None:
            if options.tls_cert is None:
                import_asyncio_without_tls()
            from eyespan.server.http.app import serve as serve_http

            return serve_http(workspace_factory, options)
        from eyespan.server.stdio import serve as serve_stdio

        return serve_stdio(workspace_factory, options)
    except (InvalidOptions, OSError, ValueError, TypeError) as error:
        sys.stderr.write(f"eyespan serve: {in_plain_words(error)}\n")
        return 2 if isinstance(error, InvalidOptions) else 1
